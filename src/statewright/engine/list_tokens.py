"""Page tokens of the lists of Step Functions: bound to the arguments of the call, and good for a day."""

from __future__ import annotations

from typing import Final, cast

from statewright import pages
from statewright.errors import ApiError

LIFETIME_MS: Final = 24 * 3600 * 1000
"""Source: API reference, `nextToken`: "expires after 24 hours"."""
DEFAULT_RESULTS: Final = 100
"""Source: API reference, `maxResults`: "The default is 100"; 0 stands for it."""

Place = tuple[int, str]


def page_size(max_results: int | None) -> int:
    """How many entries a page has; the service model has refused what is out of range."""
    return max_results or DEFAULT_RESULTS


def write_token(scope: str, place: Place | None, now_ms: int) -> str | None:
    """A token for the entries after a place; none for the end. `scope` names the list, arguments and all."""
    if place is None:
        return None
    return pages.write_token(scope, [place[0], place[1], now_ms])


def read_token(scope: str, token: str | None, now_ms: int) -> Place | None:
    """The place that a token of this list stands for.

    Raises: ApiError (`InvalidToken`) for garbage, a token of another list, or one older than a day.
    """
    if token is None:
        return None
    try:
        sort, key, issued_ms = cast(tuple[int, str, int], pages.read_token(scope, token))
    except ValueError:
        raise invalid_token() from None
    if now_ms - issued_ms > LIFETIME_MS:
        raise invalid_token()
    return sort, key


def invalid_token() -> ApiError:
    """The service's answer to a token that it does not know (observed)."""
    return ApiError("InvalidToken", "Invalid Token: 'Invalid token'")
