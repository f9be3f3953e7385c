"""Pages of lists, and Batch's refusal of requests that violate the service model."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from statewright.api import shapes
from statewright.errors import ApiError
from statewright.jobs.batch_definitions import refused
from statewright.pages import page_behind
from statewright.payload import Json, JsonMapping, JsonObject

MOST_LISTED: Final = 100


def page(name: str, found: Sequence[JsonObject], key: str, request: JsonMapping) -> Json:
    """A page of views as answers show it; a page's token is the key of its last view. Raises: ApiError."""
    limit = request.get("maxResults") or MOST_LISTED
    if limit < 0:
        raise refused("maxResults must not be negative.")
    try:
        shown, token = page_behind(found, itemgetter(key), request.get("nextToken") or None, limit)
    except ValueError:
        raise refused("Invalid nextToken.") from None
    return {name: list(shown), "nextToken": token}


def _refusal(problems: shapes.Problems) -> ApiError:
    return refused(f"Error executing request, Exception : {shapes.problem_text(problems)}")


shapes.refuse_with("batch", _refusal)
