"""`foldlog recall`: ask the memory a question."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.recall.answer import Recall, Recalled

#: The channels, as the index names them.
CHANNELS: Final = ("text", "semantic", "graph", "time")

#: Memories of one answer, unless asked for more.
LIMIT: Final = 10


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "recall", "find the memories that answer a question best")
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("namespaces", metavar="NS", nargs="+", help="as in user:alice")
    options.add_limit(parser, f"at most so many; {LIMIT} unless given")
    options.add_tag_filters(parser)
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        dest="kinds",
        choices=options.KINDS,
        help="only these; may be repeated",
    )
    parser.add_argument(
        "--off",
        action="append",
        default=[],
        choices=CHANNELS,
        help="a channel not to be used; may be repeated",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print which channels found a memory, and the parts of its score",
    )
    primers = parser.add_mutually_exclusive_group()
    primers.add_argument(
        "--primer",
        action="append",
        default=[],
        dest="primers",
        metavar="NAME",
        help="a primer to put into the block; may be repeated",
    )
    primers.add_argument("--all-primers", action="store_true", help="every primer of the namespaces")
    parser.add_argument(
        "--max-tokens",
        type=options.whole(1),
        metavar="N",
        help="cap of the whole block, counted in bytes; without it none",
    )
    parser.add_argument("--block", action="store_true", help="print only the text to put before a prompt")
    options.add_by(parser, "asks, for the record of who was given what")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the answer; one that is not complete is printed with a warning, and is no failure."""
    options.warn_of_namespaces(*args.namespaces)
    where = options.where(args)
    with options.memory(args) as memory:
        answer = memory.recall(
            args.query,
            args.namespaces,
            tags=args.tags,
            tags_match=args.match,
            where=where,
            kinds=args.kinds,
            limit=LIMIT if args.limit is None else args.limit,
            off=args.off,
            primers=args.all_primers or args.primers,
            max_tokens=args.max_tokens,
        )
    if answer.status != "ok":
        output.warn(f"the answer is {answer.status}: {answer.reason}")
    if args.json:
        output.record(answer.as_dict())
    elif args.block:
        if answer.block:
            output.text(answer.block)
    else:
        output.table(("score", "kind", "date", "namespace", "id", "text"), map(_cells, answer.memories))
        if args.explain:
            for item in answer.memories:
                output.say(_explanation(item))
        output.say(_summary(answer))
    return 0


def _cells(item: Recalled) -> list[str]:
    from foldlog.cli import wording

    speaker = f"{item.speaker}: " if item.speaker else ""
    return [
        f"{item.score:.4g}",
        item.kind,
        wording.day(item.happened_at),
        item.namespace,
        item.id,
        f"{speaker}{item.text}",
    ]


def _explanation(item: Recalled) -> str:
    """Return what found a memory, and the sum that its score is."""
    found = ", ".join(f"{name} {score:.3g}" for name, score in item.channels.items()) or "a neighbour"
    parts = sorted(item.parts.items(), key=lambda part: -abs(part[1]))
    total = " + ".join(f"{value:.2f} {name}" for name, value in parts)
    return f"{item.id}: {item.score:.2f} = {total}; found by {found}"


def _summary(answer: Recall) -> str:
    stale = answer.staleness
    lag = f"{output.count(stale.events, 'event')} ({stale.seconds:.1f} s)"
    parts = [f"status {answer.status}", output.count(len(answer.memories), "memory", "memories")]
    if answer.omitted:
        parts.append(f"{answer.omitted} not in the block")
    if answer.reason is not None:
        parts.append(answer.reason)
    if stale.events:
        parts.append(f"the index is {lag} behind, and the log filled in")
    return "; ".join(parts)
