"""Verdicts: what may not pass as "nothing changes", and what comes from the clock or from chance and is no change."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.simulator.judging import Judgement
from statewright.simulator.mocks import Returned
from statewright.simulator.replay import Mock
from tests.unit.simulator.test_replay import judged, kinds, machine

SEND = "arn:aws:states:::sqs:sendMessage"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:a"
LIST = "[1..60].{'id': $uuid(), 'n': %s}"


def task(resource: str, **more: Any) -> Any:
    return machine({"T": {"Type": "Task", "Resource": resource, "End": True, **more}})


def written(output: str, **more: Any) -> dict[str, Any]:
    return {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {output} %}}", "End": True, **more}


def words(found: Judgement) -> list[str]:
    return [change.words for change in found.changes]


# ------------------------------------------------------------------ calls


@pytest.mark.parametrize("now", [SEND + ".waitForTaskToken", FUNCTION + "f", ACTIVITY, "arn:aws:states:::sns:publish"])
@pytest.mark.parametrize("answer", [{"returns": 1}, {"throws": "Busy"}])
def test_the_answer_of_one_integration_is_none_for_another(now, answer):
    found = judged(task(SEND), task(now), {"T": answer})
    assert (found.verdict, kinds(found)) == ("changed", ["answer"])
    assert found.missing is not None
    assert found.missing.why.startswith("The recorded execution called sqs:sendMessage here, and now this is ")
    mocked = judged(task(SEND), task(now), {"T": {"returns": 1}}, Mock("T", Returned(1)))
    assert (mocked.verdict, mocked.missing) == ("same", None)


def test_another_function_is_a_change_although_its_recorded_answer_is_used():
    found = judged(task(FUNCTION + "a"), task(FUNCTION + "b"), {"T": {"returns": 1}})
    assert found.missing is None
    assert words(found) == [f"T calls {FUNCTION}b; recorded: {FUNCTION}a. Its recorded answer is used all the same."]


def test_another_role_is_a_change():
    now = task(SEND, Credentials={"RoleArn": "arn:aws:iam::123456789012:role/other"})
    found = judged(task(SEND), now, {"T": {"returns": 1}})
    assert (kinds(found), words(found)[0][:47]) == (["arguments"], "The role of T is arn:aws:iam::123456789012:role")
    assert judged(now, now, {"T": {"returns": 1}}).verdict == "same"


# ------------------------------------------------------------------ branches and items


def test_fewer_or_more_items_are_a_change_although_their_results_are_not_used():
    send = {"Type": "Task", "Resource": SEND, "End": True}

    def over(path: str) -> Any:
        processor = {"StartAt": "I", "States": {"I": send}}
        each = {"Type": "Map", "ItemsPath": path, "ItemProcessor": processor, "ResultPath": None, "End": True}
        return machine({"M": each})

    given = {"all": [1, 2, 3], "some": [1], "none": []}
    for path, number in (("$.some", "1 item"), ("$.none", "no items")):
        found = judged(over("$.all"), over(path), {"I": {"returns": 1}}, given=given)
        assert (kinds(found), words(found)) == (["path"], [f"M has {number} here; recorded: 3 items."])


@pytest.mark.parametrize(("before", "after"), [(3, 2), (1, 2)])
def test_fewer_or_more_branches_are_a_change(before, after):
    def branches(number: int) -> Any:
        each = [{"StartAt": f"B{n}", "States": {f"B{n}": {"Type": "Pass", "End": True}}} for n in range(number)]
        return machine({"P": {"Type": "Parallel", "Branches": each, "ResultPath": None, "End": True}})

    found = judged(branches(before), branches(after), {})
    assert (found.verdict, kinds(found)) == ("changed", ["path"])


def test_a_distributed_map_over_items_of_a_variable_is_the_same_only_with_the_same_items():
    def over(items: list[int], unused: int) -> Any:
        processor = {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}},
        }  # fmt: skip
        start = {"Type": "Pass", "Assign": {"items": items, "unused": unused, "by": len(items)}, "Next": "M"}
        selected = {"n": "{% $states.context.Map.Item.Value + $by %}"}
        each = {
            "Type": "Map", "Items": "{% $items %}", "ItemSelector": selected, "ItemProcessor": processor, "End": True,
        }  # fmt: skip
        return machine({"V": start, "M": each}, QueryLanguage="JSONata")

    own = over([1, 2], 1)
    assert judged(own, over([1, 2], 2), {}).verdict == "same"
    found = judged(own, over([1, 2, 3], 1), {})
    assert (found.verdict, kinds(found)) == ("changed", ["answer"])
    assert found.missing is not None
    assert found.missing.why.endswith("this Map has other items or settings now.")


# ------------------------------------------------------------------ chance and the clock


@pytest.mark.parametrize("now", ["{'id': 'fixed'}", "{}", "{'id': $uuid(), 'more': 1}"])
def test_a_drawn_value_that_is_not_drawn_any_more_is_a_change(now):
    own = machine({"A": written("{'id': $uuid()}")})
    found = judged(own, machine({"A": written(now)}), {})
    assert (found.verdict, kinds(found)) == ("changed", ["output"])


def test_other_draws_before_a_list_of_drawn_values_hide_no_change_in_it_and_are_none():
    def made(numbers: str, *, is_later: bool) -> Any:
        drawn = "{% $uuid() & $uuid() %}" if is_later else "{% $uuid() %}"
        draws = {"Type": "Pass", "QueryLanguage": "JSONata", "Assign": {"drawn": drawn}, "Next": "B"}
        return machine({"A": draws, "B": written(LIST % numbers)})

    own = made("$", is_later=False)
    assert judged(own, made("$", is_later=True), {}).verdict == "same"
    found = judged(own, made("($ = 60 ? 0 : $)", is_later=True), {})
    assert words(found) == ["Its output has another value at $[59].n."]


def test_a_longer_wait_before_the_clock_is_read_is_no_change():
    def waiting(seconds: int, extra: int) -> Any:
        wait = {"Type": "Wait", "Seconds": seconds, "Next": "A"}
        return machine({"W": wait, "A": written(f"{{'at': $millis(), 'n': {extra}}}")})

    assert judged(waiting(5, 1), waiting(6, 1), {}).verdict == "same"
    assert words(judged(waiting(5, 1), waiting(6, 2), {})) == ["Its output has another value at $.n."]


def test_drawn_arguments_are_no_change_and_others_are():
    def sent(body: str) -> Any:
        return task(SEND, QueryLanguage="JSONata", Arguments={"QueueUrl": "q", "MessageBody": f"{{% {body} %}}"})

    own = sent("{'id': $uuid(), 'n': 1}")
    assert judged(own, own, {"T": {"returns": 1}}).verdict == "same"
    found = judged(own, sent("{'n': 1, 'id': $string($random()) & $uuid()}"), {"T": {"returns": 1}})
    assert found.verdict == "same"
    found = judged(own, sent("{'id': 'fixed', 'n': 1}"), {"T": {"returns": 1}})
    assert [change.difference.where for change in found.changes if change.difference] == ["$.MessageBody.id"]
