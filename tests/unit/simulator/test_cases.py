"""Case files: what they mean, what a run is compared with, and what is said about files that are wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from statewright.errors import DefinitionError, Diagnostic
from statewright.simulator.cases import (
    CaseResult,
    cases_beside,
    find_case_files,
    load_cases,
    read_instant_ms,
    run_case,
    unused_common,
)
from statewright.simulator.expectations import write_duration

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "cases.md"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:F"

MACHINE: dict[str, Any] = {
    "StartAt": "Call",
    "States": {
        "Call": {
            "Type": "Task",
            "Resource": FUNCTION,
            "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 5, "MaxAttempts": 2, "BackoffRate": 1}],
            "Next": "Each",
        },
        "Each": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": {"StartAt": "Item", "States": {"Item": {"Type": "Pass", "End": True}}},
            "ResultPath": "$.done",
            "End": True,
        },
    },
}
OUTPUT = {"items": [1, 2], "total": 3.0, "done": [1, 2]}
MOCKS = "mocks: {Call: [{throws: Busy}, {returns: {items: [1, 2], total: 3.0}}]}\n"
BROKEN = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Bee"}, "B": {"Type": "Pass", "End": True}}}


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The case file of a machine that calls a function and goes through its items."""
    (tmp_path / "m.asl.json").write_text(json.dumps(MACHINE))
    return tmp_path / "m.cases.yaml"


def run(path: Path, text: str) -> CaseResult:
    """The result of the only case of a file."""
    path.write_text(text)
    (case,) = load_cases(path).cases
    return run_case(case)


def expecting(path: Path, expect: str) -> CaseResult:
    return run(path, MOCKS + f"cases: {{only: {{expect: {expect}}}}}")


def problems(path: Path, text: str) -> list[Diagnostic]:
    path.write_text(text)
    with pytest.raises(DefinitionError) as caught:
        load_cases(path)
    return caught.value.diagnostics


# ------------------------------------------------------------------ expectations


@pytest.mark.parametrize(
    "expect",
    [
        "{}",
        "{status: SUCCEEDED}",
        f"{{output: {json.dumps(OUTPUT)}}}",
        "{output: {done: [1.0, 2], total: 3, items: [1, 2]}}",
        "{output_contains: {done: [1, 2]}}",
        '{output_matches: "{% $states.input.total = 3 and $count($states.input.done) = 2 %}"}',
        "{path: [Call, Each, Item, Item]}",
        "{path_contains: [Call, Item]}",
        "{path_contains: []}",
        "{visits: {Item: 2, Call: {at_least: 1}}}",
        "{attempts: {Call: 2, Item: 0}}",
        "{duration: 5s}",
        "{duration: 5}",
        "{duration: {at_least: 4s, at_most: 5000ms}}",
        "{transitions: 5}",
        "{transitions: {at_most: 5}, events: {at_least: 20}}",
        "{diagnostics: []}",
    ],
)
def test_what_is_as_expected(beside: Path, expect: str):
    result = expecting(beside, expect)
    assert result.mismatches == []
    assert result.passed


@pytest.mark.parametrize(
    ("expect", "what", "wanted", "got"),
    [
        ("{status: FAILED}", "status", "FAILED", "SUCCEEDED"),
        ("{error: Boom, status: SUCCEEDED}", "error", "Boom", "nothing"),
        ("{cause: why, status: SUCCEEDED}", "cause", "why", "nothing"),
        ("{cause_contains: why, status: SUCCEEDED}", "cause_contains", "why", "nothing"),
        ("{output: 1}", "output", 1, OUTPUT),
        ("{output: null}", "output", None, OUTPUT),
        ("{output_contains: {done: [1]}}", "output_contains", {"done": [1]}, OUTPUT),
        ('{output_matches: "{% false %}"}', "output_matches", "{% false %}", False),
        ('{output_matches: "{% 1 %}"}', "output_matches", "{% 1 %}", 1),
        ("{path: [Call]}", "path", ["Call"], ["Call", "Each", "Item", "Item"]),
        ("{path_contains: [Each, Call]}", "path_contains", ["Each", "Call"], ["Call", "Each", "Item", "Item"]),
        ("{visits: {Item: 3}}", "visits of Item", "3", 2),
        ("{attempts: {Call: {at_least: 3, at_most: 4}}}", "attempts of Call", "at least 3 and at most 4", 2),
        ("{duration: 1h}", "duration", "1h", "5s"),
        ("{transitions: 4}", "transitions", "4", 5),
        ("{events: {at_most: 3}}", "events", "at most 3", 22),
        ("{diagnostics: [NO_PATH]}", "diagnostics", ["NO_PATH"], []),
        ("{refused: [NO_PATH]}", "refused", ["NO_PATH"], []),
    ],
)
def test_what_is_not(beside: Path, expect: str, what: str, wanted: Any, got: Any):
    (mismatch,) = expecting(beside, expect).mismatches
    assert mismatch.what == what
    assert mismatch.wanted == wanted
    assert (repr(mismatch.got) if got == "nothing" else mismatch.got) == got


def test_a_condition_that_fails(beside: Path):
    (mismatch,) = expecting(beside, '{output_matches: "{% $states.input.total & 1 > 2 + $states.input %}"}').mismatches
    assert mismatch.what == "output_matches"
    assert "error" in str(mismatch.got)


def test_failures(beside: Path):
    text = "mocks: {Call: {throws: {error: Boom, cause: it broke}}}\ncases: {only: {expect: %s}}"
    assert run(beside, text % "{error: Boom}").passed
    assert run(beside, text % "{cause: it broke}").passed
    assert run(beside, text % "{cause_contains: broke, error: Boom, status: FAILED}").passed
    assert [one.what for one in run(beside, text % "{output: 1}").mismatches] == ["status"]
    assert [one.what for one in run(beside, text % "{status: FAILED, output: 1}").mismatches] == ["output"]
    (mismatch,) = run(beside, text % "{error: Other}").mismatches
    assert (mismatch.wanted, mismatch.got) == ("Other", "Boom")


def test_differences_name_the_smallest_places(beside: Path):
    result = expecting(beside, "{output: {items: [1, 3], total: 3, other: true}}")
    found = [(one.where, repr(one.wanted), repr(one.got)) for one in result.mismatches[0].differences]
    assert found == [("$.items[1]", "3", "2"), ("$.other", "True", "nothing"), ("$.done", "nothing", "[1, 2]")]


# ------------------------------------------------------------------ the rest of a case


def test_own_mocks_and_input_go_before_the_files(beside: Path):
    text = """
input: {items: []}
mocks: {Call: {expression: "{% $states.input %}"}}
cases:
  files: {expect: {output: {items: [], done: []}}}
  own: {input: {items: [7]}, expect: {output: {items: [7], done: [7]}}}
  mocked: {mocks: {Call: {returns: {items: [8]}}}, expect: {output: {items: [8], done: [8]}}}
"""
    beside.write_text(text)
    assert [run_case(case).mismatches for case in load_cases(beside).cases] == [[], [], []]


def test_start_and_limits(tmp_path: Path):
    states = {"A": {"Type": "Pass", "Output": "{% [$now(), $pad('', 300000, 'x')] %}", "End": True}}
    machine = {"QueryLanguage": "JSONata", "StartAt": "A", "States": states}
    (tmp_path / "m.json").write_text(json.dumps(machine))
    text = """
limits: open
cases:
  late: {start: "2030-01-01", expect: {output_matches: "{% $substring($states.input[0], 0, 4) = '2030' %}"}}
  limited: {limits: aws, expect: {error: States.DataLimitExceeded}}
"""
    (tmp_path / "m.cases.yml").write_text(text)
    assert [run_case(case).mismatches for case in load_cases(tmp_path / "m.cases.yml").cases] == [[], []]


def test_refusals(tmp_path: Path):
    (tmp_path / "bad.asl.json").write_text(json.dumps(BROKEN))
    path = tmp_path / "bad.cases.yaml"
    target = "MISSING_TRANSITION_TARGET"
    both = f"[{{code: {target}, pointer: /States/A/Next, hint: mean B}}, {target}]"
    assert run(path, f"cases: {{only: {{expect: {{refused: {both}}}}}}}").passed
    assert run(path, f"cases: {{only: {{expect: {{refused: [{target}, {target}], diagnostics: [{target}]}}}}}}").passed
    (mismatch,) = run(path, f"cases: {{only: {{expect: {{refused: [{{code: {target}, pointer: /X}}]}}}}}}").mismatches
    assert mismatch.wanted == [f"{target} at /X"]
    assert f"{target} at /States/A/Next (did you mean B?)" in str(mismatch.got)
    refused = run(path, "cases: {only: {}}")
    assert not refused.passed
    assert refused.problem is not None
    assert re.search(r"bad.asl.json:1:\d+ MISSING_TRANSITION_TARGET .*, and 1 more", refused.problem)


def test_a_definition_that_is_not_even_json(tmp_path: Path):
    (tmp_path / "bad.asl.json").write_text("{")
    text = "cases: {only: {expect: {refused: [INVALID_JSON_DESCRIPTION]}}}"
    assert run(tmp_path / "bad.cases.yaml", text).passed


def test_placeholders_refuse_a_run(tmp_path: Path):
    (tmp_path / "m.asl.json").write_text(
        '{"StartAt": "A", "States": {"A": {"Type": "Wait", "Seconds": ${S}, "End": true}}}'
    )
    result = run(tmp_path / "m.cases.yaml", "cases: {only: {}}")
    assert "PLACEHOLDER_NOT_FILLED" in (result.problem or "")


@pytest.mark.parametrize(
    ("mocks", "said"),
    [
        ("{}", "No mock for state 'Call'"),
        ("{Call: {hangs: true}}", "waits for ever"),
        ('{Call: {expression: "{% $states.input.x + 1 %}"}}', "must evaluate to a number"),
    ],
)
def test_runs_that_cannot_end(beside: Path, mocks: str, said: str):
    text = f"limits: open\ninput: {{x: a}}\nmocks: {mocks}\ncases: {{only: {{}}}}"
    result = run(beside, text)
    assert not result.passed
    assert said in (result.problem or "")


def test_unused_mocks(beside: Path):
    text = (
        MOCKS
        + """
cases:
  one: {mocks: {"resource:lambda:Other": {returns: 1}}}
  two: {}
"""
    )
    beside.write_text(text.replace("mocks: {", 'mocks: {"resource:sqs:*": {returns: 1}, ', 1))
    file = load_cases(beside)
    results = [run_case(case) for case in file.cases]
    assert [[rule.label for rule in result.unused] for result in results] == [["resource:lambda:Other"], []]
    assert [rule.label for rule in unused_common(file, results)] == ["resource:sqs:*"]


# ------------------------------------------------------------------ finding files


def test_which_definition_a_file_is_about(tmp_path: Path):
    sound = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    for name in ("a.asl.yaml", "a.json", "b.json", "sub.asl.json"):
        (tmp_path / name).write_text(sound)
    (tmp_path / "cases").mkdir()
    for name, definition in (("a.cases.yaml", "a.asl.yaml"), ("b.cases.json", "b.json")):
        (tmp_path / name).write_text('{"cases": {"x": {}}}')
        assert load_cases(tmp_path / name).subject.path == tmp_path / definition
        assert cases_beside(tmp_path / definition) == tmp_path / name
    far = tmp_path / "cases" / "any.cases.yml"
    far.write_text("definition: ../sub.asl.json\ncases: {x: {}}")
    assert run_case(load_cases(far).cases[0]).passed
    assert cases_beside(tmp_path / "sub.asl.json") is None
    assert cases_beside(tmp_path / "sub") is None
    assert find_case_files(tmp_path) == [tmp_path / "a.cases.yaml", tmp_path / "b.cases.json", far]


def test_a_case_by_name(beside: Path):
    beside.write_text("cases: {first: {}, second: {}}")
    file = load_cases(beside)
    assert file.case("second").place == (1, 20)
    with pytest.raises(DefinitionError) as caught:
        file.case("secnd")
    assert caught.value.diagnostics[0].hint == "did you mean second?"


# ------------------------------------------------------------------ what is wrong with a file


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("", "CASE_INVALID_VALUE", "is empty", None),
        ("[1]", "CASE_INVALID_VALUE", "a case file must be an object", "start with `cases:`"),
        ("{", "INVALID_JSON_DESCRIPTION", "", None),
        ("comment: x", "CASE_INVALID_VALUE", "there are no `cases`", "start with `cases:`"),
        ("casse: {}", "CASE_UNKNOWN_FIELD", "no field 'casse'", "did you mean cases?"),
        ("cases: {}", "CASE_INVALID_VALUE", "`cases` is empty", None),
        ("cases: [a]", "CASE_INVALID_VALUE", "`cases` must be an object", None),
        ("cases: {a: 1}", "CASE_INVALID_VALUE", "case 'a' must be an object", None),
        ("cases: {a: {expected: {}}}", "CASE_UNKNOWN_FIELD", "no field 'expected'", "did you mean expect?"),
        ("cases: {a: {limits: none}}", "CASE_INVALID_VALUE", "none of aws, open", None),
        ("limits: 3\ncases: {a: {}}", "CASE_INVALID_VALUE", "none of aws, open", None),
        ("cases: {a: {start: soon}}", "CASE_INVALID_VALUE", "'soon' is no instant", None),
        ("cases: {a: {start: 3}}", "CASE_INVALID_VALUE", "no instant", None),
        ("cases: {a: {start: 1900-01-01}}", "CASE_INVALID_VALUE", "between the years 1970 and 3000", None),
        ("cases: {a: {comment: 3}}", "CASE_INVALID_VALUE", "'comment' must be text", '"3"'),
        ("cases: {a: {mocks: {Call: {retruns: 1}}}}", "CASE_UNKNOWN_FIELD", "no field 'retruns'", "mean returns?"),
        ("mocks: 3\ncases: {a: {}}", "CASE_INVALID_VALUE", "`mocks` must be an object", None),
        ("definition: 3\ncases: {a: {}}", "CASE_INVALID_VALUE", "'definition' must be text", None),
        ("definition: x.json\ncases: {a: {}}", "CASE_WITHOUT_DEFINITION", "x.json: No such file", None),
    ],
)  # fmt: skip
def test_files_that_are_wrong(beside: Path, text: str, code: str, message: str, hint: str | None):
    (found, *others) = problems(beside, text)
    assert others == []
    assert found.code == code
    assert message in found.message
    assert hint is None or hint in (found.hint or "")
    assert found.line >= 1


@pytest.mark.parametrize(
    ("expect", "at", "message", "hint"),
    [
        ("3", "", "`expect` must be an object", None),
        ("{outcome: 1}", "/outcome", "no field 'outcome'", None),
        ("{result: 1}", "/result", "no field 'result'", "did you mean output?"),
        ("{status: SUCCESS}", "/status", "none of SUCCEEDED", "did you mean SUCCEEDED?"),
        ("{status: [1]}", "/status", "none of SUCCEEDED", None),
        ("{error: 3}", "/error", "must be text", None),
        ("{path: Call}", "/path", "must be a list of states", None),
        ("{path: [Cal]}", "/path/0", "no state 'Cal'", "did you mean Call?"),
        ("{path_contains: [3]}", "/path_contains/0", "3 is no name of a state", None),
        ("{visits: [1]}", "/visits", "must be an object", None),
        ("{visits: {Cal: 1}}", "/visits/Cal", "no state 'Cal'", "did you mean Call?"),
        ("{visits: {Call: -1}}", "/visits/Call", "not a whole number", "at_least"),
        ("{attempts: {Call: true}}", "/attempts/Call", "not a whole number", None),
        ("{attempts: {Call: {}}}", "/attempts/Call", "this expects nothing", None),
        ("{attempts: {Call: {min: 1}}}", "/attempts/Call/min", "no field 'min'", "did you mean at_least?"),
        ("{attempts: {Call: {at_least: 3, at_most: 1}}}", "/attempts/Call", "more than at_most", None),
        ("{duration: soon}", "/duration", "not a length of time", None),
        ("{duration: [1]}", "/duration", "not a length of time", None),
        ("{duration: {at_most: soon}}", "/duration/at_most", "not a length of time", None),
        ("{transitions: 1.5}", "/transitions", "not a whole number", None),
        ("{diagnostics: NO_PATH}", "/diagnostics", "must be a list of codes", None),
        ("{refused: []}", "/refused", "must be a list of errors", None),
        ("{refused: [3]}", "/refused/0", "a refusal must be an object", None),
        ("{refused: [{pointer: /x}]}", "/refused/0", "has no code", None),
        ("{refused: [{code: 3}]}", "/refused/0/code", "must be text", None),
        ("{refused: [X], output: 1}", "/output", "cannot stand beside 'refused'", None),
        ("{output_matches: x}", "/output_matches", "begins with {% and ends with %}", None),
        ("{output_matches: 3}", "/output_matches", "begins with {% and ends with %}", None),
        ('{output_matches: "{% ( %}"}', "/output_matches", "this is no JSONata", None),
        ('{output_matches: "{% $states.context %}"}', "/output_matches", "no $states.context in an", "$states.input"),
        ('{output_matches: "{% $x %}"}', "/output_matches", "no $x in an expectation", None),
    ],
)  # fmt: skip
def test_expectations_that_are_wrong(beside: Path, expect: str, at: str, message: str, hint: str | None):
    (found,) = problems(beside, f"cases: {{a: {{expect: {expect}}}}}")
    assert found.pointer == f"/cases/a/expect{at}"
    assert message in found.message
    assert hint is None or hint in (found.hint or "")


def test_a_file_beside_nothing(tmp_path: Path):
    (found,) = problems(tmp_path / "lonely.cases.yaml", "cases: {a: {}}")
    assert found.message == "there is no lonely.asl.json or .asl.yaml beside this file"


def test_all_problems_at_once_in_order(beside: Path):
    text = "cases:\n  a: {expct: 1}\n  b:\n    expect:\n      status: X\n      path: [No]\n"
    assert [found.line for found in problems(beside, text)] == [2, 5, 6]


# ------------------------------------------------------------------ small parts


@pytest.mark.parametrize(
    ("text", "instant_ms"),
    [
        ("1970-01-01", 0),
        ("2026-01-01T00:00:00Z", 1_767_225_600_000),
        ("2026-01-01T00:00:00.5Z", 1_767_225_600_500),
        ("2026-01-01T01:00+01:00", 1_767_225_600_000),
        (" 2026-01-01 00:00 ", 1_767_225_600_000),
    ],
)
def test_instants(text: str, instant_ms: int):
    assert read_instant_ms(text) == instant_ms


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "0001-01-01", "3000-01-01", "9999-12-31T23:59:59-12:00"])
def test_texts_that_are_no_instants(text: str):
    with pytest.raises(ValueError, match=r"instant|between the years"):
        read_instant_ms(text)


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(0, "0s"), (5, "5ms"), (1_500, "1.5s"), (60_000, "1m"), (60_005, "1m5ms"), (90_061_001, "1d1h1m1.001s")],
)
def test_durations_are_written_as_files_have_them(duration_ms: int, text: str):
    assert write_duration(duration_ms) == text


def test_the_documentation_is_right(tmp_path: Path):
    text = DOCUMENTATION.read_text()
    (machine,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "order.asl.json").write_text(machine)
    files = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert files
    for number, cases in enumerate(one for one in files if "broken.asl.json" not in one):
        path = tmp_path / f"{number}.cases.yaml"
        path.write_text(cases if "definition:" in cases else "definition: order.asl.json\n" + cases)
        for case in load_cases(path).cases:
            result = run_case(case)
            assert (case.name, result.problem, result.mismatches) == (case.name, None, [])
