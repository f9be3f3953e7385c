"""Pages of executions and of history events, with the tokens between them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from statewright.arn import MACHINE, parse_arn
from statewright.clock import Clock
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView, Head, view_of
from statewright.engine.list_tokens import read_token, write_token
from statewright.interpreter.history import HistoryEvent
from statewright.limits import Limits
from statewright.payload import Json
from statewright.stores.protocol import ExecutionStore, HistoryPage, Row, Started, Thin

_PAGES_AT_ONCE: Final = 64


class Listing:
    """Shows the executions of a store; `deleting` are the machines whose executions cannot be redriven."""

    def __init__(self, store: ExecutionStore, clock: Clock, limits: Limits, deleting: Container[int]) -> None:
        """`limits` are those of STANDARD executions."""
        self._clock = clock
        self._store = store
        self._limits = limits
        self._deleting = deleting

    def view(self, row: Row) -> ExecutionView:
        """The view of a row."""
        return view_of(row, self._clock.now_ms(), self._limits, deleting=row.machine in self._deleting)

    async def page(
        self,
        parent: int,
        arn: str,
        *,
        qualifier: str | None,
        status: str | None,
        redrive_filter: str | None,
        token: str | None,
        limit: int,
    ) -> tuple[list[ExecutionView], str | None]:
        """Executions of a machine or Map Run. `qualifier`: only those started by this version or alias ARN.

        Raises: ApiError (`InvalidToken`).
        """
        scope = f"executions {arn} {status} {redrive_filter}"
        now_ms = self._clock.now_ms()
        place = read_token(scope, token, now_ms)
        after = (place[0], int(place[1])) if place is not None else None
        views: list[ExecutionView] = []
        while True:
            page = await self._store.list_rows(parent, status=status, after=after, limit=limit - len(views))
            for row in page.rows:
                if qualifier is not None and not _started_by(Head.decode(row.head), qualifier):
                    continue
                view = self.view(row)
                if redrive_filter is not None and (view.redrive_count > 0) != (redrive_filter == "REDRIVEN"):
                    continue
                views.append(view)
            if page.next is None:
                return views, None
            last = page.rows[-1]
            if len(views) >= limit:
                return views, write_token(scope, (last.started_ms, str(last.id)), now_ms)
            after = page.next

    async def history(
        self, execution: int, arn: str, *, token: str | None, limit: int, reverse: bool, with_data: bool
    ) -> tuple[list[dict[str, Json]], str | None]:
        """History events by id, or by id downwards. Raises: ApiError (`InvalidToken`)."""
        scope = f"history {arn} {reverse}"
        now_ms = self._clock.now_ms()
        place = read_token(scope, token, now_ms)
        at = place[0] if place is not None else 0 if reverse else 1
        found: list[HistoryEvent] = []
        while len(found) <= limit:
            wanted = min(_PAGES_AT_ONCE, limit + 1 - len(found))
            pages = await self._store.history(execution, first=at, pages=wanted, reverse=reverse)
            for page in pages:
                events = decode_page(page)
                if reverse:
                    found += [event for event in reversed(events) if not at or event.id <= at]
                else:
                    found += [event for event in events if event.id >= at]
            if len(pages) < wanted or not found:
                break
            at = found[-1].id + (-1 if reverse else 1)
            if at == 0:
                break
        shown = [event.to_api(with_data=with_data) for event in found[:limit]]
        following = write_token(scope, (found[limit].id, ""), now_ms) if len(found) > limit else None
        return shown, following

    async def history_pages(self, execution: int, *, first: int = 1) -> list[HistoryPage]:
        """The stored pages of a history, from the one that holds an event on; a long one takes long to decode."""
        found: list[HistoryPage] = []
        while True:
            pages = await self._store.history(execution, first=first, pages=_PAGES_AT_ONCE, reverse=False)
            found += pages
            if len(pages) < _PAGES_AT_ONCE:
                return found
            first = pages[-1].first + pages[-1].count

    async def thin_rows(
        self,
        machines: Sequence[int],
        *,
        statuses: Sequence[str] = (),
        after: Started | None = None,
        since_ms: int = 0,
        limit: int,
        oldest_first: bool = False,
    ) -> list[Thin]:
        """Executions of several machines as one list by start; see `ExecutionStore.thin_rows`."""
        return await self._store.thin_rows(
            machines, statuses=statuses, after=after, since_ms=since_ms, limit=limit, oldest_first=oldest_first
        )

    async def newest(
        self, machine: int, limit: int, *, status: str | None = None, after: Started | None = None
    ) -> list[Row]:
        """The executions of one machine, newest first, from a place on; fewer than the limit at their end."""
        found: list[Row] = []
        while len(found) < limit:
            page = await self._store.list_rows(machine, status=status, after=after, limit=limit - len(found))
            found += page.rows
            if page.next is None:
                break
            after = page.next
        return found

    async def rows(self, executions: Sequence[int]) -> list[Row]:
        """The rows of these executions in this order, without those that are gone."""
        return await self._store.rows(executions)

    async def last_event_ms(self, execution: int) -> int | None:
        """When the last history event of an execution was written; `None` for one without a history."""
        pages = await self._store.history(execution, first=0, pages=1, reverse=True)
        return pages[0].at_ms if pages else None


def _started_by(head: Head, qualifier: str) -> bool:
    if parse_arn(qualifier, MACHINE).is_version:
        return head.version_arn == qualifier
    return head.alias_arn == qualifier
