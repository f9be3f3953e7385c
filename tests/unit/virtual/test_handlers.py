"""Real handlers in virtual time: every way to sleep and to ask for the time, calls to the system, and misuse."""

from __future__ import annotations

import json
import logging
import textwrap
import time
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.functions.test_other_runtimes import package
from tests.unit.virtual.building import (
    ROLE,
    RUNTIME,
    counts,
    entered,
    function,
    history,
    invoked,
    machine,
    queue,
    start,
)

MIDNIGHT = 1_767_225_600


@pytest.fixture(scope="module")
def system():
    with VirtualSystem() as made:
        yield made


WORKS = """
with ThreadPoolExecutor(1) as pool:
    pool.submit(time.sleep, 10)
    for _ in range(3_000_000):
        pass
    time.sleep(30)
"""
"""Works for longer than a sleeping thread waits for the others to sleep, too."""

HEAD = """
import asyncio, datetime, os, random, time, uuid
from datetime import date, datetime as Moment, timezone
from concurrent.futures import ThreadPoolExecutor
from time import sleep as nap

def handler(event, context):
"""


def told(system: VirtualSystem, name: str, body: str, timeout: int = 900) -> tuple[Any, int]:
    """What a handler returns, and how many virtual milliseconds its invocation took."""
    function(system, name, HEAD + textwrap.indent(textwrap.dedent(body), "    "), timeout=timeout)
    before = system.now_ms
    answer = invoked(system, name)
    return answer, system.now_ms - before


@pytest.mark.parametrize(
    ("name", "body", "milliseconds"),
    [
        ("sleep", "time.sleep(800)", 800_000),
        ("name-of-its-own", "nap(0.25)", 250),
        ("tiny", "time.sleep(0.0001)", 1),
        ("none", "time.sleep(0)", 0),
        ("loop", "asyncio.run(asyncio.sleep(3600 / 60))", 60_000),
        ("gathered", "async def all(): await asyncio.gather(*map(asyncio.sleep, (5, 9)))\nasyncio.run(all())", 9_000),
        ("works", WORKS, 30_000),
        ("threads", "with ThreadPoolExecutor(4) as pool: list(pool.map(time.sleep, (10, 30, 20, 30)))", 30_000),
    ],
)  # fmt: skip
def test_a_sleep_takes_virtual_time_and_no_real_one(system, name, body, milliseconds):
    began = time.monotonic()
    answer, took_ms = told(system, name, body)
    assert (answer, took_ms) == (None, milliseconds)
    assert milliseconds < 800_000 or time.monotonic() - began < 800


def test_a_handler_with_shared_libraries_of_its_own_lives_in_virtual_time_too(system):
    source = "import time\ndef handler(event, context):\n    time.sleep(500)\n    return context.function_name"
    files = {"app.py": source, "lib/libmine.so": "no library, but so named"}
    system.client("lambda").create_function(
        FunctionName="own", Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Timeout=600,
        Code={"ZipFile": package(files)},
    )  # fmt: skip
    before = system.now_ms
    assert invoked(system, "own") == "own"
    assert system.now_ms - before == 500_000


def test_every_clock_tells_the_same_time(system):
    body = """
        def of_the_wall():
            return [
                time.time(), time.time_ns() / 1e9, time.mktime(time.gmtime()), Moment.now().timestamp(),
                Moment.now(timezone.utc).timestamp(), Moment.utcnow().replace(tzinfo=timezone.utc).timestamp(),
                time.mktime(time.strptime(time.strftime("%Y-%m-%dT%H:%M:%S"), "%Y-%m-%dT%H:%M:%S")),
                time.mktime(time.strptime(time.ctime())), time.mktime(time.strptime(time.asctime())),
            ]

        def since_some_time():
            return [time.monotonic(), time.perf_counter(), time.monotonic_ns() / 1e9, asyncio.new_event_loop().time()]

        wall, some = of_the_wall(), since_some_time()
        time.sleep(600)
        left = context.get_remaining_time_in_millis()
        return [wall, of_the_wall(), some, since_some_time(), str(date.today()), left]
        """
    now = system.now_ms / 1000
    (wall, wall_later, some, some_later, day, left), _ = told(system, "clocks", body)
    assert all(0 <= seen - int(now) < 1.5 for seen in wall)
    assert all(599 < after - before < 601 for before, after in zip(wall, wall_later, strict=True))
    assert all(600 <= after - before < 600.1 for before, after in zip(some, some_later, strict=True))
    assert day == "2026-01-01"
    assert 299_000 < left <= 300_000


def test_a_loop_that_waits_for_a_clock_gets_there(system):
    body = "end = time.monotonic() + 0.02\nwhile time.monotonic() < end: pass\nreturn True"
    answer, took_ms = told(system, "spins", body)
    assert answer is True
    assert took_ms == 20


def test_dates_are_dates(system):
    body = """
        now = Moment.now(timezone.utc)
        return [
            isinstance(now, datetime.datetime), isinstance(now, date), type(now).__name__, now.isoformat()[:10],
            isinstance(datetime.datetime(2020, 1, 1) + datetime.timedelta(days=1), Moment),
            Moment.fromisoformat("2020-01-01") < Moment.now(), repr(Moment(2020, 1, 1)),
        ]
        """
    answer, _ = told(system, "dates", body)
    assert answer[:3] == [True, True, "datetime"]
    assert answer[3].startswith("2026-01-")
    assert answer[4:] == [True, True, "datetime.datetime(2020, 1, 1, 0, 0)"]


def test_what_a_handler_draws_can_be_repeated():
    def drawn() -> Any:
        with VirtualSystem(seed=5) as system:
            body = "return [random.random(), str(uuid.uuid4()), os.urandom(4).hex()]"
            return [told(system, "draws", body)[0], invoked(system, "draws")]

    first = drawn()
    assert first == drawn()
    assert first[0] != first[1]


# ---------------------------------------------------------------------- timeouts


def test_a_function_times_out_in_virtual_time(system):
    answer, took_ms = told(system, "late", "time.sleep(40)", timeout=30)
    assert answer["errorType"] == "Sandbox.Timedout"
    assert took_ms == 30_000


def test_a_handler_that_really_works_for_its_whole_time_has_timed_out(system, caplog):
    source = """
        import ctypes

        def handler(event, context):
            ctypes.CDLL(None).sleep(60)
    """
    function(system, "blocks", source, timeout=1)
    before = system.now_ms
    with caplog.at_level(logging.WARNING):
        assert invoked(system, "blocks")["errorType"] == "Sandbox.Timedout"
    assert system.now_ms - before == 1_000
    assert "was busy for its whole timeout in real time" in caplog.text


def test_a_handler_that_dies_is_buried(system):
    answer, took_ms = told(system, "dies", "time.sleep(5)\nos._exit(3)")
    assert answer["errorType"] == "Runtime.ExitError"
    assert took_ms == 5_000


# ---------------------------------------------------------------------- calls to the system itself

CALLS = """
    import time
    import boto3

    sqs, lambdas = boto3.client("sqs"), boto3.client("lambda")

    def handler(event, context):
        url = sqs.get_queue_url(QueueName="held")["QueueUrl"]
        began = time.time()
        found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", [])
        polled = time.time() - began
        lambdas.invoke(FunctionName="sleeps", Payload=b"{}")
        return [len(found), round(polled, 3), round(time.time() - began, 3)]
"""


def test_time_goes_on_while_a_handler_waits_for_the_system(system):
    queue(system, "held")
    told(system, "sleeps", "time.sleep(100)")
    function(system, "calls", CALLS, timeout=300)
    before = system.now_ms
    assert invoked(system, "calls") == [0, 20.0, 120.0]
    assert system.now_ms - before == 120_000


WRITES = """
    import time
    import boto3

    sqs = boto3.client("sqs")

    def handler(event, context):
        url = sqs.get_queue_url(QueueName=event["queue"])["QueueUrl"]
        for turn in range(3):
            sqs.send_message(QueueUrl=url, MessageBody=f"{event['number']} {turn}")
            time.sleep(event["number"] % 3)
"""


def written(seed: int) -> Any:
    """Ten handlers write to one queue at the same instants; what came, in order, with ids."""
    with VirtualSystem(seed=seed) as system:
        url = queue(system, "order")
        function(system, "writes", WRITES)
        for number in range(10):
            system.client("lambda").invoke(
                FunctionName="writes", InvocationType="Event", Payload=json.dumps({"queue": "order", "number": number})
            )
        system.run_until_idle()
        assert counts(system, url) == (30, 0, 0)
        found: list[Any] = []
        while len(found) < 30:
            batch = system.call("sqs", "ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10})["Messages"]
            found += [(message["MessageId"], message["Body"]) for message in batch]
        return found


def test_who_is_faster_makes_no_difference():
    assert written(1) == written(1)


def test_a_raised_error_is_the_same_in_every_run():
    def told_by_the_service() -> Any:
        with VirtualSystem() as system:
            function(system, "raises", "import time\ndef handler(event, context):\n    time.sleep(3)\n    None['x']")
            task = {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:000000000000:function:raises", "End": True}
            execution = start(system, machine(system, {"StartAt": "T", "States": {"T": task}}), "one")
            system.run_until_idle()
            events = history(system, execution)
            assert entered(events) == ["T"]
            return events

    first = told_by_the_service()
    assert first == told_by_the_service()
    cause_text = json.loads(first[-1]["executionFailedEventDetails"]["cause"])
    assert cause_text["errorType"] == "TypeError"
    assert 'File "/var/task/app.py", line 4, in handler' in cause_text["stackTrace"][0]


def test_a_time_before_the_first_invocation_is_virtual_too(system):
    function(system, "loaded", "import time\nLOADED = time.time()\ndef handler(event, context):\n    return LOADED")
    assert int(invoked(system, "loaded")) == system.now_ms // 1000
    assert system.now_ms // 1000 >= MIDNIGHT
