"""An embedding service that is down, slow or lies: words, graph and time answer, and it heals by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures._http_service import Server, fails, hangs
from fixtures.embedding_service import DIMENSION, gives, well
from fixtures.workers import eventually, running
from foldlog import Memory, composition
from foldlog.embedded import Postgres, Valkey
from foldlog.settings import Settings
from foldlog.status import status

ALICE = "user:alice"

pytestmark = pytest.mark.xdist_group("outage")


@pytest.fixture
def settings(tmp_path: Path, database_url: str, valkey: Valkey, embedding_server: Server) -> Settings:
    return Settings(
        log=tmp_path / "memory.db",
        database_url=database_url,
        redis_url=valkey.url,
        embedder="http",
        embedding_url=embedding_server.url,
        embedding_model="m",
        embedding_dimension=DIMENSION,
        embedding_timeout_ms=200,
    )


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def embedded(settings: Settings, memory: Memory) -> bool:
    """Say whether everything is folded and has its vector."""
    found = status(settings, memory.log).index
    return found.state == "ok" and found.unembedded == 0


@pytest.mark.parametrize(
    ("fault", "says"),
    [(fails(503), "503"), (hangs, "timed out"), (gives([1.0, 2.0]), "DIMENSION"), (fails(401), "KEY")],
    ids=["down", "slow", "wrong dimension", "wrong key"],
)
def test_an_embedding_service_in_trouble(
    tmp_path: Path,
    settings: Settings,
    memory: Memory,
    embedding_server: Server,
    postgres: Postgres,
    fault: object,
    says: str,
) -> None:
    """Nothing is lost and nothing else waits; status says what is missing; then it heals by itself."""
    with running(settings, "worker", output=tmp_path / "worker.log"):
        memory.facts.set(ALICE, "before", "blue sky")
        eventually(lambda: embedded(settings, memory), "the first vector")
        embedding_server.usual = fault  # type: ignore[assignment]
        memory.facts.set(ALICE, "during", "blue sea on 14 May 2023")
        eventually(
            lambda: any("vectors" in text for text in status(settings, memory.log).problems), "a complaint"
        )
        answer = memory.recall("blue", ALICE)
        assert answer.status == "partial"
        assert {item.id for item in answer.memories} == {"before", "during"}
        assert says in (answer.reason or "")
        dated = memory.recall("what happened on 14 May 2023", ALICE, off=["text"])
        assert [item.id for item in dated.memories] == ["during"]
        embedding_server.usual = well
        eventually(lambda: embedded(settings, memory), "all vectors")
        eventually(lambda: status(settings, memory.log).fine, "a fine status")
        eventually(lambda: memory.recall("blue", ALICE).status == "ok", "a whole answer")


def test_vectors_are_made_where_the_log_is_not(
    tmp_path: Path, settings: Settings, memory: Memory, embedding_server: Server
) -> None:
    """A worker that only embeds needs neither the log's file nor the folding worker."""
    from dataclasses import replace

    memory.facts.set(ALICE, "k", "blue")
    with running(settings, "worker", "--queues", "live", output=tmp_path / "fold.log"):
        eventually(lambda: status(settings, memory.log).index.state == "ok", "the fold")
        assert status(settings, memory.log).index.unembedded == 1
    elsewhere = replace(settings, log=tmp_path / "elsewhere" / "none.db")
    with running(elsewhere, "worker", "--queues", "embed", output=tmp_path / "embed.log"):
        eventually(lambda: embedded(settings, memory), "the vector")
    assert not elsewhere.log.parent.exists()
