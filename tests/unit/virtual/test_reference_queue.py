"""A queue, a mapping and a function at their limits: the curve and the losses that were published, and what helps."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from statewright.functions.workers.models import Model
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import QUEUE, counts, function, queue, summed

FILES = int(os.environ.get("FILES", "50000"))
"""A hundred thousand, as published, take twelve seconds of a processor."""


def pipeline(system: VirtualSystem, receives: int = 1, **mapping: Any) -> tuple[str, str, str]:
    """A queue with dead letters and a mapping as of April 2022: addresses of both, and the mapping's id."""
    dead = queue(system, "dead")
    redrive = json.dumps({"deadLetterTargetArn": QUEUE + "dead", "maxReceiveCount": receives})
    url = queue(system, "jobs", VisibilityTimeout="600", RedrivePolicy=redrive)
    made = system.client("lambda").create_event_source_mapping(
        EventSourceArn=QUEUE + "jobs", FunctionName="work", BatchSize=1,
        Tags={"statewright:scalingProfile": "lambda-2022"}, **mapping,
    )  # fmt: skip
    return url, dead, str(made["UUID"])


def send(system: VirtualSystem, url: str, count: int, seconds: int) -> None:
    """So many messages, evenly over so many seconds."""
    sent = 0
    for second in range(1, seconds + 1):
        while sent < count * second // seconds:
            some = min(10, count * second // seconds - sent)
            entries = [{"Id": str(one), "MessageBody": str(sent + one)} for one in range(some)]
            system.call("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": entries})
            sent += some
        system.advance(1)


def minutes(system: VirtualSystem, began_ms: int) -> float:
    return round((system.now_ms - began_ms) / 60_000, 1)


@pytest.mark.slow
def test_fifteen_thousand_messages_of_two_minutes_each():
    """The published run: the limit at 16.6 minutes, and a hundred messages that died without ever having been run."""
    with VirtualSystem() as system:
        system.model("work", Model(duration=120), timeout=600)
        began_ms = system.now_ms
        url, dead, mapping = pipeline(system)
        send(system, url, 15_000, 68)
        running = system.parts.app.services.functions.invoker.concurrency.running
        system.run_until(lambda: running.get("work", 0) >= 1000, within="1h")
        assert 16.5 <= minutes(system, began_ms) <= 16.7
        # The last start, after twenty minutes of saturation.
        system.run_until(began_ms + 35 * 60_000)
        assert counts(system, url)[0] > 0
        system.run_until(began_ms + 38 * 60_000)
        assert counts(system, url)[0] == 0
        system.run_until_idle()
        done = system.parts.app.services.event_sources.counts(mapping)
        assert counts(system, dead) == (105, 0, 0)
        assert (done.done, done.failed, done.never_run) == (14_895, 0, 105)
        assert counts(system, url) == (0, 0, 0)
        # What a dashboard shows: not one invocation has failed, and so many that were received were never run.
        invoked, errors = (
            summed(system, "AWS/Lambda", name, FunctionName="work") for name in ("Invocations", "Errors")
        )
        received = summed(system, "AWS/SQS", "NumberOfMessagesReceived", QueueName="jobs")
        assert (100 - 100 * errors / invoked, received - invoked) == (100, 105)
        assert summed(system, "AWS/Lambda", "Throttles", FunctionName="work") == 105


@pytest.mark.slow
@pytest.mark.parametrize(
    ("receives", "mapping", "throttles", "over"),
    [(1, {"ScalingConfig": {"MaximumConcurrency": 1000}}, 0, (38, 40)), (2, {}, 105, (47, 49.5))],
    ids=["no more than there is room for", "a second chance"],
)
def test_what_would_have_helped(receives, mapping, throttles, over):
    with VirtualSystem() as system:
        system.model("work", Model(duration=120), timeout=600)
        url, dead, uuid = pipeline(system, receives, **mapping)
        began_ms = system.now_ms
        send(system, url, 15_000, 68)
        system.run_until_idle()
        counted = system.parts.app.services.event_sources.counts(uuid)
        assert counts(system, dead) == (0, 0, 0)
        assert (counted.done, counted.throttles) == (15_000, throttles)
        # A message that comes back does so after its visibility timeout, and runs once more: nine minutes.
        assert over[0] <= minutes(system, began_ms) <= over[1]


@pytest.mark.slow
def test_the_handler_itself_has_the_same_curve_as_its_model():
    def curve(*, is_real: bool) -> list[tuple[int, int, int]]:
        with VirtualSystem() as system:
            if is_real:
                function(system, "work", "import time\ndef handler(event, context):\n    time.sleep(120)", timeout=600)
            else:
                system.model("work", Model(duration=120), timeout=600)
            url, _, _ = pipeline(system)
            send(system, url, 300, 10)
            seen = []
            for _ in range(30):
                system.advance(20)
                seen.append(counts(system, url))
            return seen

    real = curve(is_real=True)
    assert real == curve(is_real=False)
    assert real[-1] == (0, 0, 0)


@pytest.mark.slow
def test_a_hundred_thousand_that_take_three_seconds_each():
    """Never throttled: what ramps up by sixty a minute has done them all before it reaches the limit."""
    with VirtualSystem() as system:
        system.model("work", Model(duration=3), timeout=600, memory=640)
        url, dead, uuid = pipeline(system)
        began_ms = system.now_ms
        send(system, url, FILES, 60)
        running, most = system.parts.app.services.functions.invoker.concurrency.running, [0]

        def is_over() -> bool:
            most[0] = max(most[0], running.get("work", 0))
            return counts(system, url) == (0, 0, 0)

        while not is_over():
            system.advance(5)
        counted = system.parts.app.services.event_sources.counts(uuid)
        assert (counted.done, counted.throttles, counts(system, dead)) == (FILES, 0, (0, 0, 0))
        assert minutes(system, began_ms) == pytest.approx(13.0 * (FILES / 100_000) ** 0.5, rel=0.02)
        assert most[0] == pytest.approx(780 * (FILES / 100_000) ** 0.5, rel=0.02)


# ---------------------------------------------------------------------- poison


def judged(*, reports: bool) -> Model:
    """A function that cannot digest one message in a hundred, and may say which."""

    def answer(event: Any) -> Any:
        bad = [one["messageId"] for one in event["Records"] if one["body"].endswith("13")]
        if bad and not reports:
            raise ValueError("poison")
        return {"batchItemFailures": [{"itemIdentifier": one} for one in bad]}

    return Model(duration=1, answer=answer)


@pytest.mark.parametrize("reports", [True, False], ids=["with reports", "without"])
def test_one_message_in_a_hundred_is_poison(reports):
    """Batches of ten, three receives. Without reports a batch dies with its poison, unless its messages find others."""
    messages = 3000
    with VirtualSystem() as system:
        system.model("work", judged(reports=reports), timeout=30)
        dead = queue(system, "dead")
        redrive = json.dumps({"deadLetterTargetArn": QUEUE + "dead", "maxReceiveCount": 3})
        url = queue(system, "jobs", VisibilityTimeout="60", RedrivePolicy=redrive)
        for first in range(0, messages, 10):
            entries = [{"Id": str(one), "MessageBody": str(first + one)} for one in range(10)]
            system.call("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": entries})
        given: Any = {"FunctionResponseTypes": ["ReportBatchItemFailures"]} if reports else {}
        system.client("lambda").create_event_source_mapping(
            EventSourceArn=QUEUE + "jobs", FunctionName="work", BatchSize=10, **given
        )
        system.run_until_idle()
        assert counts(system, url) == (0, 0, 0)
        bodies: list[str] = []
        while len(bodies) < counts(system, dead)[0] + counts(system, dead)[1]:
            answer = system.call("sqs", "ReceiveMessage", {"QueueUrl": dead, "MaxNumberOfMessages": 10})
            bodies += [one["Body"] for one in answer["Messages"]]
        poison = {str(number) for number in range(13, messages, 100)}
        assert poison <= set(bodies)
        assert len(bodies) == len(set(bodies))
        if reports:
            assert len(bodies) == messages / 100
        else:
            assert 0.08 < len(bodies) / messages < 0.13
