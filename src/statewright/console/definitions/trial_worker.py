"""A process for one trial: reads a request from its standard input, and writes the answer to its standard output.

It bounds itself: alarms end it after some seconds of work or of time, and a limit of the address space what takes too
much memory. Its parent sees it die, and kills it when the page goes away before the answer.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Final
from weakref import WeakKeyDictionary

from statewright.errors import ApiError
from statewright.payload import JsonObject, dump_json, parse_json

WORK_SECONDS: Final = 10
"""Of the processor."""
LONGEST_SECONDS: Final = 60
"""Of time, for a machine that has other things to do."""
EXTRA_BYTES: Final = 512 * 1024 * 1024
MOST_AT_ONCE: Final = 2
MOST_WAITING: Final = 8

_WAYS: Final[dict[int, str]] = {
    -signal.SIGXCPU: f"It took more than {WORK_SECONDS} seconds of work.",
    -signal.SIGALRM: f"It took more than {LONGEST_SECONDS} seconds.",
    -signal.SIGKILL: "It took too long, or too much memory.",
    3: "It took too much memory.",
}


class Room:
    """How many may do something at once, on each event loop: a server has one, and a test run has many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def here(self) -> asyncio.Semaphore:
        """The room of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._held.get(loop)
        if found is None:
            found = self._held[loop] = asyncio.Semaphore(self._most)
        return found


class TrialWorkers:
    """Runs trials in processes, a few at a time."""

    def __init__(self) -> None:
        self._room = Room(MOST_AT_ONCE)
        self._waiting = 0

    async def ask(self, kind: str, request: JsonObject) -> JsonObject:
        """The answer of `trial_runs` to a request; the process ends if this call is cancelled.

        Raises: ApiError (`TooManyTrials`, `TrialEnded` with the reason).
        """
        if self._waiting >= MOST_WAITING:
            raise ApiError("TooManyTrials", "Too many trials are running; try again when they are over.", status=429)
        self._waiting += 1
        try:
            async with self._room.here():
                return await _asked(kind, request)
        finally:
            self._waiting -= 1


async def _asked(kind: str, request: JsonObject) -> JsonObject:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "statewright.console.definitions.trial_worker",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        body, _ = await process.communicate(dump_json({"kind": kind, "request": request}).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode
    if code != 0:
        reason = _WAYS.get(code if code is not None else 0, "Its process failed.")
        raise ApiError("TrialEnded", f"The trial was ended. {reason}")
    answer: JsonObject = await asyncio.to_thread(parse_json, body.decode())
    return answer


def main() -> None:
    """Answer one request."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (WORK_SECONDS, WORK_SECONDS + 2))
    from statewright.console.definitions import trial_runs
    from statewright.engine.heavy.forked_trial import address_space

    kinds: Mapping[str, Callable[[JsonObject], JsonObject]] = {"run": trial_runs.trial_run, "pin": trial_runs.pin}
    asked = parse_json(sys.stdin.buffer.read().decode())
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + EXTRA_BYTES, resource.RLIM_INFINITY))
    try:
        text = dump_json(kinds[asked["kind"]](asked["request"]))
    except MemoryError:
        os._exit(3)
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
