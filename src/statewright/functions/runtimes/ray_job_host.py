"""The Ray actor that runs one process of a job, on a node of the cluster.

Rules:

1. The process runs under `jobs/runner.py`, as on the server's machine: start, timeout, stop and exit code are the same
   code. The runner is tied to the actor: it ends the process when the actor is gone, however that happened.
2. The actor has a name and outlives the server. What the process writes stays in a file here until the end; the server
   reads it from an offset on, so that the next server continues where the last one was.
3. An actor that no server needs ends by itself: if it was never told what to run, if its process has ended and no
   server has asked for a day, or if the node's Ray daemon is gone.

The class is sent to the cluster by value, so this module uses the standard library alone; nodes need no Statewright.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from typing import Any

from ray_host import CannotHost, load, own_folder, unpack  # type: ignore[import-not-found]

CHUNK_BYTES = 1024 * 1024
"""Most output in one answer."""
OUTPUT_EVERY_SECONDS = 0.5
"""How long output is collected before it is sent."""
CHECK_SECONDS = 1.0
UNBEGUN_SECONDS = 600.0
"""How long an actor with a place waits for its process."""
KEPT_SECONDS = 24 * 3600.0
"""How long the end of a process waits for a server."""
FROM_THE_NODE = (
    "LANG", "LC_ALL", "LD_LIBRARY_PATH", "NODE_PATH", "TZ",
    # Which accelerators of the node the actor holds, as Ray says it.
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
    "NEURON_RT_VISIBLE_CORES", "TPU_VISIBLE_CHIPS", "ASCEND_RT_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES",
)  # fmt: skip
"""Variables of the node that a job's process has."""


class JobHost:
    """One process on this node. Its methods are called by `ray_bridge_jobs.py`, others beside a `follow`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._end: dict[str, Any] = {}
        self._folder = ""
        self._runner: subprocess.Popen[bytes] | None = None
        self._programs: Any = None
        self._daemon = os.getppid()
        self._asked = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    # ------------------------------------------------------------------ called from outside

    def begin(self, order: dict[str, Any], parcels: list[tuple[str, Callable[[], bytes]]]) -> dict[str, Any] | None:
        """Start the process, unless it was started before; return its end if it could not be started.

        `order` has `folder` (where the node keeps things), `argv`, `env`, `stop_seconds`, `timeout_seconds`, and
        `cwd`, which must be there if `cwd_of` names the image that it belongs to. `parcels` are as for `ray_host.Host`.
        """
        with self._lock:
            if not self._folder and not self._over.is_set():
                try:
                    self._begin(order, parcels)
                except (CannotHost, OSError, zipfile.BadZipFile) as problem:
                    words = f"the Ray node {socket.gethostname()} cannot run the job: {problem}"
                    self._finish(end_of("unstartable", words))
            return self._end if self._over.is_set() and self._end["why"] == "unstartable" else None

    def follow(self, offset: int, seconds: float) -> tuple[bytes, dict[str, Any] | None]:
        """The output of the process from an offset on, and its end once all of it was read."""
        self._asked = time.monotonic()
        deadline = self._asked + seconds
        with self._lock:
            if not self._folder and not self._over.is_set():
                return b"", end_of("vanished", "The Ray actor has lost its process, or never had one.")
        while True:
            if len(self._output(offset)) < CHUNK_BYTES:
                # A process that writes without a pause does not cause a call for each line.
                self._over.wait(OUTPUT_EVERY_SECONDS)
            is_over = self._over.is_set()
            data = self._output(offset)
            if data or is_over or time.monotonic() >= deadline:
                return data, (self._end if is_over and len(data) < CHUNK_BYTES else None)

    def stop(self) -> None:
        """Ask the process to end: SIGTERM, and SIGKILL after its grace."""
        with self._lock:
            if self._runner is not None:
                with open(f"{self._folder}/{self._programs.STOP}", "w"):
                    pass
                self._runner.terminate()

    def clear(self) -> None:
        """Delete the files of a process that has ended."""
        if self._over.is_set() and self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    # ------------------------------------------------------------------ the node

    def _begin(self, order: dict[str, Any], parcels: list[tuple[str, Callable[[], bytes]]]) -> None:
        root = order["folder"]
        own_folder(root)
        for name, fetch in parcels:
            unpack(root, name, fetch)
        program = f"{root}/{parcels[0][0]}/runner.py"
        self._programs = load("runner", program)
        os.makedirs(f"{root}/jobs", mode=0o700, exist_ok=True)
        self._remove_left(f"{root}/jobs")
        folder = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=f"{root}/jobs")
        try:
            self._order(order, folder)
            self._runner = subprocess.Popen(
                [sys.executable, "-I", "-S", program, folder],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                cwd="/",
            )  # fmt: skip
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._folder = folder
        assert self._runner.stdout is not None
        # One byte says that the process runs, and that signals are handled.
        self._runner.stdout.read(1)
        threading.Thread(target=self._wait, args=(self._runner,), daemon=True).start()

    def _order(self, order: dict[str, Any], folder: str) -> None:
        """Write what the runner reads. Raises: CannotHost, OSError."""
        work = f"{folder}/work"
        os.mkdir(work)
        cwd = order["cwd"] if os.path.isdir(order["cwd"]) else work
        if order["cwd_of"] and cwd == work:
            raise CannotHost(
                f"it has no folder {order['cwd']}, which [jobs.images] names for the image {order['cwd_of']}: put it "
                "there, or on a file system that all nodes have"
            )
        env = {name: os.environ[name] for name in FROM_THE_NODE if name in os.environ}
        env["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{os.path.dirname(sys.executable)}"
        env["HOME"] = work
        told = {
            "argv": order["argv"], "env": {**env, **order["env"]}, "cwd": cwd, "stop_seconds": order["stop_seconds"],
            "timeout_seconds": order["timeout_seconds"], "tied": True,
        }  # fmt: skip
        mine = {"pid": os.getpid(), "started": self._programs.started_at(os.getpid())}
        for name, value in (("host", mine), (self._programs.REQUEST, told)):
            with open(f"{folder}/{name}", "w") as file:
                json.dump(value, file)

    def _remove_left(self, jobs: str) -> None:
        """Remove what actors have left that were killed: after them, nothing does."""
        for entry in os.scandir(jobs):
            host, runner = _read(f"{entry.path}/host"), _read(f"{entry.path}/{self._programs.CLAIM}")
            if host and not self._lives(host) and not self._lives(runner):
                shutil.rmtree(entry.path, ignore_errors=True)

    def _lives(self, process: dict[str, Any]) -> bool:
        return bool(process) and self._programs.started_at(process["pid"]) == process["started"]

    def _wait(self, running: subprocess.Popen[bytes]) -> None:
        """Thread: wait for the runner, and read how the process ended."""
        running.wait()
        end = _read(f"{self._folder}/{self._programs.EXIT}")
        if not end:
            child = _read(f"{self._folder}/{self._programs.CHILD}")
            if self._lives(child):
                with contextlib.suppress(OSError):
                    os.killpg(child["pid"], signal.SIGKILL)
            end = end_of("vanished", "The process ended without an exit code: its runner on the Ray node was killed.")
        self._finish(end)

    def _finish(self, end: dict[str, Any]) -> None:
        self._end = end
        self._over.set()

    def _output(self, offset: int) -> bytes:
        with contextlib.suppress(OSError), open(f"{self._folder}/{self._programs.OUTPUT}", "rb") as file:
            file.seek(offset)
            return file.read(CHUNK_BYTES)
        return b""

    def _watch(self) -> None:
        """Thread: end the actor that is needed no more."""
        while True:
            time.sleep(CHECK_SECONDS)
            silent = time.monotonic() - self._asked
            is_over = self._over.is_set()
            if os.getppid() != self._daemon:
                # The runner sees its standard input close, and ends the process.
                os._exit(1)
            if (is_over and silent > KEPT_SECONDS) or (not self._folder and not is_over and silent > UNBEGUN_SECONDS):
                self.clear()
                os._exit(0)


def end_of(why: str, text: str) -> dict[str, Any]:
    """The end of a process that has no exit code, as `runner.py` writes it."""
    return {"code": None, "why": why, "text": text, "started_ms": 0, "ended_ms": round(time.time() * 1000)}


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path) as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return {}
    return found
