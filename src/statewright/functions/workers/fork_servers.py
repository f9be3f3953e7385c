"""Fork servers as the server sees them: starting one, and having it start and end workers.

Owns the processes of `runtimes/zygote.py` and the socket to each. The connection to a worker is `worker.py`'s.
"""

from __future__ import annotations

import array
import asyncio
import logging
import os
import resource
import socket
import struct
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from statewright.lease_end import LeaseEnd
from statewright.payload import JsonMapping

RUNTIMES: Final = Path(__file__).parents[1] / "runtimes"
GRACE_SECONDS: Final = 0.5
"""Default time between SIGTERM and SIGKILL of a worker."""
DESCRIPTORS: Final = 65_536
"""File descriptor limit that the server sets itself: each worker takes two."""
_LENGTH: Final = struct.Struct(">I")

log = logging.getLogger("statewright.functions")


@dataclass(frozen=True, slots=True)
class End:
    """The end of a worker.

    `exit_code` is negative for a signal, and `None` when the fork server itself is gone. `problem` is set if the worker
    could not be started, or was lost with the machine that it ran on; `for_memory` if it was killed there for its size.
    """

    exit_code: int | None = None
    problem: str = ""
    for_memory: bool = False


Ended = Callable[[End], None]


@dataclass(frozen=True, slots=True)
class Confinement:
    """Isolation of the workers of a fork server: the level, and for `namespaces` what they see and do not see.

    `code` is the folder of all packages. `visible` are folders beside those of programs and of the interpreter; `hide`
    are covered wherever they lie. `sdk` is the folder of the SDK for JavaScript, and the path at which workers see it.
    """

    level: str
    code: str
    visible: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    sdk: tuple[str, str] | None = None


class ForkServer:
    """One fork server process. Everything runs on the loop's thread; nothing blocks.

    `command` makes the command from the descriptor of its socket; `on_message` is given messages that are about no
    worker, and `on_lost` is called when the process is gone. `problem` is then the reason of its workers' end. The
    process inherits the descriptors `inherited`.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[int], Sequence[str]],
        environment: Mapping[str, str],
        on_message: Callable[[JsonMapping], None] | None = None,
        on_lost: Callable[[], None] | None = None,
        *,
        is_quiet: bool = False,
        inherited: Sequence[int] = (),
    ) -> None:
        _raise_descriptor_limit()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.name = name
        self.problem = ""
        self._on_message_of_it = on_message
        self._on_lost = on_lost
        self._control = ours
        self._loop = asyncio.get_running_loop()
        self._incoming = bytearray()
        self._outgoing: deque[tuple[bytes, list[int]]] = deque()
        self._workers: dict[int, Ended] = {}
        self._refused: dict[int, str] = {}
        self._on_started: dict[int, Callable[[int], None]] = {}
        try:
            self._process = subprocess.Popen(
                command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if is_quiet else None,
                pass_fds=(theirs.fileno(), *inherited),
                env=environment,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._loop.add_reader(ours.fileno(), self._read)

    @property
    def is_alive(self) -> bool:
        """True while the process accepts messages."""
        return self._control.fileno() >= 0

    @property
    def pid(self) -> int:
        """The fork server's process."""
        return self._process.pid

    def spawn(
        self,
        worker: int,
        message: JsonMapping,
        descriptors: tuple[int, ...],
        on_started: Callable[[int], None],
        on_ended: Ended,
    ) -> None:
        """Start a worker. `descriptors` are its socket, its output and the null device; the caller may close them.

        A job has none: the bridge to Ray writes its output into a file.
        """
        self._workers[worker] = on_ended
        self._on_started[worker] = on_started
        self._send({"do": "spawn", "worker": worker, **message}, [os.dup(number) for number in descriptors])

    def end(self, worker: int, *, grace_seconds: float = GRACE_SECONDS) -> None:
        """End a worker and all its children: SIGTERM, and SIGKILL after the grace."""
        if worker in self._workers:
            self._send({"do": "end", "worker": worker, "grace_seconds": grace_seconds}, [])

    def close(self) -> None:
        """End every worker and the process itself, and wait for it: killing takes milliseconds."""
        self._disconnect()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """Kill the process at once; its workers end by themselves."""
        self._disconnect()
        self._process.kill()
        self._process.wait()

    # ------------------------------------------------------------------ the socket

    def _send(self, message: JsonMapping, descriptors: list[int]) -> None:
        if not self.is_alive:
            _close(descriptors)
            return
        body = orjson.dumps(message)
        waiting = bool(self._outgoing)
        self._outgoing.append((_LENGTH.pack(len(body)) + body, descriptors))
        if not waiting:
            self._write()

    def _write(self) -> None:
        while self._outgoing:
            data, descriptors = self._outgoing[0]
            try:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
                sent = self._control.sendmsg([data], rights)
            except BlockingIOError:
                self._loop.add_writer(self._control.fileno(), self._write)
                return
            except OSError:
                self._disconnect()
                return
            _close(descriptors)
            if sent < len(data):
                self._outgoing[0] = (data[sent:], [])
            else:
                self._outgoing.popleft()
        self._loop.remove_writer(self._control.fileno())

    def _read(self) -> None:
        try:
            data = self._control.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            if self._on_lost is None:
                log.warning("the fork server of %s (pid %d) has ended", self.name, self._process.pid)
            self._disconnect()
            self._process.poll()
            return
        incoming = self._incoming
        incoming += data
        while len(incoming) >= 4:
            (length,) = _LENGTH.unpack_from(incoming)
            if len(incoming) < 4 + length:
                return
            message = orjson.loads(bytes(incoming[4 : 4 + length]))
            del incoming[: 4 + length]
            self._on_message(message)

    def _on_message(self, message: JsonMapping) -> None:
        if self._on_message_of_it is not None and message["did"] not in ("started", "refused", "ended"):
            self._on_message_of_it(message)
            return
        worker = message["worker"]
        if message["did"] == "started":
            on_started = self._on_started.pop(worker, None)
            if on_started is not None:
                on_started(message["pid"])
            return
        if message["did"] == "refused":
            log.warning("no worker can be started: %s", message["why"])
        self._on_started.pop(worker, None)
        on_ended = self._workers.pop(worker, None)
        if on_ended is not None:
            on_ended(End(message.get("status"), message.get("why", ""), message.get("memory", False)))

    def _disconnect(self) -> None:
        if not self.is_alive:
            return
        self._loop.remove_reader(self._control.fileno())
        self._loop.remove_writer(self._control.fileno())
        self._control.close()
        for _, descriptors in self._outgoing:
            _close(descriptors)
        self._outgoing.clear()
        workers, self._workers = self._workers, {}
        for on_ended in workers.values():
            on_ended(End(problem=self.problem))
        if self._on_lost is not None:
            self._on_lost()


def basic_environment() -> dict[str, str]:
    """The variables of the server that its fork servers have, too."""
    kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYENV_VERSION", "PYENV_ROOT", "HOME")
    environment = {name: value for name, value in os.environ.items() if name in kept}
    return {**environment, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}


def zygote(
    interpreter: str, preload: Sequence[str], confinement: Confinement, lease_end: LeaseEnd | None = None
) -> ForkServer:
    """A fork server of this machine, which ends workers with the lease that they depend on. Raises: OSError."""
    inherited = [lease_end.descriptor] if lease_end is not None else []
    settings = orjson.dumps({**asdict(confinement), "lease_end": inherited[0] if inherited else None}).decode()

    def command(control: int) -> list[str]:
        return [interpreter, str(RUNTIMES / "zygote.py"), str(control), settings, *preload]

    return ForkServer(interpreter, command, basic_environment(), inherited=inherited)


class ForkServers:
    """Fork servers by interpreter and preloaded modules, started at first use and again when one has died."""

    def __init__(self, lease_end: LeaseEnd | None = None) -> None:
        self._lease_end = lease_end
        self._servers: dict[tuple[str, tuple[str, ...], Confinement], ForkServer] = {}

    def get(self, interpreter: str, preload: tuple[str, ...], confinement: Confinement) -> ForkServer:
        """The fork server for workers of an interpreter. Raises: OSError when it cannot be started."""
        found = self._servers.get((interpreter, preload, confinement))
        if found is None or not found.is_alive:
            if found is not None:
                found.close()
            found = zygote(interpreter, preload, confinement, self._lease_end)
            self._servers[interpreter, preload, confinement] = found
        return found

    def close(self) -> None:
        """End all fork servers with their workers."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    @property
    def pids(self) -> list[int]:
        """Process ids of the living fork servers."""
        return [server.pid for server in self._servers.values() if server.is_alive]


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
    descriptors.clear()


def _raise_descriptor_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            log.warning("only %d descriptors: about %d workers at once", soft, soft // 2)
