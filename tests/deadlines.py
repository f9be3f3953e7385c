"""How long tests wait, in one place; and the processes they start, none of which outlives its test.

A deadline only says when a test that hangs is given up. No test passes or fails by how fast a machine is: deadlines are
far beyond what anything takes on a slow and busy one, and waiting looks again and again, with a pause between looks.
`STATEWRIGHT_TEST_SLOWNESS=4` makes each deadline four times as long.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import forked

VARIABLE = "STATEWRIGHT_TEST_SLOWNESS"
SLOWNESS = float(os.environ.get(VARIABLE, "1"))

PATIENCE_SECONDS = 240 * SLOWNESS
"""For anything that must happen: an answer, the end of an execution, of a process, of a thread."""
PAUSE_SECONDS = 0.02
"""Between two looks."""

OPEN: dict[int, Callable[[], object]] = {}
"""What ends each process that is under way, by its number here; `tests/conftest.py` ends those that a test left."""
LOGS: dict[int, Path] = {}
"""The log file of each of them that has one, by the same number; `tests/conftest.py` shows its end with a failure."""


def happens(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer of a condition that is asked again and again; the last, false one at the deadline."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
    return found


def until(condition: Callable[[], Any], what: str = "it", seconds: float = PATIENCE_SECONDS) -> Any:
    """As `happens`. Raises: AssertionError at the deadline."""
    found = happens(condition, seconds)
    assert found, f"{what} did not happen in {seconds:.0f} s"
    return found


async def until_async(condition: Callable[[], Any], what: str = "it", seconds: float = PATIENCE_SECONDS) -> Any:
    """As `until`, on a loop that runs in real time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen in {seconds:.0f} s"
        await asyncio.sleep(PAUSE_SECONDS)
    return found


def started(command: Sequence[Any], **settings: Any) -> subprocess.Popen[Any]:
    """A process, as `subprocess.Popen` starts it; at the end of its test it is killed, and its pipes are closed."""
    start = forked.Forked if forked.can_fork(command, settings) else subprocess.Popen
    process = start(command, **settings)
    OPEN[id(process)] = lambda: end(process)
    return process


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process, if it lives, and close its pipes."""
    OPEN.pop(id(process), None)
    LOGS.pop(id(process), None)
    if process.poll() is None:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


@contextmanager
def running(command: Sequence[Any], **settings: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process for the time of a `with`."""
    process = started(command, **settings)
    try:
        yield process
    finally:
        end(process)


def completed(command: Sequence[Any], **settings: Any) -> subprocess.CompletedProcess[str]:
    """What a command prints and its exit code, as text. Raises: TimeoutExpired if it hangs."""
    given: dict[str, Any] = {"text": True, "check": False, "timeout": PATIENCE_SECONDS}
    if "input" not in settings:
        # A test has no terminal; on CI there is none at all.
        given["stdin"] = subprocess.DEVNULL
    given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    given |= settings
    timeout, check = given.pop("timeout"), given.pop("check")
    if not check and forked.can_fork(command, given):
        return forked.run(command, timeout, **given)
    done: subprocess.CompletedProcess[str] = subprocess.run(command, timeout=timeout, check=check, **given)
    return done
