"""Every error foldlog raises on purpose.

FoldlogError
├── SettingsError                a setting is missing or wrong; names it
├── InvalidInput                 a value the log does not accept; carries its path
│   └── SchemaViolation          a fact's value is not what its schema wants
├── LogError                     the log's file
│   ├── LogUnavailable           wrong path, no permission, not a log
│   ├── LogBusy                  another writer held the lock past the deadline
│   │   └── StaleSnapshot        a joined transaction read before somebody else wrote
│   ├── LogFull                  no space left for the append
│   ├── JoinRefused              a connection or engine that cannot carry an append
│   ├── LogTooNew                written by a newer foldlog
│   ├── LogCorrupt               the hash chain does not verify
│   └── UnknownEventType         an event this version cannot read
├── Conflict                     the append was refused, nothing was written
│   ├── IdempotencyConflict      same id or key, other request
│   ├── WrongExpectedVersion     compare-and-set lost
│   ├── AlreadyExists            an id is taken by other content
│   │   ├── ThreadExists         by a thread with another namespace or title
│   │   ├── DeletedThread        by a thread that was deleted
│   │   ├── MessageElsewhere     by a message of another thread
│   │   ├── MessageSealed        by a message that was summarised, trimmed, or is a summary
│   │   ├── NoteConflict         by a note with another body
│   │   └── RetainedConflict     by a retained text with other content, or a deleted one
│   ├── InvalidSupersession      a note cannot supersede what it names
│   │   ├── SelfSupersession     itself
│   │   ├── SupersessionCycle    a note that leads back to it
│   │   ├── OtherNamespace       a note of another namespace
│   │   └── UnknownTarget        a note that does not exist; also a NotFound
│   ├── SupersessionConflict     the target is superseded by an accepted note
│   └── InvalidTransition        a status change the machine does not have
├── NotFound                     a thread, note or message that must exist
│   ├── UnknownThread            never created, or deleted
│   └── UnknownNote              never saved
├── AsOfUnsupported              a search of the past, which no index keeps
├── ProjectionError              the index
│   ├── IndexUnavailable         Postgres does not answer
│   ├── IndexUnusable            Postgres answers, but lacks something
│   ├── Diverged                 the index was folded from another history
│   ├── WaitTimeout              a position was not folded in time
│   ├── EmbeddingUnavailable     no vectors now; later without anybody's help
│   └── EmbeddingRefused         no vectors until a person acts
└── ModelError                   summaries and proposed notes
    ├── ModelUnavailable         no answer now; later without anybody's help
    ├── ModelRefused             no answers until a person acts
    ├── SummaryRefused           no summary that may stand for these messages
    └── ExtractionRefused        an answer that holds no usable notes
    QueueUnavailable             Redis does not answer
    ServerError                  an embedded server did not start
"""

from __future__ import annotations


class FoldlogError(Exception):
    """Something foldlog reports on purpose; the message says what to do."""


class SettingsError(FoldlogError):
    """Raised when a setting is missing or has an impossible value."""


class InvalidInput(FoldlogError, ValueError):
    """Raised when the log does not accept a value; nothing was written.

    `path` is where in the input the bad value is, as in `value.items[3]`.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class SchemaViolation(InvalidInput):
    """Raised when a fact's value is not what the schema of its key wants; nothing was written.

    `pattern` is that of the keys the schema is for, `schema` its fingerprint.
    """

    def __init__(self, path: str, problem: str, pattern: str, schema: str) -> None:
        super().__init__(path, f"{problem} (schema of {pattern})")
        self.pattern = pattern
        self.schema = schema


class LogError(FoldlogError):
    """Raised when the log's file cannot be used."""


class LogUnavailable(LogError):
    """Raised when the log's file cannot be opened, or is not a log."""


class LogBusy(LogError):
    """Raised when another writer held the log's lock past the deadline."""


class StaleSnapshot(LogBusy):
    """Raised when a caller's transaction had read before another writer committed; begin it anew."""


class JoinRefused(LogError):
    """Raised when an append cannot be part of a caller's transaction: wrong file, driver mode or engine."""


class LogFull(LogError):
    """Raised when the disk has no space for the append; nothing was written."""


class LogTooNew(LogError):
    """Raised when a newer foldlog wrote the log and this one may not append."""


class LogCorrupt(LogError):
    """Raised when the log's content contradicts itself."""


class UnknownEventType(LogError):
    """Raised when an event's type or schema version is not known to this version."""

    def __init__(self, position: int, type_name: str, schema_version: int) -> None:
        super().__init__(
            f"event {position} has type {type_name} version {schema_version}, which this foldlog "
            "does not know; upgrade foldlog"
        )
        self.position = position
        self.type_name = type_name
        self.schema_version = schema_version


class Conflict(FoldlogError):
    """Raised when an append contradicts what the log holds; nothing was written."""


class IdempotencyConflict(Conflict):
    """Raised when an id or idempotency key was used before for another request."""

    def __init__(self, key: str, position: int) -> None:
        super().__init__(
            f"the idempotency key {key!r} belongs to another request, stored at position {position}; "
            "use a new key for a new request"
        )
        self.key = key
        self.position = position


class WrongExpectedVersion(Conflict):
    """Raised when a stream is not at the version the caller expected."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(f"{stream} is at version {actual}, not {expected}; read it again and decide anew")
        self.stream = stream
        self.expected = expected
        self.actual = actual


class AlreadyExists(Conflict):
    """Raised when an id is taken, and what is stored under it differs."""


class ThreadExists(AlreadyExists):
    """Raised when a thread's id is taken by a thread of another namespace or title.

    `namespace` is that of the thread that has the id.
    """

    def __init__(self, thread_id: str, namespace: str) -> None:
        super().__init__(
            f"thread {thread_id} exists in {namespace} with another title or namespace; choose another id"
        )
        self.thread_id = thread_id
        self.namespace = namespace


class DeletedThread(AlreadyExists):
    """Raised when a thread's id belonged to a thread that was deleted; ids are never given twice."""

    def __init__(self, thread_id: str, namespace: str) -> None:
        super().__init__(f"thread {thread_id} of {namespace} was deleted; choose another id")
        self.thread_id = thread_id
        self.namespace = namespace


class MessageElsewhere(AlreadyExists):
    """Raised when a message's id belongs to a message of another thread.

    `thread_id` is the thread that has the message.
    """

    def __init__(self, message_id: str, thread_id: str) -> None:
        super().__init__(f"message {message_id} belongs to thread {thread_id}; choose another id")
        self.message_id = message_id
        self.thread_id = thread_id


class MessageSealed(AlreadyExists):
    """Raised when a message that is no longer shown, or a summary, would get other content.

    `hidden_by` is the position that hid it, None for a summary that is shown.
    """

    def __init__(self, message_id: str, thread_id: str, hidden_by: int | None) -> None:
        why = "is a summary" if hidden_by is None else f"was summarised or trimmed at position {hidden_by}"
        super().__init__(
            f"message {message_id} of thread {thread_id} {why} and cannot change; save a new message"
        )
        self.message_id = message_id
        self.thread_id = thread_id
        self.hidden_by = hidden_by


class NoteConflict(AlreadyExists):
    """Raised when a note's id is taken by a note with another body.

    `namespace` is that of the note that has the id.
    """

    def __init__(self, note_id: str, namespace: str) -> None:
        super().__init__(
            f"note {note_id} exists in {namespace} with another body; notes never change: save a new one "
            "that supersedes it"
        )
        self.note_id = note_id
        self.namespace = namespace


class RetainedConflict(AlreadyExists):
    """Raised when the id of a retained text is taken by other content, or was given to one that is deleted.

    `namespace` is that of the text that has, or had, the id; `deleted` says which.
    """

    def __init__(self, retained_id: str, namespace: str, *, deleted: bool = False) -> None:
        state = "was deleted" if deleted else "exists with other content or in another document"
        super().__init__(f"retained text {retained_id} of {namespace} {state}; choose another id")
        self.retained_id = retained_id
        self.namespace = namespace
        self.deleted = deleted


class InvalidSupersession(Conflict):
    """Raised when a note cannot supersede what it names; the kinds below say why."""

    def __init__(self, message: str, note_id: str, target: str) -> None:
        super().__init__(message)
        self.note_id = note_id
        self.target = target


class SelfSupersession(InvalidSupersession):
    """Raised when a note would supersede itself."""

    def __init__(self, note_id: str) -> None:
        super().__init__(
            f"note {note_id} cannot supersede itself; leave its own id out of supersedes", note_id, note_id
        )


class SupersessionCycle(InvalidSupersession):
    """Raised when a note would supersede one that leads back to it."""

    def __init__(self, note_id: str, target: str) -> None:
        super().__init__(
            f"note {target} leads back to {note_id}: notes cannot supersede in a circle; leave {target} out",
            note_id,
            target,
        )


class OtherNamespace(InvalidSupersession):
    """Raised when a note would supersede one of another namespace, unless that is allowed."""

    def __init__(self, note_id: str, namespace: str, target: str, target_namespace: str) -> None:
        super().__init__(
            f"note {note_id} of {namespace} cannot supersede note {target} of {target_namespace}; save it "
            "there, or pass allow_other_namespace=True",
            note_id,
            target,
        )
        self.namespace = namespace
        self.target_namespace = target_namespace


class SupersessionConflict(Conflict):
    """Raised when a note's target is already superseded by an accepted note.

    `winner` is the id of that accepted note.
    """

    def __init__(self, target: str, winner: str) -> None:
        super().__init__(
            f"note {target} is already superseded by the accepted note {winner}; supersede {winner} "
            "instead, or pass allow_fork=True to keep both"
        )
        self.target = target
        self.winner = winner


class InvalidTransition(Conflict):
    """Raised when a note cannot go from its status to the one asked for."""

    def __init__(self, note_id: str, status: str, asked: str) -> None:
        super().__init__(
            f"note {note_id} is {status}; it cannot become {asked} again: save a new note instead"
        )
        self.note_id = note_id
        self.status = status
        self.asked = asked


class NotFound(FoldlogError, LookupError):
    """Raised when a command names a thread, message or note that does not exist."""


class UnknownThread(NotFound):
    """Raised when a thread was never created, or was deleted; `deleted` says which."""

    def __init__(self, thread_id: str, *, deleted: bool = False, as_of: object = None) -> None:
        if as_of is not None:
            problem = f"there is no thread {thread_id} as of {as_of}"
        elif deleted:
            problem = f"thread {thread_id} was deleted; create one with another id"
        else:
            problem = f"there is no thread {thread_id}; create it first"
        super().__init__(problem)
        self.thread_id = thread_id
        self.deleted = deleted


class UnknownNote(NotFound):
    """Raised when there is no note with an id."""

    def __init__(self, note_id: str, *, as_of: object = None) -> None:
        when = "; save it first" if as_of is None else f" as of {as_of}"
        super().__init__(f"there is no note {note_id}{when}")
        self.note_id = note_id


class UnknownTarget(InvalidSupersession, NotFound):
    """Raised when a note would supersede one that does not exist, unless that is allowed."""

    def __init__(self, note_id: str, target: str) -> None:
        super().__init__(
            f"note {note_id} supersedes {target}, which does not exist; save {target} first, or pass "
            "allow_missing=True if it will come later",
            note_id,
            target,
        )


class AsOfUnsupported(FoldlogError):
    """Raised when a search or a recall is asked for the past: the index keeps no past versions.

    It is never answered from what is there today.
    """

    def __init__(self) -> None:
        super().__init__(
            "the past cannot be searched: the index has what memory says today, and that would be a wrong "
            "answer; read it by name, list it, or see its history as of the point"
        )


class ProjectionError(FoldlogError):
    """Raised when the index cannot be used."""


class IndexUnavailable(ProjectionError):
    """Raised when Postgres does not answer; the log goes on without it."""


class IndexUnusable(ProjectionError):
    """Raised when Postgres answers but lacks pgvector, a privilege or our schema."""


class Diverged(ProjectionError):
    """Raised when the index was folded from another history than this log's."""


class WaitTimeout(ProjectionError, TimeoutError):
    """Raised when a position was not folded within the time asked for."""


class EmbeddingUnavailable(ProjectionError):
    """Raised when the embedding service does not answer, is overloaded or fails; try again later.

    `retry_after` is the number of seconds that the service asked for, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbeddingRefused(ProjectionError):
    """Raised when texts cannot be embedded until a person acts: wrong key, model, address or dimension."""


class ModelError(FoldlogError):
    """Raised when there is no summary or no notes; nothing was written."""


class ModelUnavailable(ModelError):
    """Raised when the language model does not answer, is overloaded or fails; try again later.

    `retry_after` is the number of seconds that the service asked for, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    """Raised when the language model cannot be asked until a person acts: wrong key, model or address."""


class SummaryRefused(ModelError):
    """Raised when a summary is empty, cut off, or longer than its budget or than what it stands for."""


class ExtractionRefused(ModelError):
    """Raised when what a model proposes is not notes that name the messages they come from."""


class QueueUnavailable(FoldlogError):
    """Raised when Redis does not answer; folding goes on without it."""


class ServerError(FoldlogError):
    """Raised when an embedded server cannot be started or stopped."""
