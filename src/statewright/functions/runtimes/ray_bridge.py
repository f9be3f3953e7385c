"""The process between a server and a Ray cluster: to the server it is a fork server, whose workers are Ray actors.

Rules:

1. The server commands it as it commands `zygote.py`, with the same frames over a Unix socket; a spawn carries the
   worker's socket and output. So all that the server does with a worker (timeouts, checks of frames, logs) is the same.
2. Ray is loaded in this process only. What Ray does to a driver that has lost its cluster cannot reach the server:
   this process ends, the server sees its socket close, and starts another one.
3. Ray repeats nothing: an actor that is lost takes the invocation under way with it, and the server is given the
   reason. A node that does not answer for `SILENT_SECONDS` is lost, whether Ray has noticed or not.

`Bridge` knows Ray only as a `Cluster` (`ray_actors.py`; `ray_cluster.py` has the real one), so that tests need no Ray.
The jobs that it watches are in `ray_bridge_jobs.py`. Uses the standard library alone.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any, Final

from ray_actors import Actor, Cluster, Lost, Message, Reply, Unreachable  # type: ignore[import-not-found]
from ray_bridge_jobs import Jobs  # type: ignore[import-not-found]

LENGTH: Final = struct.Struct(">I")
HEAD: Final = struct.Struct(">II")
OUTPUT_EVERY_SECONDS: Final = 0.5
"""How often the output of a long invocation is fetched before its end."""
MUCH_OUTPUT_BYTES: Final = 1024 * 1024
"""Output of an invocation after which more is fetched at once: its handler waits for room."""
BEFORE_DEADLINE_SECONDS: Final = 0.15
"""Before the timeout of an invocation its output is fetched once more."""
WAITING_AFTER_SECONDS: Final = 0.5
"""How long an actor may wait for a place before the server is asked to end an idle worker."""
LOOK_SECONDS: Final = 1.0
"""Time between two looks at the cluster and its nodes."""
SILENT_SECONDS: Final = 5.0
"""Time after which a node or a cluster that does not answer is lost."""
CONNECT_SECONDS: Final = 60.0
"""How long connecting may take, which loads Ray first."""
END_SECONDS: Final = 7.0
"""How long an actor may take to end its worker, beside the grace."""


class Worker:
    """One worker as the bridge knows it."""

    def __init__(self, number: int, link: socket.socket, output: int) -> None:
        self.number = number
        self.link = link
        self.output = output
        self.actor: Actor | None = None
        self.node = ""
        self.is_placed = False
        self.has_started = False
        self.has_ended = False
        self.task: asyncio.Task[None] | None = None
        self.buffer = b""


class Bridge:
    """Workers by number, and the socket over which the server commands them."""

    def __init__(self, cluster: Cluster, control: socket.socket, programs: tuple[str, bytes]) -> None:
        self._cluster = cluster
        self._control = control
        self._programs = programs
        self._workers: dict[int, Worker] = {}
        self._connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._kept: set[str] = set()
        self._descriptors: list[int] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._last_look: Message = {}
        self._pings: dict[str, asyncio.Task[None]] = {}
        self._sending: list[bytes] = []
        self._jobs = Jobs(cluster, programs[0], self._connected, self._report)
        control.setblocking(False)

    async def serve(self) -> None:
        """Serve until the server is gone, or the cluster."""
        receiving = asyncio.ensure_future(self._receive())
        watching = asyncio.ensure_future(self._watch())
        done, _ = await asyncio.wait({receiving, watching}, return_when=asyncio.FIRST_COMPLETED)
        for task in (receiving, watching):
            task.cancel()
        self._jobs.close()
        for worker in list(self._workers.values()):
            if worker.task is not None:
                worker.task.cancel()
            if worker.actor is not None:
                worker.actor.kill()
        for task in done:
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]

    # ------------------------------------------------------------------ the cluster

    async def _watch(self) -> None:
        """Connect, then look at the cluster; return when it is lost."""
        try:
            await asyncio.wait_for(self._cluster.connect(), CONNECT_SECONDS)
            await self._report_look()
            name, data = self._programs
            self._cluster.keep(name, data)
        except Unreachable as problem:
            await self._give_up("unreachable", str(problem))
            return
        except TimeoutError:
            await self._give_up("unreachable", f"connecting has taken more than {CONNECT_SECONDS:.0f} s")
            return
        self._connected.set_result(None)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await asyncio.wait_for(self._report_look(), SILENT_SECONDS)
            except (TimeoutError, Unreachable) as problem:
                await self._give_up("lost", str(problem) or f"it has not answered for {SILENT_SECONDS:.0f} s")
                return
            self._look_at_nodes()

    async def _give_up(self, did: str, why: str) -> None:
        """Report the loss of the cluster; the socket's end, which follows, is that of all workers."""
        self._report({"did": did, "why": why})
        await self._flush()

    async def _report_look(self) -> None:
        found = await self._cluster.look()
        if found != self._last_look:
            self._last_look = found
            self._report({"did": "cluster", **found})

    def _look_at_nodes(self) -> None:
        """Ask one actor of each node for a sign of life."""
        by_node: dict[str, Worker] = {}
        for worker in self._workers.values():
            if worker.has_started and not worker.has_ended:
                by_node.setdefault(worker.node, worker)
        for node, worker in by_node.items():
            if node not in self._pings:
                self._pings[node] = self._spawn(self._ping(node, worker))

    async def _ping(self, node: str, worker: Worker) -> None:
        assert worker.actor is not None
        try:
            await asyncio.wait_for(worker.actor.ping(), SILENT_SECONDS)
        except TimeoutError:
            if not worker.has_ended:
                why = f"the Ray node {node} has not answered for {SILENT_SECONDS:.0f} s"
                for one in [one for one in self._workers.values() if one.node == node]:
                    self._finish(one, {"code": None, "memory": False, "why": why})
        except Lost as problem:
            self._finish(worker, {"code": None, "memory": False, "why": str(problem)})
        finally:
            self._pings.pop(node, None)

    # ------------------------------------------------------------------ workers

    async def _run(self, worker: Worker, message: Message) -> None:
        """A worker from its beginning to its end."""
        try:
            await asyncio.shield(self._connected)
            settings = message["ray"]
            lacks = self._cluster.lacks(settings["needs"])
            if lacks:
                self._finish(worker, {"code": None, "memory": False, "why": lacks}, refused=True)
                return
            names = [self._programs[0], *(self._keep(name, path) for name, path in settings["parcels"])]
            worker.actor = self._cluster.actor(settings["needs"])
            worker.node = await self._place(worker)
            worker.is_placed = True
            self._report({"did": "started", "worker": worker.number, "pid": 0})
            reply = await worker.actor.start(message, names)
            await self._pass_on(worker, reply)
            worker.has_started = True
            while not worker.has_ended:
                frame = await self._next_frame(worker)
                if frame is None:
                    return
                await self._pass_on(worker, await self._call(worker, frame))
        except Exception as problem:
            # Also a package that is no longer there, or a store of objects that has no room for it: without its end,
            # the server would wait for the worker forever.
            self._finish(worker, {"code": None, "memory": False, "why": str(problem) or type(problem).__name__})

    def _keep(self, name: str, path: str) -> str:
        if name not in self._kept:
            self._cluster.keep(name, Path(path).read_bytes())
            self._kept.add(name)
        return name

    async def _place(self, worker: Worker) -> str:
        assert worker.actor is not None
        placing = asyncio.ensure_future(worker.actor.place())
        try:
            while True:
                done, _ = await asyncio.wait({placing}, timeout=WAITING_AFTER_SECONDS)
                if done:
                    node: str = placing.result()
                    return node
                self._report({"did": "waiting", "worker": worker.number})
        finally:
            placing.cancel()

    async def _call(self, worker: Worker, frame: bytes) -> Reply:
        """Run an invocation, and pass on its output while it lasts."""
        assert worker.actor is not None
        calling = asyncio.ensure_future(worker.actor.call(frame))
        deadline = time.monotonic() + _timeout_of(frame) - BEFORE_DEADLINE_SECONDS
        is_much = False
        try:
            while True:
                left = deadline - time.monotonic()
                pause = min(OUTPUT_EVERY_SECONDS, left) if left > 0 else OUTPUT_EVERY_SECONDS
                done, _ = await asyncio.wait({calling}, timeout=0 if is_much else pause)
                if done:
                    return calling.result()
                output = await worker.actor.read()
                is_much = len(output) >= MUCH_OUTPUT_BYTES
                await self._write_output(worker, output)
        except Lost:
            # The invocation's own end says more than that of a look at it.
            return await calling
        finally:
            calling.cancel()

    async def _pass_on(self, worker: Worker, reply: Reply) -> None:
        frames, output, end = reply
        await self._write_output(worker, output)
        if frames and not worker.has_ended:
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_sendall(worker.link, frames)
        if end is not None:
            self._finish(worker, end)

    async def _write_output(self, worker: Worker, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        view = memoryview(data)
        while view and not worker.has_ended:
            try:
                view = view[os.write(worker.output, view) :]
            except BlockingIOError:
                writable: asyncio.Future[None] = loop.create_future()
                loop.add_writer(worker.output, _settle, writable)
                try:
                    await writable
                finally:
                    loop.remove_writer(worker.output)
            except OSError:
                return

    async def _next_frame(self, worker: Worker) -> bytes | None:
        """The server's next frame for a worker; `None` when the server has closed the socket."""
        loop = asyncio.get_running_loop()
        data = bytearray(worker.buffer)
        while len(data) < 4 or len(data) < 4 + LENGTH.unpack_from(data)[0]:
            try:
                more = await loop.sock_recv(worker.link, 1 << 20)
            except OSError:
                more = b""
            if not more:
                return None
            data += more
        size = 4 + LENGTH.unpack_from(data)[0]
        worker.buffer = bytes(data[size:])
        return bytes(data[:size])

    async def _end(self, worker: Worker, grace_seconds: float) -> None:
        if worker.actor is None or not worker.is_placed:
            self._finish(worker, {"code": None, "memory": False, "why": ""})
            return
        try:
            reply = await asyncio.wait_for(worker.actor.end(grace_seconds), grace_seconds + END_SECONDS)
        except (TimeoutError, Lost) as problem:
            self._finish(worker, {"code": None, "memory": False, "why": str(problem)})
            return
        await self._write_output(worker, reply[1])
        self._finish(worker, reply[2] or {"code": None, "memory": False, "why": ""})

    def _finish(self, worker: Worker, end: Message, *, refused: bool = False) -> None:
        """Report the end of a worker, once, and end its actor."""
        if worker.has_ended:
            return
        worker.has_ended = True
        del self._workers[worker.number]
        if worker.actor is not None:
            worker.actor.kill()
        worker.link.close()
        os.close(worker.output)
        self._report({
            "did": "refused" if refused else "ended", "worker": worker.number, "status": end["code"],
            "memory": end["memory"], "why": end["why"],
        })  # fmt: skip
        if worker.task is not None and worker.task is not asyncio.current_task():
            worker.task.cancel()

    # ------------------------------------------------------------------ the server

    async def _receive(self) -> None:
        """Execute the server's messages until it is gone."""
        buffer = bytearray()
        space = socket.CMSG_SPACE(32 * 4)
        while True:
            await self._readable()
            try:
                data, ancillary, _, _ = self._control.recvmsg(65536, space)
            except BlockingIOError:
                continue
            except OSError:
                return
            for level, kind, body in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    received = array.array("i")
                    received.frombytes(body[: len(body) - len(body) % received.itemsize])
                    self._descriptors += received
            if not data:
                return
            buffer += data
            while len(buffer) >= 4 and len(buffer) >= 4 + LENGTH.unpack_from(buffer)[0]:
                size = 4 + LENGTH.unpack_from(buffer)[0]
                message = json.loads(bytes(buffer[4:size]))
                del buffer[:size]
                self._execute(message)

    def _execute(self, message: Message) -> None:
        if "forget" in message:
            self._jobs.forget(message["forget"], message["worker"])
        elif "job" in message:
            self._jobs.start(message["worker"], message["job"])
        elif message["do"] == "spawn":
            channel, output, null = (self._descriptors.pop(0) for _ in range(3))
            os.close(null)
            link = socket.socket(fileno=channel)
            link.setblocking(False)
            os.set_blocking(output, False)
            worker = self._workers[message["worker"]] = Worker(message["worker"], link, output)
            worker.task = self._spawn(self._run(worker, message))
        elif message["worker"] in self._workers:
            self._spawn(self._end(self._workers[message["worker"]], message["grace_seconds"]))
        else:
            self._jobs.stop(message["worker"])

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._control.fileno(), _settle, readable)
        try:
            await readable
        finally:
            loop.remove_reader(self._control.fileno())

    def _report(self, message: Message) -> None:
        body = json.dumps(message).encode()
        self._sending.append(LENGTH.pack(len(body)) + body)
        if len(self._sending) == 1:
            self._write()

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._sending:
            try:
                sent = self._control.send(self._sending[0])
            except BlockingIOError:
                loop.add_writer(self._control.fileno(), self._write)
                return
            except OSError:
                self._sending.clear()
                break
            if sent < len(self._sending[0]):
                self._sending[0] = self._sending[0][sent:]
            else:
                self._sending.pop(0)
        loop.remove_writer(self._control.fileno())

    async def _flush(self) -> None:
        deadline = time.monotonic() + SILENT_SECONDS
        while self._sending and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _timeout_of(frame: bytes) -> float:
    """The timeout of an invocation in seconds."""
    _, head = HEAD.unpack_from(frame)
    return float(json.loads(frame[8 : 8 + head])["timeout_ms"]) / 1000


async def _main(control: socket.socket, settings: Message) -> None:
    import ray_cluster  # type: ignore[import-not-found]
    import ray_parcels  # type: ignore[import-not-found]

    try:
        await Bridge(ray_cluster.RayCluster(settings), control, ray_parcels.programs()).serve()
    finally:
        # A thread that waits for a cluster that is gone would keep the process.
        ray_cluster.leave(settings)


def main() -> None:
    """Serve one server. Arguments: the control socket's descriptor, and the settings as JSON."""
    control = socket.socket(fileno=int(sys.argv[1]))
    asyncio.run(_main(control, json.loads(sys.argv[2])))


if __name__ == "__main__":
    # Under its own name, so that `ray_cluster` raises the same `Lost`.
    import ray_bridge  # type: ignore[import-not-found]

    ray_bridge.main()
