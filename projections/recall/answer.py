"""The answer to a recall: what was found, how it was found, and how fresh it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from foldlog.events.encoding import instant

#: The index answered, and the log confirmed it.
OK: Final = "ok"
#: A part is missing, and the reason says which.
PARTIAL: Final = "partial"
#: The index did not answer: the log's own search did.
DEGRADED: Final = "degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One memory of an answer, as the log has it now."""

    memory_id: int
    #: `fact`, `message`, `note` or `retained`.
    kind: str
    namespace: str
    #: The fact's key, the id of the others.
    id: str
    text: str
    #: Who said or wrote it.
    speaker: str | None
    #: When it happened, UTC ms.
    happened_at: int
    #: The position it was last changed at.
    position: int
    score: float
    #: The channels that found it, with what each scored.
    channels: dict[str, float]
    #: What the score is the sum of: feature -> weight times value.
    parts: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the memory as JSON."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "id": self.id,
            "text": self.text,
            "speaker": self.speaker,
            "happened_at": instant(self.happened_at).isoformat(),
            "position": self.position,
            "score": round(self.score, 6),
            "channels": {name: round(score, 6) for name, score in self.channels.items()},
            "parts": {name: round(value, 6) for name, value in self.parts.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How far the index is behind the log; the answer itself is not: the log fills the gap."""

    #: Events that the index has not folded.
    events: int = 0
    #: Age of the oldest of them.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to one recall."""

    #: `ok`, `partial` or `degraded`.
    status: str
    #: Why it is not `ok`, and what to do; None when it is.
    reason: str | None = None
    #: Best first.
    memories: list[Recalled] = field(default_factory=list)
    #: Text to put before a prompt; empty when nothing was found.
    block: str = ""
    staleness: Staleness = field(default_factory=Staleness)
    #: The channels that answered.
    channels: tuple[str, ...] = ()
    #: The primers in the block, as (namespace, name).
    primers: tuple[tuple[str, str], ...] = ()
    #: How many of the memories are not in the block, for want of room.
    omitted: int = 0

    @property
    def complete(self) -> bool:
        """Say whether the status is `ok`: nothing is missing."""
        return self.status == OK

    @property
    def digest(self) -> str:
        """What was recalled, in 64 hexadecimal digits: equal for equal blocks, to key a cache on."""
        return sha256(self.block.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        return {
            "status": self.status,
            "reason": self.reason,
            "staleness": {"events": self.staleness.events, "seconds": round(self.staleness.seconds, 3)},
            "channels": list(self.channels),
            "memories": [item.as_dict() for item in self.memories],
            "primers": [{"namespace": namespace, "name": name} for namespace, name in self.primers],
            "block": self.block,
            "omitted": self.omitted,
            "digest": self.digest,
        }
