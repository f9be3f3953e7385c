"""Executions that schedules and rules start: a delivery that is repeated finds the one that it has started."""

from __future__ import annotations

import pytest

from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.apps import app_of
from tests.unit.engine.running import Rig, machine, passing


class Started(Rig):
    """A rig whose executions are started by targets."""

    async def up(self) -> Started:
        await super().up()
        calls = InnerCalls()
        calls.connect(app_of(clock=self.clock, engine=self.engine))
        self.targets = TargetCalls(calls)
        await self.machine(machine(P=passing()))
        return self

    async def start(self, request_id: str, text: str = "{}", **given: str) -> str:
        arn = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
        request = {"StateMachineArn": arn, "Input": text, **given}
        answer = await self.targets("sfn", "startExecution", request, request_id=request_id)
        return str(answer["executionArn"])


@pytest.mark.parametrize("given", [{"Name": "d-1"}, {}], ids=["by its name", "without one"])
def test_a_repeated_start_finds_the_execution_although_it_has_ended(given: dict[str, str]) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Started(clock).up()
        first = await rig.start("d-1", **given)
        await rig.end(first)
        # The number of the attempt may be in the input.
        assert await rig.start("d-1", '{"attempt": 2}', **given) == first
        assert first.endswith(":d-1")
        await rig.down()

    run_virtual(main)


def test_another_delivery_does_not_take_the_execution_for_its_own() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Started(clock).up()
        await rig.end(await rig.start("d-1", Name="nightly"))
        with pytest.raises(ApiError, match="Execution Already Exists"):
            await rig.start("d-2", Name="nightly")
        await rig.down()

    run_virtual(main)
