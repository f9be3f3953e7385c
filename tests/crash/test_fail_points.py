"""A server killed at each fail point, again and again until all is done: nothing is lost, nothing is there twice.

One data folder serves all the tests of this module; each asks for everything that was ever promised.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from statewright.stores import fail_points
from statewright.stores.sqlite.file import FILE_NAME, SCHEMA_VERSION
from tests.crash.invariants import check_rest
from tests.crash.load import Load
from tests.crash.migrating import NEXT
from tests.crash.outside import Outside
from tests.crash.servers import ROOT, Servers
from tests.deadlines import completed, until
from tests.thoroughness import slow

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")

AT_WORK = (
    fail_points.BEFORE_COMMIT,
    fail_points.AFTER_COMMIT,
    fail_points.BEFORE_DISPATCH,
    fail_points.DISPATCHED,
    fail_points.RESULT,
)
PASSINGS = (1, 2, 3, 5, 8)
AT_THE_END = (fail_points.IN_DRAIN, fail_points.BEFORE_CLOSE)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    with Servers(tmp_path_factory.mktemp("fail-points")) as servers, Outside() as outside:
        made = Load(servers, outside, Random(1))
        servers.up()
        made.prepare()
        assert servers.stop() == 0
        yield made


def settle(load: Load) -> None:
    """Start a server that nobody kills, let everything end, and ask for all that was promised."""
    load.servers.up()
    load.rest()
    load.check()
    assert load.servers.stop() == 0
    check_rest(load.servers.data)
    assert "bug in Statewright" not in load.servers.log.read_text()


@pytest.mark.parametrize(
    "point", [one if one == fail_points.AFTER_COMMIT else pytest.param(one, marks=slow) for one in AT_WORK]
)
def test_a_server_killed_at_one_point_after_another_passing(load, point):
    servers = load.servers
    load.go()
    for passing in PASSINGS:
        servers.start(f"{point}:{passing}")
        # One of each kind passes each point more often than that.
        load.each_kind()
        assert servers.wait_dead() == -signal.SIGKILL, f"{point} was not passed {passing} times"
    settle(load)


@pytest.mark.slow
@pytest.mark.parametrize("point", AT_THE_END)
def test_a_server_killed_while_it_ends(load, point):
    servers = load.servers
    load.go()
    servers.start(point)
    assert servers.wait_ready()
    load.each_kind()
    until(lambda: any(promise.started for promise in load.promises.values()), "a start")
    assert servers.stop() == -signal.SIGKILL
    settle(load)


def statewright(*words: str, point: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, fail_points.VARIABLE: point}
    command = [sys.executable, "-m", *words]
    return completed(command, cwd=ROOT, env=environment)


def test_a_backup_killed_before_it_has_its_name(load, tmp_path):
    target = tmp_path / "copy.db"
    words = ("statewright.cli.main", "backup", str(target), "--data", str(load.servers.data))
    load.go()
    load.servers.up()
    load.each_kind()
    assert statewright(*words, point=fail_points.IN_COPY).returncode == -signal.SIGKILL
    assert not target.exists()
    # What the first one left behind stops nobody.
    again = statewright(*words)
    assert again.returncode == 0, again.stderr
    # The second name is there if a minute of metrics was written.
    assert {one.name for one in tmp_path.iterdir()} - {"copy.db.files"} == {"copy.db"}
    load.servers.kill()
    settle(load)


@pytest.mark.parametrize("point", [fail_points.IN_COPY, pytest.param(fail_points.IN_MIGRATION, marks=slow)])
def test_a_migration_killed_in_the_middle(load, tmp_path, point):
    data = tmp_path / "data"
    shutil.copytree(load.servers.data, data)
    before = executions(data)
    migrating = ("tests.crash.migrating", str(data))
    assert statewright(*migrating, point=point).returncode == -signal.SIGKILL
    assert version(data / FILE_NAME) == SCHEMA_VERSION
    assert executions(data) == before
    copy = data / f"{FILE_NAME}.v{SCHEMA_VERSION}"
    assert copy.exists() == (point == fail_points.IN_MIGRATION)
    # The program that knows the old version goes on, and the new one begins anew.
    check_rest(data)
    again = statewright(*migrating)
    assert again.returncode == 0, again.stderr
    assert version(data / FILE_NAME) == NEXT
    assert version(copy) == SCHEMA_VERSION
    assert executions(data) == before


def version(file: Path) -> int:
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0])
    finally:
        connection.close()


def executions(data: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(data / FILE_NAME)
    try:
        return connection.execute("SELECT id, name, status, version FROM execution ORDER BY id").fetchall()
    finally:
        connection.close()


def test_the_variable_arms_a_served_process(tmp_path):
    """What the forks of the other tests are told directly."""
    words = ("statewright.cli.main", "serve", "--port", "0", "--data", str(tmp_path))
    refused = statewright(*words, point="nowhere")
    assert refused.returncode not in (0, -signal.SIGKILL)
    assert "names no fail point" in refused.stderr
