"""The plugin in pytest itself: what failures show, cases, snapshots, coverage, several processes, and its price."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml  # noqa: F401  # pytester forgets what it imports first, and PyYAML's extension cannot be imported twice

from tests.deadlines import completed

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "statewright.testing.plugin", "-p", "no:cacheprovider", "--sfn-svg-dir=drawn")

ORDER: dict[str, Any] = {
    "StartAt": "Charge",
    "States": {
        "Charge": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "charge", "Payload.$": "$"},
            "Retry": [{"ErrorEquals": ["Busy"], "MaxAttempts": 1}, {"ErrorEquals": ["Down"]}],
            "Catch": [
                {"ErrorEquals": ["Declined"], "Next": "Refuse"},
                {"ErrorEquals": ["States.ALL"], "Next": "Refuse"},
            ],
            "Next": "Large?",
        },
        "Large?": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.total", "NumericGreaterThan": 100, "Next": "Thank"},
                {"Variable": "$.total", "NumericGreaterThan": 50, "Next": "Thank"},
            ],
            "Default": "Thank",
        },
        "Thank": {"Type": "Pass", "End": True},
        "Refuse": {"Type": "Fail", "Error": "Refused"},
    },
}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "order.asl.json").write_text(json.dumps(ORDER))
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*PLUGIN, *options)


def test_a_first_run_imports_no_client_no_web_server_and_no_operations_of_other_services():
    script = (
        "import sys\n"
        "from statewright.testing import Sfn\n"
        "sfn = Sfn()\n"
        "m = sfn.load({'StartAt': 'A', 'States': {'A': {'Type': 'Pass', 'End': True}}})\n"
        "m.run().assert_succeeded()\n"
        "late = ('boto3', 'botocore', 'urllib3', 'uvicorn', 'sqlite3', 'yaml', 'statewright.projects',\n"
        "        'statewright.virtual.port', 'statewright.api.sqs.sending', 'statewright.api.s3.objects')\n"
        "print([name for name in late if name in sys.modules])\n"
    )
    assert completed([sys.executable, "-c", script], check=True).stdout == "[]\n"


def test_a_failure_shows_the_difference_the_tree_and_a_drawing(project: pytest.Pytester):
    project.makepyfile(
        """
        def test_total(sfn):
            m = sfn.load("order.asl.json")
            m.mock("Charge").throws("Busy").then.returns({"total": 7})
            m.run().assert_succeeded({"total": 8})
        """
    )
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*m.run().assert_succeeded({*",
            "E*the output of order (run-1) is another",
            "E*at $.total",
            "E*- wanted  8",
            "E*+ got     7",
            "*order, run-1: SUCCEEDED*",
            "*✓ Charge *lambda:invoke charge · 2 attempts · 1 s",
            "*✗ attempt 1: Busy → again 1 s later",
            "*✓ Large?*",
            "drawn in *drawn*test_total-order-run-1.svg",
        ]
    )
    assert "testing/run.py" not in result.stdout.str(), "the traceback is the test's own"
    [drawing] = (project.path / "drawn").iterdir()
    assert drawing.read_text().startswith("<svg")


FAILURES = """
def test_wrong_name(sfn):
    sfn.load("ordr.asl.json")

def test_wrong_state(sfn):
    sfn.load("order.asl.json").mock("Chagre")

def test_mock_that_raises(sfn):
    m = sfn.load("order.asl.json")
    m.mock("Charge").calls(lambda req, ctx: req["nope"])
    m.run()

def test_result_without_payload(sfn):
    m = sfn.load({"StartAt": "C", "States": {"C": {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "c"},
        "OutputPath": "$.Payload", "End": True}}})
    m.mock("C").returns({"total": 7})
    m.run().assert_succeeded({"total": 7})
"""


def test_failures_are_shown_in_the_lines_of_the_test(project: pytest.Pytester):
    project.makepyfile(FAILURES)
    result = run(project)
    result.assert_outcomes(failed=4)
    shown = result.stdout.str()
    assert "/statewright/" not in shown.replace("\\", "/")
    result.stdout.fnmatch_lines(
        [
            '>*sfn.load("ordr.asl.json")',
            "E*FileNotFoundError: there is no ordr.asl.json beside the test or in the current folder: "
            "did you mean order.asl.json?",
            '>*sfn.load("order.asl.json").mock("Chagre")',
            "E*ValueError: order has no state 'Chagre': did you mean Charge?",
            ">*m.run()",
            ">*lambda req, ctx: req*nope*",
            "E*KeyError: 'nope'",
            "E*hint   the mock of 'C' answers without Payload: `returns` is the whole result of lambda:invoke, "
            "`returns_payload` what the function returned",
        ]
    )
    assert "/statewright/" in run(project, "--full-trace").stdout.str().replace("\\", "/")


def test_what_may_be_a_fault_of_statewright_keeps_its_lines(project: pytest.Pytester):
    project.makepyfile("def test_fault(sfn):\n    sfn.load(7)\n")
    run(project).stdout.fnmatch_lines(["*statewright*bench.py*", "E*TypeError: unsupported operand*"])


def test_an_unmocked_task_fails_by_name(project: pytest.Pytester):
    project.makepyfile('def test_it(sfn):\n    sfn.load("order.asl.json").run({})')
    result = run(project)
    result.stdout.fnmatch_lines(["E*No mock for state 'Charge' (lambda:invoke): add m.mock(\"Charge\")*"])


def test_cases_of_the_published_format_and_of_our_own(project: pytest.Pytester):
    works = {"0": {"Return": {"total": 1}}}
    fails = {"0": {"Throw": {"Error": "Declined", "Cause": "x"}}}
    cases = {"Happy": {"Charge": "Works"}, "Declined": {"Charge": "Fails"}, "Forgotten": {}}
    mocks = {
        "StateMachines": {"OrderStateMachine": {"TestCases": cases}},
        "MockedResponses": {"Works": works, "Fails": fails},
    }
    (project.path / "MockConfigFile.json").write_text(json.dumps(mocks))
    (project.path / "order.cases.yaml").write_text(
        "mocks: {Charge: {returns: {total: 60}}}\n"
        "cases:\n  good: {expect: {path: [Charge, Large?, Thank]}}\n  bad: {expect: {path: [Charge, Refuse]}}\n"
    )
    project.makepyfile(
        """
        from statewright.testing import sfn

        @sfn.cases("MockConfigFile.json")
        def test_published(case):
            case.run({}).assert_succeeded()

        @sfn.cases("order.cases.yaml")
        def test_own(case):
            case.check()

        def test_in_a_loop(sfn):
            assert [case.name for case in sfn.cases("MockConfigFile.json")] == ["Happy", "Declined", "Forgotten"]
            assert sfn.cases("order.cases.yaml")[0].run().path == ["Charge", "Large?", "Thank"]
        """
    )
    result = run(project, "-v")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_published?OrderStateMachine#Happy? PASSED*",
            "*test_published?OrderStateMachine#Declined? FAILED*",
            "*test_own?good? PASSED*",
            "*test_own?bad? FAILED*",
            "E*should have succeeded, and is FAILED in 'Refuse'",
            "E*No mock for state 'Charge'*name a response for it in test case 'Forgotten'*",
        ]
    )


def test_snapshots_are_written_compared_and_written_anew(project: pytest.Pytester):
    text = """
        def test_history(sfn):
            m = sfn.load("order.asl.json")
            m.mock("Charge").returns({"total": TOTAL}, delay=3)
            m.run().history.match_snapshot()
    """
    first = project.makepyfile(text.replace("TOTAL", "1"))
    run(project).stdout.fnmatch_lines(["E*there is no snapshot *--sfn-update-snapshots writes it"])
    run(project, "--sfn-update-snapshots").stdout.fnmatch_lines(["*1 snapshots written*"])
    run(project).assert_outcomes(passed=1)
    [file] = (project.path / "__snapshots__").rglob("*.json")
    assert file.name == "test_history.json"
    before = json.loads(file.read_text())
    assert (before[0]["type"], before[-1]["at"]) == ("ExecutionStarted", 3)
    first.write_text(first.read_text().replace('"total": 1', '"total": 22'))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['E*-*"total": 1', 'E*+*"total": 22'])
    run(project, "--sfn-update-snapshots").assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=1)


COVERED = """
    import pytest

    @pytest.mark.parametrize("total", [60, 1])
    def test_total(sfn, total):
        m = sfn.load("order.asl.json")
        m.mock("Charge").throws("Busy").then.returns({"total": total})
        m.run().assert_succeeded()

    def test_declined(sfn):
        m = sfn.load("order.asl.json")
        m.mock("Charge").throws("Declined")
        m.run().assert_failed("Refused")
"""
MISSED = [
    "*coverage of state machines*",
    "order.asl.json*72 %  8 of 11",
    "    never: Charge: Retry 2 on Down",
    "    never: Charge: Catch 2 on States.ALL → Refuse",
    "    never: Large?: rule 1, $.total > 100 → Thank",
    "all*72 %",
]


def test_coverage_lists_what_was_never_taken(project: pytest.Pytester):
    project.makepyfile(COVERED)
    result = run(project, "--sfn-coverage")
    result.stdout.fnmatch_lines(MISSED)
    assert "Large?: rule 2" not in result.stdout.str()
    assert result.ret == 0


def test_coverage_below_the_minimum_fails(project: pytest.Pytester):
    project.makepyfile(COVERED)
    result = run(project, "--sfn-coverage-min=80")
    result.stdout.fnmatch_lines(["FAIL: 72.7 % is less than --sfn-coverage-min=80"])
    assert result.ret == 1
    assert run(project, "--sfn-coverage-min=70").ret == 0


@pytest.mark.slow
def test_several_processes_count_together(project: pytest.Pytester):
    project.makepyfile(COVERED)
    result = project.runpytest_subprocess(*PLUGIN, "-n", "2", "--sfn-coverage")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(MISSED)


def test_a_start_of_pytest_loads_nothing_of_the_system():
    code = (
        "import sys, statewright.testing.plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('statewright')))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "['statewright', 'statewright.testing', 'statewright.testing.plugin']"
