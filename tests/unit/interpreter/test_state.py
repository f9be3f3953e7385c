from __future__ import annotations

from dataclasses import replace

import pytest

from statewright.interpreter.phases import RUNNABLE, WAITING
from statewright.interpreter.state import SERIAL_BITS, Frame
from statewright.payload import Payload
from statewright.simulator.simulate import make_identity
from tests.unit.interpreter.driven import Driven, machine, wait


def test_account() -> None:
    assert make_identity().account == "000000000000"
    assert replace(make_identity(), state_machine_arn="nonsense").account == ""


def test_ids_carry_their_frame_and_are_never_given_twice() -> None:
    state = Driven(machine(W=wait())).state
    ids = [state.new_id(frame_id) for frame_id in (0, 3, 3, 2**30)]
    assert [given >> SERIAL_BITS for given in ids] == [0, 3, 3, 2**30]
    assert len(set(ids)) == 4
    assert max(ids) < 2**63


def test_a_frame_shows_where_it_is() -> None:
    frame = Frame(5, 0, 1, 2, "Charge", Payload({}))
    assert repr(frame) == "Frame(5, 'Charge', ready)"
    frame.phase = WAITING
    assert repr(frame) == "Frame(5, 'Charge', waiting)"


@pytest.mark.parametrize("phase", sorted(RUNNABLE))
def test_runnable_phases_come_first(phase: int) -> None:
    assert phase < WAITING
