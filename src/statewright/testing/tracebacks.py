"""The traceback of a failed test, without the lines of Statewright and of the libraries below it.

A failure that Statewright means for the author of a test is in the test's own lines: a wrong assertion, a missing mock,
an unknown name. A fault of Statewright keeps its lines; `--full-trace` shows them always.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Final

_OURS: Final = str(Path(__file__).resolve().parents[1])
_LIBRARIES: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_FAULTS: Final = (TypeError, AttributeError, NameError, IndexError, KeyError, AssertionError)
"""Exceptions of a fault in Statewright. Their subclasses are meant for the author of the test."""


def users_own(problem: BaseException) -> TracebackType | None:
    """The traceback of a failure without Statewright's frames, nor a library's below them; None if it must stay."""
    kept: list[TracebackType] = []
    below = False
    entry = problem.__traceback__
    while entry is not None:
        path = entry.tb_frame.f_code.co_filename
        if path.startswith(_OURS):
            below = True
        elif not path.startswith(_LIBRARIES):
            below = False
        if not below:
            kept.append(entry)
        entry = entry.tb_next
    if below and _is_fault(problem):
        return None
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _is_fault(problem: BaseException) -> bool:
    return type(problem) in _FAULTS and not (isinstance(problem, AssertionError) and problem.args)
