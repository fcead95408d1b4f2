"""`foldlog graph`: who relates to whom since when."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.parser import Commands
    from foldlog.memory.graph import Neighbourhood
    from foldlog.projections.index import Edge

# As in foldlog.memory.graph, which is not imported for a parser; a test compares them.
#: Edges shown of one end, unless more are asked for.
LIMIT: Final = 20


def add(commands: Commands) -> None:
    """Add the noun and its verb."""
    verbs = add_noun(commands, "graph", "what memories say of names, and of one another")
    show = add_command(verbs, "show", "print who relates to a name, and to whom these relate, since when")
    show.add_argument("entity", metavar="ENTITY", help="a name, as payments-api, or note:ID")
    show.add_argument("--namespace", metavar="NS", help="only in this one")
    show.add_argument("--hops", type=options.whole(1), default=1, metavar="N", help="so many steps; 1 to 4")
    options.add_as_of(show)
    options.add_limit(show, f"at most so many edges of each name or memory; {LIMIT} unless given")
    options.add_common(show)
    show.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the edges: a tree on a terminal, otherwise one line each."""
    if args.namespace is not None:
        options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        found = memory.graph.show(
            args.entity,
            args.namespace,
            hops=args.hops,
            as_of=args.as_of,
            clock=args.clock or options.CLOCKS[0],
            limit=LIMIT if args.limit is None else args.limit,
        )
    for warning in _warnings(found):
        output.warn(warning)
    if args.json:
        output.record(found.as_dict())
    elif sys.stdout.isatty():
        _tree(found)
    else:
        for edge in found.edges:
            output.stream_row(_cells(edge), ())
    return 0


def _warnings(found: Neighbourhood) -> Iterator[str]:
    """Yield what is missing from the answer."""
    if found.behind:
        yield f"the index is {output.count(found.behind, 'event')} behind; what they say is missing"
    for (namespace, end), total in found.cut.items():
        yield f"{end} in {namespace} has {total} edges, of which only the first are shown; see --limit"
    if not found.followed:
        yield "too much was reached to follow all of it; ask for fewer steps, or for one namespace"


def _cells(edge: Edge) -> list[str]:
    """Return one edge: steps, from, relation, to, since, until, namespace."""
    from foldlog.cli import wording

    until = "-" if edge.until is None else wording.when(edge.until)
    return [
        str(edge.depth),
        edge.source,
        edge.kind,
        edge.target,
        wording.when(edge.since),
        until,
        edge.namespace,
    ]


def _tree(found: Neighbourhood) -> None:
    """Print what was asked for, with what relates to it below, and below that what relates to these."""
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    # Text, not str: in a string rich would look for markup.
    roots: dict[tuple[str, str], Tree] = {}
    reached: dict[tuple[str, str], Tree] = {}
    for edge in found.edges:
        place = (edge.namespace, edge.via)
        if edge.depth == 1 and place not in roots:
            roots[place] = Tree(Text(output.line(f"{edge.via} in {edge.namespace}")))
        above = roots[place] if edge.depth == 1 else reached[place]
        branch = above.add(Text(output.line(_sentence(edge))))
        reached.setdefault((edge.namespace, edge.reached), branch)
    for root in roots.values():
        Console().print(root)


def _sentence(edge: Edge) -> str:
    from foldlog.cli import wording

    until = "" if edge.until is None else f" until {wording.when(edge.until)}"
    return f"{edge.source} {edge.kind} {edge.target}, since {wording.when(edge.since)}{until}"
