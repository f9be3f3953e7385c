"""Pages of named things, and how Batch speaks of what the service model forbids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from statewright.api import shapes
from statewright.errors import ApiError
from statewright.jobs.batch_definitions import refused
from statewright.payload import Json

MOST_LISTED: Final = 100


def page(name: str, found: Sequence[dict[str, Any]], key: str, request: Mapping[str, Json]) -> Json:
    """A page of views as answers show it; a page's token is the key of its last view. Raises: ApiError."""
    limit, token, start = request.get("maxResults") or MOST_LISTED, request.get("nextToken"), 0
    if limit < 0:
        raise refused("maxResults must not be negative.")
    if token:
        start = next((number + 1 for number, one in enumerate(found) if one[key] == token), -1)
        if start < 0:
            raise refused("Invalid nextToken.")
    shown = list(found[start : start + limit])
    return {name: shown, "nextToken": shown[-1][key] if start + limit < len(found) else None}


def _refusal(problems: shapes.Problems) -> ApiError:
    return refused(f"Error executing request, Exception : {shapes.problem_text(problems)}")


shapes.refuse_with("batch", _refusal)
