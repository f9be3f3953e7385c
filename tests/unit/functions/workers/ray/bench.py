"""Functions whose workers run on a cluster without Ray (`fake_bridge.py`), which a test can damage."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from statewright.config import Config, FunctionSettings
from statewright.functions.workers import ray_link
from statewright.functions.workers.fork_servers import RUNTIMES
from statewright.settings.server import RayNeeds, RaySettings
from tests.unit.functions.workers.ray import fake_job_host

FAKE = Path(__file__).with_name("fake_bridge.py")


@dataclass
class FakeRay:
    """The state of the cluster, by its file, and the settings of functions that use it."""

    file: Path
    folder: Path

    def become(self, nodes: dict[str, float] | None = None, **state: Any) -> None:
        """Change the cluster: CPUs by node, `silent` nodes, and why the head is `down`."""
        given = {"nodes": {name: {"CPU": cpus} for name, cpus in (nodes or {}).items()}, **state}
        after = self.file.with_suffix(".new")
        after.write_text(json.dumps(given))
        after.replace(self.file)

    def config(self, isolation: str = "hardened", **functions: RayNeeds) -> Config:
        """Settings with the needs of functions by name."""
        ray = RaySettings(folder=str(self.folder), functions=functions)
        return Config(functions=FunctionSettings(isolation, backend="ray"), ray=ray)


def fake_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, silent_seconds: float = 600) -> Iterator[FakeRay]:
    """A cluster of two nodes with two CPUs each."""
    monkeypatch.setattr(ray_link, "BRIDGE", FAKE)
    monkeypatch.setattr(ray_link, "PAUSES_MS", (50,))
    ray = FakeRay(tmp_path / "cluster.json", tmp_path / "ray")
    # Paths of sockets must be short.
    jobs = Path(tempfile.mkdtemp(prefix="j", dir="/tmp"))
    given = {"STATE": ray.file, "RUNTIMES": RUNTIMES, "SILENT_SECONDS": silent_seconds, "JOBS": jobs}
    for name, value in given.items():
        monkeypatch.setenv(f"RAY_FAKE_{name}", str(value))
    ray.become({"a": 2, "b": 2})
    yield ray
    for job in jobs.iterdir():
        fake_job_host.kill(job)
    jobs.rmdir()
    for folder, _, _ in os.walk(ray.folder):
        Path(folder).chmod(0o700)
