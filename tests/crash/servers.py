"""Servers that are killed and started again, always on one port and one data folder, and a plain client for them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.deadlines import PATIENCE_SECONDS, end, started

ROOT = Path(__file__).parents[2]


def held_port() -> tuple[socket.socket, int]:
    """A free port, and the socket that keeps it for servers to come until it is closed."""
    # Bound and never listened on: no other program gets the port while no server has it.
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    port: int = held.getsockname()[1]
    if sys.platform != "linux":
        # Elsewhere two sockets cannot be bound to one port.
        held.close()
    return held, port


class Servers:
    """One server after another, each a fork of `template_server`, on SQLite or on the database of an address."""

    def __init__(self, folder: Path, address: str = "") -> None:
        self.data = folder / "data"
        self.log = folder / "server.log"
        self._held, self.port = held_port()
        self.pid = 0
        self.status: int | None = None
        """The exit code of the last server once it is dead; negative for a signal."""
        self.is_ready = False
        self._news = threading.Condition()
        self._loaded = False
        command = [sys.executable, "-m", "tests.crash.template_server", str(self.data), str(self.port), str(self.log)]
        command += [address] if address else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self._template = started(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._until(lambda: self._loaded, "the template to be loaded")

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._template.kill()
        self._template.wait()
        self._reader.join()
        end(self._template)
        self._held.close()

    def start(self, fail_point: str = "") -> None:
        """Start the next server, without waiting until it is ready."""
        with self._news:
            self.pid, self.status, self.is_ready = 0, None, False
        assert self._template.stdin is not None
        self._template.stdin.write(f"start {fail_point}\n")
        self._template.stdin.flush()
        self._until(lambda: self.pid, "the server's number")

    def wait_ready(self) -> bool:
        """Wait until the server is ready; false if it died before."""
        self._until(lambda: self.is_ready or self.status is not None, "the server to be ready")
        return self.is_ready

    def wait_dead(self, seconds: float = PATIENCE_SECONDS) -> int | None:
        """Wait until the server is dead; its exit code, `None` if it lives on."""
        with self._news:
            self._news.wait_for(lambda: self.status is not None, seconds)
            return self.status

    def up(self) -> None:
        """Start a server and wait until it is ready."""
        self.start()
        assert self.wait_ready(), f"the server did not start:\n{self.log.read_text()[-4000:]}"

    def kill(self) -> None:
        """Kill the server, if there is one, and wait until it is dead."""
        self.signal(signal.SIGKILL)
        self.wait_dead(PATIENCE_SECONDS if self.pid else 0)

    def stop(self) -> int | None:
        """Have the server end in good order; its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_dead()

    def signal(self, number: int) -> None:
        with self._news:
            if self.pid and self.status is None:
                # Not yet reaped, or its death not yet told: the number is still its own or nobody's.
                try:
                    os.kill(self.pid, number)
                except ProcessLookupError:
                    return

    def begin_anew(self, data: Path | None = None) -> None:
        """Kill the server; the next one begins with a copy of a data folder, or with none."""
        self.kill()
        shutil.rmtree(self.data, ignore_errors=True)
        if data is not None:
            shutil.copytree(data, self.data)

    def client(self) -> Caller:
        return Caller(self.port)

    def _until(self, condition: Any, what: str) -> None:
        with self._news:
            if not self._news.wait_for(condition, PATIENCE_SECONDS):
                raise AssertionError(f"waited in vain for {what}")

    def _read(self) -> None:
        assert self._template.stdout is not None
        for line in self._template.stdout:
            word, _, rest = line.strip().partition(" ")
            with self._news:
                if word == "loaded":
                    self._loaded = True
                elif word == "pid":
                    self.pid = int(rest)
                elif word == "ready":
                    self.is_ready = True
                elif word == "dead":
                    number, status = map(int, rest.split())
                    if number == self.pid:
                        self.status = status
                self._news.notify_all()


class NoAnswer(Exception):
    """The call may have been carried out or not."""


class Refused(Exception):
    """The server has answered with an error of the caller's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code

    def must_be(self, code: str) -> None:
        """Fail unless it is this one."""
        if self.code != code:
            raise self


class Caller:
    """Calls one server over one connection; for one thread."""

    def __init__(self, port: int, seconds: float = PATIENCE_SECONDS) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)

    def __call__(self, operation: str, **request: Any) -> Any:
        """The answer of an operation of Step Functions. Raises: NoAnswer, Refused."""
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"AWSStepFunctions.{operation}",
        }
        try:
            self._connection.request("POST", "/", json.dumps(request).encode(), headers)
            answer = self._connection.getresponse()
            body = answer.read()
            found = json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            self._connection.close()
            raise NoAnswer(f"{operation}: {problem!r}") from None
        if answer.status == 200:
            return found
        if answer.status >= 500:
            raise NoAnswer(f"{operation}: {answer.status} {body[:300]!r}")
        raise Refused(found.get("__type", "").rpartition("#")[2], found.get("message", ""))

    def close(self) -> None:
        self._connection.close()
