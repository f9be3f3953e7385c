"""Processes of jobs: each runs under a runner of its own, which a restarted server finds again.

Owns the folders that `runner.py` works in, and watching the runners. `ecs_tasks.py` and `batch_jobs.py` decide what to
run and what an end means. A process starts exactly once, however often `start` is called: the claim in its folder
decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar, TypeVarTuple

from statewright.clock import BusyToken, Clock, Timer
from statewright.files.data_folder import users_mask
from statewright.jobs import runner
from statewright.payload import Json, JsonMapping
from statewright.settings.server import RayNeeds

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREADS: Final = 2
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
POLL_MS: Final = 200
"""Interval between polls of a runner if the system has no descriptors for processes."""
CLOSE_SECONDS: Final = 10
"""Longest wait of a closing server for runners that end with it."""

log = logging.getLogger("statewright.jobs")


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """A process to run. `kill` is a command that ends what signals do not reach: the container of an engine.

    On Ray, `env` and `cwd` are added to those of the node, `needs` is its place, and with `cwd_of`, an image, the
    folder `cwd` must be there.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stop_seconds: float = 30
    timeout_seconds: float | None = None
    kill: Sequence[str] | None = None
    needs: RayNeeds | None = None
    cwd_of: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a process. `code` is its exit code, 128 + n for signal n; `None` if it never ran or is unknown.

    `why` is empty if it exited by itself, else `stopped`, `timeout`, `unstartable` or `vanished`; `text` has details.
    """

    code: int | None
    why: str = ""
    text: str = ""
    started_ms: int = 0
    ended_ms: int = 0


OnEnd = Callable[[End], None]
Made = Callable[[Path], ProcessRequest]
"""Makes a request from the process's own folder. Raises: OSError if there can be none."""


class Running(Protocol):
    """Runs the processes of jobs, each in a folder of its own: here (`Processes`), or on Ray (`RayProcesses`)."""

    def folder(self, place: str) -> Path:
        """The folder of a process."""

    async def start(self, place: str, request: Made | None, on_end: OnEnd, *, born_ms: int = 0) -> bool:
        """Start the process of a place, or recover one that was started before; return True if it runs.

        `request` is called with the process's own folder; without it nothing is started, and a process that is not
        found has vanished. `on_end` is called once, from the loop, also for a process that has ended meanwhile.
        `born_ms` is when its task or job was made.
        """

    async def stop(self, place: str) -> None:
        """End a process: SIGTERM, and SIGKILL after its grace. One that has not started never will."""

    async def remove(self, place: str) -> None:
        """Delete the folder of a process that has ended, or of a whole job."""

    async def close(self) -> None:
        """Release the processes: they continue, to be found by the next server; those tied to this one end."""


@dataclass(slots=True)
class _Watch:
    """A watched runner: by its process descriptor, or by polling."""

    pid: int
    started: str | None
    folder: Path
    on_end: OnEnd
    busy: BusyToken
    descriptor: int = -1
    timer: Timer | None = None


@dataclass(slots=True)
class Processes:
    """All processes of one server. Without a `root` they are tied to it: they end when it ends, however it does."""

    clock: Clock
    root: Path | None
    _temporary: Path | None = None
    _watches: dict[str, _Watch] = field(default_factory=dict)
    _children: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, thread_name_prefix="statewright-jobs")
    )

    def folder(self, place: str) -> Path:
        """The folder of a process."""
        if self.root is not None:
            return self.root / place
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="statewright-jobs-"))
        return self._temporary / place

    async def start(self, place: str, request: Made | None, on_end: OnEnd, *, born_ms: int = 0) -> bool:  # noqa: ARG002
        """See `Running.start`."""
        if place in self._watches:
            return True
        folder = self.folder(place)
        claim = await self._on_thread(_read, folder / runner.CLAIM)
        if claim is None and request is not None:
            try:
                child, tells = await self._on_thread(self._spawn, folder, request)
            except OSError as problem:
                on_end(End(None, "unstartable", str(problem)))
                return False
            await _has_written(tells)
            self._children[child.pid] = child
            claim = await self._on_thread(_read, folder / runner.CLAIM)
            if claim is None or claim["pid"] != child.pid:
                # A runner of the previous server was first, or this one died immediately.
                await self._on_thread(child.wait)
                self._forget_child(child.pid)
        if claim is None:
            on_end(self._vanished(folder))
            return False
        runs = self._watch(place, folder, claim, on_end)
        if runs and (folder / runner.STOP).exists():
            # It was asked to stop before it handled signals.
            self._signal(self._watches[place])
        return runs

    async def stop(self, place: str) -> None:
        """End a process: SIGTERM, and SIGKILL after its grace. One that has not started never will."""
        await self._on_thread(_touch, self.folder(place) / runner.STOP)
        watch = self._watches.get(place)
        if watch is not None:
            self._signal(watch)

    def _signal(self, watch: _Watch) -> None:
        with contextlib.suppress(ProcessLookupError):
            if watch.descriptor >= 0:
                signal.pidfd_send_signal(watch.descriptor, signal.SIGTERM)
            elif runner.started_at(watch.pid) == watch.started:
                os.kill(watch.pid, signal.SIGTERM)

    async def remove(self, place: str) -> None:
        """Delete the folder of a process that has ended, or of a whole job."""
        await self._on_thread(lambda: shutil.rmtree(self.folder(place), ignore_errors=True))

    async def close(self) -> None:
        """Release the processes: they continue, to be found by the next server; those tied to this one end."""
        for watch in self._watches.values():
            self._unwatch(watch)
        self._watches.clear()
        children, self._children = self._children, {}
        for child in children.values():
            if child.stdin is not None:
                child.stdin.close()
        if self.root is None:
            for child in children.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    await self._on_thread(child.wait, CLOSE_SECONDS)
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
        for child in children.values():
            # The runner is meant to outlive the server; a return code suppresses the warning of `Popen`.
            child.returncode = child.poll() or 0
        self._threads.shutdown(wait=False)

    # -------------------------------------------------------------- runners

    def _spawn(self, folder: Path, request: Made) -> tuple[subprocess.Popen[bytes], int]:
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        told = {**asdict(request(work)), "tied": self.root is None, "umask": users_mask()}
        runner.write_whole(folder / runner.REQUEST, told)
        tells, their_end = os.pipe()
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", runner.__file__, str(folder)],
                # A job can read its runner's environment; only the command of an engine needs the server's.
                env=None if told["kill"] else {name: os.environ[name] for name in _KEPT if name in os.environ},
                stdin=subprocess.PIPE if self.root is None else subprocess.DEVNULL,
                stdout=their_end,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            os.close(tells)
            raise
        finally:
            os.close(their_end)
        return child, tells

    def _watch(self, place: str, folder: Path, claim: JsonMapping, on_end: OnEnd) -> bool:
        pid = claim["pid"]
        watch = _Watch(pid, claim["started"], folder, on_end, self.clock.busy())
        # Opened before the comparison: the descriptor cannot come to mean another process with the same id.
        try:
            watch.descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        except OSError:
            self._finish(watch)
            return False
        if runner.started_at(pid) != watch.started:
            self._unwatch(watch)
            self._finish(watch)
            return False
        self._watches[place] = watch
        if watch.descriptor >= 0:
            asyncio.get_running_loop().add_reader(watch.descriptor, self._on_gone, place)
        else:
            self._poll(place)
        return True

    def _poll(self, place: str) -> None:
        watch = self._watches.get(place)
        if watch is None:
            return
        child = self._children.get(watch.pid)
        ended = child.poll() is not None if child is not None else runner.started_at(watch.pid) != watch.started
        if ended:
            self._on_gone(place)
        else:
            watch.timer = self.clock.call_at(self.clock.now_ms() + POLL_MS, lambda: self._poll(place))

    def _on_gone(self, place: str) -> None:
        watch = self._watches.pop(place, None)
        if watch is not None:
            self._unwatch(watch)
            self._forget_child(watch.pid)
            self._finish(watch)

    def _unwatch(self, watch: _Watch) -> None:
        if watch.descriptor >= 0:
            asyncio.get_running_loop().remove_reader(watch.descriptor)
            os.close(watch.descriptor)
            watch.descriptor = -1
        if watch.timer is not None:
            watch.timer.cancel()
        watch.busy.release()

    def _finish(self, watch: _Watch) -> None:
        watch.busy.release()
        found = _read(watch.folder / runner.EXIT)
        watch.on_end(End(**found) if found is not None else self._vanished(watch.folder))

    def _vanished(self, folder: Path) -> End:
        """The end of a process whose runner has left no exit code; the rest of the process is killed."""
        child = _read(folder / runner.CHILD)
        if child is not None and runner.started_at(child["pid"]) == child["started"]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child["pid"], signal.SIGKILL)
        now_ms = self.clock.now_ms()
        log.warning("the process of %s has vanished without an exit code", folder)
        return End(None, "vanished", "The process ended without an exit code: it was killed, or the host restarted.",
                   0, now_ms)  # fmt: skip

    def _forget_child(self, pid: int) -> None:
        child = self._children.pop(pid, None)
        if child is not None:
            child.wait()
            if child.stdin is not None:
                child.stdin.close()

    async def _on_thread(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


def _read(path: Path) -> Json:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def _answer(heard: asyncio.Future[None]) -> None:
    if not heard.done():
        heard.set_result(None)


async def _has_written(pipe: int) -> None:
    """Wait until the other end of a pipe has written or is closed."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()
    loop.add_reader(pipe, _answer, heard)
    try:
        await heard
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)
