"""`foldlog message`: single messages of threads; `foldlog thread` shows and adds them."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "message", "single messages of threads")
    get = add_command(verbs, "get", "print a message in its last version")
    get.add_argument("id", metavar="ID")
    delete = add_command(
        verbs, "delete", "delete messages of a thread; those it does not have are left alone"
    )
    delete.add_argument("thread", metavar="THREAD", help="the thread's id")
    delete.add_argument("ids", metavar="ID", nargs="+")
    options.add_as_of(get)
    options.add_by(delete)
    for parser in (get, delete):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the verb."""
    return {"get": _get, "delete": _delete}[args.verb](args)


def _get(args: Namespace) -> int:
    from foldlog.cli import wording
    from foldlog.errors import NotFound

    with options.memory(args) as memory:
        found = options.view(memory, args).messages.get(args.id)
    if found is None:
        raise NotFound(f"there is no message {args.id}")
    if args.json:
        output.record(found.as_dict())
        return 0
    output.pairs(
        [
            ("message", found.message_id),
            ("thread", found.thread_id),
            ("namespace", found.namespace),
            ("place", str(found.ordinal)),
            ("who", found.author or found.role),
            ("tags", ", ".join(found.tags) or "-"),
            ("said", wording.when(found.created_at)),
        ]
    )
    output.text(f"\n{found.text}")
    return 0


def _delete(args: Namespace) -> int:
    with options.memory(args) as memory:
        found = memory.messages.delete(args.thread, args.ids)
    if args.json:
        output.receipt(args, "thread", found)
    else:
        deleted = output.count(found.count, "message")
        output.say(f"thread {found.id}: {deleted} deleted, position {found.position}")
    return 0
