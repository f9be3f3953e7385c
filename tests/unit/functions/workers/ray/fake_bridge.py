"""The bridge's process with a cluster that needs no Ray: its actors are hosts in threads of this process.

The cluster is what a file of JSON says, which the test writes anew to change it: `nodes` with the resources of each,
`silent` nodes that answer nothing any more, `down` for a head that is gone, and `full` for a store of objects that
takes no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["RAY_FAKE_RUNTIMES"])

import ray_bridge  # type: ignore[import-not-found]
import ray_host  # type: ignore[import-not-found]
import ray_parcels  # type: ignore[import-not-found]

LOOK_SECONDS = 0.02
ray_bridge.LOOK_SECONDS = 0.1
ray_bridge.SILENT_SECONDS = float(os.environ["RAY_FAKE_SILENT_SECONDS"])


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
            for name, resources in self.cluster.state["nodes"].items():
                taken = sum(actor.needs["num_cpus"] for actor in self.cluster.actors if actor.node == name)
                if taken + self.needs["num_cpus"] <= resources["CPU"]:
                    self.node = name
                    return name
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


class FakeCluster:
    def __init__(self, path: str) -> None:
        self.path = Path(path)
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
