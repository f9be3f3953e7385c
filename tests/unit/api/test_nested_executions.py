"""Executions that call Step Functions themselves: engine, integrations and operations together, in virtual time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.api import operations
from statewright.api.calls.inner import InnerCalls
from statewright.config import Config
from statewright.engine.executions.views import StatusChange
from statewright.errors import ApiError
from statewright.integrations.registry import OwnCalls, Registry
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.apps import app_of
from tests.unit.engine.running import Rig, machine, passing, wait

operations.load_all()
HOUR_MS = 3_600_000


class Nest(Rig):
    """A rig whose tasks are really carried out."""

    registry: Registry

    async def up(self) -> Nest:
        calls = InnerCalls()
        self.registry = Registry(Config(volatile=False), self.clock, OwnCalls(calls.states))
        self.integrations = self.registry  # type: ignore[assignment]
        await super().up()
        app = app_of(clock=self.clock, engine=self.engine, integrations=self.registry)
        calls.connect(app)
        self.registry.connect(self.engine)
        self.engine.subscribe_express(self.registry.express_ended)
        self.states = calls.states
        return self

    async def express_child(self, definition: dict[str, Any]) -> str:
        return (await self.machine(definition, "child", type="EXPRESS")).machine_arn

    def heard(self, change: StatusChange) -> None:
        super().heard(change)
        self.registry.status_changed(change)

    async def die(self) -> None:
        self.engine.kill()
        await self.registry.close()
        await self.store.close()


def calling(resource: str, **parameters: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Parameters": parameters, "End": True}


def arn_of(name: str) -> str:
    return f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}"


def test_a_parent_waits_for_its_child_and_takes_its_output() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.machine(machine(W=wait(3600, "P"), P=passing(Result={"b": 2})), "child")
        began = clock.now_ms()
        parent = machine(C=calling("states:startExecution.sync:2", StateMachineArn=child.machine_arn, Input={"a": 1}))
        arn = await nest.begin(parent)
        view = await nest.end(arn)
        assert view.status == "SUCCEEDED"
        output = json.loads(view.output)
        assert (output["Input"], output["Output"], output["Status"]) == ({"a": 1}, {"b": 2}, "SUCCEEDED")
        # The child's end was announced: nobody had to wait for the next look.
        assert clock.now_ms() - began == HOUR_MS
        types = await nest.types(arn)
        assert types[2:6] == ["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded"]
        await nest.die()

    run_virtual(main)


def test_a_child_that_fails_fails_the_task_with_its_description() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        await nest.machine(machine(F={"Type": "Fail", "Error": "E", "Cause": "C"}), "child")
        view = await nest.end(
            await nest.begin(machine(C=calling("states:startExecution.sync", StateMachineArn=arn_of("child"))))
        )
        assert (view.status, view.error) == ("FAILED", "States.TaskFailed")
        cause = json.loads(view.cause)
        assert (cause["Status"], cause["Error"], cause["Cause"]) == ("FAILED", "E", "C")
        assert "Output" not in cause
        await nest.die()

    run_virtual(main)


@pytest.mark.parametrize("after_ms", [0, 1000])
def test_a_crash_loses_neither_parent_nor_child(after_ms: int) -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.machine(machine(W=wait(3600)), "child")
        parent = machine(C=calling("states:startExecution.sync", StateMachineArn=child.machine_arn))
        arn = await nest.begin(parent)
        if after_ms:
            await nest.until(after_ms)
        await nest.die()
        await nest.up()
        view = await nest.end(arn)
        assert view.status == "SUCCEEDED"
        children, _ = await nest.engine.list_executions(
            child.machine_arn, status=None, redrive_filter=None, token=None, limit=10
        )
        assert len(children) == 1
        await nest.die()

    run_virtual(main)


@pytest.mark.parametrize("suffix", ["sync", "sync:2"])
def test_a_parent_waits_for_its_express_child(suffix: str) -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.express_child(machine(W=wait(90, "P"), P=passing(Result={"b": 2})))
        began = clock.now_ms()
        call = calling(f"states:startExecution.{suffix}", StateMachineArn=child, Input={"a": 1}, Name="c")
        arn = await nest.begin(machine(C=call))
        view = await nest.end(arn)
        assert view.status == "SUCCEEDED"
        output = json.loads(view.output)
        assert output["ExecutionArn"].startswith(child.replace(":stateMachine:", ":express:") + ":c:")
        assert (output["Name"], output["Status"], output["StopDate"]) == ("c", "SUCCEEDED", began + 90_000)
        shown = ({"a": 1}, {"b": 2}) if suffix == "sync:2" else ('{"a":1}', '{"b":2}')
        assert (output["Input"], output["Output"]) == shown
        # Its end is announced: the parent does not wait for the next look.
        assert clock.now_ms() - began == 90_000
        types = await nest.types(arn)
        assert types[2:6] == ["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded"]
        await nest.die()

    run_virtual(main)


def test_an_express_child_that_fails_or_takes_too_long_fails_the_task() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        for states, status in (({"F": {"Type": "Fail", "Error": "E"}}, "FAILED"), ({"W": wait(600)}, "TIMED_OUT")):
            child = (await nest.machine(machine(**states), f"child-{status}", type="EXPRESS")).machine_arn
            call = calling("states:startExecution.sync", StateMachineArn=child)
            target = await nest.machine(machine(C=call), f"parent-{status}")
            view = await nest.end((await nest.engine.start_execution(target, "run", "{}")).arn)
            assert (view.status, view.error) == ("FAILED", "States.TaskFailed")
            assert json.loads(view.cause)["Status"] == status
        await nest.die()

    run_virtual(main)


@pytest.mark.parametrize("after_ms", [0, 1_000, 89_999])
def test_a_crash_runs_an_express_child_again_and_its_parent_takes_the_end(after_ms: int) -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.express_child(machine(W=wait(90, "P"), P=passing(Result=1)))
        arn = await nest.begin(machine(C=calling("states:startExecution.sync:2", StateMachineArn=child)))
        if after_ms:
            await nest.until(after_ms)
        await nest.die()
        await nest.up()
        view = await nest.end(arn)
        assert (view.status, json.loads(view.output)["Output"]) == ("SUCCEEDED", 1)
        assert [kept.row.name for kept in nest.store.executions.by_id.values()].count("run") == 1
        assert len(nest.store.executions.by_id) == 2
        await nest.die()

    run_virtual(main)


def test_a_crash_before_the_parent_knows_its_express_child_starts_no_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.express_child(machine(W=wait(90)))
        arn = await nest.begin(machine(C=calling("states:startExecution.sync", StateMachineArn=child)))
        monkeypatch.setattr(nest.engine.cells.home.runner, "tell", lambda *_: None)
        await nest.until(1_000)
        assert "TaskSubmitted" not in await nest.types(arn)
        await nest.die()
        await nest.up()
        assert (await nest.end(arn)).status == "SUCCEEDED"
        assert (await nest.types(arn)).count("TaskSubmitted") == 1
        assert len(nest.store.executions.by_id) == 2
        await nest.die()

    run_virtual(main)


def test_an_express_child_that_ended_while_its_parent_was_away_is_found() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.express_child(machine(W=wait(5, "P"), P=passing(Result=1)))
        arn = await nest.begin(machine(C=calling("states:startExecution.sync:2", StateMachineArn=child)))
        await nest.until(1_000)
        await nest.registry.close()
        await nest.until(10_000)
        assert (await nest.engine.describe(arn)).status == "RUNNING"
        await nest.die()
        await nest.up()
        assert (await nest.end(arn)).status == "SUCCEEDED"
        await nest.die()

    run_virtual(main)


@pytest.mark.parametrize("how", ["stop", "timeout"])
def test_a_parent_that_ends_stops_its_child(how: str) -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        child = await nest.machine(machine(W=wait(3600)), "child")
        call = calling("states:startExecution.sync", StateMachineArn=child.machine_arn, Name="c")
        arn = await nest.begin(machine(C={**call, "TimeoutSeconds": 60}))
        await nest.until(1000)
        if how == "stop":
            await nest.engine.stop_execution(arn, "E", "C")
        else:
            await nest.until(60_000)
        await nest.settle()
        view = await nest.engine.describe(child.machine_arn.replace(":stateMachine:", ":execution:") + ":c")
        assert view.status == "ABORTED"
        assert (await nest.engine.describe(arn)).status == ("ABORTED" if how == "stop" else "FAILED")
        await nest.die()

    run_virtual(main)


def test_a_missing_machine() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        for resource, error, event in (
            ("states:startExecution", "StepFunctions.StateMachineDoesNotExistException", "TaskFailed"),
            ("states:startExecution.sync", "StepFunctions.StateMachineDoesNotExistException", "TaskSubmitFailed"),
            ("aws-sdk:sfn:startExecution", "Sfn.StateMachineDoesNotExistException", "TaskFailed"),
        ):
            arn = await nest.begin(
                machine(C=calling(resource, StateMachineArn=arn_of("none"))), name=event + resource[:3]
            )
            view = await nest.end(arn)
            assert view.error == error
            assert f"State Machine Does Not Exist: '{arn_of('none')}'" in view.cause
            assert event in await nest.types(arn)
            await nest.machines.delete(arn_of("m"))
            await nest.settle()
        await nest.die()

    run_virtual(main)


def test_an_operation_that_validates_says_what_the_service_says() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        view = await nest.end(await nest.begin(machine(C=calling("aws-sdk:sfn:describeExecution"))))
        assert view.error == "Sfn.ValidationException"
        assert "Value null at 'executionArn' failed to satisfy constraint: Member must not be null" in view.cause
        with pytest.raises(ApiError, match="no operation DoIt"):
            await nest.states("DoIt", {})
        await nest.die()

    run_virtual(main)


def test_a_callback_by_the_child() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        answer = {"TaskToken.$": "$.token", "Output": {"done": True}}
        child = await nest.machine(machine(S=calling("aws-sdk:sfn:sendTaskSuccess", **answer)), "child")
        given = {"token.$": "$$.Task.Token"}
        parent = machine(
            C=calling("states:startExecution.waitForTaskToken", StateMachineArn=child.machine_arn, Input=given)
        )
        view = await nest.end(await nest.begin(parent))
        assert json.loads(view.output) == {"done": True}
        await nest.die()

    run_virtual(main)


def test_a_missing_service_fails_the_execution_with_advice() -> None:
    async def main(clock: VirtualClock) -> None:
        nest = await Nest(clock).up()
        call = calling("dynamodb:getItem", TableName="t", Key={})
        view = await nest.end(await nest.begin(machine(C=call)))
        assert (view.status, view.error) == ("FAILED", "Statewright.ServiceNotConfigured")
        assert "[endpoints] dynamodb" in view.cause
        await nest.die()

    run_virtual(main)
