"""Sends batches of log records to a collector, one at a time, until each is accepted or refused.

One sender serves the systems of all regions and accounts. Each batch has a thread for as long as it takes, one at a
time; the event loop never waits for the collector, and neither does the end of the process.

1. An answer of 2xx ends a batch. Records that it reports as rejected are dropped.
2. After 429, 502, 503, 504, or without an answer, the batch is sent again, after pauses that double, or the one that
   `Retry-After` asks for. Later batches wait, and with them their readers: the log files are the buffer.
3. Any other answer drops the batch, which would be refused again.

The log has one line when the collector goes away or begins to refuse, and one when it accepts records again.
Source: OTLP specification, "OTLP/HTTP Response", "Retryable Response Codes", "OTLP/HTTP Throttling".
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final, TypeVar

from statewright.clock import Clock
from statewright.integrations.http_client import HttpClient
from statewright.integrations.http_requests import Client, NoAnswer, Request, Response
from statewright.log_export.settings import Destination

RETRYABLE: Final = frozenset({429, 502, 503, 504})
FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 60_000
LONGEST_ASKED_MS: Final = 600_000
"""Longest pause that a collector can ask for."""
SECONDS: Final = 10.0
"""Source: OTLP exporter configuration, the default of OTEL_EXPORTER_OTLP_TIMEOUT."""
ANSWER_BYTES: Final = 65_536
MOST_QUOTED: Final = 200

EXPORTING: Final = "exporting"
AWAY: Final = "away"
REFUSED: Final = "refused"

T = TypeVar("T")

log = logging.getLogger("statewright.logs")


class Sender:
    """The way to one collector. `state` is `EXPORTING`, `AWAY` or `REFUSED`.

    `exported`, `dropped` and `gaps` count since the start. `is_too_slow` is set if a stop could not wait for an
    answer.
    """

    def __init__(self, destination: Destination, clock: Clock, client: Client | None = None) -> None:
        self.destination: Final = destination
        self.state = EXPORTING
        self.exported = 0
        self.dropped = 0
        self.gaps = 0
        self.is_too_slow = False
        self._clock = clock
        self._client = client
        self._one_at_a_time = asyncio.Lock()
        self._has_told_of_gap = False

    @property
    def is_up(self) -> bool:
        """True while the collector accepts records."""
        return self.state == EXPORTING

    @property
    def is_away(self) -> bool:
        """True since the collector last failed to take a batch, until it answers one."""
        return self.state == AWAY

    async def send(self, encode: Callable[[], bytes], count: int) -> None:
        """Send a batch of `count` records; returns once it was accepted or refused. The thread encodes it."""
        async with self._one_at_a_time:
            body = await self._in_thread(encode)
            pause_ms, attempts = FIRST_PAUSE_MS, 0
            while True:
                attempts += 1
                try:
                    answer = await self._in_thread(lambda: self._post(body))
                except NoAnswer as problem:
                    if attempts == 1 and isinstance(problem.cause, ConnectionError):
                        # Collectors close connections that were idle.
                        continue
                    self._away(str(problem))
                    wait_ms = pause_ms
                except ValueError as problem:
                    # The library cannot use the address, for one because a part of its host is too long.
                    self._away(str(problem))
                    wait_ms = pause_ms
                else:
                    if answer.status not in RETRYABLE:
                        self._ended(answer, count)
                        return
                    self._away(f"it answers {_said(answer)}")
                    wait_ms = _asked_ms(answer, self._clock.now_ms()) or pause_ms
                await self._clock.sleep_until(self._clock.now_ms() + wait_ms)
                pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)

    def note_gap(self, group: str, count: int) -> None:
        """Count files of a group that were deleted before they were exported, and log the first of an outage."""
        self.gaps += count
        if not self._has_told_of_gap:
            self._has_told_of_gap = True
            log.warning(
                "log files of %s were deleted, as they are when they have grown, before all of their events were "
                "exported to %s; further ones are only counted", group, self.destination.url,
            )  # fmt: skip

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """The result of some work. Its thread ends with the process: what it sends then is sent again later."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def settle(found: Callable[[], None]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(lambda: None if result.done() else found())

        def run() -> None:
            try:
                found = work()
            except BaseException as problem:
                settle(partial(result.set_exception, problem))
            else:
                settle(partial(result.set_result, found))

        # Virtual time stands still while the collector has the request.
        with self._clock.busy():
            threading.Thread(target=run, name="statewright-otlp", daemon=True).start()
            return await result

    def _post(self, body: bytes) -> Response:
        if self._client is None:
            self._client = HttpClient()
        headers = {**self.destination.headers, "Content-Type": "application/json", "Content-Encoding": "gzip"}
        return self._client.send(Request("POST", self.destination.url, headers, body), ANSWER_BYTES, SECONDS)

    def _away(self, why: str) -> None:
        if self.state != AWAY:
            log.warning("logs cannot be exported to %s for now, and wait in their files: %s", self.destination.url, why)
            self._has_told_of_gap = False
        self.state = AWAY

    def _ended(self, answer: Response, count: int) -> None:
        if 200 <= answer.status < 300:
            rejected, why = _rejected(answer, count)
            reason = f"it rejects records: {why}"
        else:
            rejected, reason = count, f"it answers {_said(answer)}"
        self.exported += count - rejected
        self.dropped += rejected
        before, self.state = self.state, REFUSED if rejected else EXPORTING
        if rejected and before != REFUSED:
            log.warning("log records are dropped, because %s refuses them: %s", self.destination.url, reason)
        elif not rejected and before != EXPORTING:
            log.info("logs are exported to %s again", self.destination.url)


def _asked_ms(answer: Response, now_ms: int) -> int | None:
    """The pause that an answer asks for, in seconds or up to an instant; None without one."""
    value = next((values[0].strip() for name, values in answer.headers.items() if name.lower() == "retry-after"), "")
    if value.isascii() and value.isdigit():
        asked = int(value[:9]) * 1_000
    else:
        try:
            asked = round(parsedate_to_datetime(value).timestamp() * 1_000) - now_ms
        except (ValueError, OverflowError):
            return None
    return min(max(asked, 1), LONGEST_ASKED_MS)


def _rejected(answer: Response, count: int) -> tuple[int, str]:
    """How many records an answer reports as rejected, and why."""
    try:
        told = json.loads(answer.body)["partialSuccess"]
        return min(max(int(told["rejectedLogRecords"]), 0), count), str(told.get("errorMessage", ""))[:MOST_QUOTED]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Most answers have no such member, and some collectors answer in another form.
        return 0, ""


def _said(answer: Response) -> str:
    text = answer.body[:MOST_QUOTED].decode("utf-8", "replace").strip()
    printable = "".join(character if character.isprintable() else " " for character in text)
    return f"{answer.status} {answer.reason}{f' ({printable})' if printable else ''}"
