"""`foldlog thread`: conversations and their messages."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.parser import Commands
    from foldlog.memory import Memory
    from foldlog.memory.as_of import Past
    from foldlog.projections.local.threads import Message, Thread

#: More messages than a thread can have.
ALL: Final = 1 << 31


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "thread", "ordered conversations and their messages")
    create = add_command(verbs, "create", "create a thread; the same id and title again changes nothing")
    create.add_argument("namespace", metavar="NS", help="as in user:alice")
    create.add_argument("--id", metavar="ID", help="the thread's id; without it a new one")
    create.add_argument("--title", metavar="TEXT", help="what it is about")
    listing = add_command(verbs, "list", "list threads, of one namespace or all, the oldest first")
    listing.add_argument("namespace", metavar="NS", nargs="?")
    options.add_limit(listing)
    get = add_command(verbs, "get", "print what a thread is, without its messages")
    get.add_argument("id", metavar="ID")
    show = add_command(verbs, "show", "print the messages of a thread")
    show.add_argument("id", metavar="ID")
    options.add_limit(show)
    show.add_argument(
        "--all", action="store_true", help="also what a summary covers, and what was trimmed; (#) is hidden"
    )
    show.add_argument("--latest", action="store_true", help="with --limit: the last ones, not the first")
    say = add_command(verbs, "say", "add a message to a thread")
    say.add_argument("id", metavar="ID", help="the thread's id")
    say.add_argument("text", metavar="TEXT")
    say.add_argument("--role", default="user", metavar="ROLE", help="user (the default), assistant, ...")
    say.add_argument("--author", metavar="WHO", help="who said it")
    options.add_tags(say, "a label to find it by; may be repeated")
    say.add_argument(
        "--id", dest="message_id", metavar="ID", help="the message's id; a known one gets a new version"
    )
    delete = add_command(verbs, "delete", "delete a thread and its messages; a missing one is left alone")
    delete.add_argument("id", metavar="ID")
    for parser in (create, say, delete):
        options.add_by(parser)
    for parser in (listing, get, show):
        options.add_as_of(parser)
    for parser in (create, listing, get, show, say, delete):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the verb."""
    verbs = {
        "create": _create,
        "list": _list,
        "get": _get,
        "show": _show,
        "say": _say,
        "delete": _delete,
    }
    return verbs[args.verb](args)


def _create(args: Namespace) -> int:
    with options.memory(args, create=True) as memory:
        found = memory.threads.create(args.namespace, thread_id=args.id, title=args.title)
    output.receipt(args, "thread", found)
    return 0


def _list(args: Namespace) -> int:
    from foldlog.cli import wording

    def cells(thread: Thread) -> list[str]:
        updated = wording.when(thread.updated_at)
        return [thread.thread_id, thread.namespace, str(thread.messages), updated, thread.title or "-"]

    if args.namespace is not None:
        options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = paging.every(
            lambda after, size: view.threads.list(args.namespace, after=after, limit=size),
            lambda thread: thread.stream_id,
            0,
            args.limit,
        )
        output.items(args, ("thread", "namespace", "messages", "updated", "title"), found, cells)
    return 0


def _get(args: Namespace) -> int:
    from foldlog.cli import wording
    from foldlog.errors import UnknownThread

    with options.memory(args) as memory:
        found = options.view(memory, args).threads.get(args.id)
    if found is None:
        raise UnknownThread(args.id, as_of=args.as_of)
    if args.json:
        output.record(found.as_dict())
        return 0
    output.pairs(
        [
            ("thread", found.thread_id),
            ("namespace", found.namespace),
            ("title", found.title or "-"),
            ("messages", str(found.messages)),
            ("created", wording.when(found.created_at)),
            ("updated", wording.when(found.updated_at)),
        ]
    )
    return 0


def _show(args: Namespace) -> int:
    from foldlog.cli import wording

    def cells(message: Message) -> list[str]:
        speaker = message.author or message.role
        return [
            str(message.place) if message.hidden_by is None else f"({message.place})",
            wording.when(message.created_at),
            message.message_id,
            speaker,
            message.text,
        ]

    with options.memory(args) as memory:
        found = _messages(options.view(memory, args), args)
        output.items(args, ("#", "said", "message", "who", "text"), found, cells)
    return 0


def _messages(view: Memory | Past, args: Namespace) -> Iterator[Message]:
    # Of the past all at once: each call would fold the thread anew.
    if args.all or args.as_of is not None or (args.latest and args.limit is not None):
        limit = ALL if args.limit is None else args.limit
        found = view.messages.list(args.id, limit=limit, latest=args.latest, include_hidden=args.all)
        return iter(found)
    return paging.every(
        lambda after, size: view.messages.list(args.id, after=after, limit=size),
        lambda message: message.place,
        0,
        args.limit,
    )


def _say(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.messages.save(
            args.id,
            args.text,
            role=args.role,
            author=args.author,
            message_id=args.message_id,
            tags=args.tags,
        )
    output.receipt(args, "message", found)
    return 0


def _delete(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.threads.delete(args.id)
    output.receipt(args, "thread", found)
    return 0
