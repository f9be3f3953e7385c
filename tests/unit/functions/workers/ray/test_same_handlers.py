"""Handlers on a cluster see and answer what they see and answer on this machine: its tests, once more.

A few of them look at what a server does with its own machine, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.functions import (
    running,
    test_layers,
    test_misbehaving_handlers,
    test_other_runtimes,
    test_python_handlers,
    test_workers_and_logs,
)
from tests.unit.functions.workers.ray.bench import fake_ray

pytestmark = pytest.mark.slow

_LEFT_OUT = {
    "test_stopping_ends_every_process": "the processes of a cluster end after the server",
    "test_an_unknown_python_runs_with_ours_and_the_log_says_so": "the log speaks of the node",
}


@pytest.fixture(autouse=True)
def on_the_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run functions on the cluster where a test has no settings of its own."""
    for ray in fake_ray(monkeypatch, tmp_path_factory.mktemp("ray")):
        monkeypatch.setattr(running, "SHARING", ray.config())
        yield


for _module in (
    test_python_handlers,
    test_misbehaving_handlers,
    test_other_runtimes,
    test_workers_and_logs,
    test_layers,
):
    _about = _module.__name__.rpartition("test_")[2]
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and _name not in _LEFT_OUT:
            globals()[f"test_{_about}_{_name.removeprefix('test_')}"] = _test


def test_the_tests_that_are_left_out_exist():
    modules = (test_misbehaving_handlers,)
    assert all(any(hasattr(module, name) for module in modules) for name in _LEFT_OUT)
