"""Every error foldlog raises on purpose.

FoldlogError
├── SettingsError                a setting is missing or wrong; names it
├── InvalidInput                 a value the log does not accept; carries its path
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
│   ├── InvalidSupersession      of itself, in a circle, or across namespaces
│   ├── SupersessionConflict     the target is superseded by an accepted note
│   └── InvalidTransition        a status change the machine does not have
├── NotFound                     a thread, note or message that must exist
└── ProjectionError              the index
    ├── IndexUnavailable         Postgres does not answer
    ├── IndexUnusable            Postgres answers, but lacks something
    ├── Diverged                 the index was folded from another history
    ├── WaitTimeout              a position was not folded in time
    ├── EmbeddingUnavailable     no vectors now; later without anybody's help
    └── EmbeddingRefused         no vectors until a person acts
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


class InvalidSupersession(Conflict):
    """Raised when a note would supersede itself, a note that leads back to it, or another namespace's."""


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


class NotFound(FoldlogError, LookupError):
    """Raised when a command names a thread, message or note that does not exist."""


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


class QueueUnavailable(FoldlogError):
    """Raised when Redis does not answer; folding goes on without it."""


class ServerError(FoldlogError):
    """Raised when an embedded server cannot be started or stopped."""
