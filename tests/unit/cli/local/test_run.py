"""`statewright run`: what it prints where, and its exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from statewright.clock import RealClock
from tests.unit.cli.conftest import ORDER, Run

INPUT = '{"order": 7}'
MOCKED = ("order.asl.json", "-i", INPUT, "--mock", "mocks.yaml")
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:F"

MOCK_CONFIG: dict[str, Any] = {
    "StateMachines": {
        "Order": {"TestCases": {"Happy": {"Reserve": "Ok", "Charge": "Ok"}, "Half": {"Reserve": "Ok"}}},
        "Other": {"TestCases": {"Only": {"Reserve": "Ok", "Charge": "Ok"}}},
    },
    "MockedResponses": {"Ok": {"0-9": {"Return": {"id": 5}}}},
}


def write(folder: Path, name: str, value: Any) -> str:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


def task(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": FUNCTION, "End": True, **fields}}}


# ------------------------------------------------------------------ output


def test_the_output_alone_on_the_standard_output(statewright: Run):
    result = statewright("run", *MOCKED)
    assert result.code == 0
    assert result.json == {"order": 7, "charge": {"id": 1}}
    assert result.out.startswith('{\n  "order": 7')


def test_what_happened_on_the_standard_error(statewright: Run):
    lines = statewright("run", *MOCKED).err.splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in lines if line.startswith(" ")] == [
        ["0 s", "Reserve", "succeeded"],
        ["0 s", "Charge", "attempt 1 failed: Declined (no money)"],
        ["3.5 s", "Charge", "succeeded after 2 attempts"],
        ["1 min 3 s", "Pause", "succeeded"],
        ["1 min 3 s", "Done", "succeeded"],
    ]
    assert lines[-1] == "✓ Succeeded · 1 min 3 s of virtual time · 5 transitions · 19 events"


def test_quiet(statewright: Run, folder: Path):
    write(folder, "extra.yaml", (folder / "mocks.yaml").read_text() + "  Nobody: {returns: 1}\n")
    result = statewright("run", "order.asl.json", "-i", INPUT, "--mock", "extra.yaml", "-q")
    assert (result.code, result.err) == (0, "")
    assert "Nobody" in statewright("run", "order.asl.json", "-i", INPUT, "--mock", "extra.yaml").err


def test_json(statewright: Run):
    document = statewright("run", *MOCKED, "-o", "json", "-q").json
    states = document.pop("states")
    assert document == {
        "status": "SUCCEEDED",
        "output": {"order": 7, "charge": {"id": 1}},
        "input": {"order": 7},
        "startDate": "2026-01-01T00:00:00Z",
        "stopDate": "2026-01-01T00:01:03.500Z",
        "durationMs": 63_500,
        "transitions": 5,
        "events": 19,
        "path": ["Reserve", "Charge", "Pause", "Done"],
        "visits": {"Reserve": 1, "Charge": 1, "Pause": 1, "Done": 1},
    }
    assert states["Charge"] == {
        "type": "Task",
        "visits": 1,
        "attempts": 2,
        "failedAttempts": 1,
        "succeeded": 1,
        "durationMs": 3_500,
    }
    assert states["Pause"] == {"type": "Wait", "visits": 1, "succeeded": 1, "durationMs": 60_000}


def test_jsonl_is_the_history_and_then_the_summary(statewright: Run):
    lines = [json.loads(line) for line in statewright("run", *MOCKED, "-o", "jsonl").out.splitlines()]
    assert [line["id"] for line in lines[:-1]] == list(range(1, 20))
    assert lines[0]["type"] == "ExecutionStarted"
    assert lines[-1] == statewright("run", *MOCKED, "-o", "json").json


def test_history_as_the_aws_cli_prints_it(statewright: Run, folder: Path):
    assert statewright("run", *MOCKED, "--history", "h.json").json == {"order": 7, "charge": {"id": 1}}
    events = json.loads((folder / "h.json").read_text())["events"]
    assert events == statewright("run", *MOCKED, "--history", "-").json["events"]
    assert events[0]["timestamp"] == 1767225600.0
    assert events[1] == {
        "timestamp": 1767225600.0,
        "type": "TaskStateEntered",
        "id": 2,
        "previousEventId": 0,
        "stateEnteredEventDetails": {
            "name": "Reserve",
            "input": '{"order":7}',
            "inputDetails": {"truncated": False},
        },
    }
    assert statewright("run", *MOCKED, "--history", "-", "-o", "json").code == 2
    assert statewright("run", *MOCKED, "--history", "no/folder").code == 3


def test_numbers_keep_their_digits(statewright: Run, folder: Path):
    write(folder, "pass.json", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    given = '[123456789012345678901234567890,1.0,"é"]'
    result = statewright("run", "pass.json", "-i", given)
    assert re.sub(r"\s", "", result.out) == given
    assert json.loads(statewright("run", "pass.json", "-i", given, encoding="ascii").out) == json.loads(given)
    deep = "[" * 400 + "]" * 400
    assert re.sub(r"\s", "", statewright("run", "pass.json", "-i", deep, "--limits", "open").out) == deep


# ------------------------------------------------------------------ input


@pytest.mark.parametrize(
    ("given", "stdin", "value"),
    [
        (INPUT, "", {"order": 7}),
        ("[1]", "", [1]),
        ("null", "", None),
        ("@in.json", "", {"from": "file"}),
        ("@in.yaml", "", {"from": "yaml"}),
        ("-", '{"from": "stdin"}', {"from": "stdin"}),
        ("-", '\ufeff{"from": "Windows"}', {"from": "Windows"}),
        (None, "", {}),
    ],
)
def test_input(statewright: Run, folder: Path, given: str | None, stdin: str, value: Any):
    write(folder, "pass.json", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    write(folder, "in.json", '{"from": "file"}')
    write(folder, "in.yaml", "from: yaml")
    options = ("-i", given) if given is not None else ()
    assert statewright("run", "pass.json", *options, stdin=stdin).json == value


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ('{"a" 1}', 2, "--input is not JSON, line 1, column 6"),
        ("mocks.yaml", 2, "-i @mocks.yaml"),
        ("./event.json", 2, "-i @./event.json"),
        ("{'order': 7}", 2, "-i '{\"order\": 7}'"),
        ("hello", 2, "-i '\"hello\"'"),
        ("", 2, "--input is empty"),
        ("NaN", 2, "--input is not JSON"),
        ("x" * 5000, 2, "--input is not JSON"),
        ("[" * 100_000, 2, "--input is not JSON"),
        ("@nope.json", 3, "nope.json: No such file"),
        ("@.", 3, "Is a directory"),
        ("@bad.json", 2, "bad.json is not JSON, line 2, column 1"),
        ("@bad.yaml", 2, "bad.yaml is not YAML"),
        ('"' + "x" * 300_000 + '"', 2, "--limits open"),
        ('"\\ud800"', 2, "--input"),
    ],
)
def test_inputs_that_cannot_be(statewright: Run, folder: Path, given: str, code: int, said: str):
    write(folder, "bad.json", '{"a":\n]')
    write(folder, "bad.yaml", "a: [")
    result = statewright("run", "order.asl.json", "-i", given)
    assert result.code == code
    assert said in result.err
    assert result.out == ""


# ------------------------------------------------------------------ what runs


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such.json", "There is no file 'no/such.json'."),
        (".", "is a folder"),
        ("nope#Case", "There is no file 'nope'"),
    ],
)
def test_what_is_not_there(statewright: Run, name: str, said: str):
    result = statewright("run", name)
    assert (result.code, result.out) == (3, "")
    assert said in result.err


def test_definitions_with_errors_do_not_run(statewright: Run, folder: Path):
    write(folder, "bad.json", {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}})
    result = statewright("run", "bad.json")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("bad.json:1:")
    assert "ERROR MISSING_TRANSITION_TARGET" in result.err
    assert result.err.endswith(" in bad.json\n")


def test_placeholders_must_be_filled_in_where_they_matter(statewright: Run, folder: Path):
    write(folder, "resource.json", task(Resource="${Function}"))
    write(folder, "mocks.yaml", "mocks: {A: {returns: 1}}")
    assert statewright("run", "resource.json", "--mock", "mocks.yaml").json == 1
    write(
        folder,
        "timeout.json",
        '{"StartAt": "Output", "States": {"Output": {"Type": "Wait", "Seconds": ${S}, "End": true}}}',
    )
    write(folder, "quoted.json", task(TimeoutSeconds="${T}"))
    for name in ("timeout.json", "quoted.json"):
        result = statewright("run", name)
        assert result.code == 1
        assert "PLACEHOLDER_NOT_FILLED" in result.err


def test_warnings_are_counted(statewright: Run, folder: Path):
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "B"}]}
    write(folder, "loose.json", {"StartAt": "A", "States": {"A": choice, "B": {"Type": "Succeed"}}})
    assert "1 warning, see: statewright validate loose.json\n" in statewright("run", "loose.json", "-i", '{"x": 1}').err


# ------------------------------------------------------------------ failures


def test_a_failed_execution(statewright: Run, folder: Path):
    write(folder, "broken.yaml", "mocks: {Reserve: {returns: {}}, Charge: {throws: {error: Broken, cause: {a: [1]}}}}")
    result = statewright("run", "order.asl.json", "--mock", "broken.yaml")
    assert (result.code, result.out) == (1, "")
    assert "Charge                    caught Broken" in result.err
    assert result.err.endswith("  state  Sorry\n  error  Refused\n  cause  The card was declined.\n")
    document = statewright("run", "order.asl.json", "--mock", "broken.yaml", "-o", "json").json
    assert document["status"] == "FAILED"
    assert (document["error"], document["cause"], document["failedState"]) == (
        "Refused", "The card was declined.", "Sorry",
    )  # fmt: skip
    assert document["states"]["Charge"]["caught"] == 1


def test_a_cause_that_is_json_is_indented(statewright: Run, folder: Path):
    cause = {"error": "E", "cause": '{"errorMessage": "no"}'}
    write(folder, "task.json", task())
    write(folder, "m.json", {"mocks": {"A": {"throws": cause}}})
    assert (
        '  cause  {\n           "errorMessage": "no"\n         }\n'
        in statewright("run", "task.json", "--mock", "m.json").err
    )
    write(folder, "m.json", {"mocks": {"A": {"throws": {"error": "E", "cause": "{no"}}}})
    assert "  cause  {no\n" in statewright("run", "task.json", "--mock", "m.json").err


def test_a_fail_state_without_anything(statewright: Run, folder: Path):
    write(folder, "fail.json", {"StartAt": "A", "States": {"A": {"Type": "Fail"}}})
    assert "neither Error nor Cause" in statewright("run", "fail.json").err


def test_a_task_without_a_mock(statewright: Run):
    result = statewright("run", "order.asl.json", "-i", INPUT)
    assert (result.code, result.out) == (1, "")
    assert "  state  Reserve\n" in result.err
    assert "`Reserve: {returns: {}}`" in result.err
    assert "statewright run order.asl.json --mock mocks.yaml" in result.err
    document = statewright("run", "order.asl.json", "-o", "json").json
    assert document["status"] == "RUNNING"
    assert document["stopped"]["reason"] == "UNMOCKED_TASK"
    assert document["stopped"]["state"] == "Reserve"
    assert document["stopDate"] is None


def test_a_mock_that_fails(statewright: Run, folder: Path):
    write(folder, "task.json", task())
    write(folder, "m.yaml", 'mocks:\n  A: {expression: "{% $states.input.n + 1 %}"}\n')
    result = statewright("run", "task.json", "--mock", "m.yaml", "-i", '{"n": "a"}')
    assert result.code == 1
    assert result.err.startswith("m.yaml:2:7 ERROR ")


@pytest.mark.parametrize(
    ("fields", "options", "said"),
    [
        ({"TimeoutSeconds": 5}, (), None),
        ({}, (), "365 d; --limits open lifts it"),
        ({}, ("--limits", "open"), "Waits forever"),
        ({"TimeoutSeconds": 500}, ("--max-virtual-time", "2m"), "Not finished in time · 2 min of virtual time"),
    ],
)
def test_executions_that_do_not_end(
    statewright: Run, folder: Path, fields: dict[str, Any], options: tuple[str, ...], said: str | None
):
    machine = task(**fields)
    if said is None:
        machine["TimeoutSeconds"] = 3
    write(folder, "task.json", machine)
    write(folder, "hangs.yaml", "mocks: {A: {hangs: true}}")
    result = statewright("run", "task.json", "--mock", "hangs.yaml", *options)
    assert (result.code, result.out) == (5, "")
    if said is None:
        assert "Timed out · 3 s of virtual time" in result.err
        assert "  state  A\n" in result.err
        assert "hint" not in result.err
    else:
        assert said in result.err


def test_limits_name_the_switch_that_lifts_them(statewright: Run, folder: Path):
    states = {
        "A": {"Type": "Pass", "Next": "B"},
        "B": {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "C"}], "Default": "A"},
        "C": {"Type": "Succeed"},
    }
    write(folder, "loop.json", {"StartAt": "A", "States": states})
    result = statewright("run", "loop.json")
    assert result.code == 1
    assert "25,000 history events; --limits open lifts it" in result.err
    assert "further states are not listed" in result.err
    write(folder, "big.json", task())
    write(folder, "big.yaml", f"mocks: {{A: {{returns: {'x' * 300_000}}}}}")
    result = statewright("run", "big.json", "--mock", "big.yaml", "-o", "json")
    assert result.code == 1
    assert result.json["hint"] == "the service takes payloads of up to 262,144 bytes; --limits open lifts it"
    assert statewright("run", "big.json", "--mock", "big.yaml", "--limits", "open").code == 0


# ------------------------------------------------------------------ time, chance


def test_start_and_seed(statewright: Run, folder: Path):
    states = {"A": {"Type": "Pass", "Output": "{% [$now(), $uuid()] %}", "End": True}}
    write(folder, "now.json", {"QueryLanguage": "JSONata", "StartAt": "A", "States": states})
    first = statewright("run", "now.json").json
    assert first == statewright("run", "now.json").json
    assert first[0].startswith("2026-01-01T00:00:00")
    other = statewright("run", "now.json", "--seed", "x", "--start", "2027-02-03T04:05+01:00").json
    assert other[0].startswith("2027-02-03T03:05:00")
    assert other[1] != first[1]
    assert statewright("run", "now.json", "--start", "soon").code == 2
    assert statewright("run", "now.json", "--start", "9999-01-01").code == 2
    assert statewright("run", "now.json", "--max-virtual-time", "soon").code == 2


def test_real_time(statewright: Run, folder: Path):
    write(folder, "task.json", task())
    write(folder, "slow.yaml", "mocks: {A: {returns: 1, delay: 150ms}}")
    before_ms = RealClock().now_ms()
    document = statewright("run", "task.json", "--mock", "slow.yaml", "--real-time", "-o", "json").json
    took_ms = RealClock().now_ms() - before_ms
    assert document["durationMs"] == 150
    assert took_ms >= 150
    assert not document["startDate"].startswith("2026-01-01T00:00:00")
    write(folder, "slow.yaml", "mocks: {A: {returns: 1, delay: 1h}}")
    arguments = ("run", "task.json", "--mock", "slow.yaml", "--real-time", "--max-virtual-time", "50ms")
    result = statewright(*arguments, "-o", "jsonl")
    assert result.code == 5
    assert "Not finished in time · 50 ms ·" in result.err


@pytest.mark.parametrize("mocks", [(("mocks.yaml",)), ("MockConfigFile.json", "--machine", "Order", "--case", "Happy")])
def test_mocks_from_a_pipe(statewright: Run, folder: Path, mocks: tuple[str, ...]):
    write(folder, "MockConfigFile.json", MOCK_CONFIG)
    name, *options = mocks
    with subprocess.Popen(["cat", name], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        result = statewright("run", "order.asl.json", "--mock", f"/dev/fd/{process.stdout.fileno()}", *options, "-q")
    assert (result.code, result.err) == (0, "")


def test_interrupted(folder: Path):
    write(folder, "task.json", task())
    write(folder, "slow.yaml", "mocks: {A: {returns: 1, delay: 1h}}")
    arguments = ["run", "task.json", "--mock", "slow.yaml", "--real-time", "-o", "jsonl"]
    # A shell starts what runs in the background with interrupts ignored, and children inherit that.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from statewright.cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert '"ExecutionStarted"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert "Interrupted" in err
    assert "Traceback" not in err
    assert json.loads(out.splitlines()[-1])["stopped"]["reason"] == "INTERRUPTED"


@pytest.mark.parametrize(
    ("given", "name"), [("", "--input"), (" ", "--input"), ("-", "standard input"), ("@e.json", "e.json")]
)
def test_an_empty_input(statewright: Run, folder: Path, given: str, name: str):
    write(folder, "e.json", "\n")
    result = statewright("run", "order.asl.json", "-i", given)
    assert result.code == 2
    assert result.err == f"Error: {name} is empty, expected a JSON value\n  hint: the empty object is {{}}\n"


# ------------------------------------------------------------------ test cases


def test_a_case_of_our_own(statewright: Run, folder: Path):
    result = statewright("run", "order.asl.json", "--case", "second try")
    assert result.json == {"order": 7, "charge": {"id": 1}}
    assert "WARNING" not in result.err
    assert statewright("run", "order.asl.json#second try", "-i", "{}").json == {"charge": {"id": 1}}
    assert statewright("run", "order.asl.json", "--case", "refused").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("order.asl.json", "--case", "second tri"), 3, "did you mean second try?"),
        (("other.asl.json", "--case", "x"), 3, "there is no other.cases.yaml beside other.asl.json"),
        (("other.asl.json", "--case", "x"), 3, "--mock MockConfigFile.json"),
        (("order.asl.json", "--case", "x", "--mock", "mocks.yaml"), 2, "has only mocks"),
        (("order.asl.json", "--machine", "x", "--mock", "mocks.yaml"), 2, "--machine: mocks.yaml has only mocks"),
        (("order.asl.json", "--machine", "x"), 2, "--machine"),
        (("order.asl.json", "--mock", "nope.yaml"), 3, "nope.yaml: No such file"),
        (("order.asl.json", "--mock", "bad.yaml"), 1, "bad.yaml:1:13 ERROR MOCK_UNKNOWN_FIELD"),
        (("order.asl.json", "--mock", "MockConfigFile.json"), 2, "there are Happy, Half"),
        (("other.asl.json", "--mock", "MockConfigFile.json", "--case", "Only"), 0, ""),
        (("third.asl.json", "--mock", "MockConfigFile.json", "--case", "Only"), 2, "there are Order, Other"),
        (("third.asl.json", "--mock", "MockConfigFile.json", "--machine", "Other"), 0, ""),
        (("order.asl.json#Happy", "--mock", "MockConfigFile.json"), 0, ""),
        (("order.asl.json", "--mock", "MockConfigFile.json#Happy"), 0, ""),
        (("order.asl.json", "--mock", "MockConfigFile.json#Hapy"), 3, "did you mean Happy?"),
        (("order.asl.json#Half", "--mock", "MockConfigFile.json"), 1, "in test case 'Half' of 'Order'"),
        (("order.asl.json", "--mock", "MockConfigFile.json", "--machine", "Nope"), 3, "There are no test cases"),
        (("wrong.asl.json", "--case", "x"), 1, "wrong.cases.yaml:1:1 ERROR CASE_UNKNOWN_FIELD"),
    ],
)
def test_cases_and_mocks(statewright: Run, folder: Path, arguments: tuple[str, ...], code: int, said: str):
    for name in ("other", "third", "wrong"):
        write(folder, f"{name}.asl.json", ORDER)
    write(folder, "wrong.cases.yaml", "casse: {}")
    write(folder, "bad.yaml", "mocks: {A: {retruns: 1}}")
    write(folder, "MockConfigFile.json", MOCK_CONFIG)
    result = statewright("run", *arguments)
    assert result.code == code
    assert said in result.err


def test_unused_and_misnamed_mocks_are_noted(statewright: Run, folder: Path):
    text = (folder / "mocks.yaml").read_text() + "  Sorry: {returns: 1}\n  Chrage: {returns: 1}\n"
    write(folder, "mocks.yaml", text)
    err = statewright("run", *MOCKED).err
    assert "mocks.yaml:7:3 WARNING MOCK_UNKNOWN_STATE there is no Task state 'Chrage' to mock\n    hint: did you" in err
    assert "mocks.yaml:6:3 WARNING the mock for Sorry was not used\n" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("Order",), 4, "No Statewright server at http://127.0.0.1:1"),
        (("arn:aws:states:us-east-1:000000000000:stateMachine:Order",), 4, "start one: statewright serve"),
        (("order",), 4, "to run the file: statewright run order.asl.json"),
        (("order", "--mock", "mocks.yaml"), 3, "did you mean order.asl.json?"),
        (("Order", "--seed", "s"), 2, "--seed is for files"),
    ],
)
def test_a_name_without_a_file_means_a_machine_of_the_server(
    statewright: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, said: str
):
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", "http://127.0.0.1:1")
    result = statewright("run", *arguments)
    assert (result.code, result.out) == (code, "")
    assert said in result.err


PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'


def test_a_definition_from_the_standard_input(statewright: Run):
    assert statewright("run", "-", "-i", '{"order": 7}', stdin=PASS).json == {"order": 7}
    refused = statewright("run", "-", stdin=PASS.replace("Pass", "Paas"))
    assert (refused.code, refused.err.splitlines()[-1]) == (1, "✗ 1 error in <stdin>")
    assert statewright("run", "-", "-i", "-", stdin=PASS).code == 2
    assert statewright("run", "-", "--type", "express", stdin=PASS).code == 0


def test_the_type_of_a_machine_of_a_server_is_its_own(statewright: Run):
    refused = statewright("run", "order-service", "--type", "STANDARD")
    assert refused.code == 2
    assert "--type is for files" in refused.err
