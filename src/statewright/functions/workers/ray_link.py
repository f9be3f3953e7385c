"""The server's link to a Ray cluster: the process of `runtimes/ray_bridge.py`, as a fork server that is started anew.

Owns starting the process, and again after a pause when it or the cluster is gone; the last known state of the cluster;
the jobs that it runs, and the plans of workers on it. Ray is not imported here: a server without `backend = "ray"`
never starts the process.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Final

import orjson

from statewright.clock import Clock, Timer
from statewright.functions.records import Configuration
from statewright.functions.runtimes import ray_parcels
from statewright.functions.runtimes.ray_host import PATH_MARK
from statewright.functions.workers.fork_servers import RUNTIMES, End, Ended, ForkServer, basic_environment
from statewright.functions.workers.plans import Folders, Runtime
from statewright.payload import JsonMapping, JsonObject
from statewright.settings.server import RayNeeds, RaySettings

BRIDGE: Path = RUNTIMES / "ray_bridge.py"
PAUSES_MS: Final = (1_000, 2_000, 4_000, 8_000, 15_000)
"""Pauses before the process is started again; the last one repeats."""
MACHINE: Final[Mapping[str, str]] = {"PATH": PATH_MARK}
"""The variables of a Ray node, for `plans.environment`."""

log = logging.getLogger("statewright.functions")


class NoRay(Exception):
    """Raised when the settings ask for Ray and it cannot be used here; the text says why."""


def check_installed(settings: RaySettings) -> None:
    """Look for Ray, without loading it. Raises: NoRay."""
    if settings.python:
        if not os.access(settings.python, os.X_OK):
            raise NoRay(f"python under [ray] is {settings.python}, which is no program that can be run")
        return
    if importlib.util.find_spec("ray") is None:
        raise NoRay(
            'work is to run on Ray (backend = "ray" under [functions] or [jobs]), which is not installed: '
            'pip install "statewright[ray]"'
        )


@dataclass(slots=True)
class RayStatus:
    """The state of the cluster as the bridge reported it. `state` is `unused`, `connecting`, `connected` or `lost`.

    `problem` says why it is lost; `losses` counts the ends of connections, `invocations_lost` the invocations that a
    lost actor, node or cluster took with it, `jobs_lost` the processes of jobs.
    """

    address: str
    state: str = "unused"
    nodes: int = 0
    cpus: float = 0.0
    version: str = ""
    problem: str = ""
    losses: int = 0
    invocations_lost: int = 0
    jobs_lost: int = 0

    def shown(self) -> JsonObject:
        """For `/health`."""
        known = {"nodes": self.nodes, "cpus": self.cpus, "ray": self.version} if self.state == "connected" else {}
        return {"address": self.address, "state": self.state, **known} | (
            {"problem": self.problem} if self.problem else {}
        )


class RayLink:
    """The link of one system, for functions and jobs.

    `free_place` is called while a worker waits for a place that idle ones may hold. Functions add theirs; without it,
    there are none.
    """

    def __init__(self, clock: Clock, settings: RaySettings, free_place: Callable[[], None] | None = None) -> None:
        self.status = RayStatus(settings.address)
        self.settings = settings
        self.programs = ray_parcels.programs()[0]
        self._clock = clock
        self._free_place = free_place
        self._server: ForkServer | None = None
        self._again: Timer | None = None
        self._attempts = 0
        self._is_closed = False
        self._said = ""
        self._has_jobs = False
        self._job_numbers = count(-1, -1)
        self._on_waiting: dict[int, Callable[[str], None]] = {}

    def start(self) -> None:
        """Connect, unless that is under way; harmless when repeated."""
        if self._server is None and self._again is None and not self._is_closed:
            self._connect()

    def server(self) -> ForkServer:
        """The process that starts workers. Raises: OSError while the cluster is lost."""
        self.start()
        if self._server is None or not self._server.is_alive:
            raise OSError(self.status.problem or "the Ray cluster is not connected")
        return self._server

    def run_job(
        self, job: JsonMapping, on_started: Callable[[], None], on_waiting: Callable[[str], None], on_ended: Ended
    ) -> int:
        """Have the bridge run a job, or find it; returns its number, for `stop_job`. Raises: OSError as `server`.

        `job` is what `ray_bridge_jobs.Job` reads. `on_waiting` is called while it waits for a place, with the reason
        if no living node can ever have one. `on_ended` is called once the job's folder has its end, or when the bridge
        is gone.
        """
        self._has_jobs = True
        server = self.server()
        number = next(self._job_numbers)

        def ended(end: End) -> None:
            self._on_waiting.pop(number, None)
            on_ended(end)

        self._on_waiting[number] = on_waiting
        server.spawn(number, {"job": job}, (), lambda _pid: on_started(), ended)
        return number

    def stop_job(self, number: int) -> None:
        """Have the bridge end a job; harmless when it has ended."""
        if self._server is not None:
            self._server.end(number)

    def forget_job(self, name: str, on_done: Callable[[str], None]) -> None:
        """Have the bridge end the actor of a job whose end is known. Raises: OSError as `server`.

        `on_done` is called with an empty text once it is ended, or with the reason why that is not known.
        """
        number = next(self._job_numbers)
        self.server().spawn(number, {"forget": name}, (), lambda _pid: None, lambda end: on_done(end.problem))

    def close(self) -> None:
        """End the process, and with it every worker; jobs that are kept go on."""
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _bridge(self, control: int) -> list[str]:
        settings = orjson.dumps({"address": self.settings.address}).decode()
        return [self.settings.python or sys.executable, str(BRIDGE), str(control), settings]

    def _connect(self) -> None:
        self._again = None
        self._attempts += 1
        self.status.state = "connecting"
        ray = {name: value for name, value in os.environ.items() if name.startswith("RAY_") or name == "PYTHONPATH"}
        environment = {**basic_environment(), **ray, "RAY_USAGE_STATS_ENABLED": "0"}
        self._server = ForkServer("Ray", self._bridge, environment, self._on_message, self._on_lost, is_quiet=True)
        self._server.problem = "the process that talks to Ray has ended"

    def _on_message(self, message: JsonMapping) -> None:
        status = self.status
        if message["did"] == "waiting":
            if self._free_place is not None:
                self._free_place()
            on_waiting = self._on_waiting.get(message["worker"])
            if on_waiting is not None:
                on_waiting(message["why"])
        elif message["did"] == "cluster":
            before, status.nodes, status.cpus = status.nodes, message["nodes"], message["cpus"]
            status.version = message["ray"]
            if status.state != "connected":
                status.state, status.problem, self._attempts, self._said = "connected", "", 0, ""
                log.info(
                    "connected to the Ray cluster at %s: %d nodes with %g CPUs",
                    status.address, status.nodes, status.cpus,
                )  # fmt: skip
            elif status.nodes < before:
                log.warning("the Ray cluster at %s has %d nodes left of %d", status.address, status.nodes, before)
        elif self._server is not None:
            how = "was lost: " if message["did"] == "lost" else ""
            self._server.problem = f"the connection to Ray {how}{message['why']}" if how else message["why"]

    def _on_lost(self) -> None:
        server, self._server = self._server, None
        if server is None or self._is_closed:
            return
        server.kill()
        status = self.status
        status.losses += status.state == "connected"
        status.state, status.problem, status.nodes, status.cpus = "lost", server.problem, 0, 0.0
        pause_ms = PAUSES_MS[min(self._attempts, len(PAUSES_MS) - 1)]
        if status.problem != self._said:
            self._said = status.problem
            harm = ["invocations fail"] if self._free_place is not None else []
            harm += ["jobs wait"] if self._has_jobs else []
            words = " and ".join(harm) or "nothing can run"
            log.warning("%s; %s until it is back, and the server tries again", status.problem, words)
        self._again = self._clock.call_at(self._clock.now_ms() + pause_ms, self._connect)


# ---------------------------------------------------------------------- plans


def runtime_of(name: str | None) -> Runtime:
    """The program for a runtime on a Ray node: a name that the node looks up; empty for the Python that Ray runs on."""
    if name is not None and name.startswith("nodejs"):
        return Runtime("node", "node", f"Runtime Version: {name} (on Ray)")
    if name is not None and (name.startswith("provided") or name == "go1.x"):
        return Runtime("provided", "", f"Runtime Version: {name} (on Ray)")
    wanted = name if name is not None and name.startswith("python3.") else ""
    return Runtime("python", wanted, f"Runtime Version: {wanted or 'python'} (on Ray)", wanted)


def folders_of(link: RayLink, settings: Configuration) -> Folders:
    """Folders of a function's code on every Ray node."""
    folder = link.settings.folder
    layers = tuple(ray_parcels.place_of(folder, code) for code in reversed(settings.layers.values()))
    return Folders(ray_parcels.place_of(folder, settings.code), layers, ray_parcels.place_of(folder, link.programs))


def message_of(
    link: RayLink, spawn: JsonObject, runtime: Runtime, settings: Configuration, zips: Iterable[tuple[str, Path]],
    needs: RayNeeds, preload: tuple[str, ...], isolation: str,
) -> JsonObject:  # fmt: skip
    """The message that starts a worker on Ray, from that of this machine's fork servers."""
    programs = ray_parcels.place_of(link.settings.folder, link.programs)
    argv = spawn["argv"]
    if argv is not None:
        argv = [part.replace(str(RUNTIMES), programs) for part in argv]
    return {
        **spawn,
        "argv": argv,
        "ray": {
            "folder": link.settings.folder,
            "parcels": [[name, str(path)] for name, path in zips],
            "needs": {**asdict(needs), "resources": dict(needs.resources)},
            "memory_bytes": settings.memory * 1024 * 1024,
            "isolation": isolation,
            "program": runtime.program if runtime.kind == "python" else "",
            "preload": list(preload),
        },
    }
