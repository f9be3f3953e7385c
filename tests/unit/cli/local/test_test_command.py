"""`statewright test`: one line a case, what was not as expected, and the reports for machines."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import CASES, Run

FAILING = """\
definition: order.asl.json
input: {order: 7}
mocks:
  Reserve: {returns: {}}
  Chrage: {returns: 1}
cases:
  wrong:
    mocks: {Charge: {returns: {id: 1}}}
    expect:
      output: {order: 8, charge: {id: 1, more: [1]}}
      path: [Reserve, Charge, Sorry, Done]
      attempts: {Charge: 2}
      duration: {at_least: 2m}
      output_matches: "{% $states.input.order = 9 %}"
  unexpected end:
    mocks: {Charge: {throws: Broken}}
  no mock: {}
"""


def stripped(text: str) -> list[str]:
    """Lines with single blanks, and without real times."""
    return [re.sub(r"\s+", " ", re.sub(r"\d+ ms", "0 ms", line)).strip() for line in text.splitlines()]


def test_cases_that_pass(statewright: Run):
    result = statewright("test")
    assert result.code == 0
    assert result.err == ""
    assert stripped(result.out) == [
        "order.cases.yaml",
        "✓ passed second try 1 min 2 s virtual 0 ms",
        "✓ passed refused 0 s virtual 0 ms",
        "",
        "✓ 2 passed · 1 min 2 s of virtual time in 0 ms",
    ]


def test_cases_that_fail(statewright: Run, folder: Path):
    (folder / "order.cases.yaml").write_text(FAILING)
    result = statewright("test", "order.cases.yaml")
    assert result.code == 1
    lines = stripped(result.out)
    assert lines[:22] == [
        "order.cases.yaml",
        "✗ failed wrong 1 min virtual 0 ms",
        "output",
        "at $.order expected 8 got 7",
        "at $.charge.more expected [1] got nothing",
        'output_matches expected "{% $states.input.order = 9 %}" got false',
        "path - expected, + actual",
        "Reserve",
        "Charge",
        "- Sorry",
        "+ Pause",
        "Done",
        "attempts of Charge expected 2 got 1",
        "duration expected at least 2m got 1m",
        "✗ failed unexpected end 0 s virtual 0 ms",
        "status expected SUCCEEDED got FAILED",
        "the execution failed with Refused: The card was declined.",
        "✗ failed no mock 0 ms",
        "No mock for state 'Charge' (lambda:Charge): there is one for 'Chrage'; is it misspelt?",
        "! order.cases.yaml:5:3 WARNING there is no Task state 'Chrage' to mock; did you mean Charge?",
        "",
        "✓ 0 passed, ✗ 3 failed, 1 warning · 1 min of virtual time in 0 ms",
    ]


def test_one_case_by_pattern(statewright: Run):
    result = statewright("test", "--case", "sec*")
    assert (result.code, "second try" in result.out, "refused" in result.out) == (0, True, False)
    missing = statewright("test", "--case", "none")
    assert missing.code == 3
    assert "there are 'second try', 'refused'" in missing.err


def test_quiet(statewright: Run, folder: Path):
    assert len(statewright("test", "-q").out.splitlines()) == 2
    (folder / "failing.cases.yaml").write_text(FAILING)
    lines = stripped(statewright("test", "-q").out)
    assert "✗ failed wrong 1 min virtual 0 ms failing.cases.yaml" in lines
    assert not any("passed second try" in line for line in lines)


def test_unused_mocks_are_warned_about(statewright: Run, folder: Path):
    text = CASES.replace("  Reserve: {returns: {}}\n", "  Reserve: {returns: {}}\n  Done*: {returns: 1}\n", 1)
    (folder / "order.cases.yaml").write_text(text.replace("Charge: {throws", "Charge: {throws", 1))
    result = statewright("test")
    assert result.code == 0
    assert "the mock for Done* was not used" not in result.out  # it is said to name no state already
    assert "there is no Task state 'Done*' to mock" in result.out
    (folder / "order.cases.yaml").write_text(
        CASES.replace(
            "{Charge: {throws: Broken}}", '{Charge: {throws: Broken}, Reserve: {visits: {"3": {returns: 1}}}}'
        )
    )
    shown = statewright("test").out
    assert "WARNING the mock for Reserve (visit 3) was not used in case 'refused'" in shown
    common = CASES.replace(
        "  Reserve: {returns: {}}\n", '  Reserve: {returns: {}}\n  "resource:sqs:*": {returns: 1}\n', 1
    )
    (folder / "order.cases.yaml").write_text(common)
    assert "the mock for resource:sqs:* was not used by any case" in statewright("test").out
    assert "by any case" not in statewright("test", "--case", "refused").out


@pytest.mark.parametrize(
    ("paths", "code", "said"),
    [
        (("nope.cases.yaml",), 3, "There is no file 'nope.cases.yaml'"),
        (("empty",), 3, "There is no *.cases.yaml in empty or below."),
        (("other.asl.json",), 3, "There are no cases beside other.asl.json"),
        (("order.asl.json",), 0, ""),
        ((".", "order.asl.json", "order.cases.yaml"), 0, ""),
    ],
)
def test_paths(statewright: Run, folder: Path, paths: tuple[str, ...], code: int, said: str):
    (folder / "empty").mkdir()
    (folder / "other.asl.json").write_text("{}")
    result = statewright("test", *paths)
    assert result.code == code
    assert said in result.err
    if code == 0:
        assert "✓ 2 passed" in result.out


def test_files_with_mistakes(statewright: Run, folder: Path):
    (folder / "bad.cases.yaml").write_text("definition: order.asl.json\ncases:\n  a: {expct: {}}\n")
    result = statewright("test")
    assert result.code == 1
    assert "bad.cases.yaml:3:7 ERROR CASE_UNKNOWN_FIELD case 'a' has no field 'expct' (/cases/a/expct)" in result.out
    assert "✓ 2 passed, ✗ 1 file with errors" in result.out
    assert statewright("test", "-o", "json").json["problems"][0]["code"] == "CASE_UNKNOWN_FIELD"


def test_json(statewright: Run, folder: Path):
    (folder / "failing.cases.yaml").write_text(FAILING)
    result = statewright("test", "-o", "json")
    assert result.code == 1
    document = result.json
    assert (document["passed"], document["failed"], document["problems"]) == (2, 3, [])
    wrong = document["cases"][0]
    assert (wrong["file"], wrong["definition"], wrong["name"]) == ("failing.cases.yaml", "order.asl.json", "wrong")
    assert wrong["mismatches"][0]["differences"] == [
        {"at": "$.order", "wanted": 8, "got": 7},
        {"at": "$.charge.more", "wanted": [1], "got": None},
    ]
    assert document["cases"][2]["problem"].startswith("No mock for state 'Charge'")
    assert document["warnings"][0]["place"] == "failing.cases.yaml:5:3"


def test_junit(statewright: Run, folder: Path):
    (folder / "failing.cases.yaml").write_text(FAILING.replace("wrong:", '"<wrong> & \\u0007":'))
    (folder / "bad.cases.yaml").write_text("casse: 1")
    result = statewright("test", "-o", "junit")
    assert result.code == 1
    root = ElementTree.fromstring(result.out)
    assert root.attrib == {"tests": "6", "failures": "3", "errors": "1"}
    suites = {suite.attrib["name"]: suite for suite in root}
    assert set(suites) == {"bad.cases.yaml", "failing.cases.yaml", "order.cases.yaml"}
    first = suites["failing.cases.yaml"][0]
    assert first.attrib["name"] == "<wrong> & \\x07"
    assert "- Sorry" in (first[0].text or "")
    assert suites["order.cases.yaml"].attrib["failures"] == "0"


def test_where_a_timeout_struck(statewright: Run, folder: Path):
    (folder / "order.cases.yaml").write_text(
        "mocks: {Reserve: {returns: {}}, Charge: {hangs: true}}\ncases: {silent: {expect: {}}}\n"
    )
    assert "the execution timed out in Charge" in stripped(statewright("test").out)


def test_junit_has_the_error_and_its_cause(statewright: Run, folder: Path):
    (folder / "order.cases.yaml").write_text(
        "mocks: {Reserve: {throws: {error: Lost, cause: <gone>}}}\ncases: {lost: {expect: {}}}\n"
    )
    failure = ElementTree.fromstring(statewright("test", "-o", "junit").out)[0][0][0]
    assert "the execution failed with Lost: <gone>" in (failure.text or "")


def test_long_paths_are_shortened(statewright: Run, folder: Path):
    path = ", ".join(["Reserve", "Charge", "Pause"] + ["Done"] * 50)
    (folder / "order.cases.yaml").write_text(
        "input: {order: 7}\nmocks: {Reserve: {returns: {}}, Charge: {returns: 1}}\n"
        f"cases: {{long: {{expect: {{path: [{path}]}}}}}}\n"
    )
    lines = stripped(statewright("test").out)
    assert "… 1 as expected" in lines
    assert "… 22 more" in lines


def test_long_values_stand_below(statewright: Run, folder: Path):
    text = "x" * 300
    (folder / "order.cases.yaml").write_text(
        "input: {order: 7}\nmocks: {Reserve: {returns: {}}, Charge: {returns: 1}}\n"
        f"cases: {{long: {{expect: {{output: {text}}}}}}}\n"
    )
    lines = stripped(statewright("test").out)
    assert f'expected "{"x" * 198}…' in lines
    assert 'got {"order":7,"charge":1}' in lines
