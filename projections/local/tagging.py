"""Conditions on tags as the log's full text index and its rows can ask them.

What must be there becomes words that the index itself looks for; the whole condition is asked of the
words of scope in each row, inside the query, before its limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from foldlog.projections.condition import AND, EXACT, HAS, NOT, OR, UNTAGGED, WITHIN, Condition

#: How a tag stands in the words of scope, of which it is never the first.
TAG: Final = " tag:"

#: Returns the word of scope for a label and a name: letters, digits and a colon.
Word = Callable[[str, str], str]


def words(condition: Condition, word: Word) -> str | None:
    """Return an FTS5 expression that whatever meets the condition meets too; None: nothing narrows it."""
    if condition.says in (HAS, WITHIN, EXACT):
        label = "namespace" if condition.says == WITHIN else "tag"
        return " AND ".join(f'"{word(label, name)}"' for name in condition.names)
    parts = [words(part, word) for part in condition.parts]
    if condition.says == AND:
        return " AND ".join(f"({part})" for part in parts if part is not None) or None
    if condition.says == OR and None not in parts:
        return " OR ".join(f"({part})" for part in parts)
    return None


def sql(condition: Condition, word: Word) -> str:
    """Return the condition over `t.scope`; it holds digests only, so there is nothing to be bound."""
    if condition.says == UNTAGGED:
        return f"instr(t.scope, '{TAG}') = 0"
    if condition.says == NOT:
        return f"NOT {sql(condition.parts[0], word)}"
    if condition.says in (AND, OR):
        glue = f" {condition.says.upper()} "
        return f"({glue.join(sql(part, word) for part in condition.parts)})"
    label = "namespace" if condition.says == WITHIN else "tag"
    every = [f"instr(t.scope, ' {word(label, name)}') > 0" for name in condition.names]
    if condition.says == EXACT:
        tags = f"(length(t.scope) - length(replace(t.scope, '{TAG}', ''))) / {len(TAG)}"
        every.append(f"{tags} = {len(condition.names)}")
    return f"({' AND '.join(every)})"
