"""Which executions a list shows: the filters of an address, read once, and the places of a list.

Status, machine and time of start are bounds of an index. How long one took, how long it has waited and a search need a
look at rows, which `search` does in slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statewright.api.operations import App
from statewright.arn import parse_arn
from statewright.console.lists.conditions import Query, parse
from statewright.engine.machines.records import Machine
from statewright.errors import ApiError
from statewright.stores.protocol import STATUSES, Started

FAILED: Final = ("FAILED", "TIMED_OUT", "ABORTED")
_LONGEST_SEARCH: Final = 1_000
_MACHINES_A_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Filters:
    """The executions of `machines` that started from `since_ms` to `until_ms`; of `statuses`, all if empty. The last
    three need a look at rows: the least time that one took or has run for, the least time since its last event, and a
    search.
    """

    machines: tuple[int, ...]
    statuses: tuple[str, ...] = ()
    since_ms: int = 0
    until_ms: int | None = None
    took_ms: int = 0
    waiting_ms: int = 0
    query: Query | None = None

    @property
    def needs_a_look(self) -> bool:
        """True if the indexes do not answer."""
        return bool(self.took_ms or self.waiting_ms or self.query is not None)

    def begin(self, after: Started | None, now_ms: int) -> Started | None:
        """The place before the first row: behind the latest start that may be shown, or where the last page ended."""
        bounds = [after] if after is not None else []
        if self.until_ms is not None:
            bounds.append((self.until_ms + 1, -1))
        if self.waiting_ms:
            bounds.append((now_ms - self.waiting_ms + 1, -1))
        return min(bounds, default=None)


async def all_machines(app: App) -> list[Machine]:
    """All state machines of a region, by name."""
    found: list[Machine] = []
    token: str | None = None
    while True:
        page, token = await app.engine.machines.list_machines(token, _MACHINES_A_PAGE)
        found += page
        if token is None:
            return found


async def filters_of(app: App, given: Mapping[str, str]) -> Filters:
    """The filters of a query: `status` (or `failed` for every kind of failure), `machine` (its ARN), `since`, `until`
    and `within` (epoch milliseconds, and milliseconds before now), `took`, `waiting` (milliseconds), `q`.

    Raises: ApiError (`BadRequest`, `BadQuery`, or that there is no such machine).
    """
    now_ms = app.clock.now_ms()
    statuses = _statuses(given.get("status", ""))
    if given.get("machine"):
        arn = given["machine"]
        machines = [(await app.engine.catalogue.existing(parse_arn(arn).machine, shown=arn)).id]
    else:
        machines = [one.id for one in await all_machines(app)]
    since_ms = whole(given, "since", 0)
    within_ms = whole(given, "within", 0)
    until = given.get("until")
    waiting_ms = whole(given, "waiting", 0)
    text = given.get("q", "").strip()
    if len(text) > _LONGEST_SEARCH:
        raise ApiError("BadQuery", f"A search has at most {_LONGEST_SEARCH} characters.")
    if waiting_ms:
        if statuses not in ((), ("RUNNING",)):
            raise ApiError("BadRequest", "Only running executions wait. Choose the status Running, or any.")
        statuses = ("RUNNING",)
    return Filters(
        tuple(machines),
        statuses,
        max(since_ms, now_ms - within_ms if within_ms else 0),
        whole(given, "until", 0) if until else None,
        whole(given, "took", 0),
        waiting_ms,
        parse(text) if text else None,
    )


def _statuses(status: str) -> tuple[str, ...]:
    if status == "failed":
        return FAILED
    if status and status not in STATUSES:
        raise ApiError("BadRequest", f"There is no status {status[:40]}. Statuses: {', '.join(STATUSES)}.")
    return (status,) if status else ()


def whole(given: Mapping[str, str], name: str, default: int) -> int:
    """A whole number of a query that is not negative. Raises: ApiError (`BadRequest`)."""
    value = given.get(name) or ""
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise ApiError("BadRequest", f"{name} must be a whole number: {value[:40]}")
    return int(value)


def place_of(given: Mapping[str, str]) -> Started | None:
    """The place that a cursor names. Raises: ApiError (`BadRequest`)."""
    value = given.get("cursor")
    if not value:
        return None
    parts = value.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ApiError("BadRequest", "The cursor is not one that the console gave.")
    return int(parts[0]), int(parts[1])


def cursor_of(place: Started) -> str:
    """A place as a cursor."""
    return f"{place[0]}.{place[1]}"
