"""The pytest plugin: workflows under test in process, on a virtual clock, with mocks, time in steps and restarts.

`plugin.py` has what pytest calls; a test sees the fixture `sfn` (`workbench.py`), the machines that it loads
(`machine.py`) and their runs (`run.py`). Everything runs on the engine of a virtual system with a store in memory.
Names are loaded when they are asked for, so that pytest starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from statewright.functions.workers.models import Model
    from statewright.testing.case import Case
    from statewright.testing.machine import Machine
    from statewright.testing.marks import sfn
    from statewright.testing.mocking import Mock, TaskFailure
    from statewright.testing.run import Run
    from statewright.testing.tasks import UnmockedTask
    from statewright.testing.workbench import Sfn

__all__ = ["Case", "Machine", "Mock", "Model", "Run", "Sfn", "TaskFailure", "UnmockedTask", "sfn"]

_WHERE: Final = {
    "Case": "testing.case", "Machine": "testing.machine", "Mock": "testing.mocking",
    "Model": "functions.workers.models", "Run": "testing.run", "Sfn": "testing.workbench",
    "TaskFailure": "testing.mocking", "UnmockedTask": "testing.tasks", "sfn": "testing.marks",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"statewright.{_WHERE[name]}"), name)
