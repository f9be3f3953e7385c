"""Schedules in virtual time: when they fire, what they say, and what survives a restart."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.events.deliveries import pause_ms
from statewright.events.outcomes import DELIVERED
from tests.unit.events.running import DAY, DEAD, HOUR, MINUTE, QUEUE, ROLE, SECOND, Rig, failing, on_rig, request


def test_a_rate_fires_at_once_and_in_step() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("a", "rate(5 minutes)")
        await rig.let(11 * MINUTE)
        assert rig.targets.instants() == [start, start + 5 * MINUTE, start + 10 * MINUTE]
        assert rig.targets.requests()[0] == {
            "MessageBody": "x",
            "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/orders",
        }

    on_rig(test)


def test_a_rate_begins_at_its_start_and_ends_at_its_end() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("a", "rate(1 hour)", StartDate=start + 90 * MINUTE, EndDate=start + 90 * MINUTE + 2 * HOUR)
        await rig.let(DAY)
        assert rig.targets.instants() == [start + 90 * MINUTE + n * HOUR for n in range(3)]
        assert (await rig.scheduler.get("default", "a")).next_ms is None

    on_rig(test)


def test_a_one_time_schedule_ignores_dates_and_may_delete_itself() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("keeps", "at(2026-01-01T01:00:00)", EndDate=start + 1)
        await rig.create("goes", "at(2026-01-01T02:00:00)", ActionAfterCompletion="DELETE")
        await rig.let(3 * HOUR)
        assert rig.targets.instants() == [start + HOUR, start + 2 * HOUR]
        assert (await rig.scheduler.get("default", "keeps")).next_ms is None
        with pytest.raises(ApiError, match="Schedule goes does not exist"):
            await rig.scheduler.get("default", "goes")

    on_rig(test)


def test_a_time_that_has_passed_never_fires() -> None:
    async def test(rig: Rig) -> None:
        for name, after in (("stays", "NONE"), ("stays-too", "DELETE")):
            await rig.create(name, "at(2020-01-01T00:00:00)", ActionAfterCompletion=after)
        await rig.let(2 * DAY)
        assert rig.targets.calls == []
        # A schedule is deleted after its last invocation, and there was none.
        for name in ("stays", "stays-too"):
            assert (await rig.scheduler.get("default", name)).next_ms is None

    on_rig(test)


def test_a_recurring_schedule_deletes_itself_after_its_last_instant() -> None:
    async def test(rig: Rig) -> None:
        now = rig.clock.now_ms()
        await rig.create("a", "cron(0 * * * ? *)", EndDate=now + 150 * MINUTE, ActionAfterCompletion="DELETE")
        await rig.let(2 * HOUR + 1)
        assert len(rig.targets.calls) == 3
        with pytest.raises(ApiError):
            await rig.scheduler.get("default", "a")

    on_rig(test)


def test_a_new_schedule_has_no_outcome_of_one_that_had_its_name() -> None:
    async def test(rig: Rig) -> None:
        await rig.create("a", "at(2026-01-01T01:00:00)", ActionAfterCompletion="DELETE")
        await rig.let(2 * HOUR)
        await rig.create("a", "rate(1 day)", StartDate=rig.clock.now_ms() + HOUR)
        schedule = await rig.scheduler.get("default", "a")
        assert rig.scheduler.last_outcome(schedule) is None
        await rig.let(2 * HOUR)
        last = rig.scheduler.last_outcome(schedule)
        assert last is not None
        assert last.what == DELIVERED

    on_rig(test)


def test_a_flexible_window_spreads_and_never_leaves_the_window() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
        for number in range(40):
            await rig.create(
                f"s{number}",
                "at(2026-01-01T01:00:00)",
                FlexibleTimeWindow=window,
                Input="<aws.scheduler.scheduled-time>",
            )
        await rig.let(2 * HOUR)
        late = [at - start - HOUR for at in rig.targets.instants()]
        assert len(late) == 40
        assert min(late) >= 0
        assert max(late) < 15 * MINUTE
        assert min(late) < 5 * MINUTE
        assert max(late) > 10 * MINUTE
        assert {one["MessageBody"] for one in rig.targets.requests()} == {"2026-01-01T01:00:00Z"}

    on_rig(test)


def test_keywords_of_the_input_and_the_number_of_the_attempt() -> None:
    async def test(rig: Rig) -> None:
        names = ("schedule-arn", "scheduled-time", "execution-id", "attempt-number")
        text = "|".join(f"<aws.scheduler.{name}>" for name in names)
        rig.targets.failing = [failing(500), failing(429, "Throttling")]
        await rig.create("a", "at(2026-01-01T01:00:00)", Input=text)
        await rig.let(2 * HOUR)
        said = [one["MessageBody"].split("|") for one in rig.targets.requests()]
        assert [one[3] for one in said] == ["1", "2", "3"]
        assert len({one[2] for one in said}) == 1
        assert len(said[0][2]) == 16
        assert said[0][:2] == ["arn:aws:scheduler:us-east-1:000000000000:schedule/default/a", "2026-01-01T01:00:00Z"]
        assert len({request_id for _, _, _, request_id in rig.targets.calls}) == 1

    on_rig(test)


def test_retries_wait_longer_each_time_until_the_policy_says_enough() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = failing(503)
        await rig.create(
            "a", "at(2026-01-01T01:00:00)", RetryPolicy={"MaximumRetryAttempts": 3}, DeadLetterConfig={"Arn": DEAD}
        )
        await rig.let(2 * HOUR)
        at = rig.targets.instants()
        assert [later - earlier for earlier, later in itertools.pairwise(at)] == [SECOND, 2 * SECOND, 4 * SECOND]
        [letter] = rig.targets.requests("dead")
        said = {name: value["StringValue"] for name, value in letter["MessageAttributes"].items()}
        assert said["EXHAUSTED_RETRY_CONDITION"] == "MaximumRetryAttempts"
        assert (said["RETRY_ATTEMPTS"], said["ERROR_CODE"], said["ERROR_MESSAGE"]) == (
            "3",
            "Broken",
            "it does not work",
        )
        assert said["TARGET_ARN"] == "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"
        assert said["SCHEDULE_ARN"].endswith(":schedule/default/a")
        assert said["SCHEDULED_TIME"] == "2026-01-01T01:00:00Z"
        assert said["IS_PAYLOAD_TRUNCATED"] == "false"
        assert len(said["EXECUTION_ID"]) == 16
        assert json.loads(letter["MessageBody"]) == rig.targets.requests()[0]

    on_rig(test)


def test_an_invocation_grows_too_old() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = failing(500)
        await rig.create(
            "a", "at(2026-01-01T01:00:00)", RetryPolicy={"MaximumEventAgeInSeconds": 60}, DeadLetterConfig={"Arn": DEAD}
        )
        await rig.let(2 * HOUR)
        assert len(rig.targets.instants()) == 6
        [letter] = rig.targets.requests("dead")
        assert letter["MessageAttributes"]["EXHAUSTED_RETRY_CONDITION"]["StringValue"] == "MaximumEventAgeInSeconds"

    on_rig(test)


def test_what_cannot_succeed_is_tried_once() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = failing(404, "QueueDoesNotExist")
        await rig.create("a", "at(2026-01-01T01:00:00)", DeadLetterConfig={"Arn": DEAD})
        await rig.let(DAY)
        assert len(rig.targets.instants()) == 1
        [letter] = rig.targets.requests("dead")
        assert "EXHAUSTED_RETRY_CONDITION" not in letter["MessageAttributes"]
        assert letter["MessageAttributes"]["RETRY_ATTEMPTS"]["StringValue"] == "0"

    on_rig(test)


def test_the_default_policy_tries_185_times_again_in_a_day() -> None:
    assert 23 * HOUR < sum(pause_ms(n) for n in range(1, 186)) <= 24 * HOUR


def test_restarts_keep_the_step_and_fire_what_was_missed() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("a", "rate(1 hour)")
        await rig.let(90 * MINUTE)
        await rig.stop()
        await rig.let(3 * HOUR)
        other = Rig(rig.clock, rig.store)
        await other.start()
        await other.let(HOUR)
        now = start + 90 * MINUTE + 3 * HOUR
        # Hours 2, 3 and 4 passed while nobody was there; hour 5 is on time.
        assert other.targets.instants() == [now, now, now, start + 5 * HOUR]
        await other.stop()

    on_rig(test)


def test_what_is_older_than_the_policy_allows_is_dropped_and_said(caplog: pytest.LogCaptureFixture) -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("a", "rate(1 hour)", RetryPolicy={"MaximumEventAgeInSeconds": 3600 + 60})
        await rig.create("once", "at(2026-01-01T02:00:00)", RetryPolicy={"MaximumEventAgeInSeconds": 60})
        await rig.let(SECOND)
        await rig.stop()
        await rig.let(10 * HOUR + 30 * SECOND)
        other = Rig(rig.clock, rig.store)
        await other.start()
        await other.let(MINUTE)
        assert len(other.targets.instants()) == 2
        assert "schedule default/a was due at 2026-01-01T01:00:00Z" in caplog.text
        assert "schedule default/once was due at 2026-01-01T02:00:00Z" in caplog.text
        assert (await other.scheduler.get("default", "a")).next_ms == start + 11 * HOUR
        await other.stop()

    on_rig(test)


def test_a_delivery_under_way_continues_after_a_restart() -> None:
    async def test(rig: Rig) -> None:
        rig.targets.always = failing(500)
        await rig.create("a", "at(2026-01-01T01:00:00)", ActionAfterCompletion="DELETE")
        await rig.let(HOUR + 10 * SECOND)
        assert len(rig.targets.instants()) == 4
        other = await rig.restarted()
        await other.let(HOUR)
        assert len(other.targets.instants()) == 1
        assert other.targets.calls[0][3] == rig.targets.calls[0][3]
        await other.stop()

    on_rig(test)


def test_a_disabled_schedule_does_not_fire_and_keeps_its_phase() -> None:
    async def test(rig: Rig) -> None:
        start = rig.clock.now_ms()
        await rig.create("a", "rate(10 minutes)")
        await rig.let(MINUTE)
        await rig.scheduler.update("a", request("rate(10 minutes)", State="DISABLED"))
        await rig.let(50 * MINUTE)
        await rig.scheduler.update("a", request("rate(10 minutes)"))
        await rig.let(10 * MINUTE)
        assert rig.targets.instants() == [start, start + 60 * MINUTE]

    on_rig(test)


def test_an_update_replaces_every_field() -> None:
    async def test(rig: Rig) -> None:
        await rig.create("a", "cron(0 9 * * ? *)", Description="old", ScheduleExpressionTimezone="Europe/Berlin",
                         ActionAfterCompletion="DELETE")  # fmt: skip
        await rig.scheduler.update("a", request("cron(0 9 * * ? *)"))
        found = await rig.scheduler.get("default", "a")
        assert (found.description, found.timezone, found.after_completion) == (None, "UTC", "NONE")
        await rig.let(DAY)
        assert len(rig.targets.calls) == 1

    on_rig(test)


def test_the_same_client_token_creates_once() -> None:
    async def test(rig: Rig) -> None:
        await rig.create("a", "rate(1 day)", ClientToken="t")
        await rig.create("a", "rate(1 day)", ClientToken="t")
        with pytest.raises(ApiError, match="Schedule a already exists"):
            await rig.create("a", "rate(1 day)", ClientToken="u")

    on_rig(test)


def test_a_deleted_group_takes_its_schedules_along() -> None:
    async def test(rig: Rig) -> None:
        await rig.scheduler.create_group("g", {}, None)
        await rig.create("a", "rate(1 minute)", GroupName="g")
        await rig.let(MINUTE + SECOND)
        await rig.scheduler.delete_group("g")
        with pytest.raises(ApiError):
            await rig.create("b", "rate(1 minute)", GroupName="g")
        await rig.let(HOUR)
        assert len(rig.targets.calls) == 2
        with pytest.raises(ApiError, match="Schedule group g does not exist"):
            await rig.scheduler.group("g")
        assert await rig.scheduler.list_schedules(None, "", None, None, 10) == ([], None)

    on_rig(test)


def test_lists_by_prefix_state_and_page() -> None:
    async def test(rig: Rig) -> None:
        await rig.scheduler.create_group("z", {}, None)
        for name in ("ab", "abc", "abd", "b"):
            await rig.create(name, "cron(0 0 1 1 ? *)", State="DISABLED" if name == "abc" else "ENABLED")
        await rig.create("abz", "cron(0 0 1 1 ? *)", GroupName="z")

        async def listed(**given: Any) -> tuple[list[str], str | None]:
            full = {"group": None, "prefix": "", "state": None, "after": None, "limit": 10, **given}
            found, last = await rig.scheduler.list_schedules(**full)
            return [one.key for one in found], last

        assert (await listed(prefix="ab"))[0] == ["default/ab", "default/abc", "default/abd", "z/abz"]
        assert (await listed(group="z"))[0] == ["z/abz"]
        assert (await listed(state="DISABLED"))[0] == ["default/abc"]
        page, last = await listed(limit=2)
        assert (page, last) == (["default/ab", "default/abc"], "default/abc")
        assert await listed(limit=3, after=last) == (["default/abd", "default/b", "z/abz"], None)

    on_rig(test)


def test_many_idle_schedules_hold_nothing_in_memory() -> None:
    async def test(rig: Rig) -> None:
        for number in range(3_000):
            await rig.create(f"s{number}", "cron(0 0 1 6 ? *)" if number else "at(2026-01-02T00:00:00)")
        assert len(rig.scheduler._due) == 0
        other = await rig.restarted()
        assert len(other.scheduler._due) == 0
        await other.let(160 * DAY)
        assert len(other.targets.instants()) == 3_000
        await other.stop()

    on_rig(test)


TARGET = {"Arn": QUEUE, "RoleArn": ROLE, "Input": "x"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ScheduleExpression": "rate(1 foo)"}, "Invalid Schedule Expression rate(1 foo)."),
        ({"ScheduleExpression": "at(2020-01-01T00:00:00Z)"}, "Invalid Schedule Expression at(2020-01-01T00:00:00Z)."),
        ({"ScheduleExpression": "rate( 5 minutes )"}, "Invalid Schedule Expression rate( 5 minutes )."),
        ({"ScheduleExpressionTimezone": "Mars"}, "Invalid Schedule Expression Timezone Mars."),
        ({"StartDate": 0}, "The StartDate you specify cannot be earlier than 5 minutes ago."),
        ({"EndDate": 0}, "The EndDate you specify cannot be in the past."),
        ({"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, "MaximumWindowInMinutes must be provided when"),
        ({"FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 5}}, "MaximumWindowInMinutes must not be"),
        ({"Target": {**TARGET, "Arn": "queue"}}, "Provided Arn is not in correct format."),
        ({"Target": {**TARGET, "Arn": "arn:aws:kinesis:us-east-1:0:stream/s"}}, "not reach targets of kinesis"),
        ({"Target": {**TARGET, "Arn": "arn:aws:scheduler:::aws-sdk:sqs:listQueues"}}, "it only reads"),
        ({"Target": {**TARGET, "Arn": "arn:aws:scheduler:::aws-sdk:sqs:fly"}}, "does not have sqs:fly as a target"),
        ({"Target": {**TARGET, "Arn": QUEUE + ".fifo"}}, "SqsParameters.MessageGroupId must be given"),
        ({"Target": {**TARGET, "EcsParameters": {"TaskDefinitionArn": "x"}}}, "EcsParameters cannot be given"),
        ({"Target": {**TARGET, "Arn": "arn:aws:events:us-east-1:0:event-bus/default"}}, "EventBridgeParameters"),
    ],
)  # fmt: skip
def test_refusals(given: dict[str, Any], said: str) -> None:
    async def test(rig: Rig) -> None:
        with pytest.raises(ApiError) as caught:
            await rig.scheduler.create("a", {**request("rate(1 minute)"), **given})
        assert caught.value.code == "ValidationException"
        assert said in caught.value.message

    on_rig(test)
