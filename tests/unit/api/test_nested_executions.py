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
        self.states = calls.states
        return self

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
