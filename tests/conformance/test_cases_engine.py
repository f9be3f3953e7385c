"""Our own cases through the engine: the same history, to the last event, as the simulator gives."""

from __future__ import annotations

import pytest

from tests.conformance.engine_driver import through_engine
from tests.conformance.our_cases import Simulator, load_cases


@pytest.mark.parametrize("name", load_cases())
def test_case(name: str) -> None:
    case = load_cases()[name]
    assert through_engine(case) == Simulator()(case)
