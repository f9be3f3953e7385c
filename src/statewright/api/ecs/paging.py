"""Pages of ARNs, and ECS's refusal of requests that violate the service model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.api import shapes
from statewright.errors import ApiError
from statewright.jobs.ecs_definitions import invalid
from statewright.pages import page_behind
from statewright.payload import Json, JsonMapping

MOST_LISTED: Final = 100
"""Source: ECS API reference, maxResults of the lists."""


def page(name: str, found: Sequence[str], request: JsonMapping) -> Json:
    """A page of names as answers show it; a page's token is the last name on it. Raises: ApiError."""
    limit = request.get("maxResults")
    limit = MOST_LISTED if limit is None else limit
    if not 1 <= limit <= MOST_LISTED:
        raise invalid(f"maxResults must be between 1 and {MOST_LISTED}.")
    try:
        shown, token = page_behind(found, str, request.get("nextToken") or None, limit)
    except ValueError:
        raise invalid("Invalid token") from None
    return {name: list(shown), "nextToken": token}


def _refusal(problems: shapes.Problems) -> ApiError:
    return invalid(shapes.problem_text(problems))


shapes.refuse_with("ecs", _refusal)
