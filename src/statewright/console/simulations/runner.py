"""Runs simulations in a child process, one at a time, and keeps their results in the data folder.

A simulation is a folder of `simulations/`: `scenario.yaml` and its files, `result.json` and `page.html` once it has
ended, and `about.json` with its state. The server computes nothing of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.files.whole import write_text
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json

log = logging.getLogger("statewright.console")

FOLDER: Final = "simulations"
MOST_KEPT: Final = 50
MOST_RESULT_BYTES: Final = 16 * 1024 * 1024
MOST_SAID: Final = 4_000
_ID: Final = re.compile(r"[0-9]{1,16}-[0-9a-f]{8}")
_ENDS: Final = {0: "done", 1: "failed", 5: "given up"}
"""By exit code: at rest; stuck or refused; ended by `until` or `maximumEvents`."""


@dataclass(slots=True)
class _Running:
    id: str
    process: asyncio.subprocess.Process
    progress: JsonObject
    is_stopped: bool = False


class Simulations:
    """The simulations of a server. `data` is None for one without a data folder, which keeps none."""

    def __init__(self, data: Path | None, clock: Clock) -> None:
        self._data = data
        self._clock = clock
        self._running: _Running | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_starting = False

    @property
    def _folder(self) -> Path:
        if self._data is None:
            raise ApiError("BadRequest", "This server has no data folder, in which results of simulations are kept.")
        return self._data / FOLDER

    # ------------------------------------------------------------------ reading

    def list(self) -> list[JsonObject]:
        """All simulations, newest first. Raises: ApiError (`BadRequest`) without a data folder."""
        folder = self._folder
        if not folder.is_dir():
            return []
        names = sorted((one.name for one in folder.iterdir() if _ID.fullmatch(one.name)), reverse=True)
        return [self._about(name) for name in names[:MOST_KEPT]]

    def _about(self, name: str) -> JsonObject:
        about = _read(self._folder / name / "about.json")
        found: JsonObject = about if isinstance(about, dict) else {"name": name, "status": "unreadable"}
        running = self._running
        if running is not None and running.id == name:
            found = {**found, "progress": running.progress}
        elif found.get("status") == "running":
            found = {**found, "status": "interrupted", "message": "The server stopped while it ran."}
        return {**found, "id": name}

    def one(self, name: str) -> JsonObject:
        """A simulation: what `list` has, with `scenario`, `files` and `result`. Raises: ApiError."""
        folder = self._place(name)
        result = folder / "result.json"
        files = {
            path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())
            if path.name not in ("about.json", "result.json", "page.html", "scenario.yaml", "said.txt")
        }  # fmt: skip
        return {
            **self._about(name),
            "scenario": (folder / "scenario.yaml").read_text("utf-8"),
            "files": files,
            "result": _read(result) if result.is_file() and result.stat().st_size <= MOST_RESULT_BYTES else None,
        }

    def page(self, name: str) -> bytes:
        """The page of a result. Raises: ApiError (`NotFound`)."""
        path = self._place(name) / "page.html"
        if not path.is_file():
            raise ApiError("NotFound", "This simulation has no page: it did not come to an end.", status=404)
        return path.read_bytes()

    def _place(self, name: str) -> Path:
        folder = self._folder / name
        if not _ID.fullmatch(name) or not folder.is_dir():
            raise ApiError("NotFound", f"There is no simulation {name[:40]}.", status=404)
        return folder

    # ------------------------------------------------------------------ running

    async def start(self, name: str, scenario: str, files: Mapping[str, str]) -> str:
        """Start one; returns its id. Raises: ApiError (`Busy` while another one runs)."""
        if self._running is not None or self._is_starting:
            raise ApiError("Busy", "A simulation is running. Wait for its end, or stop it.", status=409)
        self._is_starting = True
        try:
            identity = f"{self._clock.now_ms()}-{chance.uuid4()[:8]}"
            folder = self._folder / identity
            about = {"name": name, "status": "running", "startedMs": self._clock.now_ms(), "endedMs": None}
            await asyncio.to_thread(_write, folder, about, {**files, "scenario.yaml": scenario})
            process = await self._spawn(folder)
            self._running = _Running(identity, process, {})
            self._task = asyncio.create_task(self._to_its_end(self._running, folder, about))
        finally:
            self._is_starting = False
        return identity

    async def _spawn(self, folder: Path) -> asyncio.subprocess.Process:
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "STATEWRIGHT_"))}
        with (folder / "result.json").open("wb") as result:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "statewright.console.simulations.child", "simulate", "scenario.yaml",
                "-o", "json", "--html", "page.html", "--progress",
                cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=result, stderr=asyncio.subprocess.PIPE,
                env=variables, start_new_session=True, limit=1024 * 1024,
            )  # fmt: skip

    async def _to_its_end(self, running: _Running, folder: Path, about: JsonObject) -> None:
        said: list[str] = []
        try:
            assert running.process.stderr is not None
            async for raw in running.process.stderr:
                line = raw.decode("utf-8", "replace").rstrip()
                progress = _progress(line)
                if progress is not None:
                    running.progress = progress
                elif sum(map(len, said)) < MOST_SAID:
                    said.append(line)
            code = await running.process.wait()
            status = "stopped" if running.is_stopped else _ENDS.get(code, "failed")
            message = "\n".join(one for one in said if not one.startswith("wrote "))[:MOST_SAID]
            if code < 0 and not running.is_stopped:
                message = f"The process was ended by signal {-code}: it may have reached its bounds. {message}"
            done = {**about, "status": status, "endedMs": self._clock.now_ms(), "message": message}
            await asyncio.to_thread(write_text, folder / "about.json", dump_json(done))
            await asyncio.to_thread(self._forget_old)
        except OSError as problem:
            log.warning("the end of a simulation could not be written: %s", problem)
        finally:
            # Also when the server stops.
            if running.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    running.process.kill()
            self._running = None

    def _forget_old(self) -> None:
        names = sorted((one.name for one in self._folder.iterdir() if _ID.fullmatch(one.name)), reverse=True)
        for name in names[MOST_KEPT:]:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def stop(self, name: str) -> None:
        """End the one that runs. Raises: ApiError (`NotFound`) if another one or none does."""
        running = self._running
        if running is None or running.id != name:
            raise ApiError("NotFound", "This simulation does not run.", status=404)
        running.is_stopped = True
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()

    def delete(self, name: str) -> None:
        """Delete the result of one that has ended. Raises: ApiError."""
        folder = self._place(name)
        if self._running is not None and self._running.id == name:
            raise ApiError("Busy", "This simulation is running. Stop it first.", status=409)
        shutil.rmtree(folder)


def _write(folder: Path, about: JsonObject, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, mode=0o700)
    for name, text in files.items():
        write_text(folder / name, text)
    write_text(folder / "about.json", dump_json(about))


def _read(path: Path) -> Json:
    try:
        return parse_json(path.read_bytes())
    except (OSError, JsonTextError):
        return None


def _progress(line: str) -> JsonObject | None:
    if not line.startswith("{"):
        return None
    try:
        value = parse_json(line)
    except JsonTextError:
        return None
    return value if isinstance(value, dict) and "elapsedMs" in value else None
