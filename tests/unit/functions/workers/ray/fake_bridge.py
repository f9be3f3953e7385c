"""The bridge's process with a cluster that needs no Ray: its actors are hosts in threads of this process.

The cluster is what a file of JSON says, which the test writes anew to change it: `nodes` with the resources of each,
`silent` nodes that answer nothing any more, `down` for a head that is gone, and `full` for a store of objects that
takes no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import sys
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["RAY_FAKE_RUNTIMES"])
sys.path.insert(0, str(Path(__file__).parent))

import fake_job_host  # type: ignore[import-not-found]
import ray_bridge  # type: ignore[import-not-found]
import ray_bridge_jobs  # type: ignore[import-not-found]
import ray_host  # type: ignore[import-not-found]
import ray_parcels  # type: ignore[import-not-found]

LOOK_SECONDS = 0.02
ray_bridge.LOOK_SECONDS = 0.1
ray_bridge.SILENT_SECONDS = ray_bridge_jobs.SILENT_SECONDS = float(os.environ["RAY_FAKE_SILENT_SECONDS"])
ray_bridge_jobs.FOLLOW_SECONDS = 0.5
ray_bridge_jobs.WAITING_EVERY_SECONDS = 0.05


class FakeActor:
    def __init__(self, cluster: FakeCluster, needs: Mapping[str, Any]) -> None:
        self.cluster = cluster
        self.needs = needs
        self.node = ""
        self.host = ray_host.Host()
        self.is_lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def _answer(self, work: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self.is_lost}, return_when=asyncio.FIRST_COMPLETED)
        while self.node in self.cluster.state["silent"]:
            await asyncio.sleep(LOOK_SECONDS)
        if self.is_lost.done():
            raise ray_bridge.Lost(f"the node {self.node} is gone")
        return await task

    async def place(self) -> Any:
        while not self.is_lost.done():
            node = self.cluster.free_node(self.needs)
            if node:
                self.node = node
                return node
            await asyncio.sleep(LOOK_SECONDS)
        raise ray_bridge.Lost("it was ended")

    async def start(self, message: Any, parcels: list[str]) -> Any:
        given = [(name, lambda name=name: self.cluster.kept[name]) for name in parcels]
        return await self._answer(asyncio.to_thread(self.host.start, message, given))

    async def call(self, frame: bytes) -> Any:
        return await self._answer(asyncio.to_thread(self.host.call, frame))

    async def read(self) -> Any:
        return await self._answer(asyncio.to_thread(self.host.read))

    async def end(self, grace_seconds: float) -> Any:
        return await self._answer(asyncio.to_thread(self.host.end, grace_seconds))

    async def ping(self) -> None:
        await self._answer(asyncio.sleep(0))

    def kill(self) -> None:
        if not self.is_lost.done():
            self.is_lost.set_result(None)
        if self in self.cluster.actors:
            self.cluster.actors.remove(self)
        if self.host._control is not None:
            # The fork server sees the end of its socket, as it does when the process of an actor is killed.
            with contextlib.suppress(OSError):
                self.host._control.shutdown(socket.SHUT_RDWR)


class FakeJobActor:
    """An actor of a job: a process of its own, as it outlives the bridge. Its folder below `jobs` is the name."""

    def __init__(self, cluster: FakeCluster, folder: Path, needs: Mapping[str, Any] | None) -> None:
        self.cluster = cluster
        self.folder = folder
        self.needs = needs
        self.is_killed = False

    def note(self) -> Any:
        return json.loads((self.folder / "placed.json").read_text())

    async def _ask(self, method: str, *arguments: Any) -> Any:
        task = asyncio.ensure_future(asyncio.to_thread(fake_job_host.ask, self.folder, method, arguments))
        while True:
            await asyncio.wait({task}, timeout=LOOK_SECONDS)
            node = (self.note() if (self.folder / "placed.json").exists() else {}).get("node")
            if node in self.cluster.state["silent"]:
                continue
            if node not in self.cluster.state["nodes"]:
                self.kill()
                raise ray_bridge.Lost(f"the node {node} is gone" if node else "it was ended")
            if task.done():
                try:
                    return task.result()
                except (OSError, EOFError) as problem:
                    raise ray_bridge.Lost(f"the actor is gone ({type(problem).__name__})") from None

    async def place(self) -> Any:
        while not self.is_killed:
            if (self.folder / "placed.json").exists():
                await self._ask("ping")
                return self.note()["node"]
            node = self.cluster.free_node(self.needs)
            if node:
                note = {"node": node, "cpus": self.needs["num_cpus"]}  # type: ignore[index]
                await asyncio.to_thread(fake_job_host.start, self.folder, note)
            await asyncio.sleep(LOOK_SECONDS)
        raise ray_bridge.Lost("it was ended")

    async def begin(self, order: Any, parcels: list[str]) -> Any:
        return await self._ask("begin", order, [(name, self.cluster.kept[name]) for name in parcels])

    async def follow(self, offset: int, seconds: float) -> Any:
        return await self._ask("follow", offset, seconds)

    async def stop(self) -> None:
        await self._ask("stop")

    async def clear(self) -> None:
        await self._ask("clear")

    def kill(self) -> None:
        self.is_killed = True
        fake_job_host.kill(self.folder)


class FakeCluster:
    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.jobs = Path(os.environ["RAY_FAKE_JOBS"])
        self.actors: list[FakeActor] = []
        self.kept: dict[str, bytes] = {}
        self.state: dict[str, Any] = {}

    def read(self) -> None:
        self.state = {"silent": [], "down": "", "full": "", **json.loads(self.path.read_text())}
        for actor in [actor for actor in self.actors if actor.node and actor.node not in self.state["nodes"]]:
            actor.kill()

    async def connect(self) -> None:
        self.read()
        if self.state["down"]:
            raise ray_bridge.Unreachable(self.state["down"])
        self.following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.read()

    async def look(self) -> dict[str, Any]:
        if self.state["down"]:
            raise ray_bridge.Unreachable(self.state["down"])
        nodes = self.state["nodes"]
        return {"nodes": len(nodes), "cpus": sum(one["CPU"] for one in nodes.values()), "ray": "0.0"}

    def lacks(self, needs: Mapping[str, Any]) -> str:
        if any(needs["num_cpus"] <= one["CPU"] for one in self.state["nodes"].values()):
            return ""
        return f"no node of the Ray cluster has CPU = {needs['num_cpus']:g}"

    def free_node(self, needs: Any) -> str:
        """A node with room for an actor; empty if none has."""
        taken = [(actor.node, actor.needs["num_cpus"]) for actor in self.actors]
        for note in self.jobs.glob("*/placed.json"):
            with contextlib.suppress(OSError, ValueError):
                placed = json.loads(note.read_text())
                taken.append((placed["node"], placed["cpus"]))
        for name, resources in self.state["nodes"].items():
            if sum(cpus for node, cpus in taken if node == name) + needs["num_cpus"] <= resources["CPU"]:
                return str(name)
        return ""

    def _folder(self, name: str) -> Path:
        return self.jobs / hashlib.sha256(name.encode()).hexdigest()[:12]

    async def job(self, name: str, needs: Mapping[str, Any], *, is_kept: bool) -> FakeJobActor:
        return FakeJobActor(self, self._folder(name), needs)

    async def find(self, name: str) -> FakeJobActor | None:
        folder = self._folder(name)
        return FakeJobActor(self, folder, None) if (folder / "placed.json").exists() else None

    def keep(self, name: str, data: bytes) -> None:
        if self.state["full"]:
            raise RuntimeError(self.state["full"])
        self.kept[name] = data

    def actor(self, needs: Mapping[str, Any]) -> FakeActor:
        made = FakeActor(self, needs)
        self.actors.append(made)
        return made


async def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        await ray_bridge.Bridge(FakeCluster(os.environ["RAY_FAKE_STATE"]), control, ray_parcels.programs()).serve()
    finally:
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
