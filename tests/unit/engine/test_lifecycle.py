"""Redrive, restart, passivation, retention, machines that go, metrics."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from statewright.engine import runner
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.inputs import no_result
from statewright.errors import ApiError, Unavailable
from statewright.limits import OPEN
from statewright.stores.protocol import Stale
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, lifted, machine, passing, task, wait

DAY_MS = 24 * 3600 * 1000


async def refusal(work: Any) -> tuple[str, str]:
    with pytest.raises(ApiError) as problem:
        await work
    return problem.value.code, problem.value.message


def test_redrive() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "E")
        arn = await rig.begin(machine(P=passing("T", Result=5), T=task()))
        await rig.end(arn)
        await rig.until(60_000)
        rig.integrations.returns("T", 6)
        redriven_ms = await rig.engine.redrive_execution(arn, "token")
        assert redriven_ms == clock.now_ms()
        await rig.until(1_000)
        assert await rig.engine.redrive_execution(arn, "token") == redriven_ms
        view = await rig.end(arn)
        assert (view.status, view.output, view.redrive_count, view.redriven_ms) == ("SUCCEEDED", "6", 1, redriven_ms)
        assert (view.redrive_status, view.redrive_reason) == (
            "NOT_REDRIVABLE",
            "Execution is SUCCEEDED and cannot be redriven",
        )
        assert await refusal(rig.engine.redrive_execution(arn, "other")) == (
            "ExecutionNotRedrivable",
            "Execution is SUCCEEDED and cannot be redriven",
        )
        await rig.until(16 * 60_000)
        assert (await refusal(rig.engine.redrive_execution(arn, "token")))[0] == "ExecutionNotRedrivable"
        assert [change.view.status for change in rig.published] == ["RUNNING", "FAILED", "RUNNING", "SUCCEEDED"]
        assert "ExecutionRedriven" in await rig.types(arn)

    run_virtual(main)


def test_what_cannot_be_redriven() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, limits=lifted(history_events=8)).up()
        target = await rig.machine(
            machine(W=wait(60), F={"Type": "Fail"}) | {"StartAt": "F"} | {"States": {"F": {"Type": "Fail"}}}
        )
        arn = (await rig.engine.start_execution(target, "f", "{}")).arn
        await rig.end(arn)
        assert (await rig.engine.describe(arn)).redrive_status == "REDRIVABLE"
        for _ in range(2):
            await rig.engine.redrive_execution(arn)
            await rig.settle()
        view = await rig.engine.describe(arn)
        assert view.redrive_reason == "Execution history event limit exceeded"
        waiting = await rig.machine(machine(W=wait(60)), "w")
        running = (await rig.engine.start_execution(waiting, "r", "{}")).arn
        assert (await refusal(rig.engine.redrive_execution(running)))[
            1
        ] == "Execution is RUNNING and cannot be redriven"
        await rig.engine.stop_execution(running)
        await clock.sleep_until(clock.now_ms() + 14 * DAY_MS + 1)
        assert (await rig.engine.describe(running)).redrive_reason == "Execution redrivable period exceeded"
        assert (await refusal(rig.engine.redrive_execution(running)))[0] == "ExecutionNotRedrivable"

    run_virtual(main)


def test_a_restart_resumes_waits_near_and_far() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine({"StartAt": "W", "States": {"W": {"Type": "Wait", "SecondsPath": "$", "End": True}}})
        arns = {}
        for seconds in (1, 59, 60, 61, 3600, 40 * 86_400):
            arns[seconds] = (await rig.engine.start_execution(target, None, str(seconds))).arn
        began = clock.now_ms()
        await rig.until(500)
        for seconds, arn in arns.items():
            await rig.crash()
            view = await rig.end(arn)
            assert view.stopped_ms == began + seconds * 1000
        assert (await rig.engine.metrics())["timers_late_ms_most"] == 0

    run_virtual(main)


def test_a_restart_continues_a_burst() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        states = {f"P{n}": passing(f"P{n + 1}") for n in range(999)}
        arn = await rig.begin(machine(**states, P999=passing()))
        assert (await rig.engine.describe(arn)).status == "RUNNING"
        await rig.crash()
        view = await rig.end(arn)
        assert view.status == "SUCCEEDED"
        assert [event["id"] for event in await rig.events(arn)] == list(range(1, 2003))
        assert not rig.store.executions.inbox

    run_virtual(main)


def test_a_stop_in_good_order_leaves_the_rest_to_the_next() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        states = {f"P{n}": passing(f"P{n + 1}") for n in range(999)}
        arn = await rig.begin(machine(**states, P999=passing()))
        await rig.down()
        with pytest.raises(Unavailable):
            await rig.engine.cells.of(1).runner.ask(1, None, result=no_result)  # type: ignore[arg-type]
        await rig.up()
        assert (await rig.end(arn)).status == "SUCCEEDED"

    run_virtual(main)


@pytest.mark.slow
def test_ten_thousand_waiting_executions_cost_no_task() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, hot=10).up()
        target = await rig.machine(machine(W=wait(30)))
        for number in range(2_000):
            await rig.engine.start_execution(target, f"e{number}", "{}")
        await rig.settle()
        metrics = await rig.engine.metrics()
        assert (metrics["executions_in_memory"], metrics["executions_busy"]) == (10, 0)
        assert len(asyncio.all_tasks()) == 1
        await rig.until(30_000)
        for _ in range(50):
            await rig.settle()
        assert (await rig.engine.metrics())["executions_by_status"]["SUCCEEDED"] == 2_000

    run_virtual(main)


def test_closed_executions_are_forgotten() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        for number in range(700):
            await rig.engine.start_execution(target, f"e{number}", "{}")
        await clock.sleep_until(clock.now_ms() + 91 * DAY_MS)
        await rig.engine.start_execution(target, "new", "{}")
        await rig.settle()
        assert (await rig.engine.metrics())["executions_forgotten"] == 700
        assert len((await rig.engine.list_executions(target.machine_arn, limit=1000))[0]) == 1

    run_virtual(main)


def test_executions_outlive_their_machine() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        arn = (await rig.engine.start_execution(target, "e", "1")).arn
        await rig.machines.delete(target.machine_arn)
        assert (await rig.engine.describe(arn)).output == "1"
        # A machine of the same name has executions of its own; the newest answers to the ARN.
        target = await rig.machine(machine(P=passing()))
        assert (await rig.engine.start_execution(target, "e", "2")).arn == arn
        rig.engine.names._ids.clear()
        assert (await rig.engine.describe(arn)).output == "2"

    run_virtual(main)


def test_executions_of_a_machine_that_is_being_deleted_end_at_their_next_step() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(10, "V"), V=wait(10)))
        arn = (await rig.engine.start_execution(target, "e", "1")).arn
        await rig.machines.delete(target.machine_arn)
        view = await rig.end(arn)
        assert (view.status, view.stopped_ms) == ("ABORTED", view.started_ms + 10_000)

    run_virtual(main)


def test_the_execution_times_out() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin({**machine(W=wait(600)), "TimeoutSeconds": 100})
        view = await rig.end(arn)
        assert (view.status, view.stopped_ms, view.error) == ("TIMED_OUT", view.started_ms + 100_000, None)
        assert await rig.store.executions.due(0, 1 << 62, 5) == []

    run_virtual(main)


def test_without_limits_nothing_ticks() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, limits=OPEN).up()
        rig.integrations.submits("T")
        await rig.begin(machine(T=task("arn:aws:states:::sqs:sendMessage.waitForTaskToken")))
        await rig.settle()
        for cell in rig.engine.cells:
            assert len(cell.effects.timers) == 0
            assert await rig.store.executions.due(cell.shard.number, 1 << 62, 5) == []

    run_virtual(main)


def test_a_commit_without_an_answer_is_repeated() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        commit = rig.store.executions.commit
        fails = {"before": 2, "after": 2}

        async def flaky(one: Any) -> Any:
            if fails["before"]:
                fails["before"] -= 1
                raise Unavailable("before")
            outcome = await commit(one)
            if fails["after"]:
                fails["after"] -= 1
                raise Unavailable("after")
            return outcome

        rig.store.executions.commit = flaky
        arn = await rig.begin(machine(W=wait(1, "P"), P=passing()))
        fails.update(before=1, after=1)
        assert (await rig.end(arn)).status == "SUCCEEDED"
        assert [event["id"] for event in await rig.events(arn)] == list(range(1, 7))
        metrics = await rig.engine.metrics()
        assert metrics["commits_retried"] == 6
        assert metrics["commits"] == 2

    run_virtual(main)


def test_a_caller_that_waits_too_long_for_the_store_gets_an_error() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        commit = rig.store.executions.commit
        answers = False

        async def silent(one: Any) -> Any:
            if not answers:
                raise Unavailable("no answer")
            return await commit(one)

        rig.store.executions.commit = silent
        with pytest.raises(Unavailable):
            await rig.engine.start_execution(target, "e", "{}")
        answers = True
        await rig.until(5_000)
        # It was tried on, so it is there.
        views, _ = await rig.engine.list_executions(target.machine_arn)
        assert [view.status for view in views] == ["SUCCEEDED"]

    run_virtual(main)


def test_a_store_that_stays_silent_is_not_given_ever_more_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MOST_UNWRITTEN", 3)

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        commit = rig.store.executions.commit
        asked = 0

        async def silent(one: Any) -> Any:
            nonlocal asked
            asked += 1
            raise Unavailable("no answer")

        rig.store.executions.commit = silent
        for number in range(3):
            with pytest.raises(Unavailable):
                await rig.engine.start_execution(target, f"e{number}", "{}")
        before = asked
        with pytest.raises(Unavailable):
            await rig.engine.start_execution(target, "late", "{}")
        assert asked == before
        rig.store.executions.commit = commit
        await rig.until(10_000)
        assert await rig.engine.start_execution(target, "now", "{}")
        await rig.until(11_000)
        views, _ = await rig.engine.list_executions(target.machine_arn)
        assert sorted(view.name for view in views) == ["e0", "e1", "e2", "now"]

    run_virtual(main)


def test_a_stale_copy_is_dropped_and_loaded_again() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(W=wait(1, "P"), P=passing()))
        commit = rig.store.executions.commit
        stale = [True]

        async def once(one: Any) -> Any:
            if stale:
                stale.pop()
                return Stale()
            return await commit(one)

        rig.store.executions.commit = once
        assert (await rig.end(arn)).status == "SUCCEEDED"
        assert (await rig.engine.metrics())["commits_stale"] == 1

    run_virtual(main)


def test_versions_and_aliases_filter_the_list() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        version = await rig.machines.versions.publish(target.machine_arn)
        by_version = await rig.machines.resolve(version.arn)
        await rig.engine.start_execution(target, "plain", "{}")
        arn = (await rig.engine.start_execution(by_version, "version", "{}")).arn
        assert [view.execution_arn for view in (await rig.engine.list_executions(version.arn))[0]] == [arn]
        assert (await rig.engine.describe(arn)).version_arn == version.arn
        started = (await rig.events(arn))[0]["executionStartedEventDetails"]
        assert started["stateMachineVersionArn"] == version.arn

    run_virtual(main)


def test_settings_have_defaults() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        await rig.down()
        await rig.store.open("again")
        engine = Engine(rig.store, clock, rig.engine.catalogue, rig.integrations)
        assert len(engine.settings.make_seed()) == 16
        assert engine.settings == EngineSettings(make_seed=engine.settings.make_seed)
        assert json.dumps(await engine.metrics())

    run_virtual(main)
