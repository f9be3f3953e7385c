"""A real Ray cluster for `ray_bridge.py`: connecting, actors, objects, and Ray's errors as `Lost` and `Unreachable`.

The only module that imports Ray; it does so in the bridge's own process. Ray repeats nothing (`max_restarts=0`,
`max_task_retries=0`), opens no dashboard and sends no reports on its use.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import ray_host  # type: ignore[import-not-found]
import ray_job_host  # type: ignore[import-not-found]
from ray_actors import Actor, JobActor, Lost, Message, Reply, Unreachable  # type: ignore[import-not-found]

REACH_SECONDS: Final = 5.0
"""How long the port of a cluster may take to accept a connection."""
ASK_SECONDS: Final = 0.5
"""Time between two looks at the head's port while it is asked for the nodes."""
THREADS: Final = 8
"""Methods of one actor that may run at the same time."""
MIB: Final = 1024 * 1024
NAMESPACE: Final = "statewright"
"""Ray's namespace for the names of jobs."""
_CURRENT: Final = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")


class RayActor:
    """See `ray_actors.Actor`."""

    def __init__(self, cluster: RayCluster, handle: Any) -> None:
        self._cluster = cluster
        self._handle = handle

    async def place(self) -> str:
        return str(await _answer(self._handle.node.remote()))

    async def start(self, message: Message, parcels: list[str]) -> Reply:
        references = [(name, [self._cluster.kept[name]]) for name in parcels]
        return await _answer(self._handle.begin.remote(message, references))

    async def call(self, frame: bytes) -> Reply:
        return await _answer(self._handle.call.remote(frame))

    async def read(self) -> bytes:
        output: bytes = await _answer(self._handle.read.remote())
        return output

    async def end(self, grace_seconds: float) -> Reply:
        return await _answer(self._handle.end.remote(grace_seconds))

    async def ping(self) -> None:
        await _answer(self._handle.ping.remote())

    def kill(self) -> None:
        # It may be gone, or its cluster.
        with contextlib.suppress(Exception):
            self._cluster.ray.kill(self._handle, no_restart=True)


class RayJobActor:
    """See `ray_actors.JobActor`."""

    def __init__(self, cluster: RayCluster, handle: Any) -> None:
        self._cluster = cluster
        self._handle = handle

    async def place(self) -> str:
        return str(await _answer(self._handle.node.remote()))

    async def begin(self, order: Message, parcels: list[str]) -> Message | None:
        references = [(name, [self._cluster.kept[name]]) for name in parcels]
        end: Message | None = await _answer(self._handle.begin_with.remote(order, references))
        return end

    async def follow(self, offset: int, seconds: float) -> tuple[bytes, Message | None]:
        found: tuple[bytes, Message | None] = await _answer(self._handle.follow.remote(offset, seconds))
        return found

    async def stop(self) -> None:
        await _answer(self._handle.stop.remote())

    async def clear(self) -> None:
        await _answer(self._handle.clear.remote())

    def kill(self) -> None:
        with contextlib.suppress(Exception):
            self._cluster.ray.kill(self._handle, no_restart=True)


class RayCluster:
    """See `ray_actors.Cluster`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._address: str = settings["address"]
        self._settings = settings
        self._nodes: list[Mapping[str, Any]] = []
        self._head: tuple[str, int] | None = None
        self._host: Any = None
        self._job_host: Any = None
        self.kept: dict[str, Any] = {}
        self.ray: Any = None

    async def connect(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        # The wait for the reason of an actor's death: the invocation has failed without it.
        os.environ.setdefault("RAY_timeout_ms_task_wait_for_death_info", "300")
        try:
            import ray
        except ImportError as problem:
            raise Unreachable(f'Ray is not installed: pip install "statewright[ray]" ({problem})') from None
        self.ray = ray
        is_local, is_client = self._address == "local", self._address.startswith("ray://")
        named = _current() if self._address == "auto" else self._address
        if ":" in named:
            parts = urlsplit(named if is_client else f"ray://{named}")
            self._head = (parts.hostname or "", parts.port or 10001)
            await self._reach()
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if is_local:
            options |= {"include_dashboard": False}
        try:
            # A call that waits for the network, sometimes for long.
            await asyncio.to_thread(ray.init, self._address, **({} if is_client else options))
        except Exception as problem:
            raise Unreachable(self._reason(problem)) from None
        if not is_local and not is_client:
            host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
            self._head = (host, int(port))
        for module in (ray_host, ray_job_host):
            ray.cloudpickle.register_pickle_by_value(module)
        self._host = ray.remote(_remote_host(ray))
        self._job_host = ray.remote(_remote_job_host(ray))

    def _reason(self, problem: Exception) -> str:
        words = " ".join(str(problem).split())
        if "ersion mismatch" in words:
            return f"the Ray cluster at {self._address} has another version of Ray or Python than this server: {words}"
        if self._address == "auto":
            return f'no Ray cluster runs on this machine (address = "auto" under [ray]): {words[:300]}'
        hint = (
            "" if os.environ.get("RAY_AUTH_MODE") else "; one with tokens needs RAY_AUTH_MODE=token here, and its token"
        )
        return f"the Ray cluster at {self._address} cannot be used: {words[:500]}{hint}"

    async def _reach(self) -> None:
        """Connect to the head's port and close: answers within a moment when the head is gone."""
        assert self._head is not None
        host, port = self._head
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), REACH_SECONDS)
        except (TimeoutError, OSError) as problem:
            words = str(problem) or f"no answer within {REACH_SECONDS:.0f} s"
            raise Unreachable(f"the Ray cluster at {self._address} cannot be reached: {words}") from None
        writer.close()

    async def look(self) -> Message:
        asking = asyncio.ensure_future(asyncio.to_thread(self.ray.nodes))
        while not asking.done():
            if self._head is not None:
                # Ray asks a head that is gone again and again, for a minute.
                await self._reach()
            await asyncio.wait({asking}, timeout=ASK_SECONDS)
        try:
            nodes = asking.result()
        except Exception as problem:
            raise Unreachable(self._reason(problem)) from None
        self._nodes = [node for node in nodes if node["Alive"]]
        cpus = sum(node["Resources"].get("CPU", 0.0) for node in self._nodes)
        return {"nodes": len(self._nodes), "cpus": cpus, "ray": self.ray.__version__}

    def lacks(self, needs: Mapping[str, Any]) -> str:
        wanted = _wanted(needs)
        for node in self._nodes:
            there = node["Resources"]
            if all(there.get(name, 0) >= amount for name, amount in wanted.items()):
                return ""
        words = ", ".join(f"{name} = {amount:g}" for name, amount in wanted.items())
        return f"no node of the Ray cluster has {words} together; its {len(self._nodes)} nodes have less"

    def keep(self, name: str, data: bytes) -> None:
        self.kept[name] = self.ray.put(data)

    def actor(self, needs: Mapping[str, Any]) -> Actor:
        try:
            return RayActor(self, self._host.options(**_options(needs)).remote())
        except Exception as problem:
            raise Unreachable(self._reason(problem)) from None

    async def job(self, name: str, needs: Mapping[str, Any], *, is_kept: bool) -> JobActor:
        options = _options(needs)
        if is_kept:
            options |= {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
        try:
            # Ray registers a name before it answers.
            return RayJobActor(self, await asyncio.to_thread(self._job_host.options(**options).remote))
        except Exception as problem:
            raise Unreachable(self._reason(problem)) from None

    async def find(self, name: str) -> JobActor | None:
        try:
            return RayJobActor(self, await asyncio.to_thread(self.ray.get_actor, name, NAMESPACE))
        except ValueError:
            return None
        except Exception as problem:
            raise Unreachable(self._reason(problem)) from None


def _options(needs: Mapping[str, Any]) -> dict[str, Any]:
    """How Ray is to make an actor."""
    options: dict[str, Any] = {
        "num_cpus": needs["num_cpus"], "num_gpus": needs["num_gpus"], "resources": dict(needs["resources"]),
        "max_restarts": 0, "max_task_retries": 0, "max_concurrency": THREADS, "scheduling_strategy": "SPREAD",
    }  # fmt: skip
    if needs["memory"]:
        options["memory"] = needs["memory"] * MIB
    return options


def _current() -> str:
    """The address of the cluster of this machine, as Ray notes it: also that of one that has ended, for which Ray
    would wait long; empty if there is none."""
    if os.environ.get("RAY_ADDRESS"):
        return os.environ["RAY_ADDRESS"]
    try:
        return _CURRENT.read_text().strip()
    except OSError:
        return ""


def _wanted(needs: Mapping[str, Any]) -> dict[str, float]:
    found = {"CPU": needs["num_cpus"], "GPU": needs["num_gpus"], "memory": needs["memory"] * MIB, **needs["resources"]}
    return {name: amount for name, amount in found.items() if amount}


def _remote_host(ray: Any) -> type:
    """The class of the actors of functions: `ray_host.Host`, with Ray's objects in place of bytes."""

    class FunctionHost(ray_host.Host):  # type: ignore[misc]
        def node(self) -> str:
            """The address of its node, as a sign that it has a place."""
            context = ray.get_runtime_context()
            return f"{ray.util.get_node_ip_address()} ({context.get_node_id()[:8]})"

        def begin(self, message: Message, references: list[tuple[str, list[Any]]]) -> Any:
            """Start the worker; a parcel is fetched only where this node does not have it."""
            parcels = [(name, lambda held=held: ray.get(held[0])) for name, held in references]
            return self.start(message, parcels)

    FunctionHost.__name__ = FunctionHost.__qualname__ = "StatewrightFunction"
    return FunctionHost


def _remote_job_host(ray: Any) -> type:
    """The class of the actors of jobs: `ray_job_host.JobHost`, in the same way."""

    class JobHost(ray_job_host.JobHost):  # type: ignore[misc]
        def node(self) -> str:
            """The address of its node, as a sign that it has a place."""
            context = ray.get_runtime_context()
            return f"{ray.util.get_node_ip_address()} ({context.get_node_id()[:8]})"

        def begin_with(self, order: Message, references: list[tuple[str, list[Any]]]) -> Any:
            """Start the process; a parcel is fetched only where this node does not have it."""
            return self.begin(order, [(name, lambda held=held: ray.get(held[0])) for name, held in references])

    JobHost.__name__ = JobHost.__qualname__ = "StatewrightJob"
    return JobHost


async def _answer(reference: Awaitable[Any]) -> Any:
    """The result of a method of an actor. Raises: Lost."""
    try:
        return await reference
    except Exception as problem:
        words = " ".join(str(problem).split())
        raise Lost(f"the Ray actor that ran it was lost ({type(problem).__name__}: {words[:300]})") from None


def leave(settings: Mapping[str, Any]) -> None:
    """End this process. A cluster of its own is stopped; elsewhere Ray ends the actors of a driver that is gone."""
    ray = sys.modules.get("ray")
    try:
        if ray is not None and settings["address"] == "local":
            ray.shutdown()
    finally:
        os._exit(0)
