"""Operations on executions, tasks and Map Runs against an engine that only notes what it was asked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api import operations
from statewright.api.app import Api
from statewright.api.states import host_prefix
from statewright.engine.executions.views import ExecutionView, Started, SyncOutcome
from statewright.errors import ApiError
from tests.unit.api.asgi import Reply, call, make_api

PREFIX = "arn:aws:states:us-east-1:000000000000:"
MACHINE = PREFIX + "stateMachine:m"
EXECUTION = PREFIX + "execution:m:e"
MAP_RUN = PREFIX + "mapRun:m/Map:1234"
AT = 1_700_000_000_123
VIEW = ExecutionView(
    id=1, execution_arn=EXECUTION, machine_arn=MACHINE, machine_id=1, name="e", type="STANDARD", status="FAILED",
    started_ms=AT, stopped_ms=AT + 1000, input="{}", output=None, error="Oh", cause="no", revision_id="r",
    role_arn="role", version_arn=None, alias_arn=None, trace_header=None, map_run_arn=None, item_count=None,
    redrive_count=0, redriven_ms=None, redrive_status="REDRIVABLE", redrive_reason=None, quarantine=None,
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _operations():
    operations.load_all()


class Asked:
    """Answers every method with what it was told to, and notes the arguments."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            answer = self._answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return method


def api_of(**answers: Any) -> tuple[Api, Asked]:
    engine: Any = Asked(**answers)
    engine.map_runs = engine
    engine.machines = Asked(resolve=SimpleNamespace(type="STANDARD"))
    return make_api(engine=engine), engine


def failed(reply: Reply) -> tuple[str, str]:
    assert reply.status == 400
    return reply.json["__type"], reply.json["message"]


def test_starts_pass_texts_on_unchanged():
    api, engine = api_of(start_execution=Started(EXECUTION, AT))
    reply = call(api, "StartExecution", {"stateMachineArn": MACHINE, "name": "e", "input": "[ 1 ]"})
    assert reply.json == {"executionArn": EXECUTION, "startDate": AT / 1000}
    assert engine.calls[0][1][1:] == ("e", "[ 1 ]", None, None, None)
    trace = {"x-amzn-trace-id": "Root=1"}
    assert call(api, "StartExecution", {"stateMachineArn": MACHINE}, trace).status == 200
    assert engine.calls[1][1][1:] == (None, "{}", "Root=1", None, None)
    call(api, "StartExecution", {"stateMachineArn": MACHINE, "traceHeader": "Root=2"}, trace)
    assert engine.calls[2][1][3] == "Root=2"


def test_starts_that_are_refused():
    api, _ = api_of(start_execution=ApiError("InvalidExecutionInput", "something"))
    assert failed(call(api, "StartExecution", {"stateMachineArn": MACHINE + "/Map"}))[0] == "ValidationException"
    assert failed(call(api, "StartExecution", {"stateMachineArn": EXECUTION}))[0] == "InvalidArn"
    assert failed(call(api, "StartExecution", {"stateMachineArn": MACHINE, "name": "a b"}))[0] == "InvalidName"
    said = failed(call(api, "StartExecution", {"stateMachineArn": MACHINE, "input": "yes"}))[1]
    assert said.startswith("Invalid State Machine Execution Input: 'Unrecognized token 'yes'")
    assert failed(call(api, "StartExecution", {"stateMachineArn": MACHINE, "input": "{}{}"}))[1] == "something"
    api, _ = api_of(start_execution=ApiError("ExecutionAlreadyExists", "there"))
    assert failed(call(api, "StartExecution", {"stateMachineArn": MACHINE})) == ("ExecutionAlreadyExists", "there")


def test_sync_starts():
    arn = PREFIX + "express:m:e:1"
    done = SyncOutcome(arn, MACHINE, "e", AT, AT + 20, "SUCCEEDED", "{}", "1", None, None, None, 100, 64)
    api, _ = api_of(start_sync_execution=done)
    assert call(api, "StartSyncExecution", {"stateMachineArn": MACHINE}).json == {
        "executionArn": arn, "stateMachineArn": MACHINE, "name": "e", "startDate": AT / 1000,
        "stopDate": (AT + 20) / 1000, "status": "SUCCEEDED", "input": "{}", "inputDetails": {"included": True},
        "output": "1", "outputDetails": {"included": True},
        "billingDetails": {"billedDurationInMilliseconds": 100, "billedMemoryUsedInMB": 64},
    }  # fmt: skip
    failure = SyncOutcome(arn, MACHINE, "e", AT, AT + 20, "FAILED", "{}", None, "Oh", "no", None, 100, 64)
    api, _ = api_of(start_sync_execution=failure)
    shown = call(api, "StartSyncExecution", {"stateMachineArn": MACHINE}).json
    assert ("output" in shown, shown["outputDetails"]) == (False, {"included": True})
    shown = call(api, "StartSyncExecution", {"stateMachineArn": MACHINE, "includedData": "METADATA_ONLY"}).json
    assert "outputDetails" not in shown
    api, _ = api_of(start_sync_execution=ApiError("StateMachineTypeNotSupported", "not this"))
    assert failed(call(api, "StartSyncExecution", {"stateMachineArn": MACHINE}))[1] == "not this"


def test_a_host_with_a_prefix_earns_one_hint(caplog, monkeypatch):
    monkeypatch.setattr(host_prefix, "_hinted", set())
    done = SyncOutcome(
        PREFIX + "express:m:e:1", MACHINE, "e", AT, AT, "SUCCEEDED", "{}", "1", None, None, None, 100, 64
    )
    api, _ = api_of(start_sync_execution=done)
    for host in ("127.0.0.1:4566", "sync-flows.example:4566", "sync-flows.example:4566"):
        call(api, "StartSyncExecution", {"stateMachineArn": MACHINE}, {"host": host})
    (hint,) = [one.getMessage() for one in caplog.records if "sync-" in one.getMessage()]
    assert hint.startswith("a client sent StartSyncExecution to the host sync-flows.example:4566: ")
    assert "disableHostPrefix: true" in hint


def test_descriptions():
    api, _ = api_of(describe=VIEW)
    shown = call(api, "DescribeExecution", {"executionArn": EXECUTION}).json
    assert shown == {
        "executionArn": EXECUTION, "stateMachineArn": MACHINE, "name": "e", "status": "FAILED",
        "startDate": AT / 1000, "stopDate": (AT + 1000) / 1000, "error": "Oh", "cause": "no", "redriveCount": 0,
        "redriveStatus": "REDRIVABLE", "input": "{}", "inputDetails": {"included": True},
    }  # fmt: skip
    meta = call(api, "DescribeExecution", {"executionArn": EXECUTION, "includedData": "METADATA_ONLY"}).json
    assert set(shown) - set(meta) == {"input", "inputDetails"}


def test_lists():
    api, engine = api_of(list_executions=([replace(VIEW, item_count=3)], "next"))
    listed = call(api, "ListExecutions", {"stateMachineArn": MACHINE, "statusFilter": "FAILED"}).json
    assert listed["nextToken"] == "next"
    assert listed["executions"][0]["itemCount"] == 3
    assert engine.calls[0][1:] == (
        (MACHINE,), {"status": "FAILED", "redrive_filter": None, "token": None, "limit": 100},
    )  # fmt: skip
    request = {"mapRunArn": MAP_RUN, "statusFilter": "PENDING_REDRIVE", "redriveFilter": "REDRIVEN", "maxResults": 7}
    assert call(api, "ListExecutions", request).status == 200
    assert engine.calls[1][2]["limit"] == 7


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"stateMachineArn": MACHINE, "mapRunArn": MAP_RUN},
        {"stateMachineArn": MACHINE, "redriveFilter": "REDRIVEN"},
        {"stateMachineArn": MACHINE, "statusFilter": "PENDING_REDRIVE"},
    ],
)
def test_lists_that_are_refused(request_):
    api, engine = api_of()
    assert failed(call(api, "ListExecutions", request_))[0] == "ValidationException"
    assert engine.calls == []


def test_histories_and_redrives():
    api, engine = api_of(history=([{"id": 1, "timestamp": AT, "type": "PassStateExited"}], None), redrive_execution=AT)
    request = {"executionArn": EXECUTION, "reverseOrder": True, "includeExecutionData": False, "maxResults": 0}
    assert call(api, "GetExecutionHistory", request).json == {
        "events": [{"id": 1, "timestamp": AT / 1000, "type": "PassStateExited"}]
    }
    assert engine.calls[0][2] == {"token": None, "limit": 100, "reverse": True, "with_data": False}
    redriven = call(api, "RedriveExecution", {"executionArn": EXECUTION, "clientToken": "c"})
    assert redriven.json == {"redriveDate": AT / 1000}
    assert engine.calls[1][1] == (EXECUTION, "c")


def test_workers():
    api, engine = api_of(task_succeeded=None, task_failed=None, task_heartbeat=None)
    assert call(api, "SendTaskSuccess", {"taskToken": "t", "output": "1"}).json == {}
    assert call(api, "SendTaskFailure", {"taskToken": "t", "error": "e"}).json == {}
    assert call(api, "SendTaskHeartbeat", {"taskToken": "t"}).json == {}
    assert [args for _, args, _ in engine.calls] == [("t", "1", None), ("t", "e", None, None), ("t",)]
    api, _ = api_of(task_succeeded=ApiError("InvalidOutput", "bad"))
    said = failed(call(api, "SendTaskSuccess", {"taskToken": "t", "output": "yes"}))
    assert said[0] == "InvalidOutput"
    assert said[1].startswith("Invalid Output: 'Unrecognized token 'yes'")


def test_map_runs():
    shown = {"mapRunArn": MAP_RUN, "startDate": AT, "stopDate": None}
    api, engine = api_of(describe=shown, list=([shown], "next"), update=None)
    assert call(api, "DescribeMapRun", {"mapRunArn": MAP_RUN}).json == {"mapRunArn": MAP_RUN, "startDate": AT / 1000}
    listed = call(api, "ListMapRuns", {"executionArn": EXECUTION}).json
    assert listed == {"mapRuns": [{"mapRunArn": MAP_RUN, "startDate": AT / 1000}], "nextToken": "next"}
    assert call(api, "UpdateMapRun", {"mapRunArn": MAP_RUN, "maxConcurrency": 5}).json == {}
    assert engine.calls[-1][1] == (MAP_RUN,)
    assert failed(call(api, "UpdateMapRun", {"mapRunArn": MAP_RUN}))[0] == "ValidationException"
    assert failed(call(api, "DescribeMapRun", {"mapRunArn": EXECUTION}))[0] == "InvalidArn"
