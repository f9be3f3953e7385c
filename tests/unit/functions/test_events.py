"""Event invocations in virtual time: retries, age, throttles, reports, and recovery by a new process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from statewright.config import Config
from statewright.functions.definitions import Code
from statewright.functions.event_records import EVENT
from statewright.functions.functions import Functions
from statewright.functions.invoke import Invocation, Target
from statewright.functions.outcomes import Invoked
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.functions.running import ARN, ROLE, zipped

T = TypeVar("T")

QUEUE = "arn:aws:sqs:us-east-1:000000000000:reports"
LETTERS = "arn:aws:sqs:us-east-1:000000000000:letters"
FAILED = b'{"errorMessage": "no", "errorType": "ValueError"}'


class Bench:
    """Functions whose handler is a list of answers; says when it was run, and what was delivered."""

    def __init__(self, clock: VirtualClock, store: MemoryStore) -> None:
        self.clock = clock
        self.store = store
        self.answers: list[bytes | None] = []
        self.runs: list[tuple[float, bytes]] = []
        self.delivered: list[tuple[str, Any, dict[str, tuple[str, str]]]] = []
        self.refuse = 0
        self.functions = self.open()

    def open(self) -> Functions:
        functions = Functions(
            self.store, self.clock, Config(), None, endpoint=lambda: "http://127.0.0.1:1", deliver=self.deliver
        )
        functions.invoker.run_admitted = self.run  # type: ignore[method-assign]
        self.functions = functions
        return functions

    def seconds(self) -> float:
        return (self.clock.now_ms() - self.clock.start_ms) / 1000

    async def run(self, target: Target, call: Invocation) -> Invoked:
        self.runs.append((self.seconds(), call.payload))
        failed = self.answers.pop(0) if self.answers else None
        return Invoked(200, failed or b'"done"', "Unhandled" if failed else None, None, "$LATEST", call.request_id)

    async def deliver(self, arn: str, body: bytes, attributes: dict[str, tuple[str, str]]) -> None:
        if self.refuse:
            self.refuse -= 1
            raise RuntimeError("not now")
        self.delivered.append((arn, json.loads(body), attributes))

    async def create(self, **settings: Any) -> None:
        given = {"Runtime": "python3.11", "Handler": "app.handler", "Role": ROLE, **settings}
        await self.functions.definitions.create("f", given, Code(zip=zipped(app__py="")))

    async def send(
        self, payload: bytes = b'{"n": 1}', request_id: str = "r-1", qualifier: str | None = None
    ) -> Invoked:
        return await self.functions.invoke("f", payload, kind="Event", request_id=request_id, qualifier=qualifier)

    async def quiet(self) -> None:
        """Wait, in virtual time, until nothing waits any more."""
        while self.functions.events.count:
            await self.clock.sleep_until(self.clock.now_ms() + 500)

    async def kept(self) -> int:
        found = await self.store.catalogue.list_entries(EVENT.name, "", after=None, limit=100, newest_first=False)
        return len(found)


def on_bench(test: Callable[[Bench], Awaitable[T]]) -> T:
    async def main(clock: VirtualClock) -> T:
        store = MemoryStore()
        await store.open("tests")
        bench = Bench(clock, store)
        try:
            await bench.functions.start()
            return await test(bench)
        finally:
            await bench.functions.stop()

    return run_virtual(main)


def test_an_event_is_kept_before_it_is_accepted_and_gone_after_its_end():
    async def test(bench):
        await bench.create()
        accepted = await bench.send()
        kept = await bench.kept()
        await bench.quiet()
        return accepted.status, kept, bench.runs, await bench.kept()

    assert on_bench(test) == (202, 1, [(0.0, b'{"n": 1}')], 0)


def test_a_failed_event_is_tried_again_after_one_and_two_minutes():
    async def test(bench):
        await bench.create(DeadLetterConfig={"TargetArn": LETTERS})
        await bench.functions.event_settings.put(
            "f", None, {"DestinationConfig": {"OnFailure": {"Destination": QUEUE}}}, keep=False
        )
        bench.answers = [FAILED] * 9
        await bench.send()
        await bench.quiet()
        return [at for at, _ in bench.runs], bench.delivered, await bench.kept()

    runs, delivered, kept = on_bench(test)
    assert runs == [0.0, 60.0, 180.0]
    assert kept == 0
    letter, record = delivered
    assert letter == (
        LETTERS,
        {"n": 1},
        {"RequestID": ("String", "r-1"), "ErrorCode": ("Number", "200"), "ErrorMessage": ("String", "no")},
    )
    assert record[0] == QUEUE
    assert record[1] == {
        "version": "1.0",
        "timestamp": "2026-01-01T00:03:00.000Z",
        "requestContext": {
            "requestId": "r-1",
            "functionArn": f"{ARN}f:$LATEST",
            "condition": "RetriesExhausted",
            "approximateInvokeCount": 3,
        },
        "requestPayload": {"n": 1},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": "no", "errorType": "ValueError"},
    }


def test_a_success_is_reported():
    async def test(bench):
        await bench.create()
        await bench.functions.event_settings.put(
            "f", None, {"DestinationConfig": {"OnSuccess": {"Destination": QUEUE}}}, keep=False
        )
        bench.answers = [FAILED, None]
        await bench.send()
        await bench.quiet()
        return bench.delivered

    ((_, record, attributes),) = on_bench(test)
    assert attributes == {}
    assert record["requestContext"]["condition"] == "Success"
    assert record["requestContext"]["approximateInvokeCount"] == 2
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST"}
    assert record["responsePayload"] == "done"


@pytest.mark.parametrize(("retries", "runs"), [(0, 1), (1, 2), (2, 3)])
def test_retries_are_as_configured(retries, runs):
    async def test(bench):
        await bench.create()
        await bench.functions.event_settings.put("f", None, {"MaximumRetryAttempts": retries}, keep=False)
        bench.answers = [FAILED] * 9
        await bench.send()
        await bench.quiet()
        return len(bench.runs)

    assert on_bench(test) == runs


def test_an_event_that_is_too_old_is_not_run_again():
    async def test(bench):
        await bench.create()
        await bench.functions.event_settings.put(
            "f", None,
            {"MaximumEventAgeInSeconds": 100, "DestinationConfig": {"OnFailure": {"Destination": QUEUE}}}, keep=False,
        )  # fmt: skip
        bench.answers = [FAILED] * 9
        await bench.send()
        await bench.quiet()
        return [at for at, _ in bench.runs], bench.delivered[0][1]["requestContext"]["condition"]

    assert on_bench(test) == ([0.0, 60.0], "EventAgeExceeded")


def test_settings_are_those_of_the_qualifier():
    async def test(bench):
        await bench.create()
        await bench.functions.aliases.create("f", "live", "$LATEST")
        await bench.functions.event_settings.put("f", "live", {"MaximumRetryAttempts": 0}, keep=False)
        bench.answers = [FAILED] * 9
        await bench.send(qualifier="live")
        await bench.quiet()
        return len(bench.runs)

    assert on_bench(test) == 1


def test_events_of_a_function_without_room_wait_in_order():
    async def test(bench):
        await bench.create()
        await bench.functions.definitions.reserve("f", 1)
        concurrency = bench.functions.invoker.concurrency
        concurrency.enter("f")
        for number in range(5):
            await bench.send(str(number).encode(), f"r-{number}")
        await bench.clock.sleep_until(bench.clock.now_ms() + 60_000)
        before = list(bench.runs)
        concurrency.leave("f")
        await bench.quiet()
        return before, [payload for _, payload in bench.runs], bench.runs[0][0]

    assert on_bench(test) == ([], [b"0", b"1", b"2", b"3", b"4"], 60.0)


def test_a_function_with_no_concurrency_at_all_reports_at_once():
    async def test(bench):
        await bench.create(DeadLetterConfig={"TargetArn": LETTERS})
        await bench.functions.definitions.reserve("f", 0)
        await bench.send()
        await bench.quiet()
        return bench.runs, [arn for arn, _, _ in bench.delivered], bench.seconds() < 2

    assert on_bench(test) == ([], [LETTERS], True)


def test_the_same_request_twice_is_one_event():
    async def test(bench):
        await bench.create()
        first = await bench.send()
        second = await bench.send()
        await bench.quiet()
        return first.status, second.status, len(bench.runs)

    assert on_bench(test) == (202, 202, 1)


def test_a_new_process_recovers_waiting_events_with_their_attempts():
    async def test(bench):
        await bench.create()
        bench.answers = [FAILED] * 9
        await bench.send()
        await bench.clock.sleep_until(bench.clock.now_ms() + 30_000)
        await bench.functions.stop()
        await bench.open().start()
        await bench.quiet()
        return [at for at, _ in bench.runs], await bench.kept()

    assert on_bench(test) == ([0.0, 60.0, 180.0], 0)


def test_a_report_that_cannot_be_delivered_is_tried_again_and_runs_nothing():
    async def test(bench):
        await bench.create()
        await bench.functions.event_settings.put(
            "f", None, {"DestinationConfig": {"OnSuccess": {"Destination": QUEUE}}}, keep=False
        )
        bench.refuse = 2
        await bench.send()
        await bench.clock.sleep_until(bench.clock.now_ms() + 100)
        kept = await bench.kept()
        await bench.functions.stop()
        await bench.open().start()
        await bench.quiet()
        return kept, len(bench.runs), len(bench.delivered), await bench.kept()

    assert on_bench(test) == (1, 1, 1, 0)


def test_events_of_a_deleted_function_are_dropped():
    async def test(bench):
        await bench.create()
        bench.answers = [FAILED] * 9
        await bench.send()
        await bench.clock.sleep_until(bench.clock.now_ms() + 1_000)
        await bench.functions.definitions.delete("f")
        await bench.quiet()
        return len(bench.runs), await bench.kept()

    assert on_bench(test) == (1, 0)


def test_thousands_of_events_wait_without_their_payloads():
    async def test(bench):
        await bench.create()
        await bench.functions.definitions.reserve("f", 3)
        concurrency = bench.functions.invoker.concurrency
        for _ in range(3):
            concurrency.enter("f")
        for number in range(3_000):
            await bench.send(b"1", f"r-{number}")
        for _ in range(3):
            concurrency.leave("f")
        await bench.quiet()
        return len(bench.runs), await bench.kept()

    assert on_bench(test) == (3_000, 0)
