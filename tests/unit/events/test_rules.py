"""Rules and buses in virtual time: what matches, what is scheduled, what is retried, and what survives a restart."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.engine.executions.views import StatusChange
from statewright.errors import ApiError
from statewright.events import buses
from statewright.events.bus_records import sources_of
from tests.unit.events.running import DAY, DEAD, HOUR, MINUTE, SECOND, Rig, failing, on_rig

SHOP = {"source": ["shop"]}


def details(rig: Rig) -> list[Any]:
    return [json.loads(request["MessageBody"])["detail"] for request in rig.targets.requests()]


def test_each_rule_that_matches_gets_the_event() -> None:
    async def test(rig: Rig) -> None:
        await rig.rule("source", SHOP)
        await rig.rule("prefix", {"source": [{"prefix": "sh"}]})
        await rig.rule("type", {"detail-type": ["other"]})
        await rig.rule("detail", {"source": ["shop", "bank"], "detail": {"n": [2]}})
        await rig.rule("no-bus", SHOP, bus="default", State="DISABLED")
        await rig.put({"n": 1})
        await rig.put({"n": 2}, source="bank")
        await rig.let(SECOND)
        assert sorted(str(one) for one in details(rig)) == ["{'n': 1}", "{'n': 1}", "{'n': 2}"]

    on_rig(test)


def test_buses_keep_apart() -> None:
    async def test(rig: Rig) -> None:
        await rig.buses.create("other", None, {}, {})
        await rig.rule("r", SHOP, bus="other")
        await rig.put({"n": 1})
        await rig.put({"n": 2}, EventBusName="arn:aws:events:us-east-1:000000000000:event-bus/other")
        await rig.let(SECOND)
        assert details(rig) == [{"n": 2}]

    on_rig(test)


def test_a_new_rule_has_no_outcome_of_one_that_had_its_name() -> None:
    async def test(rig: Rig) -> None:
        rules = rig.buses.rules
        await rig.rule("r", SHOP)
        await rig.put({"n": 1})
        await rig.let(SECOND)
        assert rules.last_outcome(rules.get("r", "default")) is not None
        await rules.remove_targets("r", "default", ["1"])
        await rules.put("r", "default", {"EventPattern": '{"source": ["bank"]}'})
        assert rules.last_outcome(rules.get("r", "default")) is not None
        await rules.delete("r", "default")
        await rig.rule("r", SHOP)
        assert rules.last_outcome(rules.get("r", "default")) is None

    on_rig(test)


def test_a_rule_can_be_disabled_changed_and_deleted() -> None:
    async def test(rig: Rig) -> None:
        rules = rig.buses.rules
        await rig.rule("r", SHOP)
        await rules.set_state("r", "default", "DISABLED")
        await rig.put({"n": 1})
        await rules.set_state("r", "default", "ENABLED")
        await rig.put({"n": 2})
        await rules.put("r", "default", {"EventPattern": '{"source": ["bank"]}'})
        await rig.put({"n": 3})
        await rig.put({"n": 4}, source="bank")
        await rules.remove_targets("r", "default", ["1"])
        await rules.delete("r", "default")
        await rig.put({"n": 5}, source="bank")
        await rig.let(SECOND)
        assert details(rig) == [{"n": 2}, {"n": 4}]

    on_rig(test)


def test_a_deleted_rule_delivers_what_it_took() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.failing = [failing(503)]
        await rig.rule("r", SHOP)
        await rig.put({"n": 1})
        await rig.let(100)
        await rig.buses.rules.remove_targets("r", "default", ["1"])
        await rig.buses.rules.delete("r", "default")
        await rig.let(MINUTE)
        assert details(rig) == [{"n": 1}, {"n": 1}]

    on_rig(test)


def test_an_event_without_a_rule_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(rig: Rig) -> None:
        await rig.rule("r", {"source": ["bank"]})

        async def refuse(*_: Any) -> bool:
            raise AssertionError("nothing is to be written")

        monkeypatch.setattr(rig.store.catalogue, "write", refuse)
        assert "EventId" in await rig.put()
        monkeypatch.undo()

    on_rig(test)


MANY: dict[str, Any] = {"n": [*range(100), 2]}
"""An event with an array that is long enough to count."""


def test_an_event_that_is_dear_to_match_is_matched_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buses, "LOOP_WORK", 0)

    async def test(rig: Rig) -> None:
        await rig.buses.create("other", None, {}, {})
        to_bus = {"Arn": "arn:aws:events:us-east-1:000000000000:event-bus/other"}
        await rig.rule("r", {"detail": {"n": [2]}}, target=to_bus)
        await rig.rule("there", {"detail": {"n": [3]}}, bus="other")
        await rig.rule("not", {"detail": {"n": [-1]}})
        await rig.put(MANY)
        await rig.let(SECOND)
        assert details(rig) == [MANY]

    on_rig(test)


def test_an_event_that_is_too_dear_to_match_is_refused_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buses, "LOOP_WORK", 0)
    monkeypatch.setattr(buses, "MOST_WORK", 500)

    async def test(rig: Rig) -> None:
        await rig.rule("r", {"detail": {"n": [2]}})
        entries = [{"Source": "shop", "DetailType": "t", "Detail": json.dumps(one)} for one in ({"n": 2}, MANY)]
        answers = await rig.buses.put(entries * 2)
        assert [one.get("ErrorCode") for one in answers] == [None, "InternalFailure"] * 2
        assert answers[1]["ErrorMessage"] == buses.TOO_MUCH_WORK
        await rig.let(SECOND)
        assert details(rig) == [{"n": 2}] * 2

    on_rig(test)


@pytest.mark.parametrize("most", [1_000_000, 0])
def test_a_status_change_that_is_dear_to_match_is_matched_in_a_thread_or_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, most: int
) -> None:
    monkeypatch.setattr(buses, "LOOP_WORK", 0)
    monkeypatch.setattr(buses, "MOST_WORK", most)

    async def test(rig: Rig) -> None:
        await rig.rule("r", {"source": ["aws.states"], "detail": {"input": [{"wildcard": "*2*"}]}})
        view: Any = SimpleNamespace(
            execution_arn="the-arn", machine_arn="m", name="n", status="RUNNING", started_ms=1, stopped_ms=None,
            input=json.dumps(MANY), output=None, redrive_status="NOT_REDRIVABLE", redrive_reason="", version_arn=None,
            alias_arn=None, redrive_count=0, redriven_ms=None, error=None, cause=None,
        )  # fmt: skip
        rig.buses.status_changed(StatusChange("arn", "RUNNING", None, lambda: view))
        await rig.let(SECOND)
        assert len(details(rig)) == (1 if most else 0)

    on_rig(test)
    assert ("an event about the-arn reaches no rule" in caplog.text) is (most == 0)


def test_a_status_change_without_a_matching_rule_is_never_read() -> None:
    async def test(rig: Rig) -> None:
        def view() -> Any:
            raise AssertionError("nobody asked")

        rig.buses.status_changed(StatusChange("arn", "RUNNING", None, view))
        await rig.rule("r", SHOP)
        rig.buses.status_changed(StatusChange("arn", "RUNNING", None, view))
        await rig.rule("s", {"source": ["aws.states"]})
        with pytest.raises(AssertionError):
            rig.buses.status_changed(StatusChange("arn", "RUNNING", None, view))

    on_rig(test)


@pytest.mark.parametrize(
    ("pattern", "sources"),
    [
        ({"source": ["a", "b", "a"]}, ["a", "b"]),
        ({"source": ["a", {"prefix": "b"}]}, [None]),
        ({"detail": {"n": [1]}}, [None]),
        ({"$or": [{"source": ["a"]}, {"source": ["b"]}]}, [None]),
    ],
)
def test_the_sources_that_a_pattern_names(pattern: Any, sources: list[str | None]) -> None:
    async def test(rig: Rig) -> None:
        await rig.rule("r", pattern)
        assert list(sources_of(rig.buses.rules.get("r", "default"))) == sources

    on_rig(test)


def test_retries_and_a_dead_letter_with_the_event() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = failing(500)
        policy = {"RetryPolicy": {"MaximumRetryAttempts": 2}, "DeadLetterConfig": {"Arn": DEAD}, "Input": "1"}
        await rig.rule("r", SHOP, target=policy)
        start = rig.clock.now_ms()
        await rig.put({"n": 1})
        await rig.let(HOUR)
        assert [at - start for at in rig.targets.instants()] == [0, 1_000, 3_000]
        [letter] = rig.targets.requests("dead")
        said = {name: one["StringValue"] for name, one in letter["MessageAttributes"].items()}
        assert said == {
            "ERROR_CODE": "ERROR_FROM_TARGET", "ERROR_MESSAGE": "it does not work", "RETRY_ATTEMPTS": "2",
            "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
            "RULE_ARN": "arn:aws:events:us-east-1:000000000000:rule/r",
            "TARGET_ARN": "arn:aws:sqs:us-east-1:000000000000:orders",
        }  # fmt: skip
        assert json.loads(letter["MessageBody"])["detail"] == {"n": 1}

    on_rig(test)


def test_an_event_that_makes_no_input_is_a_dead_letter() -> None:
    async def test(rig: Rig) -> None:
        template = {"InputPathsMap": {"all": "$.detail"}, "InputTemplate": '{"all": "<all>"}'}
        await rig.rule("r", SHOP, target={"DeadLetterConfig": {"Arn": DEAD}, "InputTransformer": template})
        await rig.put({"n": 1})
        await rig.let(HOUR)
        assert rig.targets.requests() == []
        [letter] = rig.targets.requests("dead")
        assert letter["MessageAttributes"]["ERROR_CODE"]["StringValue"] == "INVALID_JSON"
        assert json.loads(letter["MessageBody"])["detail"] == {"n": 1}

    on_rig(test)


def test_the_event_without_its_detail_names_the_detail_type_as_one_word() -> None:
    async def test(rig: Rig) -> None:
        template = {"InputTemplate": '{"short": <aws.events.event>, "whole": <aws.events.event.json>}'}
        await rig.rule("r", SHOP, target={"InputTransformer": template})
        await rig.put({"n": 1})
        await rig.let(SECOND)
        [request] = rig.targets.requests()
        made = json.loads(request["MessageBody"])
        assert sorted(made["short"]) == [
            "account", "detailType", "id", "region", "resources", "source", "time", "version",
        ]  # fmt: skip
        assert {"detail", "detail-type"} < made["whole"].keys()

    on_rig(test)


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (ApiError("ResourceNotFoundException", "", status=404), "NO_RESOURCE"),
        (ApiError("StateMachineDoesNotExist", "", status=400), "NO_RESOURCE"),
        (ApiError("AccessDeniedException", "", status=403), "NO_PERMISSIONS"),
        (ApiError("InvalidExecutionInput", "", status=400), "INVALID_JSON"),
        (ApiError("ValidationException", "", status=400), "INVALID_PARAMETER"),
        (ApiError("ExecutionLimitExceeded", "", status=400), "RESOURCE_LIMIT_EXCEEDED"),
        (ApiError("ExecutionAlreadyExists", "", status=400), "RESOURCE_ALREADY_EXISTS"),
        (ApiError("Strange", "", status=400), "ERROR_FROM_TARGET"),
    ],
)
def test_what_dead_letters_of_rules_call_refusals(problem: ApiError, code: str) -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = problem
        await rig.rule("r", SHOP, target={"DeadLetterConfig": {"Arn": DEAD}})
        await rig.put()
        await rig.let(SECOND)
        assert len(rig.targets.requests()) == 1
        [letter] = rig.targets.requests("dead")
        assert letter["MessageAttributes"]["ERROR_CODE"]["StringValue"] == code

    on_rig(test)


def test_a_rate_fires_after_its_time_and_in_step() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.rule("r", ScheduleExpression="rate(5 minutes)")
        await rig.let(16 * MINUTE)
        assert [at - start for at in rig.targets.instants()] == [n * 5 * MINUTE for n in (1, 2, 3)]
        event = json.loads(rig.targets.requests()[0]["MessageBody"])
        assert {**event, "id": ""} == {
            "version": "0", "id": "", "detail-type": "Scheduled Event", "source": "aws.events",
            "account": "000000000000", "time": "2026-01-01T00:05:00Z", "region": "us-east-1",
            "resources": ["arn:aws:events:us-east-1:000000000000:rule/r"], "detail": {},
        }  # fmt: skip

    on_rig(test)


def test_schedules_of_rules_survive_restarts() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.rule("r", ScheduleExpression="cron(30 * * * ? *)")
        await rig.rule("old", ScheduleExpression="cron(0 12 * * ? *)")
        await rig.stop()
        await rig.let(2 * DAY + HOUR)
        other = Rig(rig.clock, rig.store)
        await other.start()
        await other.let(31 * MINUTE)
        # What is older than a day is dropped.
        fired = [json.loads(one["MessageBody"]) for one in other.targets.requests()]
        names = [event["resources"][0].rpartition("/")[2] for event in fired]
        assert (names.count("r"), names.count("old")) == (25, 1)
        assert max(event["time"] for event in fired) == "2026-01-03T01:30:00Z"
        assert other.clock.now_ms() == start + 2 * DAY + HOUR + 31 * MINUTE
        await other.stop()

    on_rig(test)


def test_accepted_events_are_delivered_after_a_restart() -> None:
    async def test(rig: Rig) -> None:
        await rig.rule("r", SHOP)
        rig.targets.always = failing(503)
        for number in range(5):
            await rig.put({"n": number})
        other = await rig.restarted()
        await other.let(MINUTE)
        assert sorted(one["n"] for one in details(other)) == list(range(5))
        await other.put({"n": 5})
        await other.let(SECOND)
        assert details(other)[-1] == {"n": 5}
        await other.stop()

    on_rig(test)


def test_quotas() -> None:
    async def test(rig: Rig) -> None:
        for number in range(300):
            await rig.buses.rules.put(f"r{number}", "default", {"EventPattern": '{"source": ["a"]}'})
        for make in (
            rig.buses.rules.put("more", "default", {"EventPattern": '{"source": ["a"]}'}),
            rig.buses.rules.put_targets("r1", "default", [{"Id": str(n), "Arn": DEAD} for n in range(6)]),
        ):
            with pytest.raises(ApiError) as caught:
                await make
            assert caught.value.code == "LimitExceededException"
        for number in range(99):
            await rig.buses.create(f"b{number}", None, {}, {})
        with pytest.raises(ApiError, match="maximum number"):
            await rig.buses.create("more", None, {}, {})

    on_rig(test)


def test_a_policy_may_not_grow_without_end() -> None:
    async def test(rig: Rig) -> None:
        async def fill() -> None:
            for number in range(300):
                await rig.buses.permit("default", {"Sid": f"s{number}", "Resource": "x" * 60})

        with pytest.raises(ApiError) as caught:
            await fill()
        assert caught.value.code == "PolicyLengthExceededException"
        other = await rig.restarted()
        kept = other.buses.get("default")
        assert len(kept.policy or "") <= 10_240 < len(kept.policy or "") + 90
        await other.buses.forbid("default", "s0")
        with pytest.raises(ApiError, match="provided id does not exist"):
            await other.buses.forbid("default", "s0")
        await other.stop()

    on_rig(test)


def test_a_clock_that_was_set_back_loses_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(rig: Rig) -> None:
        await rig.rule("r", SHOP)
        rig.targets.failing = [failing(503)] * 2
        numbers = iter([1, 2, 3, 2, 4, 2, 5, 6, 7])
        monkeypatch.setattr(rig.deliveries, "next_number", lambda: next(numbers))
        await rig.put({"n": 1})
        await rig.put({"n": 2})
        await rig.let(MINUTE)
        assert sorted({one["n"] for one in details(rig)}) == [1, 2]

    on_rig(test)
