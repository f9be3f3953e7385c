"""Starts that cannot be, and the sentences for a cluster's faults; Ray itself is a stand-in."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.cli.serving.doctor import check_isolation, check_jobs, check_ray
from statewright.config import Config, FunctionSettings
from statewright.functions.workers.fork_servers import RUNTIMES
from statewright.functions.workers.isolation import CannotIsolate
from statewright.functions.workers.ray_link import NoRay
from statewright.hosting.setup import isolate
from statewright.settings.server import JobSettings, RaySettings
from tests.unit.functions.workers.ray.bench import FakeRay


def on_ray(isolation: str = "auto", **settings: Any) -> Config:
    return Config(functions=FunctionSettings(isolation, backend="ray"), ray=RaySettings(**settings))


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)


@pytest.mark.usefixtures("without_ray")
def test_a_server_without_ray_does_not_start():
    with pytest.raises(NoRay, match=r'which is not installed: pip install "statewright\[ray\]"'):
        isolate(on_ray())
    found = check_isolation(on_ray())
    assert (found.status, "is not installed" in found.message) == ("problem", True)


@pytest.mark.usefixtures("without_ray")
def test_a_server_of_jobs_without_ray_does_not_start():
    config = Config(jobs=JobSettings(backend="ray"))
    with pytest.raises(NoRay, match=r"work is to run on Ray .* which is not installed"):
        isolate(config)
    assert check_jobs(config).status == "problem"
    assert check_jobs(Config(jobs=JobSettings(backend="ray"), ray=RaySettings(python=sys.executable))).status == "ok"


def test_an_interpreter_that_is_none_is_refused_at_the_start():
    with pytest.raises(NoRay, match="/nowhere/python, which is no program that can be run"):
        isolate(on_ray(python="/nowhere/python"))


def test_namespaces_are_refused_also_from_the_command_line():
    with pytest.raises(CannotIsolate, match="not fenced by namespaces"):
        isolate(on_ray("namespaces", python=sys.executable))


def test_doctor_shows_the_cluster():
    assert check_ray({"address": "a:1", "state": "connected", "nodes": 3, "cpus": 6.0, "ray": "2.60.0"}).status == "ok"
    lost = check_ray({"address": "a:1", "state": "lost", "problem": "the head is gone"})
    assert (lost.status, lost.message) == ("problem", "the head is gone")
    assert check_ray({"address": "a:1", "state": "connecting"}).status == "note"


class FakeModule(SimpleNamespace):
    """The module `ray`, whose `init` fails."""

    __version__ = "2.60.0"
    problem = ""

    def init(self, *_given: object, **_options: object) -> None:
        raise RuntimeError(self.problem)


@pytest.fixture
def cluster_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that knows Ray, in this process."""
    monkeypatch.syspath_prepend(str(RUNTIMES))
    names = ("ray_cluster", "ray_actors", "ray_host", "ray_job_host")
    yield importlib.import_module("ray_cluster")
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("Version mismatch: The cluster was started with: Ray: 2.9.0 Python: 3.9.1",
         "has another version of Ray or Python than this server"),
        ("Failed to connect", "one with tokens needs RAY_AUTH_MODE=token here, and its token"),
    ],
)  # fmt: skip
def test_a_cluster_that_refuses_is_named(cluster_module, monkeypatch, problem, words):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setitem(sys.modules, "ray", FakeModule(problem=problem))

    async def main() -> str:
        listening = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        cluster = cluster_module.RayCluster({"address": f"127.0.0.1:{port}"})
        with pytest.raises(sys.modules["ray_actors"].Unreachable) as refused:
            await cluster.connect()
        listening.close()
        return str(refused.value)

    assert words in asyncio.run(main())


def test_an_address_where_nothing_listens_is_refused_at_once(cluster_module, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", FakeModule(problem="never asked"))

    async def main() -> str:
        listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        listening.close()
        await listening.wait_closed()
        with pytest.raises(sys.modules["ray_actors"].Unreachable) as refused:
            await cluster_module.RayCluster({"address": f"ray://127.0.0.1:{port}"}).connect()
        return str(refused.value)

    assert "cannot be reached" in asyncio.run(main())


def test_needs_are_compared_with_each_node(cluster_module):
    cluster = cluster_module.RayCluster({"address": "auto"})
    cluster._nodes = [{"Resources": {"CPU": 4.0, "memory": 8.0 * 2**30}}, {"Resources": {"CPU": 1.0, "GPU": 1.0}}]

    def lacks(cpus: float = 1, gpus: float = 0, memory: int = 0, **resources: float) -> str:
        needs = {"num_cpus": cpus, "num_gpus": gpus, "memory": memory, "resources": resources}
        return str(cluster.lacks(needs))

    assert lacks() == lacks(4, memory=8192) == lacks(gpus=1) == lacks(0) == ""
    assert lacks(4, 1) == "no node of the Ray cluster has CPU = 4, GPU = 1 together; its 2 nodes have less"
    assert lacks(memory=8193) != ""
    assert "disk = 1" in lacks(disk=1)


def test_a_folder_of_code_is_made_for_its_user_alone(ray: FakeRay, cluster_module):
    host = sys.modules["ray_host"]
    host.own_folder(str(ray.folder))
    assert ray.folder.stat().st_mode & 0o777 == 0o700
    ray.folder.rmdir()
    ray.folder.symlink_to(ray.file.parent)
    with pytest.raises(host.CannotHost, match="is not a folder of this user alone"):
        host.own_folder(str(ray.folder))
    ray.folder.unlink()
