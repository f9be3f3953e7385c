from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

POLLING = """\
QueryLanguage: JSONata
StartAt: Wait
States:
  Wait: {Type: Wait, Seconds: 1, Next: Look}
  Look:
    Type: Task
    Resource: arn:aws:states:::lambda:invoke
    Arguments: {FunctionName: look}
    Assign: {n: "{% $exists($n) ? $n + 1 : 1 %}"}
    Next: Done
  Done: {Type: Choice, Choices: [{Condition: "{% $n >= 300 %}", Next: End}], Default: Wait}
  End: {Type: Succeed}
"""


@pytest.fixture
def polling(tmp_path: Path) -> str:
    (tmp_path / "poll.asl.yaml").write_text(POLLING)
    (tmp_path / "mocks.yaml").write_text("mocks: {Look: {returns: {}}}\n")
    return "poll.asl.yaml"


def test_a_run_with_its_bill_and_what_would_be_cheaper(statewright: Run, polling: str):
    result = statewright("run", polling, "--mock", "mocks.yaml", "--cost", "--quiet")
    assert (result.code, result.out) == (0, "{}\n")
    assert "at the service's prices of 2024-11-01, us-east-1" in result.err
    assert "901 state transitions" in result.err
    assert "one Wait of 3 min first" in " ".join(result.err.split())


def test_the_bill_as_json(statewright: Run, polling: str):
    chosen = ("--prices", "us-east-1-2022-04", "-o", "json")
    cost = statewright("run", polling, "--mock", "mocks.yaml", *chosen).json["cost"]
    assert cost["prices"]["date"] == "2022-04-01"
    assert cost["lines"][0] == {
        "service": "Step Functions", "item": "states.transitions", "quantity": 901, "usd": 0.022525,
    }  # fmt: skip
    assert cost["usd"] == pytest.approx(0.022525 + 300 * 0.2 / 1e6, abs=1e-6)
    assert len(cost["hints"]) == 1


def test_no_bill_unless_it_is_asked_for(statewright: Run, polling: str):
    assert "cost" not in statewright("run", polling, "--mock", "mocks.yaml", "-o", "json").json


def test_express_pays_for_time(statewright: Run, polling: str):
    cost = statewright("run", polling, "--mock", "mocks.yaml", "--type", "EXPRESS", "--cost", "-o", "json").json["cost"]
    assert [line["item"] for line in cost["lines"][:2]] == ["states.express_requests", "states.express_gb_seconds"]


def test_prices_that_are_not_there(statewright: Run, polling: str):
    result = statewright("run", polling, "--mock", "mocks.yaml", "--prices", "mars")
    assert (result.code, "there is no price table 'mars'" in result.err) == (2, True)
