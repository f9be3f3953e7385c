"""The cluster without Ray, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.functions.workers.ray.bench import FakeRay, fake_ray


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeRay]:
    yield from fake_ray(monkeypatch, tmp_path)
