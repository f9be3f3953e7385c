"""Pollers of streams on virtual time: real tables, a mapping's position, and a function that is only a coroutine."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from statewright.config import Config
from statewright.errors import ApiError, Unavailable
from statewright.functions.event_sources.records import MappingRecord
from statewright.functions.event_sources.streams.events import first_failed
from statewright.functions.event_sources.streams.function import FunctionConsumer, reading_of
from statewright.functions.event_sources.streams.poller import StreamPoller
from statewright.functions.event_sources.streams.position import POSITION, Position
from statewright.functions.event_sources.streams.progress import Progress
from statewright.functions.event_sources.streams.settings import StreamSettings
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore
from statewright.tables.tables import Tables
from statewright.tables.writes import put_of
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.functions.queue_bench import FUNCTION_ARN, FakeFunctions
from tests.unit.tables.rig import new_table

QUEUE = "arn:aws:sqs:us-east-1:000000000000:lost"
BUCKET = "arn:aws:s3:::lost"


def names_in(event: Any) -> str:
    return "".join(one["dynamodb"]["Keys"]["id"]["S"] for one in event["Records"])


def failing_on(bad: str) -> Callable[[Any], Awaitable[None]]:
    async def handler(event: Any) -> None:
        if bad in names_in(event):
            raise RuntimeError(bad)

    return handler


class Bench:
    """A table with a stream, and a mapping of it that can be restarted."""

    def __init__(self, clock: VirtualClock, handler: Any) -> None:
        self.clock = clock
        self.store = MemoryStore()
        self.tables = Tables(self.store, clock, Config())
        self.functions = FakeFunctions(clock, handler)
        self.entries = Entries(self.store.catalogue, POSITION)
        self.reports: list[tuple[str, dict[str, Any], str]] = []
        self.poller: StreamPoller | None = None

    async def open(self) -> None:
        await self.store.open("test")
        await self.tables.start()
        await self.tables.create(new_table("pets", "NEW_IMAGE"))
        await self.entries.write(Position("uuid", ""))

    async def put(self, *names: str) -> None:
        for name in names:
            await self.tables.write(put_of(self.tables.find("pets"), {"Item": {"id": {"S": name}}}))

    async def map(self, most_retries: int = -1, **given: Any) -> StreamPoller:
        """Begin to poll as a server does when it starts."""
        of_stream = {name: given.pop(name) for name in ("bisects", "most_age_seconds", "on_failure") if name in given}
        settings = StreamSettings("TRIM_HORIZON", most_retries=most_retries, **of_stream)
        stream = self.tables.streams.all()[0]
        record = MappingRecord("uuid", stream.arn, FUNCTION_ARN, 0, stream=settings, **{"batch_size": 100, **given})
        position = await self.entries.get("uuid")
        assert position is not None
        progress = Progress(self.entries, position)

        async def report(arn: str, body: bytes, key: str) -> None:
            if "missing" in arn:
                raise ApiError("NoSuchThing", "it is not there")
            self.reports.append((arn, json.loads(body), key))

        poller = StreamPoller(
            reading_of(record, "us-east-1"),
            progress,
            self.tables.streams,
            self.clock,
            FunctionConsumer(record, self.functions, report),  # type: ignore[arg-type]
        )
        self.poller = poller
        poller.start()
        return poller

    @property
    def batches(self) -> list[str]:
        """The names in each batch that the function got."""
        return [names_in(event) for event in self.functions.events]

    async def stored(self) -> Position:
        found = await self.entries.get("uuid")
        assert found is not None
        return found

    async def seconds(self, seconds: float = 0.01) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + round(seconds * 1000))


def play(body: Callable[[Bench], Awaitable[None]], handler: Any = None) -> None:
    async def nothing(_event: Any) -> None:
        return None

    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, handler or nothing)
        await bench.open()
        await body(bench)
        if bench.poller is not None:
            await bench.poller.stop()
        await bench.tables.stop()

    run_virtual(main)


def test_records_come_in_order_and_the_position_is_stored():
    async def body(bench: Bench) -> None:
        await bench.put("a", "b", "c")
        poller = await bench.map(batch_size=2)
        await bench.seconds()
        assert bench.batches == ["ab", "c"]
        assert poller.is_waiting
        assert poller.oldest_ms is None
        assert (await bench.stored()).result == "OK"
        await bench.put("d")
        await bench.seconds()
        assert bench.batches == ["ab", "c", "d"]
        (record,) = bench.functions.events[-1]["Records"]
        stream = bench.tables.streams.all()[0]
        number = (await bench.stored()).after
        assert record == {
            "eventID": record["eventID"],
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": bench.clock.now_ms() // 1000,
                "Keys": {"id": {"S": "d"}},
                "NewImage": {"id": {"S": "d"}},
                "SequenceNumber": number,
                "SizeBytes": 6,
                "StreamViewType": "NEW_IMAGE",
            },
            "eventSourceARN": stream.arn,
        }
        await poller.stop()
        await bench.put("e")
        await bench.map()
        await bench.seconds()
        assert bench.batches[3:] == ["e"]

    play(body)


def test_a_failed_batch_is_invoked_again_with_the_same_records_before_any_other():
    down = [True]

    async def handler(_event: Any) -> None:
        if down:
            raise RuntimeError("down")

    async def body(bench: Bench) -> None:
        await bench.put("a", "b")
        poller = await bench.map()
        await bench.seconds(1)
        await bench.put("c")
        assert (await bench.stored()).result == "PROBLEM: Function call failed"
        assert bench.clock.now_ms() - (poller.oldest_ms or 0) == 1000
        # A kill: the batch has the same records although more could follow.
        await poller.stop()
        await bench.map()
        await bench.seconds(1)
        down.clear()
        await bench.seconds(60)
        assert set(bench.batches[:-1]) == {"ab"}
        assert bench.batches[-1] == "c"

    play(body, handler)


def test_retries_end_with_a_report():
    async def body(bench: Bench) -> None:
        await bench.put("a", "bad")
        await bench.map(2, on_failure=QUEUE)
        await bench.seconds(10)
        await bench.put("c")
        await bench.seconds(10)
        assert bench.batches == ["abad", "abad", "abad", "c"]
        ((arn, report, _),) = bench.reports
        first, last = (one["dynamodb"] for one in bench.functions.events[0]["Records"])
        stream = bench.tables.streams.all()[0]
        info = report.pop("DDBStreamBatchInfo")
        assert arn == QUEUE
        assert report == {
            "requestContext": {
                "requestId": report["requestContext"]["requestId"],
                "functionArn": FUNCTION_ARN,
                "condition": "RetryAttemptsExhausted",
                "approximateInvokeCount": 3,
            },
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "version": "1.0",
            "timestamp": report["timestamp"],
        }
        assert report["timestamp"].endswith(".000Z")
        assert info == {
            "shardId": stream.entry.shard,
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": info["approximateArrivalOfFirstRecord"],
            "approximateArrivalOfLastRecord": info["approximateArrivalOfLastRecord"],
            "batchSize": 2,
            "streamArn": stream.arn,
        }
        assert info["approximateArrivalOfFirstRecord"].endswith("Z")

    play(body, failing_on("bad"))


def test_the_report_in_a_bucket_has_the_records():
    async def body(bench: Bench) -> None:
        await bench.put("bad")
        await bench.map(0, on_failure=BUCKET)
        await bench.seconds(1)
        ((arn, report, key),) = bench.reports
        assert arn == BUCKET
        assert report["payload"] == bench.functions.events[0]
        shard = bench.tables.streams.all()[0].entry.shard
        assert key.startswith(f"aws/lambda/uuid/{shard}/")

    play(body, failing_on("bad"))


def test_a_destination_that_is_missing_does_not_hold_up_the_stream():
    async def body(bench: Bench) -> None:
        await bench.put("bad")
        await bench.map(0, on_failure="arn:aws:sqs:us-east-1:000000000000:missing")
        await bench.seconds(1)
        await bench.put("fine")
        await bench.seconds(1)
        assert bench.batches == ["bad", "fine"]

    play(body, failing_on("bad"))


def test_a_batch_that_fails_is_split_until_the_bad_record_is_alone():
    async def body(bench: Bench) -> None:
        await bench.put(*"abcdefgX")
        poller = await bench.map(1, bisects=True, on_failure=QUEUE)
        await bench.seconds(10)
        assert bench.batches == ["abcdefgX", "abcd", "efgX", "ef", "gX", "g", "X", "X"]
        assert [one["DDBStreamBatchInfo"]["batchSize"] for _, one, _ in bench.reports] == [1]
        assert poller.counts.done == 7
        await bench.put("h")
        await bench.seconds(1)
        assert bench.batches[-1] == "h"

    play(body, failing_on("X"))


def test_only_the_records_from_the_reported_one_on_are_invoked_again():
    async def handler(event: Any) -> Any:
        numbers = {one["dynamodb"]["Keys"]["id"]["S"]: one["dynamodb"]["SequenceNumber"] for one in event["Records"]}
        bad = [numbers[name] for name in "dc" if name in numbers]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in bad]}

    async def body(bench: Bench) -> None:
        await bench.put(*"abcde")
        await bench.map(2, reports_failures=True, on_failure=QUEUE)
        await bench.seconds(10)
        assert bench.batches == ["abcde", "cde", "cde"]
        ((_, report, _),) = bench.reports
        assert report["DDBStreamBatchInfo"]["batchSize"] == 3
        assert report["responseContext"]["functionError"] is None
        assert report["requestContext"]["approximateInvokeCount"] == 3

    play(body, handler)


def test_a_window_gathers_records():
    async def body(bench: Bench) -> None:
        await bench.map(window_seconds=5, batch_size=3)
        await bench.put("a")
        await bench.seconds(2)
        await bench.put("b")
        await bench.seconds(2)
        assert bench.batches == []
        await bench.seconds(2)
        assert bench.batches == ["ab"]
        await bench.put("c", "d", "e")
        await bench.seconds()
        assert bench.batches == ["ab", "cde"]

    play(body)


def test_filters_leave_records_out_and_the_position_passes_them():
    async def body(bench: Bench) -> None:
        pattern = json.dumps({"dynamodb": {"Keys": {"id": {"S": [{"prefix": "x"}]}}}, "eventName": ["INSERT"]})
        poller = await bench.map(filters=[pattern], batch_size=2)
        await bench.put("a", "x1", "b", "x2", "x3")
        await bench.seconds()
        assert bench.batches == ["x1x2", "x3"]
        await bench.put("c")
        await bench.seconds()
        assert poller.counts.filtered == 3
        assert poller.is_waiting
        stream = bench.tables.streams.all()[0]
        assert int((await bench.stored()).after) == stream.newest

    play(body)


def test_records_that_are_too_old_are_not_invoked_with():
    async def body(bench: Bench) -> None:
        await bench.put("a", "b")
        await bench.seconds(120)
        await bench.put("c")
        await bench.map(most_age_seconds=60, on_failure=QUEUE)
        await bench.seconds(1)
        assert bench.batches == ["c"]
        ((_, report, _),) = bench.reports
        assert report["requestContext"]["condition"] == "RecordAgeExceeded"
        assert report["DDBStreamBatchInfo"]["batchSize"] == 2
        assert "responseContext" not in report

    play(body)


def test_a_bad_record_blocks_the_stream_for_a_day_at_most():
    async def body(bench: Bench) -> None:
        await bench.put("bad")
        await bench.map()
        await bench.seconds(20 * 3600)
        await bench.put("fine")
        assert set(bench.batches) == {"bad"}
        await bench.seconds(5 * 3600)
        assert bench.batches[-1] == "fine"

    play(body, failing_on("bad"))


def test_throttles_and_outages_are_no_attempts():
    refusals: list[Exception] = [ApiError("TooManyRequestsException", "Rate Exceeded."), Unavailable("the store")]

    async def body(bench: Bench) -> None:
        invoke = bench.functions.invoke

        async def refusing(arn: str, payload: bytes) -> Any:
            if refusals:
                raise refusals.pop()
            return await invoke(arn, payload)

        bench.functions.invoke = refusing  # type: ignore[method-assign, assignment]
        await bench.put("a")
        poller = await bench.map(0, on_failure=QUEUE)
        await bench.seconds(0.1)
        assert poller.problem == "the store"
        await bench.seconds(10)
        assert poller.problem is None
        assert poller.counts.throttles == 1
        assert (bench.batches, bench.reports) == (["a"], [])

    play(body)


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        ("", None),
        ("null", None),
        ("{}", None),
        ("[]", None),
        ('""', None),
        ('{"batchItemFailures": []}', None),
        ('{"batchItemFailures": null}', None),
        ('{"batchItemFailures": [{"itemIdentifier": "3"}, {"itemIdentifier": "2"}]}', "2"),
        ('{"batchItemFailures": [{"itemIdentifier": ""}]}', "1"),
        ('{"batchItemFailures": [{"itemIdentifier": null}]}', "1"),
        ('{"batchItemFailures": [{"itemIdentifier": "9"}]}', "1"),
        ('{"batchItemFailures": [{"item": "2"}]}', "1"),
        ('{"batchItemFailures": "2"}', "1"),
        ('{"failures": []}', "1"),
        ("nonsense", "1"),
    ],
)
def test_answers_that_report_failures(answer, failed):
    assert first_failed(answer.encode(), ["1", "2", "3"]) == failed
