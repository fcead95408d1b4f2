"""`foldlog primer`: named texts that go into every recalled block that asks for them."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.local.primers import Primer


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "primer", "named texts that go into a recalled block as they are")
    change = add_command(verbs, "set", "set a primer's text; the text it has already changes nothing")
    get = add_command(verbs, "get", "print a primer's text")
    listing = add_command(verbs, "list", "list the primers of a namespace by name")
    remove = add_command(verbs, "rm", "delete a primer; a missing one is left alone")
    for parser in (change, get, listing, remove):
        parser.add_argument("namespace", metavar="NS", help="as in user:alice")
    for parser in (change, get, remove):
        parser.add_argument("name", metavar="NAME")
    change.add_argument("text", metavar="TEXT")
    change.add_argument(
        "--question", metavar="TEXT", help="what the text answers; the job primers asks it now and then"
    )
    for parser in (change, remove):
        options.add_expect(parser, "primer")
        options.add_by(parser)
    options.add_limit(listing)
    for parser in (get, listing):
        options.add_as_of(parser)
    for parser in (change, get, listing, remove):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the verb."""
    return {"set": _set, "get": _get, "list": _list, "rm": _remove}[args.verb](args)


def _set(args: Namespace) -> int:
    with options.memory(args, create=True) as memory:
        found = memory.primers.set(
            args.namespace, args.name, args.text, question=args.question, expected_version=args.expect
        )
    output.receipt(args, f"primer {args.namespace}", found)
    return 0


def _get(args: Namespace) -> int:
    from foldlog.errors import NotFound

    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        found = options.view(memory, args).primers.get(args.namespace, args.name)
    if found is None:
        raise NotFound(f"there is no primer {args.name} in {args.namespace}")
    if args.json:
        output.record(found.as_dict())
    else:
        output.text(found.text)
    return 0


def _list(args: Namespace) -> int:
    from foldlog.cli import wording

    def cells(primer: Primer) -> list[str]:
        return [primer.name, str(primer.version), wording.when(primer.updated_at), primer.text]

    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = paging.every(
            lambda after, size: view.primers.list(args.namespace, after=after, limit=size),
            lambda primer: primer.name,
            "",
            args.limit,
        )
        output.items(args, ("name", "version", "updated", "text"), found, cells)
    return 0


def _remove(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.primers.delete(args.namespace, args.name, expected_version=args.expect)
    output.receipt(args, f"primer {args.namespace}", found)
    return 0
