"""What holds for every test: no process outlives it, and on CI none is skipped that could have run."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from statewright.engine import engine
from tests import deadlines, memory_files, skips

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs with interrupts ignored. Children inherit that, and several tests interrupt them.
    signal.signal(signal.SIGINT, signal.default_int_handler)

FILES = pytest.StashKey[Path]()
"""The folder with the files of a run."""
SHOWN_OF_A_LOG = 6000
"""Characters of the log of each server that runs when a test fails."""

# Handlers of most tests write files for them. What namespaces hide is tested with servers that ask for them.
os.environ.setdefault("STATEWRIGHT_ISOLATION", "hardened")

# Tests make much that is gone soon: at the default of 700 objects, a fifth of the time goes into looking for cycles.
gc.set_threshold(100_000, 20, 50)

# Engines of this process divide their executions among so many cells.
engine.CELLS = int(os.environ.get("STATEWRIGHT_TEST_CELLS", "1"))

# A server that finds the package compiled starts in half the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No example is too late: machines have other things to do.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True
)
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put the temporary folders of tests where files are made fast, unless a folder was named."""
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        folder = config.stash[FILES] = memory_files.new_folder("tests")
        config.option.basetemp = str(folder / "run")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: many tests wait for a server, a worker or a database meanwhile."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Delete them, but for those of a run that has failed, which the next run deletes."""
    folder = session.config.stash.get(FILES, None)
    if folder is not None and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """A test that fails in the middle of its work leaves no process and no pipe for the next one."""
    before = set(deadlines.OPEN)
    yield
    for number in deadlines.OPEN.keys() - before:
        deadlines.OPEN[number]()


def pytest_collection_finish() -> None:
    """Leave modules and tests out of garbage collection: with them, each full one takes half a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    skips.judge(report)
    if report.failed:
        for path in deadlines.LOGS.values():
            report.sections.append((f"End of {path}", log_end(path)))
    return report


def log_end(path: Path) -> str:
    """The end of a log, without the lines that only say that a call was answered."""
    lines = path.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if " code=OK " not in line)[-SHOWN_OF_A_LOG:]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    skips.judge(report)
    return report
