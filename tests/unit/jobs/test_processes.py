"""Processes of jobs, without a server: started once, ended in time, found again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.jobs import runner
from statewright.jobs.processes import End, Processes, ProcessRequest

PLACE = "one"


def request(script: str, **members: Any) -> Callable[[Path], ProcessRequest]:
    return lambda work: ProcessRequest(["/bin/sh", "-c", script], {"PATH": os.defpath}, str(work), **members)


async def until(condition: Callable[[], bool]) -> None:
    clock = RealClock()
    while not condition():
        await clock.sleep_until(clock.now_ms() + 5)


class Case:
    """Processes of one folder, and the ends that were told."""

    def __init__(self, folder: Path | None) -> None:
        self.processes = Processes(RealClock(), folder)
        self.ends: list[End] = []

    async def start(self, made: Callable[[Path], ProcessRequest] | None) -> bool:
        return await self.processes.start(PLACE, made, self.ends.append)

    async def end(self) -> End:
        await until(lambda: bool(self.ends))
        return self.ends[0]


def play(folder: Path | None, story: Callable[[Case], Any]) -> Any:
    async def run() -> Any:
        case = Case(folder)
        try:
            return await asyncio.wait_for(story(case), None)
        finally:
            await case.processes.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143)])
def test_an_end_has_its_code(tmp_path, script, code):
    async def story(case: Case) -> End:
        await case.start(request(script))
        return await case.end()

    end = play(tmp_path, story)
    assert (end.code, end.why) == (code, "")
    assert 0 < end.started_ms <= end.ended_ms


@pytest.mark.parametrize(
    ("script", "code"), [("exec sleep 600", 143), ("trap '' TERM; while :; do sleep 0.05; done", 137)]
)
def test_a_timeout_asks_first_and_kills_then(tmp_path, script, code):
    async def story(case: Case) -> End:
        await case.start(request(script, timeout_seconds=0.3, stop_seconds=0.2))
        return await case.end()

    end = play(tmp_path, story)
    assert (end.code, end.why) == (code, "timeout")


def test_the_children_of_a_process_end_with_it(tmp_path):
    async def story(case: Case) -> None:
        await case.start(request("sleep 600 & echo $!; exit 0"))
        await case.end()
        child = int((tmp_path / PLACE / runner.OUTPUT).read_text())
        await until(lambda: runner.started_at(child) is None)

    play(tmp_path, story)


def test_a_command_that_is_not_there(tmp_path):
    async def story(case: Case) -> End:
        await case.start(lambda work: ProcessRequest(["/no/such"], {}, str(work)))
        return await case.end()

    end = play(tmp_path, story)
    assert (end.code, end.why) == (None, "unstartable")
    assert "/no/such" in end.text


def test_a_process_stopped_before_its_start_never_runs(tmp_path):
    async def story(case: Case) -> End:
        await case.processes.stop(PLACE)
        await case.start(request("echo never"))
        return await case.end()

    assert play(tmp_path, story).why == "stopped"
    assert not (tmp_path / PLACE / runner.OUTPUT).exists()


def test_a_second_runner_starts_nothing(tmp_path):
    async def story(case: Case) -> None:
        await case.start(request(f"echo x >> {tmp_path}/runs; exec sleep 600"))
        command = [sys.executable, "-I", "-S", runner.__file__, str(tmp_path / PLACE)]
        assert subprocess.run(command, check=False).returncode == 1
        await until((tmp_path / "runs").exists)
        await case.processes.stop(PLACE)
        assert (await case.end()).why == "stopped"

    play(tmp_path, story)
    assert (tmp_path / "runs").read_text() == "x\n"


def test_another_server_recovers_running_processes_and_reads_ended_ones(tmp_path):
    gate = tmp_path / "gate"

    async def begin(case: Case) -> None:
        assert await case.start(request(f"while ! [ -e {gate} ]; do sleep 0.02; done; exit 5"))

    async def go_on(case: Case) -> End:
        assert await case.start(request("echo twice"))
        gate.touch()
        return await case.end()

    async def read(case: Case) -> End:
        assert not await case.start(None)
        return await case.end()

    play(tmp_path, begin)
    assert play(tmp_path, go_on).code == 5
    assert play(tmp_path, read).code == 5


@pytest.mark.parametrize("pid", [2**22 + 1, os.getpid()], ids=["nobody", "somebody else"])
def test_a_claim_of_another_process_is_not_believed(tmp_path, pid):
    folder = tmp_path / PLACE
    folder.mkdir()
    runner.write_whole(folder / runner.CLAIM, {"pid": pid, "started": "another boot 1"})

    async def story(case: Case) -> End:
        assert not await case.start(request("echo twice"))
        return await case.end()

    assert play(tmp_path, story).why == "vanished"


def test_a_process_that_is_not_found_has_vanished(tmp_path):
    async def story(case: Case) -> End:
        assert not await case.start(None)
        return await case.end()

    assert play(tmp_path, story).why == "vanished"


def test_a_killed_runner_leaves_no_orphan(tmp_path):
    async def story(case: Case) -> int:
        await case.start(request("exec sleep 600"))
        folder = tmp_path / PLACE
        child = json.loads((folder / runner.CHILD).read_bytes())["pid"]
        os.kill(json.loads((folder / runner.CLAIM).read_bytes())["pid"], signal.SIGKILL)
        assert (await case.end()).why == "vanished"
        await until(lambda: runner.started_at(child) is None)
        return 0

    play(tmp_path, story)


def test_without_a_folder_processes_end_with_the_server():
    async def story(case: Case) -> int:
        await case.start(request("exec sleep 600"))
        found: int = json.loads((case.processes.folder(PLACE) / runner.CHILD).read_bytes())["pid"]
        return found

    assert runner.started_at(play(None, story)) is None


def test_where_the_system_tells_nothing_runners_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")

    async def story(case: Case) -> End:
        await case.start(request("exec sleep 600"))
        await case.processes.stop(PLACE)
        return await case.end()

    end = play(tmp_path, story)
    assert (end.code, end.why) == (143, "stopped")
