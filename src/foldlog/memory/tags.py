"""Tags: free labels of a memory that searches can filter by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from foldlog.errors import InvalidInput
from foldlog.names import check_name

MAX_TAGS: Final = 16

#: Longest tag, in characters.
MAX_TAG: Final = 128


def check_tags(tags: Iterable[str]) -> list[str]:
    """Return the distinct tags in the order given; raises InvalidInput."""
    if isinstance(tags, str):
        raise InvalidInput("tags", f"must be a list of strings, not the string {tags!r}")
    found = list(dict.fromkeys(check_name(tag, f"tags[{index}]") for index, tag in enumerate(tags)))
    if len(found) > MAX_TAGS:
        raise InvalidInput("tags", f"are {len(found)}; at most {MAX_TAGS} are allowed")
    for tag in found:
        if len(tag) > MAX_TAG:
            raise InvalidInput(
                "tags", f"{tag[:20]}… has {len(tag)} characters; at most {MAX_TAG} are allowed"
            )
    return found
