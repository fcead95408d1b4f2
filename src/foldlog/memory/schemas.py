"""Schemas of facts: what the value under a key must be, and the fingerprint that is stored with it.

A schema is a JSON Schema (the extra `schemas`), a pydantic model or TypeAdapter, a msgspec Struct, one of
the JSON types, or anything that can be called with a value: it raises ValueError, or returns False.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from foldlog.errors import InvalidInput, SchemaViolation, SettingsError

#: Hexadecimal digits of a fingerprint.
FINGERPRINT_DIGITS: Final = 16

#: Types whose values are JSON, by themselves a schema.
JSON_TYPES: Final = (str, int, float, bool, dict, list)

#: Returns what is wrong with a value, as (path in it, problem), None when nothing is.
Check = Callable[[Any], tuple[str, str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A schema, and the facts it is for."""

    #: As it was given: `namespace/key`, each with `*`, `?` and `[...]`.
    pattern: str
    namespace: re.Pattern[str]
    key: re.Pattern[str]
    fingerprint: str
    check: Check


def rule(pattern: str, schema: Any) -> Rule:
    """Return the rule of a pattern `namespace/key`; the first `/` stands between the two.

    Raises InvalidInput for what is no pattern or no schema, and SettingsError without the extra it needs.
    """
    namespace, slash, key = pattern.partition("/")
    if not slash or not namespace or not key:
        raise InvalidInput("schemas", f"{pattern!r} must be namespace/key, as in 'user:*/profile'")
    kind, definition, check = _compiled(pattern, schema)
    digest = sha256(f"{kind}\n{definition}".encode()).hexdigest()
    return Rule(
        pattern=pattern,
        namespace=re.compile(translate(namespace)),
        key=re.compile(translate(key)),
        fingerprint=digest[:FINGERPRINT_DIGITS],
        check=check,
    )


def rules(schemas: Mapping[str, Any]) -> list[Rule]:
    """Return the rules of schemas by pattern, in their order; raises as `rule` does."""
    return [rule(pattern, schema) for pattern, schema in schemas.items()]


def from_file(path: Path) -> list[Rule]:
    """Return the rules of a file: a JSON object of JSON Schemas by pattern; raises SettingsError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"FOLDLOG_SCHEMAS: {path} cannot be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(schema, dict) for schema in found.values()):
        raise SettingsError(f"FOLDLOG_SCHEMAS: {path} must be an object of JSON Schemas by namespace/key")
    try:
        return rules(found)
    except InvalidInput as error:
        raise SettingsError(f"FOLDLOG_SCHEMAS: {path}: {error}") from error


def violation(
    given: Iterable[Rule], namespace: str, key: str, value: Any
) -> tuple[str | None, SchemaViolation | None]:
    """Return the fingerprint of the first rule for a fact, and what the value does wrong, if anything."""
    for item in given:
        if item.namespace.match(namespace) and item.key.match(key):
            wrong = item.check(value)
            if wrong is None:
                return item.fingerprint, None
            path, problem = wrong
            return item.fingerprint, SchemaViolation(f"value{path}", problem, item.pattern, item.fingerprint)
    return None, None


def _compiled(pattern: str, schema: Any) -> tuple[str, str, Check]:
    """Return the kind of a schema, the text that its fingerprint is made of, and its check."""
    if isinstance(schema, dict):
        return "json schema", _canonical(schema), _json_schema(pattern, schema)
    if schema in JSON_TYPES:
        return "type", schema.__name__, _type(schema)
    if hasattr(schema, "model_validate"):
        return "pydantic", _canonical(schema.model_json_schema()), _raising(schema.model_validate)
    if hasattr(schema, "validate_python"):
        return "pydantic", _canonical(schema.json_schema()), _raising(schema.validate_python)
    if hasattr(schema, "__struct_fields__"):
        return "msgspec", *_struct(schema)
    if callable(schema) and not isinstance(schema, type):
        name = f"{getattr(schema, '__module__', '')}.{getattr(schema, '__qualname__', type(schema).__name__)}"
        return "callable", getattr(schema, "fingerprint", name), _raising(schema)
    raise InvalidInput(
        "schemas",
        f"{pattern!r} has {schema!r}, which is none: give a JSON Schema, a pydantic model, a msgspec Struct, "
        "one of str, int, float, bool, dict, list, or a function that raises ValueError",
    )


def _canonical(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


def _json_schema(pattern: str, schema: dict[str, Any]) -> Check:
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError, best_match
        from jsonschema.validators import validator_for
        from jsonschema_specifications import REGISTRY
        from referencing.exceptions import Unresolvable
    except ImportError as error:
        raise SettingsError(
            f"the JSON Schema of {pattern!r} needs the extra: pip install 'foldlog[schemas]'"
        ) from error
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise InvalidInput("schemas", f"{pattern!r} is no JSON Schema: {error.message}") from error
    # A registry of its own: a reference is never fetched over the network.
    validator = kind(schema, registry=REGISTRY)

    def check(value: Any) -> tuple[str, str] | None:
        try:
            found = best_match(validator.iter_errors(value))
        except Unresolvable as error:
            raise InvalidInput("schemas", f"{pattern!r} refers to what is not in it: {error}") from error
        return None if found is None else (_path(found.absolute_path), found.message)

    return check


def _struct(schema: Any) -> tuple[str, Check]:
    import msgspec

    def check(value: Any) -> tuple[str, str] | None:
        try:
            msgspec.convert(value, schema)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            return path.removesuffix("`"), problem
        return None

    return _canonical(msgspec.json.schema(schema)), check


def _type(schema: type) -> Check:
    # True is no number here, and a whole number is a number.
    accepted = (int, float) if schema is float else (schema,)

    def check(value: Any) -> tuple[str, str] | None:
        if type(value) in accepted:
            return None
        return "", f"must be {schema.__name__}, not {type(value).__name__}"

    return check


def _raising(call: Callable[[Any], Any]) -> Check:
    """Return the check of something that raises ValueError or TypeError, or returns False."""

    def check(value: Any) -> tuple[str, str] | None:
        try:
            found = call(value)
        except (ValueError, TypeError) as error:
            return _first(error)
        return ("", f"is refused by {getattr(call, '__name__', call)}") if found is False else None

    return check


def _first(error: Exception) -> tuple[str, str]:
    """Return what pydantic says first, or all that another error says."""
    errors = getattr(error, "errors", None)
    if callable(errors) and (found := errors()):
        return _path(found[0]["loc"]), found[0]["msg"]
    return "", str(error) or type(error).__name__


def _path(parts: Sequence[Any]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
