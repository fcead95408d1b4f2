"""The settings: one frozen object, made from one table, read once by the entry point."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from foldlog.errors import SettingsError

#: The names of the embedders; `none` switches vectors off.
EMBEDDERS: Final = ("static", "none", "hash", "onnx", "http")

#: The names of the summarizers; those after the first ask a language model.
SUMMARIZERS: Final = ("extractive", "openai", "anthropic")

#: The names of the token counters.
TOKENIZERS: Final = ("auto", "o200k", "cl100k", "bytes")

#: How log lines look; `auto` is text on a terminal, and JSON elsewhere.
AUTO: Final = "auto"
TEXT: Final = "text"
JSON: Final = "json"
LOG_FORMATS: Final = (AUTO, TEXT, JSON)

#: The least that is logged.
LOG_LEVELS: Final = ("debug", "info", "warning", "error")

#: Longest vector: what an HNSW index of pgvector takes of half-precision numbers.
MAX_DIMENSION: Final = 4000

#: The highest TCP port.
MAX_PORT: Final = 65_535

#: The file read from the working directory when it exists.
SETTINGS_FILE: Final = "foldlog.toml"


def _positive(value: int) -> str | None:
    return None if value > 0 else "must be a positive whole number"


def _optional_positive(value: int | None) -> str | None:
    return None if value is None else _positive(value)


def _interval(value: int) -> str | None:
    return None if value >= 0 else "must be a whole number of milliseconds, 0 for never"


def _count(value: int) -> str | None:
    return None if value >= 0 else "must be a whole number from 0"


def _input_tokens(value: int) -> str | None:
    # A message's own line, of which there are some in a request, takes up to some hundreds of them.
    return None if value >= 1000 else "must be at least 1000"


def _log_name(value: str) -> str | None:
    if re.fullmatch(r"[a-z][a-z0-9_]{0,29}", value):
        return None
    return "must be 1 to 30 of a-z, 0-9 and _, starting with a letter"


def _database_url(value: str | None) -> str | None:
    if value is None or value.startswith(("postgresql://", "postgres://")):
        return None
    return "must start with postgresql://"


def _redis_url(value: str | None) -> str | None:
    if value is None or value.startswith(("redis://", "rediss://", "unix://")):
        return None
    return "must start with redis://, rediss:// or unix://"


def _embedder(value: str) -> str | None:
    return None if value in EMBEDDERS else f"must be one of {', '.join(EMBEDDERS)}, not {value!r}"


def _summarizer(value: str) -> str | None:
    return None if value in SUMMARIZERS else f"must be one of {', '.join(SUMMARIZERS)}, not {value!r}"


def _tokenizer(value: str) -> str | None:
    return None if value in TOKENIZERS else f"must be one of {', '.join(TOKENIZERS)}, not {value!r}"


def _log_format(value: str) -> str | None:
    return None if value in LOG_FORMATS else f"must be one of {', '.join(LOG_FORMATS)}, not {value!r}"


def _log_level(value: str) -> str | None:
    return None if value in LOG_LEVELS else f"must be one of {', '.join(LOG_LEVELS)}, not {value!r}"


def _port(value: int) -> str | None:
    return None if 0 <= value <= MAX_PORT else f"must be from 0 to {MAX_PORT}, not {value}"


def _host(value: str) -> str | None:
    return None if re.fullmatch(r"[\w.:-]+", value, re.ASCII) else "must be a host name or an address"


def _address(value: str | None) -> str | None:
    # An address stands in messages, so it may hold no password, and no query where one could be.
    host, path = r"[\w.:\[\]-]+", r"(/[\w.~%:@!$&'()*+,;=/-]*)?"
    if value is None or re.fullmatch(f"https?://{host}{path}", value, re.ASCII):
        return None
    return "must be http:// or https://, a host and a path; a password goes into the setting for the key"


def _key(value: str | None) -> str | None:
    # The value itself is not in the message.
    if value is None or (value.isascii() and value.isprintable()):
        return None
    return "must be printable ASCII, without line breaks"


def _dimension(value: int | None) -> str | None:
    if value is None or 0 < value <= MAX_DIMENSION:
        return None
    return (
        f"must be from 1 to {MAX_DIMENSION}, the longest that pgvector indexes; many models can give "
        "shorter vectors when asked"
    )


def _setting(
    default: object,
    unit: str,
    help_text: str,
    *,
    secret: bool = False,
    check: Callable[[Any], str | None] | None = None,
) -> Any:
    return field(
        default=default,
        repr=not secret,
        metadata={"unit": unit, "help": help_text, "secret": secret, "check": check},
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a process is told from outside; every field is the setting `FOLDLOG_<NAME>`."""

    log: Path = _setting(Path(".foldlog/memory.db"), "path", "The log's SQLite file.")
    name: str = _setting(
        "default", "name", "The log's short name; names its schemas in Postgres.", check=_log_name
    )
    database_url: str | None = _setting(
        None, "URL", "Postgres 15 or newer with pgvector 0.8; without it the embedded one is used.",
        secret=True, check=_database_url,
    )  # fmt: skip
    redis_url: str | None = _setting(
        None, "URL", "Redis or Valkey, for the doorbell; without it the embedded one is used.",
        secret=True, check=_redis_url,
    )  # fmt: skip
    busy_timeout_ms: int = _setting(
        5000, "ms", "How long an append waits for another writer.", check=_positive
    )
    max_payload_bytes: int = _setting(1 << 20, "bytes", "Largest value, message or note.", check=_positive)
    schemas: str | None = _setting(
        None, "path", "JSON file of JSON Schemas by namespace/key, which facts are held against."
    )
    page_events: int = _setting(1000, "events", "Most events folded in one transaction.", check=_positive)
    page_bytes: int = _setting(
        4 << 20, "bytes", "Most payload bytes folded in one transaction.", check=_positive
    )
    slice_ms: int = _setting(
        10_000, "ms", "How long one fold message works before it rings again.", check=_positive
    )
    poll_ms: int = _setting(50, "ms", "How often a worker looks at the head of the log.", check=_positive)
    stalled_ms: int = _setting(
        60_000, "ms", "Lag without progress for this long is a stall.", check=_positive
    )
    keep_retired_ms: int = _setting(
        86_400_000, "ms", "How long a replaced generation is kept and folded, to go back to.", check=_positive
    )  # fmt: skip
    embedder: str = _setting(
        "static", "name", "What makes vectors: static, none, hash, onnx or http.", check=_embedder
    )
    embedding_url: str | None = _setting(
        None, "URL", "Base of an OpenAI-compatible service, as in https://api.openai.com/v1.",
        check=_address,
    )  # fmt: skip
    embedding_key: str | None = _setting(
        None, "key", "The service's key, sent as a bearer token.", secret=True, check=_key
    )
    embedding_model: str | None = _setting(None, "name", "The service's name of the model.")
    embedding_dimension: int | None = _setting(
        None, "numbers", "Length of the service's vectors, at most 4,000.", check=_dimension
    )
    embedding_passage_prefix: str | None = _setting(
        None, "text", "Put before a text to be found, as the model wants it."
    )
    embedding_query_prefix: str | None = _setting(
        None, "text", "Put before a question, as the model wants it."
    )
    embedding_batch: int = _setting(64, "texts", "Most texts in one request.", check=_positive)
    embedding_timeout_ms: int = _setting(
        10_000, "ms", "Deadline of one request for vectors.", check=_positive
    )
    embedding_threads: int = _setting(
        1, "threads", "How many threads the embedder onnx uses.", check=_positive
    )
    ttl_every_ms: int = _setting(
        60_000, "ms", "How often the job ttl collects expired facts; 0: never.", check=_interval
    )
    ttl_grace_ms: int = _setting(
        300_000, "ms", "How long after its end an expired fact is collected; no read shows it meanwhile.",
        check=_interval,
    )  # fmt: skip
    thread_tokens: int | None = _setting(
        None, "tokens", "The job limit keeps each thread within so many; without it threads grow.",
        check=_optional_positive,
    )  # fmt: skip
    limit_every_ms: int = _setting(60_000, "ms", "How often the job limit looks; 0: never.", check=_interval)
    summarize_above: int | None = _setting(
        None,
        "tokens",
        "The job summarize shortens threads of more; without it none.",
        check=_optional_positive,
    )
    summarize_keep: int = _setting(
        2, "messages", "The newest so many of a thread stay verbatim.", check=_positive
    )
    summary_tokens: int = _setting(512, "tokens", "Most tokens of one summary.", check=_positive)
    summarize_every_ms: int = _setting(
        60_000, "ms", "How often the job summarize looks; 0: never.", check=_interval
    )
    extract_every_ms: int = _setting(
        0, "ms", "How often the job extract proposes notes from messages, by a language model; 0: never.",
        check=_interval,
    )  # fmt: skip
    extract_quiet_ms: int = _setting(
        600_000,
        "ms",
        "The last messages of a thread are read when it was quiet for so long.",
        check=_positive,
    )
    primers_every_ms: int = _setting(
        3_600_000, "ms", "How often the job primers asks the primers' questions; 0: never.", check=_interval
    )
    verify_every_ms: int = _setting(
        86_400_000, "ms", "How often the job verify checks log and index; 0: never.", check=_interval
    )
    summarizer: str = _setting(
        "extractive", "name", "What makes summaries: extractive, openai or anthropic.", check=_summarizer
    )
    model: str | None = _setting(None, "name", "The language model, by the service's name for it.")
    model_url: str | None = _setting(
        None, "URL", "Base of the model's service; without it the provider's own.", check=_address
    )
    model_key: str | None = _setting(None, "key", "The key of the model's service.", secret=True, check=_key)
    model_timeout_ms: int = _setting(60_000, "ms", "Deadline of one request to the model.", check=_positive)
    model_retries: int = _setting(
        2, "times", "How often a request that failed is made again at once.", check=_count
    )
    model_calls: int = _setting(
        100, "requests", "Most requests to the model in one run of a job.", check=_positive
    )
    model_input_tokens: int = _setting(
        16_000, "tokens", "Most tokens of conversation in one request; longer ones are cut.",
        check=_input_tokens,
    )  # fmt: skip
    model_output_tokens: int = _setting(
        4000, "tokens", "Most tokens of one answer, with those a model thinks in.", check=_positive
    )
    tokenizer: str = _setting(
        "auto", "name", "What counts tokens: auto, o200k, cl100k or bytes.", check=_tokenizer
    )
    recall_timeout_ms: int = _setting(2000, "ms", "Deadline of one recall.", check=_positive)
    connect_timeout_ms: int = _setting(1000, "ms", "Deadline for a connection to Postgres.", check=_positive)
    keep_servings_ms: int = _setting(
        2_592_000_000, "ms", "How long it is kept who was given which memory; 0: it is not recorded.",
        check=_count,
    )  # fmt: skip
    shutdown_ms: int = _setting(10_000, "ms", "How long a worker may take to stop.", check=_positive)
    http_port: int = _setting(
        0, "port", "Where a worker tells its health and its numbers by HTTP; 0: nowhere.", check=_port
    )
    http_host: str = _setting("127.0.0.1", "host", "The address that port is opened on.", check=_host)
    log_format: str = _setting(
        AUTO, "name", "Log lines as text or json; auto: text on a terminal, else json.", check=_log_format
    )
    log_level: str = _setting(
        "info", "name", "The least that is logged: debug, info, warning or error.", check=_log_level
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            check = item.metadata["check"]
            problem = check(getattr(self, item.name)) if check else None
            if problem:
                raise SettingsError(f"{variable(item.name)} {problem}")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"FOLDLOG_{name.upper()}"


def environment(settings: Settings) -> dict[str, str]:
    """Return the variables by which another process gets the same settings."""
    values = {variable(item.name): getattr(settings, item.name) for item in fields(Settings)}
    return {name: str(value) for name, value in values.items() if value is not None}


def load(environ: Mapping[str, str] | None = None, folder: Path | None = None, **given: object) -> Settings:
    """Read the settings: `given` over the environment over `foldlog.toml` over the defaults."""
    environ = os.environ if environ is None else environ
    values = _from_file((folder or _working_directory()) / SETTINGS_FILE)
    for item in fields(Settings):
        text = environ.get(variable(item.name), "")
        if text:
            values[item.name] = _parse(item.name, text)
    values |= {name: value for name, value in given.items() if value is not None}
    return Settings(**values)


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise SettingsError("the working directory was deleted; change to one that exists") from None


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    known = {item.name for item in fields(Settings)}
    unknown = sorted(set(table) - known)
    if unknown:
        raise SettingsError(f"{path} has the unknown setting {unknown[0]!r}; `foldlog settings` lists all")
    return {name: _parse(name, value) for name, value in table.items()}


def _parse(name: str, value: object) -> object:
    item = next(item for item in fields(Settings) if item.name == name)
    if isinstance(item.default, Path):
        return Path(str(value)).expanduser()
    # The annotation is text here; a whole number that is not set has no default to look at.
    if str(item.type).startswith("int"):
        try:
            return int(str(value))
        except ValueError:
            raise SettingsError(f"{variable(name)} must be a whole number, not {value!r}") from None
    return str(value)
