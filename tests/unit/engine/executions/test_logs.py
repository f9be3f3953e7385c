"""Execution logs: what each level takes, the shape of a line, files that stay bounded."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from statewright.engine.executions import logs as execution_logs
from statewright.engine.executions.logs import ExecutionLogs, LogSettings, folder_of, group_of, record_of
from statewright.interpreter.history import EVENT_TYPES, HistoryEvent
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import LAMBDA, Rig, machine, passing, task

GROUP = "/aws/vendedlogs/states/orders"
FATAL = {"ExecutionAborted", "ExecutionFailed", "ExecutionTimedOut"}
NOT_ERRORS = ("Started", "Scheduled", "Succeeded", "Submitted", "Exited", "Redriven")


def settings(level: str, *, with_data: bool = True, group: str = GROUP) -> LogSettings:
    return LogSettings(level, with_data, group)


def configuration(level: str, *, with_data: bool = True) -> dict[str, Any]:
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{GROUP}:*"
    return {
        "level": level,
        "includeExecutionData": with_data,
        "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}],
    }


@pytest.mark.parametrize("event_type", sorted(EVENT_TYPES))
def test_levels(event_type: str) -> None:
    is_error = event_type == "FailStateEntered" or not (
        event_type.endswith(NOT_ERRORS) or event_type.endswith("Entered")
    )
    assert settings("ALL").takes(event_type)
    assert settings("ERROR").takes(event_type) == is_error
    assert settings("FATAL").takes(event_type) == (event_type in FATAL)


def test_settings_of_a_configuration() -> None:
    assert LogSettings.of({"level": "OFF", "includeExecutionData": False}) is None
    assert LogSettings.of(configuration("ERROR")) == settings("ERROR")
    assert LogSettings.of({**configuration("OFF")}) is None


def test_a_line() -> None:
    event = HistoryEvent(2, 1, 1_700_000_000_123, "PassStateExited", {"name": "P", "output": '{"a":1}'})
    line = record_of(event, "arn:x", 1, with_data=True)
    assert line == {
        "id": "2",
        "type": "PassStateExited",
        "details": {"name": "P", "output": '{"a":1}', "outputDetails": {"truncated": False}},
        "previous_event_id": "1",
        "event_timestamp": "1700000000123",
        "execution_arn": "arn:x",
        "redrive_count": "1",
    }
    assert record_of(event, "arn:x", 0, with_data=False)["details"] == {"name": "P"}
    long = HistoryEvent(1, 0, 0, "ExecutionStarted", {"input": json.dumps('"' * 200_000), "roleArn": "r"})
    cut = record_of(long, "arn:x", 0, with_data=True)["details"]
    assert cut["inputDetails"] == {"truncated": True}
    assert len(json.dumps(cut["input"])) <= execution_logs.MOST_TEXT_BYTES + 2


@pytest.mark.parametrize(
    ("group", "folder"),
    [(GROUP, "aws/vendedlogs/states/orders"), ("../../etc", "%2E%2E/%2E%2E/etc"), ("a b/./c\\d", "a b/%2E/c%5Cd")],
)
def test_a_group_stays_below_its_folder(group: str, folder: str) -> None:
    assert str(folder_of(group)) == folder


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_logs, "FILE_BYTES", 500)
    monkeypatch.setattr(execution_logs, "MOST_FILES", 3)
    logs = ExecutionLogs(tmp_path)
    for number in range(1, 41):
        event = HistoryEvent(number, number - 1, 86_400_000 * (number // 30), "PassStateEntered", {"name": "P"})
        logs.log(settings("ALL"), [event], "arn:x", 0)
    logs.close()
    files = sorted((tmp_path / "logs" / GROUP[1:]).iterdir(), key=lambda one: one.stem)
    assert len(files) == 3
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert lines[-1]["id"] == "40"
    assert all(file.stat().st_size < 1_000 for file in files)
    # Another process goes on after the newest file.
    again = ExecutionLogs(tmp_path)
    again.log(settings("ALL"), [HistoryEvent(41, 40, 86_400_000, "PassStateEntered", {"name": "P"})], "arn:x", 0)
    again.close()
    newest = max((tmp_path / "logs" / GROUP[1:]).iterdir(), key=lambda one: one.stem)
    assert json.loads(newest.read_text().splitlines()[-1])["id"] == "41"


def test_lines_of_other_processes_are_written_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_logs, "FILE_BYTES", 10)
    monkeypatch.setattr(execution_logs, "MOST_FILES", 2)
    folder = tmp_path / "logs" / GROUP[1:]
    logs = ExecutionLogs(tmp_path)
    heard: list[str] = []
    logs.subscribe(lambda group: lambda: heard.append(group))
    logs.add(GROUP, [(0, '{"n":"the first"}'), (5, '{"n":"é"}')], is_late=False)
    logs.add(GROUP, [(86_400_000, '{"n":"of the next day"}')], is_late=True)
    logs.close()
    assert heard == [GROUP, GROUP]
    assert [(one.name, one.read_text()) for one in sorted(folder.iterdir())] == [
        ("states-1970-01-01.0001.jsonl", '{"n":"é"}\n'),
        ("states-1970-01-02.jsonl", '{"n":"of the next day"}\n'),
        ("states-1970-01-02.late", ""),
    ]
    # Marks go with their files.
    logs.add(GROUP, [(86_400_000, '{"n":"one"}'), (86_400_000, '{"n":"two"}')], is_late=False)
    logs.close()
    assert [one.name for one in sorted(folder.iterdir())] == [
        "states-1970-01-02.0001.jsonl", "states-1970-01-02.0002.jsonl",
    ]  # fmt: skip


def test_additions_are_dropped_only_beyond_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_logs, "MOST_WAITING", 2)
    monkeypatch.setattr(ExecutionLogs, "_run", lambda _: None)
    logs = ExecutionLogs(None)
    assert [logs.has_room(count) for count in (0, 2, 3)] == [True, True, False]
    logs.add(GROUP, [(0, "{}")], is_late=False)
    assert [logs.has_room(count) for count in (1, 2)] == [True, False]
    assert logs.dropped == 0


def test_what_was_logged_before_is_in_its_files(tmp_path: Path) -> None:
    async def test() -> list[int]:
        logs, lines = ExecutionLogs(tmp_path), []
        await logs.written()
        for _ in range(3):
            logs.add(GROUP, [(0, "{}")] * 100, is_late=False)
            await logs.written()
            lines.append(len((tmp_path / "logs" / GROUP[1:] / "states-1970-01-01.jsonl").read_text().splitlines()))
        logs.close()
        return lines

    assert asyncio.run(test()) == [100, 200, 300]


def test_too_much_that_waits_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_logs, "MOST_WAITING", 1)
    monkeypatch.setattr(ExecutionLogs, "_run", lambda _: None)
    logs = ExecutionLogs(None)
    logs.add(GROUP, [(0, "{}")], is_late=False)
    asyncio.run(logs.written())


@pytest.mark.parametrize("group", ["/a/b", "a/b", "/a/./b", "//a", "é"])
def test_a_folder_shows_the_name_of_its_group(group: str, tmp_path: Path) -> None:
    logs = ExecutionLogs(tmp_path)
    logs.log(settings("ALL", group=group), [HistoryEvent(1, 0, 0, "ExecutionStarted", None)], "arn:x", 0)
    logs.close()
    assert group_of(tmp_path / "logs", folder_of(group)) == group


def test_an_unwritable_folder_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "logs").write_text("in the way")
    logs = ExecutionLogs(tmp_path)
    for _ in range(3):
        logs.log(settings("ALL"), [HistoryEvent(1, 0, 0, "ExecutionStarted", None)], "arn:x", 0)
    logs.close()
    assert caplog.text.count("cannot be written") == 1


def test_a_full_queue_drops_and_says_so(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_logs, "MOST_WAITING", 2)
    monkeypatch.setattr(ExecutionLogs, "_run", lambda _: None)
    logs = ExecutionLogs(None)
    for _ in range(5):
        logs.log(settings("ALL"), [HistoryEvent(1, 0, 0, "ExecutionStarted", None)], "arn:x", 0)
    assert logs.dropped == 3
    assert caplog.text.count("dropped") == 1


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_an_execution_is_logged(kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "statewright.history")

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.engine.history_log.logs = ExecutionLogs(tmp_path)
        rig.integrations.throws("T", "E", "c")
        definition = machine(P=passing("T", Result={"secret": 1}), T=task(LAMBDA))
        from statewright.engine.machines.views import NewMachine
        from tests.unit.engine.running import ROLE

        new = NewMachine("m", json.dumps(definition), ROLE, kind, logging=configuration("ALL", with_data=False))
        made = await rig.machines.create(new)
        target = await rig.machines.resolve(made.machine.arn)
        if kind == "EXPRESS":
            arn = (await rig.engine.start_sync_execution(target, "x", '"secret"')).execution_arn
        else:
            arn = (await rig.engine.start_execution(target, "x", '"secret"')).arn
            await rig.end(arn)
        await rig.down()
        (file,) = (tmp_path / "logs" / GROUP[1:]).iterdir()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["id"] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
        assert {line["execution_arn"] for line in lines} == {arn}
        assert (lines[0]["type"], lines[-1]["type"]) == ("ExecutionStarted", "ExecutionFailed")
        assert "secret" not in file.read_text()
        records = [one for one in caplog.records if one.name == "statewright.history"]
        assert [one.getMessage() for one in records] == [line["type"] for line in lines]

    run_virtual(main)


def test_several_hear_of_a_change(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        heard: list[str] = []

        def broken(_change: Any) -> None:
            raise ValueError("broken")

        rig.engine.subscribe(broken)
        rig.engine.subscribe(lambda change: heard.append(change.status))
        await rig.end(await rig.begin(machine(P=passing())))
        assert heard == ["RUNNING", "SUCCEEDED"]
        assert "publishing a status change" in caplog.text
        await rig.down()

    run_virtual(main)
