"""The published mock format: what its test cases mean, and what is said about files that are wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json
from statewright.simulator.mock_config import MockConfig, load_mock_config, machine_name
from statewright.simulator.script import Answer, Returned, TaskCall, Threw

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "mocks.md"
ORDER_ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:Order"

SHOP = """
{
  "StateMachines": {
    "Order": {
      "TestCases": {
        "Happy": {"Charge": "Works", "Notify": "Sent"},
        "Patience": {"Charge": "WorksAtLast"},
        "Nothing": {}
      }
    },
    "Refund": {"TestCases": {}}
  },
  "MockedResponses": {
    "Works": {"0": {"Return": {"StatusCode": 200, "Payload": {"charge": "C-1"}}}},
    "Sent": {"0-2": {"Return": "any JSON"}, "4": {"Return": null}},
    "WorksAtLast": {
      "3": {"Return": [1, 2]},
      "1-2": {"Throw": {"Error": "Shop.Busy", "Cause": "later"}},
      "0": {"Throw": {"Error": "Shop.Closed", "Cause": "night"}}
    },
    "Never": {}
  }
}
"""


def call(state: str, **numbers: Any) -> TaskCall:
    return TaskCall(state, "arn:aws:states:::sqs:sendMessage", **numbers)


def answers(config: MockConfig, case: str, calls: list[TaskCall]) -> list[Answer | None]:
    run = config.script("Order", case).start()
    return [run.answer(asked) for asked in calls]


def problems(value: Json) -> list[Diagnostic]:
    with pytest.raises(DefinitionError) as caught:
        load_mock_config(value if isinstance(value, str) else json.dumps(value, indent=1))
    return caught.value.diagnostics


def test_machines_and_cases():
    config = load_mock_config(SHOP)
    assert config.machines() == ("Order", "Refund")
    assert config.cases("Order") == ("Happy", "Patience", "Nothing")
    assert config.cases("Refund") == ()


def test_responses_by_call_number_in_any_order_of_the_file():
    outcomes = [
        answer and answer.outcome for answer in answers(load_mock_config(SHOP), "Patience", [call("Charge")] * 5)
    ]
    busy = Threw("Shop.Busy", "later")
    assert outcomes == [Threw("Shop.Closed", "night"), busy, busy, Returned([1, 2]), None]


def test_a_state_counts_its_calls_across_retries_iterations_and_visits():
    calls = [
        call("Charge", iteration=(0,)),
        call("Charge", iteration=(0,), attempt=1),
        call("Charge", iteration=(1,)),
        call("Charge", visit=2),
    ]
    found = [answer and answer.outcome for answer in answers(load_mock_config(SHOP), "Patience", calls)]
    assert found[0] != found[1] == found[2]
    assert found[3] == Returned([1, 2])


def test_a_call_that_no_number_covers_has_no_answer():
    run = load_mock_config(SHOP).script("Order", "Happy").start()
    found = [run.answer(call("Notify")) for _ in range(4)]
    assert found == [Answer(0, Returned("any JSON"))] * 3 + [None]
    assert run.hint(call("Notify")).endswith("the one for Notify has given 3 answers and has none for this call.")


def test_a_whole_integration_result_is_returned_as_it_is():
    (answer,) = answers(load_mock_config(SHOP), "Happy", [call("Charge")])
    assert answer == Answer(0, Returned({"StatusCode": 200, "Payload": {"charge": "C-1"}}))


def test_an_empty_response_harms_nobody_until_it_is_needed():
    file = json.loads(SHOP)
    file["StateMachines"]["Order"]["TestCases"]["Never"] = {"Charge": "Never"}
    config = load_mock_config(json.dumps(file))
    run = config.script("Order", "Never").start()
    assert run.answer(call("Charge")) is None
    assert "has given no answer and has none for this call" in run.hint(call("Charge"))


def test_a_state_without_a_response_is_told_where_to_name_one():
    run = load_mock_config(SHOP, name="shop.json").script("Order", "Nothing").start()
    assert run.answer(call("Ship")) is None
    assert run.hint(call("Ship")) == (
        "No mock for state 'Ship' (sqs:sendMessage): "
        "name a response for it in test case 'Nothing' of 'Order' in shop.json."
    )


def test_responses_that_a_run_did_not_use_are_known():
    run = load_mock_config(SHOP).script("Order", "Happy").start()
    run.answer(call("Charge"))
    assert [(rule.label, rule.place[0]) for rule in run.unused()] == [("Notify", 15)]


@pytest.mark.parametrize(
    ("machine", "case", "message", "hint"),
    [
        ("Oder", "Happy", "there are no test cases for state machine 'Oder'", "did you mean Order?"),
        ("Zzz", "Happy", "there are no test cases for state machine 'Zzz'", "there are Order, Refund"),
        ("Order", "happy", "state machine 'Order' has no test case 'happy'", "did you mean Happy?"),
        ("Order", "Zzzzz", "state machine 'Order' has no test case 'Zzzzz'", "there are Happy, Patience, Nothing"),
        ("Refund", "Happy", "state machine 'Refund' has no test case 'Happy'", None),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(machine, case, message, hint):
    config = load_mock_config(SHOP)
    with pytest.raises(DefinitionError, match=message) as caught:
        config.script(machine, case)
    assert [found.hint for found in caught.value.diagnostics] == [hint]


def test_cases_of_an_unknown_machine():
    with pytest.raises(DefinitionError, match="no test cases for state machine 'X'"):
        load_mock_config(SHOP).cases("X")


@pytest.mark.parametrize("target", ["Order", ORDER_ARN, f"{ORDER_ARN}:7", f"{ORDER_ARN}:live"])
def test_the_name_of_a_machine(target):
    assert machine_name(target) == "Order"


def whole(machines: Json, responses: Json) -> Json:
    return {"StateMachines": machines, "MockedResponses": responses}


@pytest.mark.parametrize(
    ("value", "message", "pointer", "hint_part"),
    [
        ([], "a mock configuration must be an object", "", None),
        ({"StateMachines": {}}, "there is no MockedResponses", "", None),
        ({"MockedResponses": {}}, "there is no StateMachines", "", None),
        (
            {"StateMachines": {}, "MockedResponses": {}, "Mockedresponses": 1},
            "no field 'Mockedresponses'",
            "/Mockedresponses",
            "did you mean MockedResponses?",
        ),
        (whole(5, {}), "StateMachines must be an object", "/StateMachines", None),
        (whole({}, []), "MockedResponses must be an object", "/MockedResponses", None),
        (whole({"M": 5}, {}), "state machine 'M' must be an object", "/StateMachines/M", None),
        (whole({"M": {}}, {}), "state machine 'M' has no TestCases", "/StateMachines/M", None),
        (whole({"M": {"TestCases": []}}, {}), "TestCases must be an object", "/StateMachines/M/TestCases", None),
        (whole({"M": {"TestCases": {"C": 1}}}, {}), "test case 'C' must be", "/StateMachines/M/TestCases/C", None),
        (
            whole({"M": {"TestCases": {"C": {"A": {}}}}}, {}),
            "state 'A' must have the name of a mocked response",
            "/StateMachines/M/TestCases/C/A",
            None,
        ),
        (
            whole({"M": {"TestCases": {"C": {"A": "Wroks"}}}}, {"Works": {}}),
            "there is no mocked response 'Wroks'",
            "/StateMachines/M/TestCases/C/A",
            "did you mean Works?",
        ),
        (whole({}, {"R": []}), "mocked response 'R' must be an object", "/MockedResponses/R", "name calls"),
        (whole({}, {"R": {"first": {"Return": 1}}}), "'first' is neither", "/MockedResponses/R/first", "name calls"),
        (whole({}, {"R": {"2-1": {"Return": 1}}}), "'2-1' is neither", "/MockedResponses/R/2-1", "name calls"),
        (whole({}, {"R": {"1+": {"Return": 1}}}), "'1+' is neither", "/MockedResponses/R/1+", "name calls"),
        (whole({}, {"R": {"0,1": {"Return": 1}}}), "'0,1' is neither", "/MockedResponses/R/0,1", "name calls"),
        (
            whole({}, {"R": {"0-9999999": {"Return": 1}}}),
            "more than there can be",
            "/MockedResponses/R/0-9999999",
            None,
        ),
        (
            whole({}, {"R": {"0-2": {"Return": 1}, "2": {"Return": 1}}}),
            "call 2 is in '0-2' already",
            "/MockedResponses/R/2",
            "overlap",
        ),
        (whole({}, {"R": {"0": 5}}), "result must be an object", "/MockedResponses/R/0", "{Return: ...}"),
        (whole({}, {"R": {"0": {}}}), "a result has a Return or a Throw", "/MockedResponses/R/0", None),
        (
            whole({}, {"R": {"0": {"Return": 1, "Throw": {}}}}),
            "either Return or Throw, not both",
            "/MockedResponses/R/0",
            None,
        ),
        (whole({}, {"R": {"0": {"Throw": "E"}}}), "Throw must be an object", "/MockedResponses/R/0/Throw", '"Error"'),
        (whole({}, {"R": {"0": {"Throw": {"Error": "E"}}}}), "Throw needs Cause", "/MockedResponses/R/0/Throw", None),
        (
            whole({}, {"R": {"0": {"Throw": {"Error": 5, "Cause": "c"}}}}),
            "Throw needs Error, a text",
            "/MockedResponses/R/0/Throw/Error",
            None,
        ),
    ],
)
def test_what_is_wrong_with_a_file(value, message, pointer, hint_part):
    (found,) = problems(value)
    assert message in found.message
    assert found.pointer == pointer
    assert found.line > 0
    assert (found.hint is None) == (hint_part is None)
    assert hint_part is None or hint_part in str(found.hint)


def test_a_misspelt_result_is_one_problem_with_a_suggestion():
    found = problems(whole({}, {"R": {"0": {"Retrun": 1}}}))
    assert [problem.hint for problem in found] == ["did you mean Return?"]


def test_an_empty_throw_lacks_both_parts():
    found = problems(whole({}, {"R": {"0": {"Throw": {}}}}))
    assert [problem.message for problem in found] == ["Throw needs Error, a text", "Throw needs Cause, a text"]


def test_all_problems_are_reported_together():
    machines = {"M": {"TestCases": {"C": {"A": "Nope"}}}}
    found = problems(whole(machines, {"R": {"x": {"Return": 1}, "0": {}}}))
    assert len(found) == 3
    assert len({problem.line for problem in found}) == 3


def test_a_file_is_read_by_its_path(tmp_path):
    path = tmp_path / "MockConfigFile.json"
    path.write_text(SHOP, encoding="utf-8")
    config = load_mock_config(path)
    assert config.machines() == ("Order", "Refund")
    with pytest.raises(DefinitionError, match=re.escape(str(path))):
        config.cases("X")
    (found,) = problems("{")
    assert found.line == 1


def test_the_example_of_the_documentation_is_right():
    (example,) = re.findall(r"^```json\n(.*?)^```", DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    config = load_mock_config(example)
    outcomes = [answer and answer.outcome for answer in answers(config, "SecondTry", [call("Charge")] * 2)]
    assert outcomes[0] == Threw("Declined", "no money")
    assert isinstance(outcomes[1], Returned)
