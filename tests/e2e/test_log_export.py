"""The export of logs by OTLP on a real server: events of its regions reach a collector, also after a kill."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import PATIENCE_SECONDS, completed, until
from tests.e2e.conftest import ROLE, Server, machine
from tests.unit.integrations.stub import Reply
from tests.unit.log_export.collector import Collector, collecting

GROUP = "/shop/orders"
MACHINES = "/aws/vendedlogs/states/orders"


def settings(folder: Path, text: str) -> str:
    path = folder / "settings.toml"
    path.write_text(f"[logs]\n{text}\n")
    return str(path)


def write(server: Server, *messages: str, region: str = "us-east-1") -> None:
    logs = server.client("logs", region=region)
    if not logs.describe_log_groups(logGroupNamePrefix=GROUP)["logGroups"]:
        logs.create_log_group(logGroupName=GROUP)
        logs.create_log_stream(logGroupName=GROUP, logStreamName="one")
    events = [{"timestamp": round(time.time() * 1000), "message": one} for one in messages]
    logs.put_log_events(logGroupName=GROUP, logStreamName="one", logEvents=events)


def health(server: Server) -> Any:
    with urllib.request.urlopen(f"{server.url}/health", timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


def exported(server: Server) -> int:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=PATIENCE_SECONDS) as answer:
        lines = answer.read().decode().splitlines()
    return int(next(one.split()[1] for one in lines if one.startswith("statewright_log_export_records_total ")))


def regions(collector: Collector) -> dict[str, str]:
    """The region of each message."""
    return {
        record["body"]["stringValue"]: resource["cloud.region"]
        for resource, records in collector.streams() for record in records
    }  # fmt: skip


def log_of_executions(sfn: Any) -> str:
    arn = machine(sfn, {"Type": "Succeed"})
    group_arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{MACHINES}:*"
    destination = {"cloudWatchLogsLogGroup": {"logGroupArn": group_arn}}
    sfn.update_state_machine(
        stateMachineArn=arn, roleArn=ROLE, loggingConfiguration={"level": "ALL", "destinations": [destination]}
    )
    return arn


@pytest.mark.slow
def test_logs_of_all_regions_reach_a_collector_once_also_after_a_kill(tmp_path: Path) -> None:
    with collecting() as collector:
        options = ("--config", settings(tmp_path, f'otlp = "{collector.url}"'))
        server = Server(tmp_path / "data", *options)
        write(server, "here")
        write(server, "there", region="eu-west-1")
        until(lambda: len(collector.messages(GROUP)) == 2, "the export of two regions")
        assert regions(collector) == {"here": "us-east-1", "there": "eu-west-1"}
        assert health(server)["log_export"] == "exporting"
        until(lambda: exported(server) == 2, "the count of records")
        kept = tmp_path / "data" / "regions" / "eu-west-1" / "otlp"
        until(lambda: any(kept.glob("*.json")), "the place of the other region")
        # The collector is away; the server is killed with events that were not exported.
        collector.reply = Reply(503)
        write(server, "while it was away")
        until(lambda: health(server)["log_export"] == "away", "the outage")
        server.kill()
        collector.reply = Reply(200)
        again = Server(tmp_path / "data", *options)
        until(lambda: "while it was away" in collector.messages(GROUP), "the export after a kill")
        sfn = again.client("stepfunctions")
        sfn.start_execution(stateMachineArn=log_of_executions(sfn))
        until(lambda: len(collector.messages(MACHINES)) == 4, "the history of an execution")
        assert again.stop() == 0, again.log.read_text()
        assert sorted(collector.messages(GROUP)) == ["here", "there", "while it was away"]
    told = (tmp_path / "data.log").read_text()
    assert told.count("logs cannot be exported") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('otlp = "collector:4318"', 'must be an address such as "http://collector:4318"'),
        ('otlp = "environment"', "needs the address of a collector in OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"),
    ],
)
def test_a_wrong_address_is_refused_at_start(tmp_path: Path, text: str, said: str) -> None:
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(tmp_path / "data")]
    others = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    ended = completed([*command, "--config", settings(tmp_path, text)], env=others)
    assert ended.returncode != 0
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
