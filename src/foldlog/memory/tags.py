"""Tags: labels of a memory that searches can filter by; free ones, but for a project's and a person's.

A project (`workflow:project-…`) has branches: each of its memories is of one branch, or of the main line,
and says so with `scope:`, which is added where it is missing. A person's memories belong to no branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from foldlog.errors import InvalidInput
from foldlog.names import check_names, is_project, is_user

if TYPE_CHECKING:
    from foldlog.projections.condition import Condition

MAX_TAGS: Final = 16

#: Longest tag, in characters.
MAX_TAG: Final = 128

#: What the tags of a project may be.
_PROJECT: Final = (
    r"(branch|stream):[^\s\x00-\x1f\x7f-\x9f]+|source:(chat|run|reflection|import)|scope:(main|branch)"
)
#: What only a project's tags may be.
_OF_PROJECTS: Final = ("branch:", "scope:", "stream:")
#: What changes from run to run, and would make every filter miss.
_VOLATILE: Final = ("run:", "project:")

MAIN: Final = "scope:main"
BRANCH: Final = "scope:branch"


def check_tags(tags: Iterable[str]) -> list[str]:
    """Return the distinct tags in the order given, whatever namespace they are for; raises InvalidInput."""
    if tags == ():
        return []
    found = check_names(tags, "tags")
    _check_number(found)
    for tag in found:
        if len(tag) > MAX_TAG:
            raise InvalidInput(
                "tags", f"{tag[:20]}… has {len(tag)} characters; at most {MAX_TAG} are allowed"
            )
    return found


def namespace_tags(namespace: str, tags: list[str]) -> list[str]:
    """Return what is stored of tags that `check_tags` passed; a project's memory gets its scope.

    Raises InvalidInput for tags that the namespace cannot have.
    """
    if is_project(namespace):
        return _project_tags(tags)
    if is_user(namespace):
        _check_user_tags(tags)
    return tags


def strip_project_tags(tags: Iterable[str]) -> list[str]:
    """Return tags without those that only projects have."""
    return [tag for tag in tags if not tag.startswith(_OF_PROJECTS)]


def check_configured(namespace: str, tags: Iterable[str]) -> None:
    """Raise InvalidInput for tags that no memory of a namespace could have; a user's are stripped of some."""
    if is_project(namespace):
        for tag in tags:
            _check_project_tag(tag)


def namespace_where(namespace: str, configured: Sequence[str], tags: Sequence[str]) -> Condition:
    """Return which memories of a namespace may be recalled under configured tags, and those of one question.

    Of a project: the main line or any configured branch, and all other tags. Of a user: the question's
    tags alone, of which none is a project's. Elsewhere: all tags.
    """
    from foldlog.projections.condition import both, either, has, within

    wanted = list(tags)
    if is_project(namespace):
        branches = [tag for tag in configured if tag.startswith("branch:")]
        wanted += [tag for tag in configured if not tag.startswith(("branch:", "scope:"))]
        line = [either(*map(has, [MAIN, *branches]))]
    else:
        line = []
        if is_user(namespace):
            _check_user_tags(tags)
        else:
            wanted += configured
    return both(within(namespace), *line, *map(has, dict.fromkeys(wanted)))


def _check_user_tags(tags: Iterable[str]) -> None:
    for tag in tags:
        if tag.startswith(_OF_PROJECTS):
            raise InvalidInput("tags", f"{tag} is for projects; a user's memories belong to no branch")


def _check_project_tag(tag: str) -> None:
    if tag.startswith(_VOLATILE):
        raise InvalidInput("tags", f"{tag} changes with every run; it belongs into the provenance")
    if not re.fullmatch(_PROJECT, tag):
        raise InvalidInput(
            "tags",
            f"{tag} is none that a project's memory may have: branch:…, stream:…, scope:main, scope:branch, "
            "source:chat, source:run, source:reflection, source:import",
        )


def _project_tags(tags: list[str]) -> list[str]:
    for tag in tags:
        _check_project_tag(tag)
    branches = [tag for tag in tags if tag.startswith("branch:")]
    scopes = [tag for tag in tags if tag.startswith("scope:")]
    for named in (branches, scopes):
        if len(named) > 1:
            raise InvalidInput("tags", f"{' and '.join(named)} contradict each other; give one of them")
    derived = BRANCH if branches and branches != ["branch:main"] else MAIN
    if scopes and scopes != [derived]:
        why = f"contradicts {branches[0]}" if branches else "needs a branch:… beside it"
        raise InvalidInput("tags", f"{scopes[0]} {why}; leave the scope out, and it is derived")
    found = tags if scopes else [*tags, derived]
    _check_number(found)
    return found


def _check_number(tags: list[str]) -> None:
    if len(tags) > MAX_TAGS:
        raise InvalidInput("tags", f"are {len(tags)}; at most {MAX_TAGS} are allowed")


def tag_filter(tags: Iterable[str], match: str, where: Any) -> tuple[tuple[str, ...], Condition | None]:
    """Return the tags that a memory must have, and what else its tags must be; raises InvalidInput."""
    found = check_tags(tags)
    if match == "all_strict" and where is None:
        return tuple(found), None
    from foldlog.projections import condition

    if where is not None and not isinstance(where, condition.Condition):
        where = condition.parse(where)
    parts = [condition.matching(found, match), where]
    given = [part for part in parts if part is not None]
    return (), condition.both(*given) if given else None
