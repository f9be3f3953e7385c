"""Processes of the command `statewright` that begin as copies of one which has imported everything.

Of the 1.3 s of CPU that a server takes until it is ready, 1.1 go into importing 1,200 modules, and the suites start
hundreds of servers. `deadlines.started` and `deadlines.completed` therefore begin what `can_fork` as a copy of a
template (`tests/template_process.py`), which costs 0.2 s. What only a new interpreter has - other variables of Python,
a function to call before it begins, a fail point - is left to `subprocess`. So are the commands of `docs`.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from statewright.stores import fail_points
from tests.template_process import NUMBER

COMMAND = [sys.executable, "-m", "statewright.cli.main"]
_SETTINGS = frozenset(("stdin", "stdout", "stderr", "text", "encoding", "env", "cwd", "start_new_session", "umask"))
_OF_PYTHON = ("PYTHON", "LANG", "LC_", "LD_", "COV_", "COVERAGE_")


def can_fork(command: Sequence[Any], settings: Mapping[str, Any]) -> bool:
    """True for a command line of `statewright` that a copy of the template can run as a new process would."""
    if sys.platform != "linux" or list(command[:3]) != COMMAND or not _SETTINGS.issuperset(settings):
        return False
    environment = settings.get("env") or os.environ
    return not environment.get(fail_points.VARIABLE) and _of_python(environment) == _BEGAN_WITH


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    # Whether compiled modules are written is decided in `tests/conftest.py`.
    others = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {name: value for name, value in others.items() if name.startswith(_OF_PYTHON)}


_BEGAN_WITH = _of_python(os.environ)


class _Template:
    """The template of this process, which ends with it."""

    def __init__(self) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            line = [sys.executable, "-m", "tests.template_process", str(theirs.fileno())]
            others = {name: value for name, value in os.environ.items() if not name.startswith(_OF_PYTHON)}
            self._process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd=Path(__file__).parents[1],
                env=others | _BEGAN_WITH, start_new_session=True,
            )  # fmt: skip
        atexit.register(self._end)

    def _end(self) -> None:
        self.requests.close()
        self._process.wait()


_template = functools.cache(_Template)


class Forked(subprocess.Popen[Any]):
    """A copy of the template that runs the command. Overrides how `Popen` begins a process, and learns of its end."""

    def _execute_child(self, *given: Any) -> None:
        arguments, _, _, _, _, folder, environment = given[:7]
        read, _, _, wrote, _, failed = pipes = given[10:16]
        umask, is_new_session = given[20:22]
        asked = {
            "arguments": [os.fspath(one) for one in arguments[3:]],
            "environment": dict(os.environ if environment is None else environment),
            "folder": os.path.abspath(folder or "."),
            "umask": umask,
            "is_new_session": is_new_session,
        }
        self._status, theirs = socket.socketpair()
        with theirs:
            descriptors = [one if one >= 0 else number for number, one in enumerate((read, wrote, failed))]
            socket.send_fds(_template().requests, [json.dumps(asked).encode()], [*descriptors, theirs.fileno()])
        self.pid = self._number(0)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _number(self, flags: int) -> int:
        self._status.setblocking(not flags & os.WNOHANG)
        found = self._status.recv(NUMBER.size)
        if not found:
            raise ChildProcessError("the template has ended")
        number: int = NUMBER.unpack(found)[0]
        return number

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            status = self._number(wait_flags)
        except BlockingIOError:
            return 0, 0
        self._status.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(False):
            try:
                process, status = self._try_wait(os.WNOHANG) if self.returncode is None else (0, 0)
                if process:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                lock.release()
        return self.returncode


def run(command: Sequence[Any], timeout: float, **settings: Any) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with that, of a command that can be forked. Raises: TimeoutExpired."""
    with Forked(command, **settings) as process:
        try:
            printed, complained = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, printed, complained)
