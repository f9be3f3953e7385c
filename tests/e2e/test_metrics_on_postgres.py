"""Minutes of metrics outlive a server on PostgreSQL and its folder: its successor, a backup and a move have them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from botocore.config import Config

from statewright.metrics.blocks import Name, block_of
from statewright.metrics.minute_files import MinuteFiles
from statewright.metrics.points import point_of
from tests.crash.pairs import Node
from tests.deadlines import PATIENCE_SECONDS, completed, until
from tests.e2e.conftest import Server, session_of
from tests.postgres_server import server_or_skip

pytestmark = pytest.mark.slow

HOUR = 3_600
VALUES = {HOUR: 1.0, 2 * HOUR: 2.0, 5 * HOUR: 5.0, 26 * HOUR: 26.0}
"""By age in seconds; some are older than what a server has in memory."""


def client(port: int, region: str = "us-east-1") -> Any:
    settings = Config(retries={"total_max_attempts": 1}, read_timeout=PATIENCE_SECONDS)
    return session_of(region=region).client("cloudwatch", endpoint_url=f"http://127.0.0.1:{port}", config=settings)


def put(port: int, now: int, region: str = "us-east-1", factor: float = 1) -> None:
    client(port, region).put_metric_data(Namespace="Shop", MetricData=[
        {"MetricName": "Orders", "Timestamp": now - age, "Value": factor * value} for age, value in VALUES.items()
    ])  # fmt: skip


def got(port: int, now: int, region: str = "us-east-1") -> dict[int, float]:
    """The sums of the metric by age of their minutes, as `GetMetricData` answers."""
    found = client(port, region).get_metric_data(
        StartTime=now - 48 * HOUR, EndTime=now, MetricDataQueries=[{"Id": "a", "MetricStat": {
            "Metric": {"Namespace": "Shop", "MetricName": "Orders"}, "Period": 60, "Stat": "Sum",
        }}],
    )["MetricDataResults"][0]  # fmt: skip
    at = (round(one.timestamp()) for one in found["Timestamps"])
    return {now - one: value for one, value in zip(at, found["Values"], strict=True)}


def this_minute() -> int:
    now = int(time.time())
    return now - now % 60


def wait_for_rows(address: str, now: int) -> None:
    """Wait until what was put in two regions is in the database; a server has no points of its own from before."""

    def are_written() -> bool:
        with psycopg.connect(address) as connection:
            count = "SELECT count(DISTINCT (place, at)) FROM minute WHERE at <= %s"
            found = connection.execute(count, (now - HOUR,)).fetchone()
        return found == (2 * len(VALUES),)

    until(are_written, "the rows of the minutes")


def test_a_standby_with_another_folder_has_the_metrics_of_a_killed_owner(tmp_path: Path) -> None:
    address = server_or_skip().new_database()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    owner = Node(folders[0], "one", address)
    owner.wait("ready")
    standby = Node(folders[1], "two", address)
    standby.wait("standby")
    now = this_minute()
    put(owner.port, now)
    put(owner.port, now, "eu-west-1", 10)
    wait_for_rows(address, now)
    owner.kill()
    standby.wait("ready")
    assert got(standby.port, now) == VALUES
    assert got(standby.port, now, "eu-west-1") == {age: 10 * value for age, value in VALUES.items()}
    # The successor adds to the same minutes, under the same numbers.
    put(standby.port, now)
    assert got(standby.port, now) == {age: 2 * value for age, value in VALUES.items()}
    assert standby.stop() == 0
    assert not list(tmp_path.rglob("*.minutes"))
    third = Server(tmp_path / "three", "--store", address)
    assert got(third.port, now) == {age: 2 * value for age, value in VALUES.items()}
    assert third.stop() == 0


def test_what_an_older_version_has_in_its_folder_moves_into_the_database(tmp_path: Path) -> None:
    address = server_or_skip().new_database()
    now = this_minute()
    data = tmp_path / "first"
    files = MinuteFiles(data / "metrics")
    files.opened(now)
    name = Name(3, "Shop", "Orders", (), "None", False, False, False)
    for number, (age, value) in enumerate(VALUES.items()):
        content = block_of(now - age, {3: point_of(now - age, {value: 1})})
        files.append(now - age, content, [] if number else [name])
    first = Server(data, "--store", address)
    until(lambda: not list((data / "metrics").iterdir()), "the move of the minutes")
    assert got(first.port, now) == VALUES
    assert first.stop() == 0
    second = Server(tmp_path / "second", "--store", address)
    assert got(second.port, now) == VALUES
    assert second.stop() == 0


def statewright(*arguments: str) -> Any:
    done = completed([sys.executable, "-m", "statewright.cli.main", *arguments, "-o", "json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(server: Server, now: int) -> None:
    """Both regions have what was put once the server has taken files into its database."""
    for region, factor in (("us-east-1", 1), ("eu-west-1", 10)):
        wanted = {age: factor * value for age, value in VALUES.items()}
        until(lambda: got(server.port, now, region) == wanted, f"the minutes of {region}")  # noqa: B023
    assert server.stop() == 0


def test_backups_and_moves_have_the_metrics(tmp_path: Path) -> None:
    database = server_or_skip()
    address = database.new_database()
    data, backup = tmp_path / "data", tmp_path / "kept.db"
    now = this_minute()
    server = Server(data, "--store", address)
    put(server.port, now)
    put(server.port, now, "eu-west-1", 10)
    wait_for_rows(address, now)
    statewright("backup", str(backup), "--store", address, "--data", str(data))
    assert server.stop() == 0
    moved = statewright("move", "--from", address, "--to", f"sqlite:{tmp_path / 'moved'}", "--data", str(data))
    assert moved["metricMinutes"] >= 2 * len(VALUES)

    statewright("restore", str(backup), "--data", str(tmp_path / "restored"))
    other = database.new_database()
    statewright("restore", str(backup), "--data", str(tmp_path / "other"), "--store", other)
    again = database.new_database()
    # A backup of a data folder has them, too, and a move takes them back.
    statewright("backup", str(tmp_path / "again.db"), "--data", str(tmp_path / "moved"))
    statewright("restore", str(tmp_path / "again.db"), "--data", str(tmp_path / "restored again"))
    statewright("move", "--from", f"sqlite:{tmp_path / 'moved'}", "--to", again, "--data", str(tmp_path / "back"))
    for folder, options in (
        ("restored", ()), ("restored again", ()), ("other", ("--store", other)), ("back", ("--store", again)),
    ):  # fmt: skip
        check(Server(tmp_path / folder, *options), now)
