"""The export of log events in a virtual system, to a collector on loopback."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from statewright.api.app import Api
from statewright.config import Config
from statewright.records import log_groups
from statewright.settings.server import LogExportSettings
from statewright.virtual import VirtualSystem
from tests.unit.api.asgi import request
from tests.unit.integrations.stub import Reply
from tests.unit.log_export.collector import Collector, attributes, collecting
from tests.unit.virtual.building import function, machine, start

GROUP = "/shop/orders"


def exporting(data: Path, collector: Collector, **settings: Any) -> VirtualSystem:
    return VirtualSystem(data=data, config=Config(logs=LogExportSettings(collector.url, **settings)))


def stream(system: VirtualSystem, group: str = GROUP) -> None:
    logs = system.client("logs")
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="one")


def write(system: VirtualSystem, *messages: str, group: str = GROUP) -> None:
    events = [{"timestamp": system.now_ms, "message": one} for one in messages]
    system.client("logs").put_log_events(logGroupName=group, logStreamName="one", logEvents=events)


def sender(system: VirtualSystem) -> Any:
    return system.parts.app.services.log_sender


def export_lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "statewright.logs"]


def test_put_events_are_exported_with_their_stream(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector, headers={"api-key": "k"}) as system:
        stream(system)
        at_ms = system.now_ms
        write(system, "one", '{"level": "warn", "n": 1}')
        system.advance("2s")
        ((resource, records),) = collector.streams()
        assert resource["aws.log.group.names"] == [GROUP]
        assert resource["aws.log.stream.names"] == ["one"]
        assert (resource["service.name"], resource["cloud.region"]) == ("statewright", "us-east-1")
        assert {"service.instance.id", "service.version", "host.name", "cloud.account.id"} <= set(resource)
        assert [one["body"] for one in records] == [
            {"stringValue": "one"},
            {"stringValue": '{"level": "warn", "n": 1}'},
        ]
        assert [one["timeUnixNano"] for one in records] == [str(at_ms * 1_000_000)] * 2
        assert [(one.get("severityNumber"), one.get("severityText")) for one in records] == [(None, None), (13, "WARN")]
        assert len({attributes(one["attributes"])["log.record.uid"] for one in records}) == 2
        (asked,) = collector.asked
        assert (asked.method, asked.path) == ("POST", "/v1/logs")
        assert (asked.headers["api-key"], asked.headers["Content-Type"]) == ("k", "application/json")
        assert (sender(system).exported, sender(system).dropped, sender(system).state) == (2, 0, "exporting")


def test_output_of_functions_and_histories_are_exported(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        function(system, "work", "def handler(event, context):\n    print('[ERROR]\\tbroken', event)\n")
        system.client("lambda").invoke(FunctionName="work", Payload=b'{"order": 7}')
        stream(system, "machines")
        arn = machine(system, {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Broken"}}})
        group_arn = "arn:aws:logs:us-east-1:000000000000:log-group:machines:*"
        destination = {"cloudWatchLogsLogGroup": {"logGroupArn": group_arn}}
        system.client("stepfunctions").update_state_machine(
            stateMachineArn=arn, loggingConfiguration={"level": "ALL", "destinations": [destination]}
        )
        start(system, arn, "one")
        system.advance("10s")
        (printed,) = [one for one in collector.records("/aws/lambda/work") if "broken" in one["body"]["stringValue"]]
        assert (printed["severityText"], printed["severityNumber"]) == ("ERROR", 17)
        histories = collector.records("machines")
        assert [json.loads(one["body"]["stringValue"])["type"] for one in histories] == [
            "ExecutionStarted", "FailStateEntered", "ExecutionFailed",
        ]  # fmt: skip
        assert [one["severityText"] for one in histories] == ["INFO", "ERROR", "ERROR"]


def test_an_outage_delays_events_and_has_two_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "statewright.logs")
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        collector.reply = Reply(503, b"later")
        write(system, "one")
        system.advance("3s")
        assert sender(system).state == "away"
        tries = len(collector.asked)
        write(system, "two")
        system.advance("10m")
        # Pauses double up to a minute.
        assert 10 <= len(collector.asked) - tries <= 16
        collector.reply = Reply(200)
        system.advance("2m")
        assert collector.messages() == ["one", "two"]
        assert (sender(system).exported, sender(system).state) == (2, "exporting")
    away, back = export_lines(caplog)
    assert away[0] == "WARNING"
    assert "for now" in away[1]
    assert "503" in away[1]
    assert back[0] == "INFO"
    assert back[1].endswith("again")


def test_a_collector_that_does_not_listen_is_away(tmp_path: Path) -> None:
    with collecting() as collector:
        pass
    with exporting(tmp_path, collector) as system:
        stream(system)
        write(system, "one")
        system.advance("3s")
        assert sender(system).state == "away"


@pytest.mark.parametrize("asked", ["90", "at"])
def test_a_pause_that_the_collector_asks_for_is_kept(tmp_path: Path, asked: str) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        at = system.now.replace(microsecond=0).strftime("%a, %d %b %Y %H:%M:%S GMT")
        collector.replies = [Reply(429, b"", {"Retry-After": "90" if asked == "90" else at})]
        write(system, "one")
        system.advance("5s")
        assert collector.messages() == ([] if asked == "90" else ["one"])
        system.advance("2m")
        assert collector.messages() == ["one"]
        assert len(collector.asked) == 2


def test_a_shortage_of_threads_delays_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread.start
    refused: list[threading.Thread] = []

    def short(thread: threading.Thread) -> None:
        if thread.name == "statewright-otlp" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        begin(thread)

    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        monkeypatch.setattr(threading.Thread, "start", short)
        write(system, "one")
        system.advance("5s")
        assert refused
        assert collector.messages() == ["one"]


def test_health_of_a_standby_says_nothing_of_an_export_that_does_not_run(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        api = Api(system.parts.app)
        assert request(api, path="/health", method="GET").json["log_export"] == "exporting"
        api.standing = lambda: "standby"
        assert "log_export" not in request(api, path="/health", method="GET").json


def test_what_is_refused_is_dropped_with_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "statewright.logs")
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        collector.reply = Reply(401, b"no key")
        for number in range(3):
            write(system, f"lost {number}")
            system.advance("5s")
        assert (len(collector.asked), sender(system).dropped, sender(system).state) == (3, 3, "refused")
        collector.reply = Reply(200)
        write(system, "kept")
        system.advance("5s")
        assert collector.messages() == ["kept"]
        assert (sender(system).exported, sender(system).state) == (1, "exporting")
    refused, back = export_lines(caplog)
    assert "401" in refused[1]
    assert "no key" in refused[1]
    assert "dropped" in refused[1]
    assert back[1].endswith("again")


def test_records_that_an_answer_reports_as_rejected_are_counted(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        partly = {"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too long"}}
        collector.replies = [Reply(200, json.dumps(partly).encode())]
        write(system, "one", "two")
        system.advance("5s")
        assert (sender(system).exported, sender(system).dropped) == (1, 1)


def test_a_killed_system_goes_on_from_its_places(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        write(system, "one")
        system.advance("5s")
        system.restart()
        write(system, "two")
        system.restart()
        system.advance("5s")
        assert collector.messages() == ["one", "two"]
        collector.reply = Reply(503)
        write(system, "three")
        system.advance("5s")
        system.restart()
        collector.reply = Reply(200)
        system.advance("5s")
        assert collector.messages() == ["one", "two", "three"]


def test_a_group_that_only_executions_write_to_keeps_its_name(tmp_path: Path) -> None:
    """Its folder does not show that the name has no slash at its beginning."""
    destination = {"cloudWatchLogsLogGroup": {"logGroupArn": "arn:aws:logs:us-east-1:000000000000:log-group:own:*"}}
    with collecting() as collector:
        for name in ("one", "two"):
            with exporting(tmp_path, collector) as system:
                arn = machine(system, {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}, name=name)
                system.client("stepfunctions").update_state_machine(
                    stateMachineArn=arn, loggingConfiguration={"level": "ALL", "destinations": [destination]}
                )
                start(system, arn, name)
                system.advance("10s")
                groups = system.client("logs").describe_log_groups()["logGroups"]
                assert [one["logGroupName"] for one in groups] == ["own"]
        assert len(collector.records("own")) == len(collector.records()) == 8


def test_a_stop_sends_what_is_left(tmp_path: Path) -> None:
    with collecting() as collector:
        with exporting(tmp_path, collector) as system:
            stream(system)
            write(system, "last words")
        assert collector.messages() == ["last words"]


def test_it_begins_with_what_is_written_once_it_is_on(tmp_path: Path) -> None:
    with VirtualSystem(data=tmp_path) as system:
        stream(system)
        write(system, "before")
        now_ms = system.now_ms
    with collecting() as collector:
        config = Config(logs=LogExportSettings(collector.url))
        with VirtualSystem(data=tmp_path, config=config, start=now_ms + 1_000) as system:
            write(system, "after")
            system.advance("5s")
        assert collector.messages() == ["after"]


def test_files_that_rotation_deletes_in_an_outage_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_groups, "FILE_BYTES", 40)
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        write(system, "first")
        system.advance("5s")
        collector.reply = Reply(503)
        for number in range(6):
            write(system, f"event {number}, which is long enough to fill a file")
            system.advance("5s")
        collector.reply = Reply(200)
        system.advance("5m")
        kept = collector.messages()
        assert kept[0] == "first"
        assert kept[-1].startswith("event 5")
        assert len(kept) < 7
        assert sender(system).gaps == 1
        assert sum("were deleted" in text for _, text in export_lines(caplog)) == 1


def test_many_events_go_in_bounded_batches(tmp_path: Path) -> None:
    with collecting() as collector, exporting(tmp_path, collector) as system:
        stream(system)
        write(system, *[f"event {number}" for number in range(2_500)])
        system.advance("5s")
        assert [len(one["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) for one in collector.accepted] == [
            1_000, 1_000, 500,
        ]  # fmt: skip
        assert collector.messages() == [f"event {number}" for number in range(2_500)]


def test_nothing_runs_without_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with VirtualSystem(data=tmp_path) as system:
            stream(system)
            write(system, "mine")
            system.advance("1m")
            services = system.parts.app.services
            assert (services.log_sender, services.log_export) == (None, None)
            assert not [one for one in threading.enumerate() if "otlp" in one.name]
        assert collector.asked == []
        assert not (tmp_path / "otlp").exists()


def test_a_virtual_system_without_a_folder_exports_nothing() -> None:
    with collecting() as collector:
        with VirtualSystem(config=Config(logs=LogExportSettings(collector.url))) as system:
            stream(system)
            write(system, "tried")
            system.advance("1m")
        assert collector.asked == []
