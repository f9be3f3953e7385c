"""`kill -9` while events are archived, while they are replayed, and while log events are delivered to a function."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from statewright.stores.fail_points import AFTER_COMMIT, BEFORE_COMMIT, VARIABLE
from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.test_lambda import made

BUS = "arn:aws:events:us-east-1:000000000000:event-bus/default"
ARCHIVE = "arn:aws:events:us-east-1:000000000000:archive/kept"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:replayed"
GROUP = "/shop/orders"
COMMITS = range(2, 8)
"""Commits before or after each of which a server is killed."""
EVENTS = 60
"""More than one page of a replay."""
SINK = """
import base64, gzip, json, os

def handler(event, context):
    data = json.loads(gzip.decompress(base64.b64decode(event["awslogs"]["data"])))
    with open(os.environ["SEEN"], "a") as seen:
        for one in data["logEvents"]:
            seen.write(one["message"] + "\\n")
"""


def killed_at(
    data: Path, point: str, work: Callable[[Server, int], object], patch: pytest.MonkeyPatch
) -> Iterator[tuple[int, bool, Server]]:
    """For each commit: its number, whether the work was acknowledged before the kill, and the server after it."""
    died = 0
    for number in COMMITS:
        patch.setenv(VARIABLE, f"{point}:{number}")
        acknowledged = False
        # A server that is killed while it starts has done no work.
        with contextlib.suppress(AssertionError):
            server = Server(data)
            with contextlib.suppress(BotoCoreError, ClientError):
                work(server, number)
                acknowledged = True
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(timeout=2)
            died += server.process.poll() is not None
            server.kill()
        patch.delenv(VARIABLE)
        server = Server(data)
        yield number, acknowledged, server
        server.kill()
    assert died


def put_events(server: Server, numbers: range) -> None:
    for number in numbers:
        entry = {"Source": "shop", "DetailType": "order", "Detail": json.dumps({"n": number})}
        answer = server.client("events").put_events(Entries=[entry])
        assert answer["FailedEntryCount"] == 0


def count(server: Server) -> int:
    return int(server.client("events").describe_archive(ArchiveName="kept")["EventCount"])


def has_archived(server: Server, least: int) -> bool:
    return count(server) >= least


@pytest.mark.slow
@pytest.mark.parametrize("point", [BEFORE_COMMIT, AFTER_COMMIT])
def test_acknowledged_events_are_archived(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    server = Server(data)
    server.client("events").create_archive(ArchiveName="kept", EventSourceArn=BUS)
    assert server.stop() == 0, server.log.read_text()
    kept = 0

    def put(server: Server, number: int) -> None:
        put_events(server, range(number, number + 1))

    for number, acknowledged, after in killed_at(data, point, put, monkeypatch):
        kept += acknowledged
        until(partial(has_archived, after, kept), f"{kept} archived events")
        assert kept <= count(after) <= number


def replayed(server: Server, found: dict[str, set[int]]) -> dict[str, set[int]]:
    """The numbers of the events in the queue by their replay; they are deleted from the queue."""
    sqs = server.client("sqs")
    url = sqs.get_queue_url(QueueName="replayed")["QueueUrl"]
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for one in messages:
            event = json.loads(one["Body"])
            found.setdefault(event["replay-name"], set()).add(event["detail"]["n"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return found


def is_completed(server: Server, name: str) -> bool:
    state = server.client("events").describe_replay(ReplayName=name)["State"]
    assert state in ("STARTING", "RUNNING", "COMPLETED")
    return bool(state == "COMPLETED")


def has_replayed(server: Server, found: dict[str, set[int]], name: str) -> bool:
    return replayed(server, found).get(name) == set(range(EVENTS))


@pytest.mark.slow
@pytest.mark.parametrize("point", [BEFORE_COMMIT, AFTER_COMMIT])
def test_a_replay_continues_until_every_event_has_come(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    server = Server(data)
    events = server.client("events")
    server.client("sqs").create_queue(QueueName="replayed")
    events.create_archive(ArchiveName="kept", EventSourceArn=BUS, EventPattern='{"source": ["shop"]}')
    events.put_rule(Name="again", EventPattern='{"replay-name": [{"exists": true}]}')
    events.put_targets(Rule="again", Targets=[{"Id": "q", "Arn": QUEUE}])
    put_events(server, range(EVENTS))
    until(partial(has_archived, server, EVENTS), "the archived events")
    assert server.stop() == 0, server.log.read_text()
    found: dict[str, set[int]] = {}

    def start(server: Server, number: int) -> None:
        server.client("events").start_replay(
            ReplayName=f"r{number}", EventSourceArn=ARCHIVE, Destination={"Arn": BUS}, EventStartTime=0,
            EventEndTime=4_000_000_000,
        )  # fmt: skip

    for number, acknowledged, after in killed_at(data, point, start, monkeypatch):
        name = f"r{number}"
        listed = [one["ReplayName"] for one in after.client("events").list_replays()["Replays"]]
        assert name in listed or not acknowledged
        if name not in listed:
            continue

        until(partial(is_completed, after, name), f"the end of the replay {name}")
        until(partial(has_replayed, after, found, name), "every event")


@pytest.mark.slow
@pytest.mark.parametrize("point", [BEFORE_COMMIT, AFTER_COMMIT])
def test_log_events_reach_the_subscribed_function(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = tmp_path / "data", tmp_path / "seen"
    server = Server(data)
    logs = server.client("logs")
    name = made(server.client("lambda"), SINK, Environment={"Variables": {"SEEN": str(seen)}})
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="one")
    logs.put_subscription_filter(
        logGroupName=GROUP, filterName="all", filterPattern="",
        destinationArn=f"arn:aws:lambda:us-east-1:000000000000:function:{name}",
    )  # fmt: skip
    assert server.stop() == 0, server.log.read_text()
    wanted: set[str] = set()

    def write(server: Server, number: int) -> None:
        event = {"timestamp": round(time.time() * 1000), "message": str(number)}
        server.client("logs").put_log_events(logGroupName=GROUP, logStreamName="one", logEvents=[event])

    for number, acknowledged, _ in killed_at(data, point, write, monkeypatch):
        wanted |= {str(number)} if acknowledged else set()
        until(partial(has_seen, seen, wanted), f"the delivery of {sorted(wanted)}")
    assert wanted


def has_seen(file: Path, wanted: set[str]) -> bool:
    return wanted <= set(file.read_text().split() if file.exists() else ())
