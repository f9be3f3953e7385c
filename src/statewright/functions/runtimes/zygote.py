"""The fork server: one process that starts, reaps and ends every worker of one interpreter.

Runs as a script of its own with any Python from 3.9 on, so it uses the standard library alone and, of Statewright, only
its neighbours `python_worker.py` and `confinement.py`. A function's code never runs in it: a Python worker imports its
handler after the fork. Other runtimes are forked and replaced (`argv`).

The server talks to it over one Unix stream socket: frames of `u32 length | JSON`; a spawn carries three descriptors.
When that socket closes, however the server died, the fork server kills every worker and ends.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LENGTH = struct.Struct(">I")
MOST_DESCRIPTORS = 32
WORKER_DESCRIPTORS = 1024
INSTANT = struct.Struct("<d")
LEASE_OVER = "its function has reserved concurrency, and another server may have the store by now"
KILLED = struct.pack("i", -signal.SIGKILL)

Message = dict[str, Any]
"""A message between the server and the fork server: a JSON object."""


class ForkServer:
    """Workers by pid, and the socket over which the server commands them."""

    def __init__(
        self,
        control: socket.socket,
        prctl: Callable[..., object] | None,
        level: str,
        confinement: ModuleType | None,
        lease_end: int | None,
    ) -> None:
        self.lease_end = lease_end
        """The file with the instant at which the server's lease ends, in monotonic seconds."""
        self.leased: set[int] = set()
        """Pids of workers that end with the lease."""
        self.outlived: set[int] = set()
        """Those that have been ended so."""
        self.control = control
        self.prctl = prctl
        self.level = level
        self.confinement = confinement
        """The module `confinement`, unless the level of isolation is `none`."""
        self.reports: dict[int, int] = {}
        """Pipes from which the statuses of workers in namespaces are read, by the pid of their first process."""
        self.workers: dict[int, int] = {}
        """Worker numbers by pid."""
        self.pids: dict[int, int] = {}
        self.doomed: dict[int, float] = {}
        """Instants at which workers that were asked to end are killed: monotonic seconds by pid."""
        self.buffer = bytearray()
        self.descriptors: list[int] = []
        self.wakeup_out, self.wakeup_in = socket.socketpair()
        for end in (self.wakeup_out, self.wakeup_in):
            end.setblocking(False)
        signal.set_wakeup_fd(self.wakeup_in.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Serve until the server is gone; return in the fork server only."""
        selector = selectors.DefaultSelector()
        selector.register(self.control, selectors.EVENT_READ)
        selector.register(self.wakeup_out, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select(self._timeout())]
            if self.wakeup_out in ready:
                self.wakeup_out.recv(4096)
            if self.control in ready and not self._receive():
                break
            self._reap()
            self._kill_doomed()
            self._end_leased()
        self._kill_all()

    def _timeout(self) -> float | None:
        ends = [*self.doomed.values(), *([self._end_of_lease()] if self.leased else ())]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _end_of_lease(self) -> float:
        if self.lease_end is None:
            return float("inf")
        (instant,) = INSTANT.unpack(os.pread(self.lease_end, INSTANT.size, 0))
        return float(instant)

    def _receive(self) -> bool:
        space = socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
        try:
            data, ancillary, _, _ = self.control.recvmsg(65536, space)
        except ConnectionError:
            return False
        for level, kind, body in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(body[: len(body) - len(body) % received.itemsize])
                self.descriptors += received
        if not data:
            return False
        self.buffer += data
        while len(self.buffer) >= 4:
            (length,) = LENGTH.unpack_from(self.buffer)
            if len(self.buffer) < 4 + length:
                break
            message = json.loads(bytes(self.buffer[4 : 4 + length]))
            del self.buffer[: 4 + length]
            self._execute(message)
        return True

    def _execute(self, message: Message) -> None:
        if message["do"] == "spawn":
            channel, output, null = (self.descriptors.pop(0) for _ in range(3))
            self._spawn(message, channel, output, null)
            for descriptor in (channel, output, null):
                os.close(descriptor)
        elif message["do"] == "end":
            pid = self.pids.get(message["worker"])
            if pid is not None:
                _signal_group(pid, signal.SIGTERM if message["grace_seconds"] > 0 else signal.SIGKILL)
                self.doomed[pid] = time.monotonic() + message["grace_seconds"]

    def _spawn(self, message: Message, channel: int, output: int, null: int) -> None:
        in_namespaces = self.level == "namespaces" and self.confinement is not None
        report_out, report_in = os.pipe() if in_namespaces else (-1, -1)
        try:
            pid = self.confinement.clone() if in_namespaces and self.confinement is not None else os.fork()
        except OSError as problem:
            for descriptor in (report_out, report_in):
                if descriptor >= 0:
                    os.close(descriptor)
            self._report({"did": "refused", "worker": message["worker"], "why": str(problem)})
            return
        if pid == 0:
            code = 127
            try:
                if in_namespaces and self.confinement is not None:
                    self.confinement.run_first(
                        message["place"], report_in, null,
                        lambda: self._become_worker(message, channel, output, null),
                    )  # fmt: skip
                code = self._become_worker(message, channel, output, null)
            except BaseException as problem:
                os.write(output, (f"cannot start the worker: {problem}\n").encode())
            finally:
                os._exit(code)
        if in_namespaces:
            os.close(report_in)
            self.reports[pid] = report_out
        self.workers[pid] = message["worker"]
        self.pids[message["worker"]] = pid
        if message.get("ends_with_lease") and self.lease_end is not None:
            self.leased.add(pid)
        self._report({"did": "started", "worker": message["worker"], "pid": pid})

    def _become_worker(self, message: Message, channel: int, output: int, null: int) -> int:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if self.prctl is not None:
            self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            self.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # The given descriptors are all above 3, so none is overwritten before it is used.
        is_replaced = message["argv"] is not None or message["is_anew"]
        for source, target in ((null, 0), (output, 1), (output, 2), (channel, 3)):
            os.dup2(source, target, inheritable=target != 3 or is_replaced)
        os.closerange(4, WORKER_DESCRIPTORS)
        os.environ.clear()
        os.environ.update(message["env"])
        time.tzset()
        _limit(message)
        if self.confinement is not None:
            self.confinement.confine(self.level, message["file_bytes"])
        os.chdir(message["root"])
        if message["argv"] is not None:
            os.execvpe(message["argv"][0], message["argv"], message["env"])
        if message["kind"] == "provided":
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            import runtime_api  # type: ignore[import-not-found]

            runtime_api.main(message)
        else:
            import python_worker  # type: ignore[import-not-found]

            if message["is_anew"]:
                python_worker.start_anew(message)
            python_worker.main(message)
        return 0

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            worker = self.workers.get(pid)
            if worker is not None:
                # The dead leader still reserves the group's number: no other group can have it.
                _signal_group(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            # Also after an orphan's end: its own children have become orphans only now.
            self._kill_orphans()
            if worker is not None:
                del self.workers[pid]
                self.pids.pop(worker, None)
                self.doomed.pop(pid, None)
                self.leased.discard(pid)
                why = {"why": LEASE_OVER} if pid in self.outlived else {}
                self.outlived.discard(pid)
                self._report({"did": "ended", "worker": worker, "status": self._exit_code(pid, status), **why})

    def _exit_code(self, pid: int, status: int) -> int:
        report = self.reports.pop(pid, -1)
        if report < 0:
            return os.waitstatus_to_exitcode(status)
        # Without a report the first process has been killed, or could not start the worker.
        reported = os.read(report, 4)
        os.close(report)
        if not reported and os.waitstatus_to_exitcode(status) >= 0:
            return os.waitstatus_to_exitcode(status)
        code: int = struct.unpack("i", reported or KILLED)[0]
        return code

    def _kill_orphans(self) -> None:
        """Kill descendants that had left a dead worker's group: they are children of this process now."""
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as listing:
                children = [int(word) for word in listing.read().split()]
        except OSError:
            return
        for pid in children:
            if pid not in self.workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_doomed(self) -> None:
        now = time.monotonic()
        for pid, due in list(self.doomed.items()):
            if due <= now:
                del self.doomed[pid]
                _signal_group(pid, signal.SIGKILL)

    def _end_leased(self) -> None:
        """Kill the workers that must not outlive the lease, once it is over: the server may be frozen."""
        if self.leased and self._end_of_lease() <= time.monotonic():
            for pid in self.leased:
                _signal_group(pid, signal.SIGKILL)
            self.outlived |= self.leased
            self.leased.clear()

    def _kill_all(self) -> None:
        for pid in self.workers:
            _signal_group(pid, signal.SIGKILL)
        self._kill_orphans()
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return
            self._kill_orphans()

    def _report(self, message: Message) -> None:
        body = json.dumps(message).encode()
        with contextlib.suppress(OSError):
            self.control.sendall(LENGTH.pack(len(body)) + body)


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        # A worker that was just forked has no group of its own yet.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _limit(message: Message) -> None:
    import resource

    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, WORKER_DESCRIPTORS),
    ]
    if message.get("data_bytes") and hasattr(resource, "RLIMIT_DATA"):
        wanted.append((resource.RLIMIT_DATA, message["data_bytes"]))
    for what, most in wanted:
        hard = resource.getrlimit(what)[1]
        if hard == resource.RLIM_INFINITY or most <= hard:
            resource.setrlimit(what, (most, most))


def _prctl() -> Callable[..., object] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    return ctypes.CDLL(None).prctl


def _renumbered(descriptor: int | None) -> int | None:
    """A descriptor under the lowest number that is free: workers close these."""
    if descriptor is None:
        return None
    found = os.dup(descriptor)
    os.close(descriptor)
    return found


def main() -> None:
    """Preload modules, then fork on demand.

    Arguments: the control socket's descriptor, settings of the confinement as JSON, then modules to preload.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    lease_end = _renumbered(settings.get("lease_end"))
    prctl = _prctl()
    if prctl is not None:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [here, *(path for path in sys.path if os.path.abspath(path) != here)]
    import python_worker

    python_worker.preload(sys.argv[3:])
    confinement: ModuleType | None = None
    if settings["level"] != "none":
        # Modules that are first imported by a worker may be out of its sight.
        import resource  # noqa: F401

        confinement = importlib.import_module("confinement")
    sys.path.remove(here)
    if confinement is not None:
        if settings["level"] == "namespaces":
            confinement.enter(settings)
        confinement.hide_memory()
    gc.collect()
    gc.freeze()
    ForkServer(control, prctl, settings["level"], confinement, lease_end).serve()


if __name__ == "__main__":
    main()
