"""Paths of REST APIs: the rules for a part of a path among its siblings.

Source: recorded texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from statewright.apis.errors import bad_request, conflict

_PART: Final = re.compile(r"[a-zA-Z0-9._:-]+|\{[a-zA-Z0-9._:-]+\+?\}")


def check_part(part: str, parent_part: str, siblings: Collection[str]) -> None:
    """Check the path part of a resource, below a parent with the part and children given. Raises: ApiError."""
    if _PART.fullmatch(part) is None:
        raise bad_request(
            "Resource's path part only allow a-zA-Z0-9._-: or a valid greedy path variable and curly braces at the "
            "beginning and the end."
        )
    if parent_part.endswith("+}"):
        raise bad_request(f"Cannot create a child of a resource with a greedy path variable: {parent_part}")
    if part in siblings:
        raise conflict(f"Another resource with the same parent already has this name: {part}")
    variable = next((one for one in siblings if one.startswith("{")), None) if part.startswith("{") else None
    if variable is not None:
        raise bad_request(
            f"A sibling ({variable}) of this resource already has a variable path part -- only one is allowed"
        )
