"""`function logs` and `machine logs` against a stub: lines, windows, following, what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.cli.client import ApiProblem
from statewright.cli.inspection import function, log_events, machine_log
from statewright.cli.inspection.function import message_lines
from statewright.clock import RealClock
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, StubServer, stub

NOW_MS = 1_800_000_000_000
Events = list[dict[str, Any]]


def event(at_ms: int, message: str, stream: str = "s") -> dict[str, Any]:
    return {"timestamp": at_ms, "ingestionTime": at_ms, "message": message, "logStreamName": stream,
            "eventId": f"{stream}-{at_ms}-{message}"}  # fmt: skip


def group_of(events: Events) -> Any:
    """FilterLogEvents over a list that tests may append to, without patterns."""

    def answer(startTime: int = 0, endTime: int = 2**60, **_: Any) -> dict[str, Any]:  # noqa: N803
        return {"events": [one for one in events if startTime <= one["timestamp"] <= endTime]}

    return answer


def missing(**_: Any) -> Exception:
    return ApiProblem("ResourceNotFoundException", "The specified log group does not exist.")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RealClock, "now_ms", lambda _self: NOW_MS)


def test_a_traceback_is_lines_below_its_first(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    events = [event(NOW_MS, '[ERROR] ValueError: no\rTraceback (most recent call last):\r  File "x.py"')]
    calls = stub(monkeypatch, function, filter_log_events=group_of(events))
    assert statewright("function", "logs", "price:live").out.splitlines() == [
        "2027-01-15 08:00:00  [ERROR] ValueError: no",
        "                     Traceback (most recent call last):",
        '                       File "x.py"',
    ]
    assert calls[0][1]["logGroupName"] == "/aws/lambda/price"


@pytest.mark.parametrize(
    ("text", "lines"), [("a\rb\r", ["a", "b"]), ("a\r\nb\n", ["a", "b"]), ("\t!", ["    !"]), ("", [""])]
)
def test_lines_of_a_message(text: str, lines: list[str]):
    assert [said for (said,) in message_lines(text)] == lines


def test_the_latest_are_found_however_old_they_are(monkeypatch: pytest.MonkeyPatch):
    old = [event(NOW_MS - age, f"m{age}") for age in (9 * 86_400_000, 7_000_000, 7_000_000, 500_000, 1)]
    old[2]["eventId"] = "another of the same instant"
    stub(monkeypatch, function, filter_log_events=group_of(old))
    for count in range(1, 7):
        found = log_events.Group(StubServer(None), "g").latest(count)
        assert found == old[-count:]


def test_a_window_names_an_instant_or_how_long_ago(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    calls = stub(monkeypatch, function, filter_log_events=group_of([]))
    for since, from_ms in (("10m", NOW_MS - 600_000), ("2027-01-15T07:00:00Z", NOW_MS - 3_600_000)):
        assert statewright("function", "logs", "price", "--since", since, "--filter", "ERROR").code == 0
        asked = calls.pop()[1]
        assert (asked["startTime"], asked["filterPattern"]) == (from_ms, "ERROR")
    refused = statewright("function", "logs", "price", "--since", "yesterday")
    assert refused.code == 2
    assert "--since: 'yesterday' is not a length of time" in refused.err


def test_json_has_the_names_of_the_api(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    stub(monkeypatch, function, filter_log_events=group_of([event(NOW_MS, "a\rb")]))
    [shown] = statewright("function", "logs", "price", "-o", "json").json["events"]
    assert (shown["timestamp"], shown["message"]) == ("2027-01-15T08:00:00Z", "a\rb")
    assert json.loads(statewright("function", "logs", "price", "-o", "jsonl").out) == shown
    assert statewright("function", "logs", "price", "-o", "json", "-f").code == 2


def test_following_prints_each_event_once_until_it_is_interrupted(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    events = [event(NOW_MS - 300, "old"), event(NOW_MS - 200, "first")]
    later = iter([
        [event(NOW_MS + 5, "second")],
        [event(NOW_MS + 1, "late, of another stream", "t"), event(NOW_MS + 5, "third")],
        [],
    ])  # fmt: skip

    async def sleep(_self: RealClock, _due_ms: int) -> None:
        found = next(later, None)
        if found is None:
            raise KeyboardInterrupt
        events.extend(found)
        events.sort(key=lambda one: one["timestamp"])

    stub(monkeypatch, function, filter_log_events=group_of(events))
    monkeypatch.setattr(RealClock, "sleep_until", sleep)
    result = statewright("function", "logs", "price", "-f", "-n", "1")
    assert [line[21:] for line in result.out.splitlines()] == ["first", "second", "late, of another stream", "third"]
    assert (result.code, result.err) == (130, "")


def test_a_function_without_a_log_and_one_that_is_not_there(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    found: dict[str, Any] = {"FunctionName": "price"}
    stub(monkeypatch, function, filter_log_events=missing, get_function_configuration=found)
    result = statewright("function", "logs", "price")
    assert (result.code, result.out, result.err) == (0, "", "price has no log yet: it has not run.\n")
    assert statewright("function", "logs", "price", "-o", "json").json == {"events": []}
    stub(monkeypatch, function, filter_log_events=missing, get_function_configuration=missing)
    assert statewright("function", "logs", "pric").code == 3


def test_one_invocation(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    said = ["START RequestId: one", "hello", "END RequestId: one", "REPORT RequestId: one\t", "START RequestId: two"]
    events = [event(NOW_MS - 1, "START RequestId: zero"), *(event(NOW_MS, text) for text in said)]

    def answer(filterPattern: str = "", **members: Any) -> Any:  # noqa: N803
        found = [one for one in events if filterPattern.strip('"') in one["message"]]
        return group_of(found)(**members)

    stub(monkeypatch, function, filter_log_events=answer)
    assert [line[21:] for line in statewright("function", "logs", "f", "--request", "one").out.splitlines()] == [
        "START RequestId: one", "hello", "END RequestId: one", "REPORT RequestId: one",
    ]  # fmt: skip
    assert statewright("function", "logs", "f", "--request", "none").code == 3


# ------------------------------------------------------------------ machines


def history(number: int, kind: str, run: str = "run-1", machine: str = "order", **details: Any) -> dict[str, Any]:
    record = {"id": str(number), "type": kind, "details": details, "previous_event_id": str(number - 1),
              "event_timestamp": str(NOW_MS), "execution_arn": f"{PREFIX}:execution:{machine}:{run}"}  # fmt: skip
    return event(NOW_MS + number, json.dumps(record))


LOGGING = {
    "level": "ALL", "includeExecutionData": True,
    "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": "arn:aws:logs:us-east-1:0:log-group:/orders:*"}}],
}  # fmt: skip


def logged(monkeypatch: pytest.MonkeyPatch, events: Events, **configuration: Any) -> list[tuple[str, dict[str, Any]]]:
    def described(stateMachineArn: str, **_: Any) -> Any:  # noqa: N803
        return {"name": "order", "stateMachineArn": stateMachineArn, "loggingConfiguration": configuration}

    return stub(monkeypatch, machine_log, filter_log_events=group_of(events), describe_state_machine=described)


def test_a_machine_s_events_name_state_and_function(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    call = {"resource": "invoke", "resourceType": "lambda"}
    events = [
        history(1, "TaskStateEntered", name="Charge"),
        history(2, "TaskScheduled", **call, parameters='{"FunctionName": "charge"}'),
        history(3, "TaskFailed", **call, error="Declined", cause="no money"),
        history(4, "ExecutionStarted", machine="other"),
        event(NOW_MS + 9, "not a history event"),
    ]
    calls = logged(monkeypatch, events, **LOGGING)
    assert [line[21:].split("  ", 1) for line in statewright("machine", "logs", "order").out.splitlines()] == [
        ["run-1", "TaskStateEntered          Charge"],
        ["run-1", "TaskScheduled             Charge        lambda:invoke charge"],
        ["run-1", "TaskFailed                Charge        lambda:invoke charge · Declined (no money)"],
        ["not a history event"],
    ]  # fmt: skip
    assert calls[-1][1]["logGroupName"] == "/orders"


def test_one_execution_of_a_machine(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    logged(monkeypatch, [history(1, "ExecutionStarted"), history(1, "ExecutionStarted", "run-2")], **LOGGING)
    for named in ("run-2", f"{PREFIX}:execution:order:run-2"):
        out = statewright("machine", "logs", "order", "--execution", named).out
        assert out.count("\n") == 1
        assert "run-2" in out


def test_a_machine_that_does_not_log(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    logged(monkeypatch, [], level="OFF")
    result = statewright("machine", "logs", "order")
    assert result.code == 2
    assert "Logging is off for state machine order." in result.err
