"""Workers on a cluster: lost nodes, a lost head, places, needs; with a cluster that needs no Ray."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.workers.pools import Pool
from statewright.functions.workers.worker import Worker
from statewright.settings.server import RayNeeds
from tests.deadlines import until_async
from tests.unit.functions.running import ROLE, RUNTIME, create, document, on_functions, refusal, zipped
from tests.unit.functions.workers.ray.bench import FakeRay, fake_ray

WHERE = """
    import os, time

    def handler(event, context):
        print("began", event["name"])
        with open(os.path.join(event["folder"], event["name"]), "w") as file:
            file.write(str(os.getpid()))
        while event.get("until") and not os.path.exists(event["until"]):
            time.sleep(0.01)
        return event["name"]
    """
"""A handler that says where it began, and waits for a file."""


class Calls:
    """Invocations of one function that can be held back."""

    def __init__(self, functions: Functions, folder: Path, function: str = "f") -> None:
        self.functions = functions
        self.folder = folder
        self.function = function
        self.gate = folder / "gate"

    def begin(self, name: str, *, held: bool = True) -> asyncio.Task[object]:
        event = {"name": name, "folder": str(self.folder), **({"until": str(self.gate)} if held else {})}
        return asyncio.ensure_future(self.functions.invoke(self.function, json.dumps(event).encode()))

    async def run(self, name: str) -> object:
        return document(await self.begin(name, held=False))  # type: ignore[arg-type]

    async def until_it_runs(self, name: str) -> int:
        file = self.folder / name
        await until_async(lambda: file.is_file() and file.read_text(), f"the handler {name}")
        return int(file.read_text())


def pool_of(functions: Functions, name: str = "f") -> Pool:
    found = functions.invoker.pools.get(name, "$LATEST")
    assert found is not None
    return found


def test_a_lost_node_fails_what_ran_on_it_and_nothing_else(ray: FakeRay, tmp_path: Path):
    ray.become({"a": 1, "b": 1})

    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        calls = Calls(functions, tmp_path)
        first = calls.begin("first")
        await calls.until_it_runs("first")
        second = calls.begin("second")
        await calls.until_it_runs("second")
        ray.become({"b": 1})
        lost = await refusal(first)
        assert (lost.code, lost.status) == ("ServiceException", 500)
        assert lost.message == "The handler was lost: the node a is gone"
        calls.gate.touch()
        assert document(await second) == "second"  # type: ignore[arg-type]
        assert await calls.run("after") == "after"
        assert functions.invoker.ray is not None
        assert functions.invoker.ray.status.invocations_lost == 1
        functions.logs.flush()
        assert functions.logs.folder is not None
        log = (functions.logs.folder / "f.log").read_text()
        assert "Error: the node a is gone" in log

    on_functions(test, config=ray.config())


def test_nothing_is_repeated_behind_the_retrier(ray: FakeRay, tmp_path: Path):
    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        calls = Calls(functions, tmp_path)
        call = calls.begin("once")
        pid = await calls.until_it_runs("once")
        ray.become({"c": 2})
        await refusal(call)
        assert await calls.run("other") == "other"
        assert (tmp_path / "once").read_text() == str(pid)

    on_functions(test, config=ray.config())


def test_a_node_that_answers_nothing_is_lost(monkeypatch, tmp_path: Path):
    for ray in fake_ray(monkeypatch, tmp_path, silent_seconds=1):

        async def test(functions: Functions, ray: FakeRay = ray) -> None:
            await create(functions, "f", WHERE)
            calls = Calls(functions, tmp_path)
            call = calls.begin("call")
            await calls.until_it_runs("call")
            ray.become({"a": 2, "b": 2}, silent=["a"])
            lost = await refusal(call)
            assert lost.message == "The handler was lost: the Ray node a has not answered for 1 s"

        on_functions(test, config=ray.config())


def test_a_lost_head_fails_calls_until_it_is_back(ray: FakeRay, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "statewright.functions")

    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        link = functions.invoker.ray
        assert link is not None
        assert link.status.shown() == {"address": "auto", "state": "unused"}
        calls = Calls(functions, tmp_path)
        call = calls.begin("call")
        await calls.until_it_runs("call")
        assert link.status.shown() == {"address": "auto", "state": "connected", "nodes": 2, "cpus": 4, "ray": "0.0"}
        ray.become({"a": 2, "b": 2}, down="the head is gone")
        lost = await refusal(call)
        assert (lost.code, lost.message) == (
            "ServiceException", "The handler was lost: the connection to Ray was lost: the head is gone"
        )  # fmt: skip
        await until_async(lambda: link.status.problem == "the head is gone", "a second attempt")
        refused = await refusal(calls.begin("while it is away"))
        assert refused.message == "No worker can be started: the head is gone"
        assert not (tmp_path / "while it is away").exists()
        assert link.status.losses == 1
        ray.become({"a": 2})
        await until_async(lambda: link.status.state == "connected", "the connection")
        assert await calls.run("after") == "after"

    on_functions(test, config=ray.config())
    said = [record.getMessage() for record in caplog.records]
    tail = "; invocations fail until it is back, and the server tries again"
    assert said == [
        "connected to the Ray cluster at auto: 2 nodes with 4 CPUs",
        "the connection to Ray was lost: the head is gone" + tail,
        "the head is gone" + tail,
        "connected to the Ray cluster at auto: 1 nodes with 2 CPUs",
    ]


def test_the_end_of_the_bridge_is_survived(ray: FakeRay, tmp_path: Path):
    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        calls = Calls(functions, tmp_path)
        call = calls.begin("call")
        await calls.until_it_runs("call")
        assert functions.invoker.ray is not None
        os.kill(functions.invoker.ray.server().pid, 9)
        lost = await refusal(call)
        assert lost.message == "The handler was lost: the process that talks to Ray has ended"
        await until_async(lambda: functions.invoker.ray.status.state == "connected", "the connection")  # type: ignore[union-attr]
        assert await calls.run("after") == "after"

    on_functions(test, config=ray.config())


def test_needs_that_no_node_can_meet_are_refused_at_the_call(ray: FakeRay):
    async def test(functions: Functions) -> None:
        await create(functions, "f", "def handler(e, c):\n    return 1")
        await create(functions, "large", "def handler(e, c):\n    return 1")
        refused = await refusal(functions.invoke("large", b"1"))
        assert (refused.code, refused.message) == (
            "ServiceException", "No worker can be started: no node of the Ray cluster has CPU = 3"
        )  # fmt: skip
        assert document(await functions.invoke("f", b"1")) == 1

    on_functions(test, config=ray.config(large=RayNeeds(num_cpus=3)))


def test_a_package_that_the_cluster_cannot_take_fails_the_call(ray: FakeRay, tmp_path: Path):
    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        link = functions.invoker.ray
        assert link is not None
        link.start()
        await until_async(lambda: link.status.state == "connected", "the connection")
        ray.become({"a": 3, "b": 3}, full="the store of objects is full")
        await until_async(lambda: link.status.cpus == 6, "the change of the cluster")
        calls = Calls(functions, tmp_path)
        call = calls.begin("call", held=False)
        await until_async(call.done, "the end of the call")
        refused = await refusal(call)
        assert refused.code == "ServiceException"
        assert "the store of objects is full" in refused.message
        ray.become({"a": 2, "b": 2})
        await until_async(lambda: link.status.cpus == 4, "the change of the cluster")
        assert await calls.run("after") == "after"

    on_functions(test, config=ray.config())


def test_a_worker_waits_for_its_place_without_a_deadline(ray: FakeRay, tmp_path: Path):
    ray.become({"a": 1})

    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        calls = Calls(functions, tmp_path)
        first = calls.begin("first")
        await calls.until_it_runs("first")
        others = [calls.begin(f"other{number}") for number in range(5)]
        pool = pool_of(functions)

        def waits() -> list[Worker]:
            return [worker for worker in pool.workers if not worker.ready and worker.transport is not None]

        await until_async(waits, "a worker without a place")
        assert all(worker._deadline is None for worker in waits())
        calls.gate.touch()
        assert document(await first) == "first"  # type: ignore[arg-type]
        assert [document(one) for one in await asyncio.gather(*others)] == [f"other{number}" for number in range(5)]  # type: ignore[arg-type]

    on_functions(test, config=ray.config())


def test_an_idle_worker_makes_room_for_another_function(ray: FakeRay, tmp_path: Path):
    ray.become({"a": 1})

    async def test(functions: Functions) -> None:
        await create(functions, "f", WHERE)
        await create(functions, "g", WHERE)
        assert await Calls(functions, tmp_path).run("f") == "f"
        (worker,) = pool_of(functions).workers
        assert await Calls(functions, tmp_path, "g").run("g") == "g"
        assert worker.doomed

    on_functions(test, config=ray.config())


def test_a_stranger_cannot_lay_out_the_folder_of_code(ray: FakeRay):
    ray.folder.mkdir()
    ray.folder.chmod(0o777)

    async def test(functions: Functions) -> None:
        await create(functions, "f", "def handler(e, c):\n    return 1")
        refused = await refusal(functions.invoke("f", b"1"))
        assert "is not a folder of this user alone: remove it, or name another one with folder" in refused.message

    on_functions(test, config=ray.config())


def test_code_is_unpacked_once_for_each_node(ray: FakeRay):
    code = Code(zip=zipped(app__py="def handler(e, c):\n    return __file__"))

    async def test(functions: Functions) -> None:
        for name in ("f", "g"):
            given = {"Runtime": RUNTIME, "Handler": "app.handler", "Role": ROLE}
            await functions.definitions.create(name, given, code)
        place = Path(document(await functions.invoke("f", b"1")))
        assert place.parent.parent == ray.folder
        unpacked = place.stat().st_ino
        assert document(await functions.invoke("g", b"1")) == str(place)
        assert place.stat().st_ino == unpacked
        # The package, and the programs of workers.
        assert len([path for path in ray.folder.iterdir() if len(path.name) == 64]) == 2

    on_functions(test, config=ray.config())


def test_a_server_without_ray_imports_nothing_of_it():
    code = "import sys, statewright.server; print(sorted(one for one in sys.modules if one.split('.')[0] == 'ray'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
