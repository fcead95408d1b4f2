"""What an agent's tools are bound to: a memory, namespaces, tags, a document and a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from foldlog.events.encoding import encode
from foldlog.memory.tags import namespace_where, strip_project_tags
from foldlog.names import is_user
from foldlog.projections import condition

if TYPE_CHECKING:
    from foldlog.events.provenance import Provenance
    from foldlog.memory.blocks import Wanted
    from foldlog.memory.counters import Counters
    from foldlog.memory.retained import Retention
    from foldlog.memory.writer import Receipt
    from foldlog.projections.recall.answer import Recall
    from foldlog.projections.recall.block import Count

#: Memories that are ranked, before the budget.
LIMIT: Final = 20


class Memories(Protocol):
    """What tools need of a memory."""

    @property
    def retained(self) -> Retention:
        """Texts that agents keep."""
        ...  # pragma: no cover

    @property
    def counters(self) -> Counters:
        """What was done."""
        ...  # pragma: no cover

    def recall(
        self,
        query: str,
        namespaces: str | Sequence[str],
        *,
        where: Any = None,
        limit: int = 10,
        primers: Wanted = None,
        max_tokens: float | None = None,
    ) -> Recall:
        """Return the memories that answer a question best."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What tools are bound to."""

    memory: Memories
    by: Provenance
    #: The first one is meant when a call to remember names none.
    namespaces: tuple[str, ...]
    tags: tuple[str, ...]
    document: str
    primers: Wanted
    max_tokens: int
    count: Count

    def retain(
        self, namespace: str, content: str, tags: Sequence[str], metadata: dict[str, Any], key: str | None
    ) -> Receipt:
        """Retain a text under the tags that are configured and those of a call."""
        configured = strip_project_tags(self.tags) if is_user(namespace) else self.tags
        where = {"run": self.by.run, "node": self.by.node, "iteration": self.by.iteration}
        return self.memory.retained.add(
            namespace,
            content,
            document=self.document,
            tags=list(dict.fromkeys([*configured, *tags])),
            metadata={name: value for name, value in where.items() if value is not None} | metadata,
            idempotency_key=key,
            by=self.by,
        )

    def recall(
        self,
        query: str,
        namespaces: Sequence[str],
        tags: Sequence[str] = (),
        *,
        max_tokens: int | None = None,
        primers: Wanted = None,
    ) -> Recall:
        """Recall from some of the namespaces, each under its own filter."""
        where = condition.either(*(namespace_where(name, self.tags, tags) for name in namespaces))
        return self.memory.recall(
            query, namespaces, where=where, limit=LIMIT, primers=primers, max_tokens=max_tokens
        )

    def key(self, *parts: Any) -> str:
        """Return an idempotency key of this run, for what is told apart by `parts`."""
        who = [self.by.run, self.by.node, self.by.iteration, *parts]
        return f"tool:{sha256(encode(who).encode()).hexdigest()}"
