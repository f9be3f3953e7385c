"""Processes of jobs: started under a runner of their own, found again by a restarted server, heard of when they end.

Owns the folders that `runner.py` works in, and the watch on runners. What a process is for, and what its end means, is
up to those who start it. A process is started exactly once, however often it is asked for: the claim in its folder
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
from typing import Any, Final

from statewright.clock import BusyToken, Clock, Timer
from statewright.jobs import runner

THREADS: Final = 2
LOOK_MS: Final = 200
"""How often a runner is looked at where the system cannot tell of its end."""
PATIENCE_SECONDS: Final = 10
"""For runners that end with the server."""

log = logging.getLogger("statewright.jobs")


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `kill` is a command that ends what signals do not reach, the container of an engine."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stop_seconds: float = 30
    timeout_seconds: float | None = None
    kill: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended. `code` is its exit code, 128 + n for signal n; `None` if it never ran or nobody knows.

    `why` is empty for an end of its own, else `stopped`, `timeout`, `unstartable` or `vanished`; `text` says more.
    """

    code: int | None
    why: str = ""
    text: str = ""
    started_ms: int = 0
    ended_ms: int = 0


OnEnd = Callable[[End], None]


@dataclass(slots=True)
class _Watch:
    """A runner that is watched: by a descriptor that tells of its end, or by looking."""

    pid: int
    started: str | None
    folder: Path
    on_end: OnEnd
    busy: BusyToken
    descriptor: int = -1
    timer: Timer | None = None


@dataclass(slots=True)
class Processes:
    """All processes of one server. Without a `root` they are tied to it: they end when it ends, however that comes."""

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

    async def start(self, place: str, order: Callable[[Path], Order] | None, on_end: OnEnd) -> bool:
        """Start the process of a place, or take it up where it has been started before; whether it runs.

        `order` is given the folder that is the process's own; without one nothing is started: what is not there any
        more has vanished. `on_end` is called once, from the loop, also for a process that has ended meanwhile.
        """
        if place in self._watches:
            return True
        folder = self.folder(place)
        claim = await self._on_thread(_read, folder / runner.CLAIM)
        if claim is None and order is not None:
            try:
                child, tells = await self._on_thread(self._spawn, folder, order)
            except OSError as problem:
                on_end(End(None, "unstartable", str(problem)))
                return False
            await _told(tells)
            self._children[child.pid] = child
            claim = await self._on_thread(_read, folder / runner.CLAIM)
            if claim is None or claim["pid"] != child.pid:
                # Another runner was first, before the server was started again; or it died at once.
                await self._on_thread(child.wait)
                self._forget_child(child.pid)
        if claim is None:
            on_end(self._vanished(folder))
            return False
        runs = self._watch(place, folder, claim, on_end)
        if runs and (folder / runner.STOP).exists():
            # It was told to end before it could hear.
            self._signal(self._watches[place])
        return runs

    async def stop(self, place: str) -> None:
        """Have a process end: SIGTERM, and SIGKILL after its grace. One that has not begun never will."""
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
        """Let go: processes run on, and are found again; those that are tied to this server end."""
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
                    await self._on_thread(child.wait, PATIENCE_SECONDS)
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
        for child in children.values():
            # It goes on without us, which is meant: nothing to warn of.
            child.returncode = child.poll() or 0
        self._threads.shutdown(wait=False)

    # -------------------------------------------------------------- runners

    def _spawn(self, folder: Path, order: Callable[[Path], Order]) -> tuple[subprocess.Popen[bytes], int]:
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        told = {**asdict(order(work)), "tied": self.root is None}
        runner.write_whole(folder / runner.ORDER, told)
        tells, their_end = os.pipe()
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", runner.__file__, str(folder)],
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

    def _watch(self, place: str, folder: Path, claim: Mapping[str, Any], on_end: OnEnd) -> bool:
        pid = claim["pid"]
        watch = _Watch(pid, claim["started"], folder, on_end, self.clock.busy())
        # The descriptor first: from then on the id cannot become another process's unnoticed.
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
            asyncio.get_running_loop().add_reader(watch.descriptor, self._gone, place)
        else:
            self._look(place)
        return True

    def _look(self, place: str) -> None:
        watch = self._watches.get(place)
        if watch is None:
            return
        child = self._children.get(watch.pid)
        ended = child.poll() is not None if child is not None else runner.started_at(watch.pid) != watch.started
        if ended:
            self._gone(place)
        else:
            watch.timer = self.clock.call_at(self.clock.now_ms() + LOOK_MS, lambda: self._look(place))

    def _gone(self, place: str) -> None:
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
        """The end of a process whose runner has told nothing; what is left of it is killed."""
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

    async def _on_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


def _read(path: Path) -> Any:
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


async def _told(tells: int) -> None:
    """Return when the other end of a pipe has said something or is closed."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()
    loop.add_reader(tells, _answer, heard)
    try:
        await heard
    finally:
        loop.remove_reader(tells)
        os.close(tells)
