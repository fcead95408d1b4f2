"""`foldlog fact`: set, read and delete facts."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.parser import Commands, Parser
    from foldlog.memory import Memory
    from foldlog.memory.as_of import Past
    from foldlog.projections.local.facts import Fact

#: Longest text that an error repeats, in characters.
MAX_HINT: Final = 60


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "fact", "namespaced JSON by key: the last write wins")
    _add_set(verbs)
    for verb, text in (
        ("get", "print a fact's value"),
        ("delete", "delete a fact; a missing one is left alone"),
    ):
        parser = add_command(verbs, verb, text)
        parser.add_argument("namespace", metavar="NS", help="as in user:alice")
        parser.add_argument("key", metavar="KEY")
        if verb == "get":
            _add_expired(parser)
            options.add_as_of(parser)
        else:
            _add_conditions(parser)
            options.add_by(parser)
        options.add_common(parser)
        parser.set_defaults(handler=run)
    listing = add_command(verbs, "list", "list facts by key, of one namespace or all")
    listing.add_argument("namespace", metavar="NS", nargs="?")
    options.add_limit(listing)
    _add_expired(listing)
    options.add_as_of(listing)
    collect = add_command(
        verbs, "collect", "tidy away facts whose time has passed; no read shows them anyway"
    )
    options.add_limit(collect)
    options.add_by(collect)
    for parser in (listing, collect):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def _add_set(verbs: Commands) -> None:
    parser = add_command(verbs, "set", "set a fact's value; ttl and tags are replaced with it")
    parser.add_argument("namespace", metavar="NS", help="as in user:alice")
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("value", metavar="JSON", help="""the value as JSON, as in '"dark"' or 42""")
    parser.add_argument("--text", action="store_true", help="take the value as a string, not as JSON")
    parser.add_argument(
        "--ttl", type=options.duration, metavar="TIME", help="how long it is alive: 30d, 2h, 15m, 20s, 500ms"
    )
    options.add_tags(parser, "a label to find it by; may be repeated")
    _add_conditions(parser)
    options.add_by(parser)
    options.add_common(parser)
    parser.set_defaults(handler=run)


def _add_expired(parser: Parser) -> None:
    parser.add_argument(
        "--expired", action="store_true", help="also when its time has passed and it is not collected yet"
    )


def _add_conditions(parser: Parser) -> None:
    options.add_expect(parser, "fact")
    parser.add_argument(
        "--idempotency-key", metavar="K", help="a repeat with the same key and request changes nothing"
    )


def run(args: Namespace) -> int:
    """Run the verb."""
    verbs = {"set": _set, "get": _get, "list": _list, "delete": _delete, "collect": _collect}
    return verbs[args.verb](args)


def _set(args: Namespace) -> int:
    # Before the log is opened, which may begin one.
    value = _value(args)
    with options.memory(args, create=True) as memory:
        found = memory.facts.set(
            args.namespace,
            args.key,
            value,
            ttl=args.ttl,
            tags=args.tags,
            expected_version=args.expect,
            idempotency_key=args.idempotency_key,
        )
    output.receipt(args, f"fact {args.namespace}", found)
    return 0


def _value(args: Namespace) -> Any:
    if args.text:
        return args.value
    from foldlog.errors import InvalidInput
    from foldlog.events.encoding import parse

    try:
        return parse(args.value)
    except InvalidInput as error:
        if args.value.lstrip()[:1] in ("{", "[", '"'):
            raise
        raise InvalidInput(error.path, f"{error.problem}; {_hint(args.value)}") from None


def _hint(text: str) -> str:
    """Return how a text is given as a string."""
    if len(text) > MAX_HINT:
        return "for a string add --text"
    import json
    import shlex

    return f"for a string write {shlex.quote(json.dumps(text, ensure_ascii=False))}, or add --text"


def _get(args: Namespace) -> int:
    from foldlog.errors import NotFound
    from foldlog.events.encoding import encode

    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = view.facts.get(args.namespace, args.key, include_expired=args.expired)
    if found is None:
        raise NotFound(f"there is no fact {args.key} in {args.namespace}, or its time has passed")
    if args.json:
        output.record(found.as_dict())
    else:
        output.text(encode(found.value))
    return 0


def _list(args: Namespace) -> int:
    from foldlog.cli import wording
    from foldlog.events.encoding import encode

    def cells(fact: Fact) -> list[str]:
        expires = "-" if fact.expires_at is None else wording.when(fact.expires_at)
        tags = ", ".join(fact.tags) or "-"
        updated = wording.when(fact.updated_at)
        found = [fact.key, str(fact.version), updated, expires, tags, encode(fact.value)]
        return found if args.namespace is not None else [fact.namespace, *found]

    columns = ["key", "version", "updated", "expires", "tags", "value"]
    if args.namespace is None:
        columns.insert(0, "namespace")
    else:
        options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        output.items(args, columns, _every(options.view(memory, args), args), cells)
    return 0


def _every(view: Memory | Past, args: Namespace) -> Iterator[Fact]:
    def fetch(after: str | tuple[str, str], size: int) -> list[Fact]:
        return view.facts.list(args.namespace, after=after, limit=size, include_expired=args.expired)

    def key(fact: Fact) -> str | tuple[str, str]:
        return (fact.namespace, fact.key) if args.namespace is None else fact.key

    start: str | tuple[str, str] = ""
    return paging.every(fetch, key, start, args.limit)


def _collect(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.facts.collect(options.MAX_NUMBER if args.limit is None else args.limit)
    if args.json:
        output.record({"collected": found})
    else:
        output.say(f"{output.count(found, 'fact')} collected")
    return 0


def _delete(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.facts.delete(
            args.namespace, args.key, expected_version=args.expect, idempotency_key=args.idempotency_key
        )
    output.receipt(args, f"fact {args.namespace}", found)
    return 0
