"""What a first test costs before it begins: the modules that a run of a one-state machine imports."""

from __future__ import annotations

import subprocess
import sys

FIRST_RUN = """
import sys
from statewright.testing import Sfn
sfn = Sfn()
machine = sfn.load({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}}, name="one")
machine.run({}).assert_succeeded()
sfn.close()
print(*sys.modules, sep="\\n")
"""
NOT_USED = (
    "statewright.api.app",
    "statewright.api.protocols.rest",
    "statewright.api.protocols.wire",
    "statewright.events.buses",
    "statewright.events.rules",
    "statewright.events.scheduler",
    "statewright.functions",
    "statewright.interpreter.trial",
    "statewright.jobs",
    "statewright.objects",
    "statewright.queues.queues",
    "statewright.queues.state",
    "statewright.records",
    "statewright.simulator.cases",
    "statewright.simulator.simulate",
    "statewright.stores.sqlite",
    "statewright.tables",
    "statewright.topics",
)
"""Modules, and packages with all that is in them, that a run without tasks has no use for."""


def imported(program: str) -> set[str]:
    """The modules that are there after a program."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_first_run_imports_only_what_it_uses():
    found = imported(FIRST_RUN)
    assert "statewright.engine.engine" in found
    assert sorted(one for one in found if one.startswith(NOT_USED)) == []
