"""Processes of jobs on a Ray cluster: each runs in an actor with a name, which a restarted server finds again.

Owns what the bridge is asked to run, and asking again after it or the cluster was lost. The bridge leaves the files of
a process in its folder, as `runner.py` does for one of this machine; `ray_bridge_jobs.py` has the rules.

An actor's name is that of the process's folder and the instant at which its task or job was made. It follows from the
stored row, so that a server which takes over on another machine finds the actor, too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from statewright.clock import BusyToken, Clock, Timer
from statewright.functions.runtimes.ray_actors import BEGUN
from statewright.functions.workers import fork_servers
from statewright.functions.workers.ray_link import RayLink
from statewright.jobs import runner
from statewright.jobs.processes import End, Made, OnEnd, ProcessRequest
from statewright.payload import Json, JsonObject

AGAIN_MS: Final = 1_000
"""Pause before the bridge is asked again for processes that it has lost with the cluster."""
LOST_MS: Final = 60_000
"""How long a process that has begun is looked for, while the cluster cannot be reached."""

log = logging.getLogger("statewright.jobs")


@dataclass(slots=True, eq=False)
class _Watch:
    """A process that the bridge runs or waits for. `number` is the bridge's, `None` while there is no bridge.

    `order` is what to run; `None` if it runs already. `settled` is done with True once it runs, with False if it ends
    before that. `lost_ms` is since when a process that may run has not been found.
    """

    place: str
    name: str
    folder: Path
    request: ProcessRequest | None
    on_end: OnEnd
    busy: BusyToken
    settled: asyncio.Future[bool]
    number: int | None = None
    may_run: bool = False
    is_stopping: bool = False
    is_over: bool = False
    lost_ms: int | None = None


@dataclass(slots=True)
class RayProcesses:
    """All processes of one server's jobs, on Ray. Without a `root` they end with the server."""

    clock: Clock
    root: Path | None
    link: RayLink
    _temporary: Path | None = None
    _watches: dict[str, _Watch] = field(default_factory=dict)
    _forgotten: set[str] = field(default_factory=set)
    """Names of actors to end, once the cluster can be reached."""
    _forgetting: set[str] = field(default_factory=set)
    """Those of them that the bridge is at."""
    _said: set[str] = field(default_factory=set)
    _again: Timer | None = None
    _is_closed: bool = False

    def folder(self, place: str) -> Path:
        """The folder of a process on the server's machine."""
        if self.root is not None:
            return self.root / place
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="statewright-jobs-"))
        return self._temporary / place

    async def start(self, place: str, request: Made | None, on_end: OnEnd, *, born_ms: int = 0) -> bool:
        """See `Running.start`; waits until the process has its place on a node."""
        known = self._watches.get(place)
        if known is not None:
            return await asyncio.shield(known.settled)
        folder, name = self.folder(place), f"{place}@{born_ms}"
        found, has_begun, is_stopped = await asyncio.to_thread(_look, folder)
        if found is not None:
            # The server ended before it read this, and perhaps before the bridge had ended the actor.
            self._forget(name)
            on_end(End(**found))
            return False
        if is_stopped and not has_begun and request is not None:
            self._forget(name)
            on_end(End(None, "stopped"))
            return False
        try:
            made = request(folder) if request is not None else None
        except OSError as problem:
            on_end(End(None, "unstartable", str(problem)))
            return False
        settled: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        watch = _Watch(place, name, folder, made, on_end, self.clock.busy(), settled)
        watch.may_run = has_begun or made is None
        self._watches[place] = watch
        # Looked at again: a stop that found no watch has left its file.
        watch.is_stopping = is_stopped or (folder / runner.STOP).exists()
        self._ask(watch)
        return await asyncio.shield(settled)

    async def stop(self, place: str) -> None:
        """See `Running.stop`."""
        await asyncio.to_thread(_touch, self.folder(place) / runner.STOP)
        watch = self._watches.get(place)
        if watch is None:
            return
        watch.is_stopping = True
        if watch.number is not None:
            self.link.stop_job(watch.number)
        elif not watch.may_run:
            self._forget(watch.name)
            text = f"it waited for the Ray cluster: {self.link.status.problem or 'it is not connected'}"
            self._finish(watch, End(None, "stopped", text, 0, self.clock.now_ms()))

    async def remove(self, place: str) -> None:
        """See `Running.remove`."""
        await asyncio.to_thread(shutil.rmtree, self.folder(place), True)

    async def close(self) -> None:
        """Release the processes, before the link is closed: it ends those that are not kept."""
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
        for watch in self._watches.values():
            watch.busy.release()
        self._watches.clear()
        if self._temporary is not None:
            await asyncio.to_thread(shutil.rmtree, self._temporary, True)

    # -------------------------------------------------------------- the bridge

    def _ask(self, watch: _Watch) -> None:
        """Have the bridge run a process, or find it."""
        try:
            watch.folder.mkdir(parents=True, exist_ok=True)
            watch.number = self.link.run_job(
                self._told(watch), partial(self._on_started, watch), partial(self._on_waiting, watch),
                partial(self._on_ended, watch),
            )  # fmt: skip
        except OSError as problem:
            self._on_lost(watch, str(problem))
            return
        if watch.is_stopping:
            self.link.stop_job(watch.number)

    def _told(self, watch: _Watch) -> JsonObject:
        settings, request = self.link.settings, watch.request
        needs = settings.needs if request is None or request.needs is None else request.needs
        order = None
        if request is not None:
            order = {
                "folder": settings.folder, "argv": list(request.argv), "env": dict(request.env), "cwd": request.cwd,
                "cwd_of": request.cwd_of, "stop_seconds": request.stop_seconds,
                "timeout_seconds": request.timeout_seconds,
            }  # fmt: skip
        return {
            "name": watch.name,
            "is_kept": self.root is not None,
            "folder": str(watch.folder),
            "needs": {**asdict(needs), "resources": dict(needs.resources)},
            "order": order,
        }

    def _on_started(self, watch: _Watch) -> None:
        watch.may_run, watch.lost_ms = True, None
        if not watch.settled.done():
            watch.settled.set_result(True)

    def _on_waiting(self, watch: _Watch, why: str) -> None:
        if why and why not in self._said:
            self._said.add(why)
            log.warning("the process %s and others like it wait for a place on the Ray cluster: %s", watch.place, why)

    def _on_ended(self, watch: _Watch, end: fork_servers.End) -> None:
        """The bridge has left the end in the folder, or is gone."""
        watch.number = None
        if self._is_closed or watch.is_over:
            return
        found = _read(watch.folder / runner.EXIT)
        if found is not None:
            self._finish(watch, End(**found))
            return
        watch.may_run = watch.may_run or (watch.folder / BEGUN).exists()
        self._on_lost(watch, end.problem)

    def _on_lost(self, watch: _Watch, problem: str) -> None:
        """Ask again later; give up a process that may run and was not found for long."""
        if watch.is_stopping and not watch.may_run:
            self._forget(watch.name)
            text = f"it waited for the Ray cluster: {problem}"
            self._finish(watch, End(None, "stopped", text, 0, self.clock.now_ms()))
            return
        now_ms = self.clock.now_ms()
        if watch.may_run and watch.lost_ms is None:
            watch.lost_ms = now_ms
        if watch.lost_ms is not None and now_ms - watch.lost_ms >= LOST_MS:
            seconds = LOST_MS // 1000
            end = End(None, "vanished", f"The Ray cluster could not be reached for {seconds} s: {problem}", 0, now_ms)
            # Also for the next server: the actor is ended as soon as it can be, if it still is there.
            runner.write_whole(watch.folder / runner.EXIT, asdict(end))
            self._forget(watch.name)
            self._finish(watch, end)
            return
        self._later()

    def _forget(self, name: str) -> None:
        """End the actor of a name: now, or when the cluster can be reached again."""
        if self.root is None:
            return

        def done(problem: str) -> None:
            if problem:
                self._later()
            else:
                self._forgotten.discard(name)
            self._forgetting.discard(name)

        self._forgotten.add(name)
        if name not in self._forgetting:
            try:
                self.link.forget_job(name, done)
            except OSError:
                self._later()
            else:
                self._forgetting.add(name)

    def _later(self) -> None:
        if self._again is None and not self._is_closed:
            self._again = self.clock.call_at(self.clock.now_ms() + AGAIN_MS, self._ask_again)

    def _ask_again(self) -> None:
        self._again = None
        for name in list(self._forgotten):
            self._forget(name)
        for watch in list(self._watches.values()):
            if watch.number is None:
                self._ask(watch)

    def _finish(self, watch: _Watch, end: End) -> None:
        if watch.is_over:
            return
        watch.is_over = True
        self._watches.pop(watch.place, None)
        watch.busy.release()
        if end.why == "vanished":
            self.link.status.jobs_lost += 1
            log.warning("the process %s was lost: %s", watch.place, end.text)
        watch.on_end(end)
        if not watch.settled.done():
            watch.settled.set_result(False)


def _look(folder: Path) -> tuple[Mapping[str, Json] | None, bool, bool]:
    """The end of a process, if it has one; whether it has begun; whether it is to stop."""
    return _read(folder / runner.EXIT), (folder / BEGUN).exists(), (folder / runner.STOP).exists()


def _read(path: Path) -> JsonObject | None:
    try:
        found: JsonObject = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
