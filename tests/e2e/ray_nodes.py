"""Nodes of a real Ray cluster on this machine, which tests start and kill."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import started, until

RAY = Path(sys.prefix) / "ray"
"""The environment that `make test-slow` makes of tests/e2e/ray/requirements.lock."""
PLACES = 2
"""CPUs of each node: workers that run on it at the same time."""

needs_ray = pytest.mark.skipif(
    not (RAY / ".ready").is_file(), reason=f"`make test-slow` installs Ray into {RAY}, which is not there"
)


class Nodes:
    """The nodes of a cluster on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.living: list[Any] = []

    def start(self, *options: str) -> int:
        """Start a node, the first one as the head; return its number."""
        number = len(self.living)
        command = [
            RAY / "bin" / "ray", "start", "--block", "--disable-usage-stats", f"--num-cpus={PLACES}",
            "--object-store-memory=80000000",
        ]  # fmt: skip
        if number == 0:
            command += ["--head", f"--port={self.port}", "--include-dashboard=false", f"--temp-dir={self.folder}"]
        else:
            command += [f"--address=127.0.0.1:{self.port}"]
        command += options
        log = self.folder / f"node{number}.log"
        with log.open("wb") as file:
            self.living.append(started(command, stdout=file, stderr=file))
        until(lambda: b"Ray runtime started" in log.read_bytes(), f"the start of node {number}, see {log}")
        return number

    def kill(self, number: int) -> None:
        """Kill every process of a node."""
        found = [self.living[number].pid]
        for pid in found:
            with suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.living[number].wait()


def three_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """A cluster with a token of its own."""
    for name, value in (("AUTH_MODE", "token"), ("AUTH_TOKEN", secrets.token_hex(16)), ("USAGE_STATS_ENABLED", "0")):
        monkeypatch.setenv(f"RAY_{name}", value)
    # Ray's sockets lie below it, whose paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    cluster = Nodes(folder)
    for _ in range(3):
        cluster.start()
    yield cluster
    for number in range(len(cluster.living)):
        cluster.kill(number)
    shutil.rmtree(folder, ignore_errors=True)


def settings(nodes: Nodes, folder: Path, text: str) -> Path:
    """The settings of a server that uses the cluster."""
    file = folder / "statewright.toml"
    file.write_text(
        f"""
        {text}
        [ray]
        address = "127.0.0.1:{nodes.port}"
        folder = "{folder / "ray"}"
        python = "{RAY / "bin" / "python"}"
        """
    )
    return file


def open_again(folder: Path) -> None:
    """Let the folder of code be removed."""
    for below, _, _ in os.walk(folder / "ray"):
        Path(below).chmod(0o700)
