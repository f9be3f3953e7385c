"""The commands that talk to a server, against a real one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.deadlines import PATIENCE_SECONDS, started, until
from tests.e2e.conftest import ROLE, Server, ended

PASS = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": {"n": 1}, "Next": "B"}, "B": {"Type": "Succeed"}}}
WAIT = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}}
FAIL = {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Bad", "Cause": "it was"}}}


def made(sfn, definition, *, express: bool = False) -> str:
    name = f"cli-{uuid4()}"
    kind = "EXPRESS" if express else "STANDARD"
    sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE, type=kind)
    return name


def activity_task(sfn: Any) -> tuple[str, dict[str, Any]]:
    arn = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    return arn, {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": arn, "End": True}}}


# ------------------------------------------------------------------ run NAME


def test_run_by_name(statewright, sfn):
    result = statewright("run", made(sfn, PASS), "-i", '{"order": 7}')
    assert (result.code, result.json) == (0, {"n": 1})
    assert "A                         succeeded" in result.err
    assert "✓ Succeeded" in result.err
    assert "2 transitions · 6 events" in result.err


def test_run_says_how_it_failed(statewright, sfn):
    result = statewright("run", made(sfn, FAIL), "-o", "json")
    assert result.code == 1
    assert (result.json["status"], result.json["error"], result.json["failedState"]) == ("FAILED", "Bad", "F")
    assert "cause  it was" in result.err


def test_run_as_lines(statewright, sfn):
    lines = [json.loads(line) for line in statewright("run", made(sfn, PASS), "-o", "jsonl", "-q").out.splitlines()]
    assert [line.get("type") for line in lines[:-1]] == [
        "ExecutionStarted", "PassStateEntered", "PassStateExited", "SucceedStateEntered", "SucceedStateExited",
        "ExecutionSucceeded",
    ]  # fmt: skip
    assert lines[-1]["output"] == {"n": 1}


def test_run_of_an_express_machine(statewright, sfn):
    result = statewright("run", made(sfn, PASS, express=True))
    assert (result.code, result.json) == (0, {"n": 1})
    failed = statewright("run", made(sfn, FAIL, express=True), "-q", "-o", "json")
    assert (failed.code, failed.json["error"]) == (1, "Bad")


def test_run_of_what_is_not_there(statewright, sfn):
    name = made(sfn, PASS)
    result = statewright("run", name[:-1])
    assert result.code == 3
    assert "There is no state machine" in result.err
    assert "did you mean" in result.err
    assert statewright("run", f"{name}:7").code == 3
    Path("nearly.asl.json").write_text("{}")
    assert "to run the file: statewright run nearly.asl.json" in statewright("run", "nearly").err


def test_run_is_interrupted(server, sfn):
    name = made(sfn, WAIT)
    command = [sys.executable, "-m", "statewright.cli.main", "run", name]
    environment = {**os.environ, "STATEWRIGHT_ENDPOINT": server.url}
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    arn = f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}"
    running = until(lambda: sfn.list_executions(stateMachineArn=arn)["executions"], "the start")
    # By its second look the command is inside its loop, where an interrupt is expected.
    until(lambda: "GetExecutionHistory" in server.log.read_text().split(name)[-1])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert "Interrupted" in err
    assert sfn.describe_execution(executionArn=running[0]["executionArn"])["status"] == "RUNNING"


# ------------------------------------------------------------------ execution


def test_start_list_show_stop_redrive(statewright, sfn):
    name = made(sfn, WAIT)
    begun = statewright("execution", "start", name, "-i", '{"a": 1}', "--name", "one")
    assert begun.code == 0
    assert begun.out.strip().endswith(f"execution:{name}:one")
    listed = statewright("execution", "list", "--machine", name, "--status", "running", "-o", "json").json
    assert [one["name"] for one in listed["executions"]] == ["one"]
    assert listed["executions"][0]["startDate"].endswith("Z")
    table = statewright("execution", "list", "--machine", name).out
    assert table.splitlines()[0].split() == ["NAME", "MACHINE", "STATUS", "STARTED", "(UTC)", "DURATION"]
    assert table.splitlines()[1].split()[:3] == ["one", name, "RUNNING"]
    shown = statewright("execution", "show", f"{name}:one")
    assert "◷ W" in shown.out
    assert 'input      {"a":1}' in shown.out
    assert statewright("execution", "stop", f"{name}:one", "--error", "E", "--cause", "C").code == 0
    document = statewright("execution", "show", "one", "--machine", name, "-o", "json").json
    assert (document["status"], document["error"], document["cause"]) == ("ABORTED", "E", "C")
    tailed = statewright("execution", "tail", f"{name}:one")
    assert (tailed.code, tailed.out) == (1, "")
    assert "○ Aborted" in tailed.err
    assert statewright("execution", "redrive", f"{name}:one", "-o", "json").json["redriveDate"]
    assert "RUNNING (redrive 1)" in statewright("execution", "list", "--machine", name).out
    refused = statewright("execution", "redrive", f"{name}:one")
    assert (refused.code, "ExecutionNotRedrivable" in refused.err) == (1, True)


def test_a_redriven_execution_is_told_to_its_end(statewright, sfn):
    activity, definition = activity_task(sfn)
    name = made(sfn, definition)
    arn = statewright("execution", "start", name, "--name", "again").out.strip()
    for error, output in (("Once", None), (None, '"done"')):
        token = sfn.get_activity_task(activityArn=activity)["taskToken"]
        if error is not None:
            sfn.send_task_failure(taskToken=token, error=error, cause="only")
            ended(sfn, arn)
            sfn.redrive_execution(executionArn=arn)
        else:
            sfn.send_task_success(taskToken=token, output=output)
    ended(sfn, arn)
    document = statewright("execution", "show", f"{name}:again", "-o", "json").json
    assert document["states"]["T"]["succeeded"] == 1
    assert (document["states"]["T"]["attempts"], document["states"]["T"]["failedAttempts"]) == (2, 1)
    assert document["redriveCount"] == 1


def test_history(statewright, sfn):
    name = made(sfn, FAIL)
    statewright("run", name, "-q")
    one = statewright("execution", "list", "--machine", name, "-o", "jsonl").json["name"]
    table = statewright("execution", "history", one).out
    assert [line.split()[0] for line in table.splitlines()] == ["ID", "1", "2", "3"]
    assert "Bad (it was)" in table
    events = statewright("execution", "history", one, "-o", "json").json["events"]
    assert [event["id"] for event in events] == [1, 2, 3]
    assert isinstance(events[0]["timestamp"], float)
    newest = statewright("execution", "history", one, "-o", "jsonl", "--reverse", "--type", "execution").out
    assert [json.loads(line)["id"] for line in newest.splitlines()] == [3, 1]


def test_names_that_are_not_unique(statewright, sfn):
    machines = [made(sfn, PASS) for _ in range(2)]
    twice = f"twice-{uuid4()}"
    for name in machines:
        statewright("execution", "start", name, "--name", twice)
    result = statewright("execution", "show", twice)
    assert result.code == 2
    assert f"{machines[0]}:{twice}" in result.err
    assert statewright("execution", "show", twice, "--machine", machines[0]).code == 0
    missing = statewright("execution", "show", "nobody-is-called-so")
    assert (missing.code, "There is no execution" in missing.err) == (3, True)


# ------------------------------------------------------------------ machine


def test_machines(statewright, sfn):
    name = made(sfn, PASS)
    listed = statewright("machine", "list", "-o", "json").json["stateMachines"]
    assert name in [one["name"] for one in listed]
    assert [name, "STANDARD"] in [line.split()[:2] for line in statewright("machine", "list").out.splitlines()]
    arn = next(one["stateMachineArn"] for one in listed if one["name"] == name)
    first = sfn.publish_state_machine_version(stateMachineArn=arn, description="the first")["stateMachineVersionArn"]
    sfn.create_state_machine_alias(name="prod", routingConfiguration=[{"stateMachineVersionArn": first, "weight": 100}])
    changed = {**PASS, "States": {"A": {"Type": "Pass", "Next": "C"}, "C": {"Type": "Succeed"}}}
    sfn.update_state_machine(stateMachineArn=arn, definition=json.dumps(changed))
    shown = statewright("machine", "show", name)
    assert "versions  1" in shown.out
    assert "aliases   prod" in shown.out
    assert statewright("machine", "show", name, "--definition").json == changed
    assert statewright("machine", "show", f"{name}:prod", "-o", "json").json["definition"] == PASS
    versions = statewright("machine", "versions", name, "-o", "json").json["stateMachineVersions"]
    assert [(one["description"], one["aliases"]) for one in versions] == [("the first", {"prod": 100})]
    assert "prod" in statewright("machine", "versions", name).out

    compared = statewright("machine", "diff", name, "1", "-o", "json")
    assert compared.code == 1
    assert compared.json["states"] == {"added": {"C": "Succeed"}, "removed": {"B": "Succeed"},
                                       "changed": {"A": ["Result", "Next"]}}  # fmt: skip
    text = statewright("machine", "diff", name, "prod", "current").out
    assert text.splitlines()[:3] == ["+ C  Succeed", "- B  Succeed", "~ A  Result, Next"]
    Path("new.asl.yaml").write_text(json.dumps(changed))
    assert statewright("machine", "diff", name, "new.asl.yaml").code == 0
    assert statewright("machine", "diff", name, "9").code == 3
    assert statewright("machine", "diff", name, "gone.asl.json").code == 3
    assert statewright("machine", "diff", name).code == 2


def test_a_machine_is_deleted(statewright, sfn):
    name = made(sfn, PASS)
    assert statewright("machine", "delete", name).code == 2
    assert statewright("machine", "delete", name, "--yes").out == f"deleted {name}\n"
    assert statewright("machine", "show", name).code == 3


# ------------------------------------------------------------------ map-run


def test_map_runs(statewright, sfn):
    definition = {
        "StartAt": "M",
        "States": {
            "M": {
                "Type": "Map",
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                    "StartAt": "P",
                    "States": {"P": {"Type": "Pass", "End": True}},
                },
                "End": True,
            }
        },
    }
    name = made(sfn, definition)
    result = statewright("run", name, "-i", "[1, 2, 3]")
    assert (result.code, result.json) == (0, [1, 2, 3])
    one = statewright("execution", "list", "--machine", name, "-o", "jsonl").json["name"]
    shown = statewright("map-run", "show", f"{name}:{one}", "-o", "json").json["mapRuns"]
    assert shown[0]["itemCounts"]["succeeded"] == 3
    table = statewright("map-run", "show", shown[0]["mapRunArn"]).out
    assert ["succeeded", "3", "3"] in [line.split() for line in table.splitlines()]
    children = statewright("execution", "list", "--map-run", shown[0]["mapRunArn"], "-o", "json").json["executions"]
    assert len(children) == 3
    assert statewright("map-run", "redrive", shown[0]["mapRunArn"]).code == 1


# ------------------------------------------------------------------ the server itself


def test_a_backup_is_taken_while_the_server_runs_and_served(statewright, sfn, tmp_path):
    server = Server(tmp_path / "data")
    try:
        client = server.client()
        name = made(client, PASS)
        arn = client.list_state_machines()["stateMachines"][0]["stateMachineArn"]
        execution = client.start_execution(stateMachineArn=arn, name="kept")["executionArn"]
        ended(client, execution)
        result = statewright("backup", "copy.db", "--data", str(tmp_path / "data"), "-o", "json")
        assert (result.code, result.json["executions"]) == (0, 1)
        assert "in use by pid" in statewright("doctor", "--data", str(tmp_path / "data"), "--endpoint", server.url).out
    finally:
        server.stop()
    restored = tmp_path / "restored"
    restored.mkdir()
    (tmp_path / "copy.db").rename(restored / "statewright.db")
    server = Server(restored)
    try:
        assert server.client().describe_execution(executionArn=execution)["name"] == "kept"
        assert statewright("execution", "show", f"{name}:kept", "--endpoint", server.url).code == 0
    finally:
        server.stop()


def address_in(log: str) -> str:
    """The address in a server's ready line, which warnings may precede."""
    found = re.search(r"^Statewright is ready on (\S+)", log, re.MULTILINE)
    assert found, log
    return found[1]


def test_dev_loads_and_reloads(tmp_path, statewright):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "order.asl.json").write_text(json.dumps(PASS))
    (folder / "price.asl.yaml").write_text(json.dumps(PASS))
    (folder / "bad.asl.json").write_text('{"StartAt": "A", "States": {}}')
    command = [sys.executable, "-m", "statewright.cli.main", "dev", str(folder), "--port", "0", "--express", "price"]
    log = tmp_path / "dev.log"
    with log.open("wb") as out:
        process = started(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        until(lambda: "Watching" in log.read_text(), "the first load")
        url = address_in(log.read_text())
        assert "✓ order  created from order.asl.json" in log.read_text()
        assert "✗ bad  bad.asl.json: " in log.read_text()
        assert statewright("run", "price", "--endpoint", url).json == {"n": 1}
        (folder / "order.asl.json").write_text(json.dumps(FAIL))
        until(lambda: "order  updated" in log.read_text(), "the reload")
        assert statewright("run", "order", "--endpoint", url).code == 1
        (folder / "order.asl.json").write_text("{")
        until(lambda: "the last good revision stays in use" in log.read_text(), "the complaint")
        assert statewright("run", "order", "--endpoint", url).code == 1
        (folder / "bad.asl.json").write_text(json.dumps(PASS))
        until(lambda: "bad  created" in log.read_text(), "the correction")
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)
    assert code == 0, log.read_text()
    assert (folder / ".statewright" / "statewright.db").is_file()


def test_dev_serves_functions_and_their_changes(tmp_path, statewright):
    folder = tmp_path / "project"
    (folder / "functions").mkdir(parents=True)
    price = folder / "functions" / "price.py"
    price.write_text("def handler(event, context):\n    return {'price': event['n']}\n")
    call = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload", "End": True,
            "Parameters": {"FunctionName": "price", "Payload.$": "$"}}  # fmt: skip
    (folder / "order.asl.json").write_text(json.dumps({"StartAt": "A", "States": {"A": call}}))
    command = [sys.executable, "-m", "statewright.cli.main", "dev", str(folder), "--port", "0", "--store", "memory"]
    log = tmp_path / "dev.log"
    with log.open("wb") as out:
        process = started(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        until(lambda: "Watching" in log.read_text(), "the first load")
        url = address_in(log.read_text())
        assert "✓ price  function created from functions/price.py" in log.read_text()

        def answer() -> Any:
            return statewright("run", "order", "-i", '{"n": 7}', "--endpoint", url).json

        assert answer() == {"price": 7}
        price.write_text(price.read_text().replace("event['n']", "2 * event['n']"))
        until(lambda: "price  function updated" in log.read_text(), "the reload")
        # The worker was warm: it is replaced.
        assert answer() == {"price": 14}
        price.write_text("def handler(event, context:\n")
        until(lambda: "the last good code stays in use" in log.read_text(), "the complaint")
        assert answer() == {"price": 14}
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)
    assert code == 0, log.read_text()
