"""Processes of jobs on a cluster that needs no Ray: started once, ended in time, found again, lost with a reason."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.functions.workers.ray_link import RayLink
from statewright.jobs import ray_processes, runner
from statewright.jobs.processes import End, ProcessRequest
from statewright.jobs.ray_processes import RayProcesses
from statewright.settings.server import RayNeeds, RaySettings
from tests.deadlines import until_async
from tests.thoroughness import slow
from tests.unit.functions.workers.ray.bench import FakeRay, fake_ray

PLACE = "ecs/one/main"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeRay]:
    monkeypatch.setattr(ray_processes, "AGAIN_MS", 50)
    yield from fake_ray(monkeypatch, tmp_path)


def request(script: str, cpus: float = 1, **members: Any) -> Callable[[Path], ProcessRequest]:
    given = {"cwd": "", "env": {"NAME": "value"}, "needs": RayNeeds(cpus), **members}
    return lambda _work: ProcessRequest(["/bin/sh", "-c", script], **given)


class Case:
    """The processes of one server, and the ends that they were reported with."""

    def __init__(self, ray: FakeRay, root: Path | None) -> None:
        self.link = RayLink(RealClock(), RaySettings(folder=str(ray.folder)))
        self.processes = RayProcesses(RealClock(), root, self.link)
        self.ends: dict[str, End] = {}

    async def start(self, made: Callable[[Path], ProcessRequest] | None, place: str = PLACE) -> bool:
        def on_end(end: End) -> None:
            assert place not in self.ends
            self.ends[place] = end

        return await self.processes.start(place, made, on_end, born_ms=7)

    async def end(self, place: str = PLACE) -> End:
        await until_async(lambda: place in self.ends, f"the end of {place}")
        return self.ends[place]

    async def run(self, made: Callable[[Path], ProcessRequest] | None) -> End:
        await self.start(made)
        return await self.end()

    def output(self) -> str:
        file = self.processes.folder(PLACE) / runner.OUTPUT
        return file.read_text() if file.exists() else ""


def play(ray: FakeRay, root: Path | None, story: Callable[[Case], Coroutine[Any, Any, Any]]) -> Any:
    """Run a story on a server of its own, which is released in the end."""

    async def run() -> Any:
        case = Case(ray, root)
        try:
            return await story(case)
        finally:
            await case.processes.close()
            case.link.close()

    return asyncio.run(run())


def waiting(folder: Path, code: int) -> Callable[[Path], ProcessRequest]:
    """A process that notes its start, and waits for a gate."""
    return request(
        f"echo $$ >> {folder}/runs; echo before; while ! [ -e {folder}/gate ]; do sleep 0.02; done; "
        f"echo after; exit {code}"
    )


def runs(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "runs").read_text().split()] if (folder / "runs").exists() else []


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_an_end_has_its_code(ray, tmp_path, script, code):
    end = play(ray, tmp_path / "data", lambda case: case.run(request(script)))
    assert (end.code, end.why) == (code, "")
    assert 0 < end.started_ms <= end.ended_ms


def test_a_stop_while_a_start_looks_at_the_folder_is_not_lost(ray, tmp_path, monkeypatch):
    look = ray_processes._look

    def stopped_meanwhile(folder: Path) -> Any:
        seen = look(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / runner.STOP).touch()
        return seen

    monkeypatch.setattr(ray_processes, "_look", stopped_meanwhile)
    end = play(ray, tmp_path / "data", lambda case: case.run(waiting(tmp_path, 0)))
    assert end.why == "stopped"


def test_the_environment_is_the_nodes_with_that_of_the_definition(ray, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_NODE", "x")

    async def story(case: Case) -> str:
        end = await case.run(request("pwd; echo $HOME; echo $NAME $TZ; echo wrong >&2; env"))
        assert end.code == 0
        return case.output()

    work, home, rest, wrong, *variables = play(ray, tmp_path / "data", story).splitlines()
    assert work == home
    assert Path(work).parent.parent == ray.folder / "jobs"
    assert (rest, wrong) == ("value UTC", "wrong")
    assert not any(line.startswith("SECRET") for line in variables)
    # Nothing is left on the node.
    assert list((ray.folder / "jobs").iterdir()) == []


def test_output_arrives_while_a_process_runs_and_whole(ray, tmp_path):
    async def story(case: Case) -> str:
        made = request(f"echo first; while ! [ -e {tmp_path}/gate ]; do sleep 0.02; done; seq 1 300000")
        await case.start(made)
        await until_async(lambda: case.output() == "first\n", "the first line")
        (tmp_path / "gate").touch()
        assert (await case.end()).code == 0
        return case.output()

    assert play(ray, tmp_path / "data", story) == "first\n" + "".join(f"{n}\n" for n in range(1, 300_001))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda _work: ProcessRequest(["/no/such"], {}, ""), "/no/such"),
        (request("exit 0", cwd="/no/folder", cwd_of="my/image:1"),
         "it has no folder /no/folder, which [jobs.images] names for the image my/image:1"),
    ],
)  # fmt: skip
def test_what_a_node_cannot_run(ray, tmp_path, made, words):
    end = play(ray, tmp_path / "data", lambda case: case.run(made))
    assert (end.code, end.why) == (None, "unstartable")
    assert words in end.text


def test_a_stop_asks_first_and_kills_then(ray, tmp_path):
    async def story(case: Case, script: str) -> End:
        await case.start(request(f"{script} echo up; while :; do sleep 0.05; done", stop_seconds=0.2))
        await until_async(lambda: case.output() == "up\n", "the process")
        await case.processes.stop(PLACE)
        return await case.end()

    polite = play(ray, tmp_path / "one", lambda case: story(case, ""))
    stubborn = play(ray, tmp_path / "two", lambda case: story(case, "trap '' TERM;"))
    assert [(end.code, end.why) for end in (polite, stubborn)] == [(143, "stopped"), (137, "stopped")]


def test_a_timeout_ends_a_process(ray, tmp_path):
    made = request("exec sleep 600", timeout_seconds=0.2)
    end = play(ray, tmp_path / "data", lambda case: case.run(made))
    assert (end.code, end.why) == (143, "timeout")


def test_a_lost_node_ends_its_processes_with_a_reason(ray, tmp_path):
    ray.become({"a": 1, "b": 1})

    async def story(case: Case) -> None:
        await case.start(waiting(tmp_path, 0), "first")
        await case.start(waiting(tmp_path, 4), "second")
        await until_async(lambda: len(runs(tmp_path)) == 2, "two processes")
        ray.become({"b": 1})
        lost = await case.end("first")
        assert (lost.code, lost.why, lost.text) == (None, "vanished", "Lost on the Ray node a: the node a is gone")
        (tmp_path / "gate").touch()
        assert (await case.end("second")).code == 4
        assert case.link.status.jobs_lost == 1

    play(ray, tmp_path / "data", story)
    # Nothing is repeated behind the retrier.
    assert len(runs(tmp_path)) == 2


@slow
def test_a_node_that_answers_nothing_is_lost(monkeypatch, tmp_path):
    for ray in fake_ray(monkeypatch, tmp_path, silent_seconds=1):

        async def story(case: Case, ray: FakeRay = ray) -> End:
            await case.start(request("exec sleep 600"))
            ray.become({"a": 2, "b": 2}, silent=["a"])
            return await case.end()

        end = play(ray, tmp_path / "data", story)
        assert (end.why, end.text) == ("vanished", "Lost on the Ray node a: it has not answered for 1 s")


def test_the_next_server_finds_what_runs_and_the_ends_of_the_rest(ray, tmp_path):
    root = tmp_path / "data"

    async def begin(case: Case) -> None:
        assert await case.start(waiting(tmp_path, 5))
        await until_async(lambda: case.output() == "before\n", "the process")

    async def go_on(case: Case) -> tuple[int | None, str]:
        assert await case.start(None)
        (tmp_path / "gate").touch()
        return (await case.end()).code, case.output()

    async def read(case: Case) -> int | None:
        assert not await case.start(None)
        return (await case.end()).code

    play(ray, root, begin)
    assert play(ray, root, go_on) == (5, "before\nafter\n")
    assert play(ray, root, read) == 5
    assert len(runs(tmp_path)) == 1


def test_a_process_that_ended_without_a_server_has_its_code_and_output(ray, tmp_path):
    root = tmp_path / "data"

    async def begin(case: Case) -> None:
        await case.start(waiting(tmp_path, 6))
        await until_async(lambda: case.output() == "before\n", "the process")

    play(ray, root, begin)
    (tmp_path / "gate").touch()
    (pid,) = runs(tmp_path)
    asyncio.run(until_async(lambda: runner.started_at(pid) is None, "the end of the process"))

    async def read(case: Case) -> tuple[int | None, str]:
        # Also with the request: the server was killed before it stored that the process runs.
        return (await case.run(waiting(tmp_path, 6))).code, case.output()

    assert play(ray, root, read) == (6, "before\nafter\n")
    assert runs(tmp_path) == [pid]


def test_a_server_on_another_machine_finds_what_runs(ray, tmp_path):
    async def begin(case: Case) -> None:
        await case.start(waiting(tmp_path, 2))
        await until_async(lambda: case.output() == "before\n", "the process")

    async def take_over(case: Case) -> tuple[int | None, str]:
        assert await case.start(None)
        (tmp_path / "gate").touch()
        return (await case.end()).code, case.output()

    play(ray, tmp_path / "here", begin)
    assert play(ray, tmp_path / "there", take_over) == (2, "before\nafter\n")
    assert len(runs(tmp_path)) == 1


def test_what_is_not_found_any_more_has_vanished(ray, tmp_path):
    async def begin(case: Case) -> None:
        await case.start(waiting(tmp_path, 0))
        await until_async(lambda: runs(tmp_path), "the process")

    async def look(case: Case) -> End:
        # With the request, too: that it has begun is known.
        return await case.run(waiting(tmp_path, 0))

    play(ray, tmp_path / "data", begin)
    ray.become({"c": 2})
    end = play(ray, tmp_path / "data", look)
    assert end.why == "vanished"
    assert "the node a is gone" in end.text
    unknown = play(ray, tmp_path / "other", lambda case: case.run(None))
    assert unknown.text.startswith("The Ray actor of the job is gone")
    assert len(runs(tmp_path)) == 1


def test_the_end_of_the_bridge_is_not_that_of_a_process(ray, tmp_path):
    async def story(case: Case) -> int | None:
        await case.start(waiting(tmp_path, 3))
        await until_async(lambda: case.output() == "before\n", "the process")
        os.kill(case.link.server().pid, signal.SIGKILL)
        await until_async(lambda: case.link.status.losses == 1, "the loss")
        (tmp_path / "gate").touch()
        end = await case.end()
        assert case.output() == "before\nafter\n"
        return end.code

    assert play(ray, tmp_path / "data", story) == 3
    assert len(runs(tmp_path)) == 1


def test_a_process_waits_for_a_place_and_a_stop_says_so(ray, tmp_path, caplog):
    ray.become({"a": 1})

    async def story(case: Case) -> list[str]:
        await case.start(waiting(tmp_path, 0), "first")
        starting = {
            place: asyncio.ensure_future(case.start(request("exit 0", cpus), place))
            for place, cpus in (("next", 1), ("busy", 1), ("large", 8), ("larger", 8))
        }
        await until_async(lambda: "wait for a place" in caplog.text, "the line in the log")
        for place in ("busy", "large", "larger"):
            await case.processes.stop(place)
            assert await starting[place] is False
            assert (case.ends[place].code, case.ends[place].why) == (None, "stopped")
        (tmp_path / "gate").touch()
        assert await starting["next"] is True
        assert (await case.end("next")).code == 0
        return [case.ends[place].text for place in ("busy", "large")]

    busy, large = play(ray, tmp_path / "data", story)
    assert busy == "it waited for a place: the nodes of the Ray cluster that have what it needs were busy"
    assert large == "it waited for a place: no node of the Ray cluster has CPU = 8"
    assert caplog.text.count("wait for a place on the Ray cluster") == 1


def test_a_cluster_that_is_not_there_is_waited_for(ray, tmp_path):
    ray.become({}, down="nothing listens at a:1")

    async def story(case: Case) -> tuple[str, int | None]:
        starting = asyncio.ensure_future(case.start(request("exit 9")))
        gone = asyncio.ensure_future(case.start(request("exit 9"), "gone"))
        await until_async(lambda: case.link.status.problem, "the problem")
        await case.processes.stop("gone")
        assert await gone is False
        ray.become({"a": 1})
        assert await starting is True
        return case.ends["gone"].text, (await case.end()).code

    text, code = play(ray, tmp_path / "data", story)
    assert text.startswith("it waited for the Ray cluster")
    assert code == 9


def test_a_process_that_is_not_found_for_long_is_given_up_and_ended(ray, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_processes, "LOST_MS", 300)

    async def story(case: Case) -> None:
        await case.start(waiting(tmp_path, 0))
        await until_async(lambda: runs(tmp_path), "the process")
        ray.become({"a": 2, "b": 2}, down="the head is gone")
        end = await case.end()
        assert end.why == "vanished"
        assert end.text.startswith("The Ray cluster could not be reached for 0 s: ")
        (pid,) = runs(tmp_path)
        assert runner.started_at(pid) is not None
        ray.become({"a": 2, "b": 2})
        await until_async(lambda: runner.started_at(pid) is None, "the end of the process")

    play(ray, tmp_path / "data", story)
    # The next server does not find it, either.
    assert play(ray, tmp_path / "data", lambda case: case.run(None)).why == "vanished"


def test_a_process_stopped_before_its_start_never_runs(ray, tmp_path):
    async def story(case: Case) -> End:
        await case.processes.stop(PLACE)
        return await case.run(request(f"touch {tmp_path}/never"))

    assert play(ray, tmp_path / "data", story).why == "stopped"
    assert not (tmp_path / "never").exists()


def test_without_a_folder_processes_end_with_the_server(ray, tmp_path):
    async def story(case: Case) -> int:
        await case.start(waiting(tmp_path, 0))
        await until_async(lambda: runs(tmp_path), "the process")
        return runs(tmp_path)[0]

    pid = play(ray, None, story)
    asyncio.run(until_async(lambda: runner.started_at(pid) is None, "the end of the process"))
