"""Semaphores and polls, as machines use them: on an engine in virtual time, through crashes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from statewright.config import Config
from statewright.engine.dispatch import Failed, Later, ScheduledCall, Succeeded, TaskResult
from statewright.errors import Unavailable
from statewright.integrations.polls import read_plan, satisfies
from statewright.integrations.registry import Registry
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import CALL, Rig, machine, task, wait
from tests.unit.integrations.stub import NO_CALLS

ACQUIRE = "arn:aws:states:::statewright:acquire"
RELEASE = "arn:aws:states:::statewright:release"
POLL = "arn:aws:states:::statewright:poll"


class Ours(Registry):
    """The registry, with a script in place of every other service. `asked` are those calls, with their instants."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(Config(), clock, NO_CALLS)
        self.answers: list[TaskResult | Exception] = []
        self.asked: list[tuple[int, ScheduledCall]] = []
        self.cancelled: list[ScheduledCall] = []

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        if task.resource.resource_type == "statewright":
            return await super().call(task)
        self.asked.append((self._clock.now_ms(), task))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Running(Rig):
    """A rig whose integrations are the registry."""

    async def up(self) -> Running:
        self.ours = Ours(self.clock)  # type: ignore[arg-type]
        self.integrations = self.ours  # type: ignore[assignment]
        await super().up()
        return self

    def connect(self) -> None:
        self.ours.connect(self.engine)


async def rig_of(clock: VirtualClock) -> Running:
    """An engine with our tasks attached; before any execution, and so before any of its calls."""
    rig = await Running(clock).up()
    rig.connect()
    return rig


async def crash(rig: Running) -> None:
    rig.engine.kill()
    await rig.store.close()
    await rig.up()
    rig.connect()


def guarded(seconds: int, limit: int = 1, **fields: Any) -> dict[str, Any]:
    """In, for some seconds, and out."""
    return machine(
        In=task(ACQUIRE, Parameters={"Name": "door", "Limit": limit}, ResultPath="$.permit", Next="Work", **fields),
        Work=wait(seconds, "Out"),
        Out=task(RELEASE, Parameters={"Name": "door"}, ResultPath="$.out", Next="After"),
        After=wait(1_000),
    )


async def start(rig: Running, definition: dict[str, Any], count: int) -> list[str]:
    target = await rig.machine(definition)
    return [(await rig.engine.start_execution(target, f"n{number:03}", "{}")).arn for number in range(count)]


async def working(rig: Running, arns: list[str]) -> list[int]:
    """Who is inside, by number."""
    found = []
    for number, arn in enumerate(arns):
        entered = [e for e in await rig.events(arn) if e["type"] == "WaitStateEntered"]
        left = [e for e in await rig.events(arn) if e["type"] in ("WaitStateExited", "ExecutionAborted")]
        if len(entered) == 1 and not left:
            found.append(number)
    return found


def virtually(main: Callable[[Running, VirtualClock], Any]) -> None:
    async def whole(clock: VirtualClock) -> None:
        rig = await rig_of(clock)
        await main(rig, clock)
        await rig.down()

    run_virtual(whole)


# ------------------------------------------------------------------ semaphores


def test_one_at_a_time_in_order_and_without_a_transition_of_waiting():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300), 3)
        await rig.settle()
        assert await working(rig, arns) == [0]
        assert await rig.types(arns[1]) == ["ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted"]
        await rig.until(300_000)
        assert await working(rig, arns) == [1]
        await rig.until(300_000)
        assert await working(rig, arns) == [2]
        await rig.until(300_000)
        assert not rig.engine.semaphores.standing()
        third = next(e for e in await rig.events(arns[2]) if e["type"] == "TaskSucceeded")
        answer = json.loads(third["taskSucceededEventDetails"]["output"])
        assert (answer["Name"], answer["Limit"], answer["WaitedSeconds"]) == ("door", 1, 600)
        assert not await rig.store.catalogue.list_entries("permit", "", after=None, limit=9, newest_first=False)

    virtually(main)


def test_as_many_as_the_limit_and_each_key_for_itself():
    async def main(rig: Running, clock: VirtualClock) -> None:
        keyed = machine(
            In=task(ACQUIRE, Parameters={"Name": "d", "Limit": 2, "Key.$": "$.user"}, Next="Work"), Work=wait(300)
        )
        target = await rig.machine(keyed)
        arns = []
        for number in range(6):
            given = json.dumps({"user": "ab"[number % 2]})
            arns.append((await rig.engine.start_execution(target, f"n{number}", given)).arn)
        await rig.settle()
        assert await working(rig, arns) == [0, 1, 2, 3]
        assert [(one.key, len(one.holders), len(one.waiters)) for one in rig.engine.semaphores.standing()] == [
            ("a", 2, 1),
            ("b", 2, 1),
        ]

    virtually(main)


def test_an_execution_that_ends_releases_its_permit():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300), 5)
        await rig.settle()
        await rig.engine.stop_execution(arns[0])
        await rig.engine.stop_execution(arns[2])
        await rig.settle()
        assert await working(rig, arns) == [1]
        await rig.until(300_000)
        assert await working(rig, arns) == [3]

    virtually(main)


def test_a_wait_may_time_out():
    async def main(rig: Running, clock: VirtualClock) -> None:
        catch = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
        definition = guarded(300, TimeoutSeconds=100, Catch=catch)
        definition["States"]["Late"] = {"Type": "Succeed"}
        arns = await start(rig, definition, 2)
        await rig.until(100_000)
        view = await rig.engine.describe(arns[1])
        assert (view.status, clock.now_ms()) == ("SUCCEEDED", clock.start_ms + 100_000)
        assert not rig.engine.semaphores.standing()[0].waiters

    virtually(main)


def test_crashes_change_neither_holders_nor_order():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300, 2), 6)
        await rig.until(100_000)
        await crash(rig)
        await rig.settle()
        assert await working(rig, arns) == [0, 1]
        await rig.until(200_000)
        assert await working(rig, arns) == [2, 3]
        await crash(rig)
        await crash(rig)
        await rig.until(300_000)
        assert await working(rig, arns) == [4, 5]

    virtually(main)


def test_an_end_that_a_crash_hid_is_found():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300), 3)
        await rig.settle()
        # The execution ends, and the process before the semaphore has heard of it.
        rig.engine.semaphores.stop()
        await rig.engine.stop_execution(arns[0])
        await rig.engine.stop_execution(arns[1])
        await crash(rig)
        await rig.settle()
        assert await working(rig, arns) == [2]

    virtually(main)


def test_an_operator_may_take_a_permit_away():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300), 2)
        await rig.settle()
        semaphore = rig.engine.semaphores.standing()[0]
        (permit,) = semaphore.holders.values()
        taken = await rig.engine.semaphores.take_away("door", "", permit.number, "it hangs")
        assert taken is permit
        assert await rig.engine.semaphores.take_away("door", "", permit.number, "again") is None
        await rig.settle()
        assert [one.execution_arn for one in semaphore.holders.values()] == [arns[1]]

    virtually(main)


@pytest.mark.parametrize(
    ("resource", "parameters", "said"),
    [
        (ACQUIRE, {"Limit": 1}, "Name is a text"),
        (ACQUIRE, {"Name": "d"}, "Limit is a whole number"),
        (ACQUIRE, {"Name": "d", "Limit": 0}, "Limit is a whole number"),
        (ACQUIRE, {"Name": "d", "Limit": True}, "Limit is a whole number"),
        (
            ACQUIRE,
            {"Name": "d", "Limit": 1, "Wait": 3},
            "'Wait' is not a parameter; the parameters are Name, Limit,",
        ),
        (RELEASE, {"Name": "d", "Permit": "x"}, "Permit must be one that acquire returned"),
        (POLL, {"Resource": CALL}, "Until is a Choice rule"),
    ],
)
def test_parameters_that_make_no_sense(resource: str, parameters: dict[str, Any], said: str):
    async def main(rig: Running, clock: VirtualClock) -> None:
        arn = await rig.begin(machine(T=task(resource, Parameters=parameters)))
        view = await rig.end(arn)
        assert (view.status, view.error) == ("FAILED", "Statewright.InvalidParameters")
        assert said in str(view.cause)

    virtually(main)


# ------------------------------------------------------------------ polls


def polling(until: Any, **fields: Any) -> dict[str, Any]:
    asked = {"Resource": CALL, "Parameters": {"QueueUrl": "q"}, "Until": until, "IntervalSeconds": 10, **fields}
    return machine(P=task(POLL, Parameters=asked, TimeoutSeconds=3_600))


@pytest.mark.parametrize(
    "until",
    [
        "$states.result.Status = 'DONE'",
        "{% $states.result.Status = 'DONE' %}",
        {"Variable": "$.Status", "StringEquals": "DONE"},
        {"Or": [{"Variable": "$.Status", "StringEquals": "DONE"}, {"Variable": "$.Status", "IsNull": True}]},
    ],
)
def test_a_poll_asks_until_the_answer_satisfies(until: Any):
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [*[Succeeded({"Status": "BUSY"})] * 3, Succeeded({"Status": "DONE", "n": 4})]
        arn = await rig.begin(polling(until))
        view = await rig.end(arn)
        assert (view.status, json.loads(view.output or "")) == ("SUCCEEDED", {"Status": "DONE", "n": 4})
        assert [at - clock.start_ms for at, _ in rig.ours.asked] == [0, 10_000, 20_000, 30_000]
        # One transition, however often it asked.
        assert await rig.types(arn) == [
            "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "TaskStateExited",
            "ExecutionSucceeded",
        ]  # fmt: skip
        assert len({call.idempotency_key for _, call in rig.ours.asked}) == 4

    virtually(main)


def test_back_off():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [*[Succeeded(False)] * 5, Succeeded(True)]
        await rig.end(await rig.begin(polling("$states.result", BackoffRate=2, MaxIntervalSeconds=50)))
        assert [at - clock.start_ms for at, _ in rig.ours.asked] == [0, 10_000, 30_000, 70_000, 120_000, 170_000]

    virtually(main)


def test_its_deadline_is_the_state_s_and_can_be_caught():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded({"Status": "BUSY"})]
        definition = polling("$states.result.Status = 'DONE'")
        definition["States"]["P"] |= {
            "TimeoutSeconds": 35, "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}],
        }  # fmt: skip
        definition["States"]["Late"] = {"Type": "Succeed"}
        view = await rig.end(await rig.begin(definition))
        assert (view.status, view.stopped_ms) == ("SUCCEEDED", clock.start_ms + 35_000)
        await rig.until(100_000)
        assert len(rig.ours.asked) == 4

    virtually(main)


@pytest.mark.parametrize(
    ("answers", "until", "error", "said"),
    [
        ([Failed("Sqs.Gone", "it is gone")], "true", "Sqs.Gone", "it is gone"),
        ([Succeeded({})], "$states.result.x", "Statewright.UntilFailed", "neither true nor false"),
        ([Succeeded({})], {"Variable": "$.x", "IsNull": True}, "States.Runtime", "$.x"),
        ([Succeeded(False)], "$states.result", "Statewright.MaxAttemptsExceeded", "After 3 attempts"),
    ],
)
def test_ends_that_are_failures(answers: list[TaskResult], until: Any, error: str, said: str):
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers[:] = answers
        view = await rig.end(await rig.begin(polling(until, MaxAttempts=3)))
        assert (view.status, view.error) == ("FAILED", error)
        assert said in str(view.cause)

    virtually(main)


def test_a_poll_that_meets_an_outage_of_the_store_asks_the_same_again():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded(False), Unavailable("gone"), Unavailable("gone"), Succeeded(True)]
        view = await rig.end(await rig.begin(polling("$states.result", MaxAttempts=2)))
        assert view.status == "SUCCEEDED"
        keys = [call.idempotency_key for _, call in rig.ours.asked]
        assert keys[1:] == [keys[1]] * 3
        assert keys[0] != keys[1]

    virtually(main)


def test_a_poll_continues_after_a_crash():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded(False)]
        arn = await rig.begin(polling("$states.result"))
        await rig.until(15_000)
        await crash(rig)
        rig.ours.answers = [Succeeded(False), Succeeded(True)]
        view = await rig.end(arn)
        assert (view.status, view.stopped_ms) == ("SUCCEEDED", clock.start_ms + 25_000)

    virtually(main)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "must be an object"),
        ({"Resource": 5}, "Resource is the ARN"),
        ({"Resource": "arn:aws:states:::batch:submitJob.sync", "Until": "true"}, "cannot be polled"),
        ({"Resource": POLL, "Until": "true"}, "cannot be polled"),
        ({"Resource": CALL, "Until": "true", "IntervalSeconds": 0}, "IntervalSeconds is a number of at least 0.1"),
        ({"Resource": CALL, "Until": "true", "BackoffRate": 0.5}, "BackoffRate is a number of at least 1"),
        ({"Resource": CALL, "Until": "true", "MaxAttempts": 0}, "MaxAttempts is a whole number"),
        ({"Resource": CALL, "Until": "true", "Every": 1}, "'Every' is not a parameter"),
        ({"Resource": CALL, "Until": "($"}, "Until is not JSONata"),
        ({"Resource": CALL, "Until": {"Variable": "$.x"}}, "one comparison"),
        ({"Resource": CALL, "Until": "1=" + "1" * 10_000}, "Until has more than 10000 characters"),
    ],
)
def test_plans_that_make_no_sense(given: Any, said: str):
    with pytest.raises(ValueError, match=said.replace("$", r"\$")):
        read_plan(given)


@pytest.mark.parametrize(
    ("given", "asked", "pause_ms"),
    [
        ({"BackoffRate": 1e300}, 1_000_000, 86_400_000),
        ({"IntervalSeconds": 1e308, "MaxIntervalSeconds": 1e308, "BackoffRate": 1e308}, 3, 99_999_999_000),
        ({"IntervalSeconds": 2, "BackoffRate": 2, "MaxIntervalSeconds": 7}, 3, 7_000),
        ({"BackoffRate": 1.5}, 3, 2_250),
    ],
)
def test_pauses_are_numbers_however_long(given: Any, asked: int, pause_ms: int):
    plan = read_plan({"Resource": CALL, "Until": "true", **given})
    assert plan.pause_ms(asked) == pause_ms


def test_a_poll_fails_because_of_a_bug_in_statewright(caplog: pytest.LogCaptureFixture):
    def broken(until: Any, answer: Any, now_ms: int) -> bool:
        raise RuntimeError("a bug")

    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded({})]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("statewright.integrations.polls.satisfies", broken)
            view = await rig.end(await rig.begin(polling("true")))
        assert (view.status, view.error) == ("FAILED", "Statewright.InternalError")

    virtually(main)
    assert "a bug" in caplog.text


def test_a_condition_that_makes_much_from_little_fails():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded({"n": 1})]
        view = await rig.end(await rig.begin(polling("$count([1..5000000].$string()) > 1")))
        assert (view.status, view.error) == ("FAILED", "Statewright.UntilFailed")

    virtually(main)


def test_an_express_execution_may_poll_and_nothing_of_it_stays():
    async def main(rig: Running, clock: VirtualClock) -> None:
        rig.ours.answers = [Succeeded({"n": 0}), Succeeded({"n": 1})]
        target = await rig.machine(polling("$states.result.n = 1"), "x", "EXPRESS")
        outcome = await rig.engine.start_sync_execution(target, None, "{}")
        assert outcome.status == "SUCCEEDED"
        assert not rig.engine.cells.home.dispatcher._open
        assert not rig.engine.cells.home.dispatcher._later

    virtually(main)


@pytest.mark.parametrize(
    "until",
    [
        "$count([1..9000000]) > 1",
        "($f := function($n, $s) { $n = 0 ? $s : $f($n - 1, $s & $s) }; $length($f(28, 'x'))) > 1",
    ],
)
def test_a_condition_has_the_bounds_of_every_expression(until: str):
    plan = read_plan({"Resource": CALL, "Until": until})
    assert isinstance(satisfies(plan.until, {}, 0), Failed)
