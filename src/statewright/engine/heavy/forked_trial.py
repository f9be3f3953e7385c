"""Tries a piece of work in a forked process with little time and memory: the trial that `query.fence` asks for.

Only where the system can fork (Linux, macOS); elsewhere every trial counts as fine and the library's own limits remain.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from statewright.query.fence import Verdict, set_trial

CPU_SECONDS: Final = 2
"""More than the second that an evaluation may take by itself."""
EXTRA_BYTES: Final = 512 * 1024 * 1024
"""Memory on top of what the process has already."""

_OUT_OF_MEMORY: Final = 3


def fence_expressions() -> None:
    """Have every expression that could take the machine's memory tried in a fork first, from now on."""
    set_trial(try_in_fork)


def try_in_fork(work: Callable[[], object]) -> Verdict:
    """Run the work in a child that is ended when it takes too much; its result and its errors are dropped."""
    if not hasattr(os, "fork"):
        return "fine"
    import signal

    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_and_exit(work)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "time" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "memory"
    return "memory" if os.WEXITSTATUS(status) == _OUT_OF_MEMORY else "fine"


def _run_and_exit(work: Callable[[], object]) -> None:
    code = 0
    try:
        import faulthandler
        import resource

        # What ends here ends on purpose: no report, no core file.
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + EXTRA_BYTES,) * 2)
        # The limit counts from the process's start; a forked process starts at nothing.
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        work()
    except MemoryError:
        code = _OUT_OF_MEMORY
    except BaseException:  # The real run will raise it again, in the open.
        code = 0
    finally:
        os._exit(code)


def address_space() -> int:
    """Bytes of address space in use; an estimate where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1024 * 1024 * 1024
