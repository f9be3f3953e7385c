"""The parent of one process of a job: starts it once, ends it on request or at its timeout, and stores how it ended.

A program of its own, on the standard library alone: `python -m statewright.jobs.runner FOLDER`. It is in a session of
its own and continues when the server dies; it communicates through files in the folder:

    order.json   what to run (from the server)      claim    this runner's process, made exactly once
    stop         the process is to end              child    the job's own process
    output.log   what the process writes            exit.json  how it ended

A second runner of a folder finds the claim taken and starts nothing. One byte on the standard output says that the
process runs. With `tied` in the request the end of file on the standard input ends the process: the server is gone, and
no other will look for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CLAIM, CHILD, EXIT, REQUEST, OUTPUT, STOP = "claim", "child", "exit.json", "order.json", "output.log", "stop"
KILL_AGAIN_SECONDS = 5.0

Request = dict[str, Any]
"""The content of `order.json`: the members of `processes.ProcessRequest`, `tied` and `umask` (-1: the runner's own)."""


def started_at(pid: int) -> str | None:
    """Start of a process, as a text unique among processes of this machine with its id; `None` if it has ended."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        # A zombie has ended, though its parent has not waited for it.
        return f"{_boot()} {after_name[19].decode()}" if after_name[0] != b"Z" else None
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, IndexError):
        return None
    found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def write_whole(path: Path, value: object) -> None:
    """Write a JSON file atomically: readers, also after a power failure, find all of it or nothing."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with new.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


class Runner:
    """One process of a job and its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stop_asked = False
        self.why = ""
        self.started_ms = 0
        self._news, self._alarm = os.pipe()
        os.set_blocking(self._news, False)
        os.set_blocking(self._alarm, False)

    def run(self) -> int:
        """Run the process of the folder to its end; return 1 if another runner has it."""
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            # Handlers, not SIG_IGN: the job's process would inherit an ignored signal.
            signal.signal(number, lambda *_: None)
        if not self._claimed():
            return 1
        request = json.loads((self.folder / REQUEST).read_bytes())
        if (self.folder / STOP).exists():
            self._end(None, "stopped")
            return 0
        try:
            child = self._started(request)
        except (OSError, ValueError) as problem:
            self._end(None, "unstartable", str(problem))
            return 0
        write_whole(self.folder / CHILD, {"pid": child.pid, "started": started_at(child.pid)})
        with contextlib.suppress(OSError):
            os.write(1, b"+")
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
        code = self._watch(child, request)
        # Children that the process leaves behind end with it, as in a container.
        _signal_group(child.pid, signal.SIGKILL)
        self._end(code if code >= 0 else 128 - code, self.why)
        return 0

    def _claimed(self) -> bool:
        mine = self.folder / f"{CLAIM}.{os.getpid()}"
        write_whole(mine, {"pid": os.getpid(), "started": started_at(os.getpid())})
        try:
            os.link(mine, self.folder / CLAIM)
        except FileExistsError:
            return False
        finally:
            mine.unlink()
        return True

    def _started(self, request: Request) -> subprocess.Popen[bytes]:
        self.started_ms = round(time.time() * 1000)
        with (self.folder / OUTPUT).open("ab") as output:
            return subprocess.Popen(
                request["argv"],
                cwd=request["cwd"],
                env=request["env"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=request.get("umask", -1),
            )

    def _watch(self, child: subprocess.Popen[bytes], request: Request) -> int:
        deadline = time.monotonic() + request["timeout_seconds"] if request.get("timeout_seconds") else None
        kill_at: float | None = None
        watched = [self._news, 0] if request.get("tied") else [self._news]
        while True:
            code = child.poll()
            if code is not None:
                return code
            now = time.monotonic()
            if self.why == "" and (self.stop_asked or (deadline is not None and now >= deadline)):
                self.why = "stopped" if self.stop_asked else "timeout"
                kill_at = now + request["stop_seconds"]
                _signal_group(child.pid, signal.SIGTERM)
            if kill_at is not None and now >= kill_at:
                if request.get("kill"):
                    subprocess.run(request["kill"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
                _signal_group(child.pid, signal.SIGKILL)
                kill_at = now + KILL_AGAIN_SECONDS
            due = kill_at if self.why else deadline
            self._wait(watched, max(due - now, 0) if due is not None else None)

    def _wait(self, watched: list[int], seconds: float | None) -> None:
        ready = select.select(watched, [], [], seconds)[0]
        if self._news in ready:
            self.stop_asked |= signal.SIGTERM in os.read(self._news, 4096)
        if 0 in ready and not os.read(0, 1):
            watched.remove(0)
            self.stop_asked = True

    def _end(self, code: int | None, why: str, text: str = "") -> None:
        ended_ms = round(time.time() * 1000)
        end = {"code": code, "why": why, "text": text, "started_ms": self.started_ms, "ended_ms": ended_ms}
        write_whole(self.folder / EXIT, end)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


if __name__ == "__main__":
    sys.exit(Runner(Path(sys.argv[1])).run())
