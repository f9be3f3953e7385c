"""The process from which `tests.forked` takes its copies: it has imported the command `statewright` and does nothing.

Each message on the socket that it is given asks for a copy; with it come three descriptors for input and output, and a
socket. There it writes the copy's number, and how the copy ended. It ends its copies when its own socket is closed.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import selectors
import signal
import socket
import struct
import sys
from importlib import import_module
from typing import Any

from tests.wrong_clock import read_wrong_clock

MOST_BYTES = 1 << 18
"""Of a message: arguments and an environment."""
NUMBER = struct.Struct("q")
"""A process's number, and how it ended, as `os.waitpid` returns them."""
PRELOADED = (
    "statewright.cli.commands",
    "statewright.cli.serving.serve",
    "statewright.cli.serving.dev",
    "statewright.hosting.options",
    "statewright.hosting.nodes.node_server",
    "statewright.stores.postgres.store",
    "statewright.stores.sqlite.store",
)


def preload() -> None:
    """Import what most commands need, and leave it out of garbage collection."""
    for name in PRELOADED:
        import_module(name)
    from statewright.api.operations import load_all

    load_all()
    gc.collect()
    gc.freeze()


class Template:
    """Makes copies of this process, and follows them."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._copies: dict[int, socket.socket] = {}
        self._woken, self._wakes = socket.socketpair()

    def next_copy(self) -> dict[str, Any] | None:
        """Serve requests. Returns what was asked for in a copy, and None in this process once it is not needed."""
        for one in (self._woken, self._wakes):
            one.setblocking(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._requests:
                        body, given, _, _ = socket.recv_fds(self._requests, MOST_BYTES, 4)
                        if not body:
                            self._end()
                            return None
                        asked = self._copy(body, given)
                        if asked is not None:
                            return asked
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(4096)
                self._report()

    def _copy(self, body: bytes, given: list[int]) -> dict[str, Any] | None:
        process = os.fork()
        if process == 0:
            asked: dict[str, Any] = json.loads(body)
            self._become(asked, given)
            return asked
        for descriptor in given[:3]:
            os.close(descriptor)
        status = self._copies[process] = socket.socket(fileno=given[3])
        with contextlib.suppress(OSError):
            status.send(NUMBER.pack(process))
        return None

    def _report(self) -> None:
        """Say how copies have ended."""
        for process in list(self._copies):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with self._copies.pop(process) as found, contextlib.suppress(OSError):
                    found.send(NUMBER.pack(status))

    def _end(self) -> None:
        for process in self._copies:
            os.kill(process, signal.SIGKILL)

    def _become(self, asked: dict[str, Any], given: list[int]) -> None:
        """Turn this copy into what a new process would be."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for one in (self._requests, self._woken, self._wakes, *self._copies.values()):
            one.close()
        if asked["is_new_session"]:
            os.setsid()
        if asked["umask"] >= 0:
            os.umask(asked["umask"])
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        for number, descriptor in enumerate(given[:3]):
            os.dup2(descriptor, number)
        for descriptor in given:
            os.close(descriptor)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(
                open(number, mode, closefd=False),  # noqa: SIM115
                line_buffering=number == 2 or os.isatty(number),
                errors="backslashreplace" if number == 2 else "strict",
            )
            for number, mode in enumerate(("rb", "wb", "wb"))
        )


def main() -> None:
    """Be the template, or a copy of it that runs the command."""
    preload()
    asked = Template(socket.socket(fileno=int(sys.argv[1]))).next_copy()
    if asked is None:
        return
    read_wrong_clock()
    command = import_module("statewright.cli.main")
    sys.modules["__main__"] = command
    sys.argv = [str(command.__file__), *asked["arguments"]]
    # A server that becomes the standby begins its own command line anew.
    sys.orig_argv = [sys.executable, "-m", "statewright.cli.main", *asked["arguments"]]
    sys.path[0] = asked["folder"]
    command.main()


if __name__ == "__main__":
    main()
