"""`foldlog retained`: texts that agents keep, alone or as units of a document."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.local.retained import Retained


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "retained", "texts that agents keep, alone or as units of a document")
    _add_add(verbs)
    get = add_command(verbs, "get", "print a retained text")
    delete = add_command(verbs, "delete", "delete a retained text; a missing one is left alone")
    for parser in (get, delete):
        parser.add_argument("id", metavar="ID")
    listing = add_command(verbs, "list", "list retained texts, of a namespace or of one document")
    text = add_command(verbs, "text", "print a document: all its units")
    clear = add_command(verbs, "clear", "delete all units of a document")
    for parser in (listing, text, clear):
        parser.add_argument("namespace", metavar="NS", help="as in user:alice")
    listing.add_argument("document", metavar="DOCUMENT", nargs="?")
    options.add_limit(listing)
    for parser in (text, clear):
        parser.add_argument("document", metavar="DOCUMENT")
    for parser in (delete, clear):
        options.add_by(parser)
    for parser in (get, listing, text):
        options.add_as_of(parser)
    for parser in (get, delete, listing, text, clear):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def _add_add(verbs: Commands) -> None:
    parser = add_command(verbs, "add", "keep a text; the same id and content again changes nothing")
    parser.add_argument("namespace", metavar="NS", help="as in user:alice")
    parser.add_argument("content", metavar="TEXT")
    parser.add_argument("--id", metavar="ID", help="the text's id; without it a new one")
    parser.add_argument("--document", metavar="D", help="the document that it is one more unit of")
    parser.add_argument("--replace", action="store_true", help="first delete the document's other units")
    parser.add_argument("--metadata", metavar="JSON", help="an object of yours, kept with it")
    parser.add_argument(
        "--idempotency-key", metavar="K", help="a repeat with the same key and request changes nothing"
    )
    options.add_tags(parser, "a label to find it by; may be repeated")
    options.add_by(parser)
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the verb."""
    verbs = {"add": _add, "get": _get, "list": _list, "text": _text, "delete": _delete, "clear": _clear}
    return verbs[args.verb](args)


def _add(args: Namespace) -> int:
    # Before the log is opened, which may begin one.
    metadata = options.json_object(args.metadata, "metadata")
    with options.memory(args, create=True) as memory:
        found = memory.retained.add(
            args.namespace,
            args.content,
            retained_id=args.id,
            document=args.document,
            replace=args.replace,
            tags=args.tags,
            metadata=metadata,
            idempotency_key=args.idempotency_key,
        )
    output.receipt(args, "retained", found)
    return 0


def _get(args: Namespace) -> int:
    from foldlog.cli import wording
    from foldlog.errors import NotFound
    from foldlog.events.encoding import encode

    with options.memory(args) as memory:
        found = options.view(memory, args).retained.get(args.id)
    if found is None:
        raise NotFound(f"there is no retained text {args.id}")
    if args.json:
        output.record(found.as_dict())
        return 0
    output.pairs(
        [
            ("retained", found.retained_id),
            ("namespace", found.namespace),
            ("document", found.document or "-"),
            ("tags", ", ".join(found.tags) or "-"),
            ("metadata", encode(found.metadata)),
            ("written", wording.when(found.created_at)),
        ]
    )
    output.text(f"\n{found.content}")
    return 0


def _list(args: Namespace) -> int:
    from foldlog.cli import wording

    def cells(item: Retained) -> list[str]:
        return [item.retained_id, wording.when(item.created_at), item.document or "-", item.text]

    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = paging.every(
            lambda after, size: view.retained.list(args.namespace, args.document, after=after, limit=size),
            lambda item: item.memory_id,
            0,
            args.limit,
        )
        output.items(args, ("retained", "written", "document", "text"), found, cells)
    return 0


def _text(args: Namespace) -> int:
    from foldlog.errors import NotFound

    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        found = options.view(memory, args).retained.text(args.namespace, args.document)
    if found is None:
        raise NotFound(f"there is no document {args.document} in {args.namespace}")
    if args.json:
        output.record({"namespace": args.namespace, "document": args.document, "text": found})
    else:
        output.text(found)
    return 0


def _delete(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.retained.delete(args.id)
    output.receipt(args, "retained", found)
    return 0


def _clear(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.retained.delete_document(args.namespace, args.document)
    if args.json:
        output.receipt(args, "document", found)
    else:
        deleted = output.count(found.count, "unit")
        output.say(f"document {found.id}: {deleted} deleted, position {found.position}")
    return 0
