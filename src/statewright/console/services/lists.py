"""Pages of lists that are in memory: filtered by name, cut after a row, with the cursor of what follows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import Final, TypeVar

from statewright.console.asked import Asked, Given, number
from statewright.errors import ApiError

T = TypeVar("T")

PAGE: Final = 50
MOST: Final = 100
LONGEST: Final = 200
"""Characters of a filter that count."""

log = logging.getLogger("statewright.console")


def filtered(given: Given) -> str:
    """The text that names must have, in lower case; empty for all."""
    return given.get("q", "").strip().lower()[:LONGEST]


def page_size(given: Given) -> int:
    """How many rows a request wants. Raises: ApiError."""
    return max(1, min(number(given, "limit", PAGE), MOST))


def page_of(rows: Iterable[T], name_of: Callable[[T], str], given: Given) -> tuple[list[T], str | None]:
    """The page that a query asks for, in the order of names: rows after `cursor` whose name has `q`, at most `limit`;
    and the cursor of the next page, if there is one.

    Raises: ApiError.
    """
    text, after, most = filtered(given), given.get("cursor", ""), page_size(given)
    named = ((name_of(one), one) for one in rows)
    left = (pair for pair in named if (not after or pair[0] > after) and text in pair[0].lower())
    # There may be very many, of which a page is sorted.
    found = nsmallest(most + 1, left, key=itemgetter(0))
    return [one for _, one in found[:most]], found[most - 1][0] if len(found) > most else None


def newest_of(rows: Iterable[T], place_of: Callable[[T], tuple[int, str]], given: Given) -> tuple[list[T], str | None]:
    """As `page_of`, newest first, without a filter: `place_of` is the instant and the id of a row. Raises: ApiError."""
    most = page_size(given)
    instant, _, id_ = given.get("cursor", "").partition(":")
    if instant:
        after = number({"cursor": instant}, "cursor", 0), id_
        rows = (one for one in rows if place_of(one) < after)
    found = nlargest(most + 1, rows, key=place_of)
    last = place_of(found[most - 1]) if len(found) > most else None
    return found[:most], f"{last[0]}:{last[1]}" if last is not None else None


def begin_write(asked: Asked, what: str) -> None:
    """Note in the log that a caller changes something by an action of the console. Raises: ApiError for one that may
    only read.
    """
    if not asked.caller.may_write:
        raise ApiError("AccessDenied", f"This sign-in may only read, and this changes something: {what}.", status=403)
    # A name of the request may hold anything, and a line of the log is one line.
    line = what if what.isprintable() else ascii(what)
    log.info("%s by %s in the console, request %s", line, asked.caller.name, asked.request_id)
