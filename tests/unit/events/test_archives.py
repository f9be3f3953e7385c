"""Archives and replays in a virtual system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.events.archives import archives
from statewright.events.rules import Rules
from statewright.query.matching import LOOP_WORK, Matching, TooMuchWork
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import QUEUE, queue

BUS = "arn:aws:events:us-east-1:000000000000:event-bus/shop"
ARCHIVE = "arn:aws:events:us-east-1:000000000000:archive/kept"


def shop(system: VirtualSystem) -> str:
    """A bus with a rule that sends events of orders to a queue; returns the queue's URL."""
    events = system.client("events")
    events.create_event_bus(Name="shop")
    url = queue(system, "orders")
    events.put_rule(Name="orders", EventBusName="shop", EventPattern='{"detail-type": ["order"]}')
    events.put_targets(Rule="orders", EventBusName="shop", Targets=[{"Id": "q", "Arn": f"{QUEUE}orders"}])
    return url


def put(system: VirtualSystem, number: int, **more: str) -> None:
    entry = {"Source": "shop", "DetailType": "order", "Detail": json.dumps({"n": number}), "EventBusName": "shop"}
    system.client("events").put_events(Entries=[{**entry, **more}])


def received(system: VirtualSystem, url: str) -> list[dict[str, Any]]:
    sqs, found = system.client("sqs"), []
    while listed := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for one in listed:
            found.append(json.loads(one["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return found


def replay(system: VirtualSystem, name: str = "again", **changes: Any) -> dict[str, Any]:
    given = {"EventSourceArn": ARCHIVE, "EventStartTime": system.now_ms / 1000 - 86_400,
             "EventEndTime": system.now_ms / 1000, "Destination": {"Arn": BUS}, **changes}  # fmt: skip
    made: dict[str, Any] = system.client("events").start_replay(ReplayName=name, **given)
    return made


def test_archived_events_are_replayed_to_their_bus() -> None:
    with VirtualSystem() as system:
        url = shop(system)
        events = system.client("events")
        made = events.create_archive(ArchiveName="kept", EventSourceArn=BUS, EventPattern='{"source": ["shop"]}')
        assert (made["ArchiveArn"], made["State"]) == (ARCHIVE, "ENABLED")
        (managed, _) = events.list_rules(EventBusName="shop")["Rules"]
        assert (managed["Name"], managed["ManagedBy"]) == ("Events-Archive-kept", "prod.vhs.events.aws.internal")
        for number in range(3):
            put(system, number)
            system.advance("1m")
        put(system, 9, Source="other")
        assert len(received(system, url)) == 4
        shown = events.describe_archive(ArchiveName="kept")
        assert (shown["EventCount"], shown["EventSourceArn"], shown["RetentionDays"]) == (3, BUS, 0)
        assert shown["SizeBytes"] > 300
        start = system.now_ms / 1000 - 130
        made = replay(system, EventStartTime=start)
        assert made["State"] == "STARTING"
        found = received(system, url)
        assert [(one["detail"]["n"], one["replay-name"]) for one in found] == [(1, "again"), (2, "again")]
        assert events.describe_archive(ArchiveName="kept")["EventCount"] == 3
        told = events.describe_replay(ReplayName="again")
        assert (told["State"], told["Destination"]) == ("COMPLETED", {"Arn": BUS})
        assert told["EventLastReplayedTime"].timestamp() == system.now_ms / 1000 - 60
        assert [one["ReplayName"] for one in events.list_replays(State="COMPLETED")["Replays"]] == ["again"]


def test_a_replay_may_reach_some_rules_only() -> None:
    with VirtualSystem() as system:
        url, events = shop(system), system.client("events")
        other = queue(system, "others")
        events.put_rule(Name="all", EventBusName="shop", EventPattern='{"source": [{"prefix": ""}]}')
        events.put_targets(Rule="all", EventBusName="shop", Targets=[{"Id": "q", "Arn": f"{QUEUE}others"}])
        events.create_archive(ArchiveName="kept", EventSourceArn=BUS)
        put(system, 1)
        received(system, url), received(system, other)
        rule = events.describe_rule(Name="all", EventBusName="shop")["Arn"]
        replay(system, Destination={"Arn": BUS, "FilterArns": [rule]})
        assert (len(received(system, url)), len(received(system, other))) == (0, 1)
        told = events.describe_replay(ReplayName="again")
        assert told["Destination"] == {"Arn": BUS, "FilterArns": [rule]}


def test_events_expire_and_archives_survive(tmp_path: Path) -> None:
    with VirtualSystem(data=tmp_path) as system:
        url, events = shop(system), system.client("events")
        events.create_archive(ArchiveName="kept", EventSourceArn=BUS, RetentionDays=2)
        put(system, 1)
        system.advance("36h")
        put(system, 2)
        system.restart()
        system.advance("1s")
        events = system.client("events")
        assert events.describe_archive(ArchiveName="kept")["EventCount"] == 2
        system.advance("24h")
        assert events.describe_archive(ArchiveName="kept")["EventCount"] == 1
        put(system, 3)
        assert events.describe_archive(ArchiveName="kept")["EventCount"] == 2
        received(system, url)
        replay(system, EventStartTime=0)
        system.restart()
        system.advance("1s")
        assert {one["detail"]["n"] for one in received(system, url)} == {2, 3}
        events.update_archive(ArchiveName="kept", RetentionDays=0, Description="for good")
        assert events.describe_archive(ArchiveName="kept")["Description"] == "for good"
        events.delete_archive(ArchiveName="kept")
        assert events.list_archives()["Archives"] == []
        assert [one["Name"] for one in events.list_rules(EventBusName="shop")["Rules"]] == ["orders"]


def test_a_large_archive_is_counted_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "COUNTED", 2)
    with VirtualSystem() as system:
        shop(system)
        events = system.client("events")
        events.create_archive(ArchiveName="kept", EventSourceArn=BUS)

        def counted(number: int) -> int:
            put(system, number)
            system.advance("1s")
            return int(events.describe_archive(ArchiveName="kept")["EventCount"])

        assert [counted(number) for number in range(3)] == [1, 2, 2]
        system.advance("1m")
        assert counted(3) == 4


def test_replayed_events_are_matched_within_the_work_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    with VirtualSystem() as system:
        url, events = shop(system), system.client("events")
        events.create_archive(ArchiveName="kept", EventSourceArn=BUS)
        put(system, 1)
        received(system, url)
        refused: list[bool] = []
        matched = Rules.matched

        def slowly(rules: Rules, bus: str, event: Any, matching: Matching, *more: Any) -> Any:
            try:
                matching.spend(LOOP_WORK + 1)
            except TooMuchWork:
                refused.append(True)
                raise
            return matched(rules, bus, event, matching, *more)

        monkeypatch.setattr(Rules, "matched", slowly)
        replay(system)
        assert [one["replay-name"] for one in received(system, url)] == ["again"]
        assert refused == [True]


def test_refusals() -> None:
    with VirtualSystem() as system:
        shop(system)
        events = system.client("events")

        def refused(operation: str, **members: Any) -> tuple[str, str]:
            with pytest.raises(ClientError) as problem:
                getattr(events, operation)(**members)
            error = problem.value.response["Error"]
            return error["Code"], error["Message"]

        missing = "ResourceNotFoundException"
        assert refused("create_archive", ArchiveName="a", EventSourceArn=f"{BUS}s") == (
            missing, "Event bus shops does not exist.",
        )  # fmt: skip
        code, text = refused("create_archive", ArchiveName="a", EventSourceArn=BUS, EventPattern="[]")
        assert code == "InvalidEventPatternException"
        assert text.startswith("Event pattern is not valid. Reason: ")
        events.create_archive(ArchiveName="kept", EventSourceArn=BUS)
        assert refused("create_archive", ArchiveName="kept", EventSourceArn=BUS) == (
            "ResourceAlreadyExistsException", "Archive kept already exists.",
        )  # fmt: skip
        assert refused("update_archive", ArchiveName="kept") == (
            "ValidationException", "At least one of EventPattern, RetentionDays or Description must be provided.",
        )  # fmt: skip
        for operation in ("describe_archive", "delete_archive", "update_archive"):
            assert refused(operation, ArchiveName="none") == (missing, "Archive none does not exist.")
        for operation in ("describe_replay", "cancel_replay"):
            assert refused(operation, ReplayName="none") == (missing, "Replay none does not exist.")

        def not_started(**changes: Any) -> str:
            with pytest.raises(ClientError) as problem:
                replay(system, **changes)
            return str(problem.value.response["Error"]["Message"])

        other = {"Arn": BUS.replace("shop", "default")}
        assert not_started(Destination=other) == (
            "Parameter Destination.Arn is not valid. Reason: Cross event bus replay is not permitted."
        )
        assert not_started(EventSourceArn=f"{ARCHIVE}s") == (
            "Parameter EventSourceArn is not valid. Reason: Archive kepts does not exist."
        )
        assert "EventStartTime must be before" in not_started(EventEndTime=0)
        replay(system)
        assert not_started() == "Replay again already exists."
        assert refused("cancel_replay", ReplayName="again")[0] == "IllegalStatusException"
