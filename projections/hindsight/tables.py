"""The index's tables: the control schema (migrated) and one generation's (rebuilt, never migrated)."""

from __future__ import annotations

from typing import Final

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, INT8RANGE, JSONB

from foldlog.projections.hindsight.text import WORD_SPACE

control = MetaData(schema="foldlog")

logs = Table(
    "logs",
    control,
    Column("log_id", LargeBinary, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("incarnation", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)

generations = Table(
    "generations",
    control,
    Column("generation_id", BigInteger, Identity(always=True), primary_key=True),
    Column("log_id", LargeBinary, ForeignKey("foldlog.logs.log_id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("schema_name", Text, nullable=False, unique=True),
    Column("layout", Integer, nullable=False),
    # The version of the words; the embedder and its dimension, NULL for an index without vectors.
    Column("analysis", Integer, nullable=False),
    Column("embedder", Text),
    Column("dimension", Integer),
    Column("state", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("loaded_at", DateTime(timezone=True)),
    Column("verified_at", DateTime(timezone=True)),
    Column("activated_at", DateTime(timezone=True)),
    Column("retired_at", DateTime(timezone=True)),
    Column("counts", JSONB),
    UniqueConstraint("log_id", "number", name="generations_number"),
    CheckConstraint("state IN ('building', 'verified', 'active', 'retired')", name="generations_state"),
)
Index(
    "generations_one_active",
    generations.c.log_id,
    unique=True,
    postgresql_where=text("state = 'active'"),
)

checkpoints = Table(
    "checkpoints",
    control,
    Column(
        "generation_id",
        BigInteger,
        ForeignKey("foldlog.generations.generation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("incarnation", Integer, nullable=False),
    Column("moved_at", DateTime(timezone=True), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
    Column("failed_at", DateTime(timezone=True)),
    Column("next_try", DateTime(timezone=True)),
)

parked = Table(
    "parked",
    control,
    Column(
        "generation_id",
        BigInteger,
        ForeignKey("foldlog.generations.generation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", BigInteger, primary_key=True),
    Column("stream_id", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("first_at", DateTime(timezone=True), nullable=False),
    Column("last_at", DateTime(timezone=True), nullable=False),
)
Index("parked_stream", parked.c.generation_id, parked.c.stream_id)

workers = Table(
    "workers",
    control,
    Column("worker_id", Text, primary_key=True),
    Column("log_id", LargeBinary, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False),
    Column("trouble", Text),
)

#: The schema is filled in when a generation is made.
generation = MetaData(schema="generation")

memories = Table(
    "memories",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("thread", Text),
    Column("speaker", Text),
    Column("tags", ARRAY(Text), nullable=False),
    Column("status", Text),
    Column("text", Text, nullable=False),
    Column("happened_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("position", BigInteger, nullable=False),
    Column("touched", BigInteger, nullable=False),
    Column("visible", Boolean, nullable=False),
)
Index("memories_note", memories.c.key, unique=True, postgresql_where=memories.c.kind == "note")

edges = Table(
    "edges",
    generation,
    Column("target", Text, primary_key=True),
    Column("superseder", BigInteger, primary_key=True),
)
Index("edges_superseder", edges.c.superseder)

#: What text search and its filters need, in one row a passage: a join would double the search.
search = Table(
    "search",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("passage", Integer, primary_key=True, autoincrement=False),
    Column("namespace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("expires_at", BigInteger),
    Column("live", Boolean, nullable=False),
    Column("keys", ARRAY(Integer), nullable=False),
    Column("weights", SPARSEVEC(WORD_SPACE), nullable=False),
)
#: When a memory says that something happens: half-open, UTC ms, with the precision of the words.
spans = Table(
    "spans",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("span", INT8RANGE, nullable=False),
    Column("precision", Text, nullable=False),
    # `said` in the text, or `recorded`: when the memory itself came about.
    Column("source", Text, nullable=False),
)

#: What memories speak of; the number is a hash of namespace and canonical name.
entities = Table(
    "entities",
    generation,
    Column("entity", BigInteger, primary_key=True, autoincrement=False),
    Column("namespace", Text, nullable=False),
    Column("canonical", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
)

#: Which memory mentions an entity, and which bears its name.
mentions = Table(
    "mentions",
    generation,
    Column("entity", BigInteger, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
)
Index("mentions_memory", mentions.c.id)
names = Table(
    "names",
    generation,
    Column("entity", BigInteger, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
)
Index("names_memory", names.c.id)

#: What notes state of entities, and which notes they supersede. A note never changes, so neither do
#: these; they hold while it is visible, which is in `periods`.
relations = Table(
    "relations",
    generation,
    Column("source", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("target", BigInteger, nullable=False),
)
Index("relations_target", relations.c.target)
Index("relations_alias", relations.c.target, postgresql_where=relations.c.kind == "alias")

#: Every status that a note was given, where in the log, and when it happened (UTC ms).
verdicts = Table(
    "verdicts",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
)

#: When a note was visible: from one event of the log until another, NULL while it still is; and when
#: these happened (UTC ms). Worked out from the verdicts on it and on those that supersede it.
periods = Table(
    "periods",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    Column("until", BigInteger),
    Column("valid_from", BigInteger, nullable=False),
    Column("valid_to", BigInteger),
)

#: Made when a generation is loaded: to make them once is far cheaper than to keep them up meanwhile.
AFTER_LOADING: Final = (
    Index("search_namespace", search.c.namespace, postgresql_where=search.c.live),
    Index("search_keys", search.c["keys"], postgresql_using="gin", postgresql_where=search.c.live),
    Index("spans_span", spans.c.span, postgresql_using="gist"),
)

#: How many passages hold a word, by its key, which has its impact class in it; many words in one row.
frequencies = Table(
    "frequencies",
    generation,
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    # In order.
    Column("keys", ARRAY(Integer), nullable=False),
    Column("passages", ARRAY(Integer), nullable=False),
)

#: What pages changed of them since, one row a page and bucket, until the rows of a bucket are merged.
word_changes = Table(
    "word_changes",
    generation,
    Column("bucket", Integer, nullable=False),
    Column("keys", ARRAY(Integer), nullable=False),
    Column("passages", ARRAY(Integer), nullable=False),
)
Index("word_changes_bucket", word_changes.c.bucket)

#: What is to be embedded: any worker on any host claims rows, embeds their texts and removes them.
embed_todo = Table(
    "embed_todo",
    generation,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("passage", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False),
    Column("text", Text, nullable=False),
    Column("claimed_until", BigInteger, nullable=False, server_default="0"),
    Column("next_try", BigInteger, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", Text),
)
# A claim takes the first that are due: without an index it would sort the whole list every time.
Index("embed_todo_due", embed_todo.c.next_try, embed_todo.c.id)

#: How many passages a namespace has.
sizes = Table(
    "sizes",
    generation,
    Column("namespace", Text, primary_key=True),
    Column("passages", BigInteger, nullable=False),
)


def vectors(dimension: int) -> Table:
    """Return the table of vectors; narrow, so that nothing but a new text writes to its index."""
    table = Table(
        "vectors",
        MetaData(schema="generation"),
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("passage", Integer, primary_key=True, autoincrement=False),
        Column("digest", LargeBinary, nullable=False),
        Column("embedding", HALFVEC(dimension), nullable=False),
    )
    # Equal texts are embedded once.
    Index("vectors_digest", table.c.digest)
    return table
