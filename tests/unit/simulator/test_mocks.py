"""Which mock answers a call, and what is said when none does."""

from __future__ import annotations

import re

import pytest

from statewright.simulator.mocks import Hung, Result, Returned, Rule, Script, TaskCall, Threw
from tests.unit.simulator.test_script import CHARGE, INVOKE, SEND, call, mocks, values

# --- which mock is for a call ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "resource", "parameters"),
    [
        ("sqs:sendMessage", SEND, None),
        ("sqs:sendMessage", f"{SEND}.waitForTaskToken", None),
        ("sqs:sendMessage.waitForTaskToken", f"{SEND}.waitForTaskToken", None),
        ("sqs:*", SEND, None),
        ("*", SEND, None),
        ("*:send*age", SEND, None),
        (SEND, SEND, None),
        ("arn:aws:states:::sqs:*", SEND, None),
        ("states:startExecution", "arn:aws:states:::states:startExecution.sync:2", None),
        ("states:startExecution.sync:2", "arn:aws:states:::states:startExecution.sync:2", None),
        ("aws-sdk:s3:getObject", "arn:aws:states:::aws-sdk:s3:getObject", None),
        ("activity:Approve", "arn:aws:states:us-east-1:000000000000:activity:Approve", None),
        ("lambda:Charge", CHARGE, None),
        ("lambda:Charge", f"{CHARGE}:live", None),
        ("lambda:Charge:live", f"{CHARGE}:live", None),
        (CHARGE, CHARGE, None),
        ("lambda:Charge", INVOKE, {"FunctionName": "Charge"}),
        ("lambda:Charge", INVOKE, {"FunctionName": "Charge:7"}),
        ("lambda:Charge", INVOKE, {"FunctionName": "000000000000:function:Charge"}),
        ("lambda:Charge", INVOKE, {"FunctionName": f"{CHARGE}:live"}),
        ("lambda:Charge:live", INVOKE, {"FunctionName": f"{CHARGE}:live"}),
        (CHARGE, INVOKE, {"FunctionName": CHARGE}),
        ("lambda:invoke", INVOKE, {"FunctionName": "Charge"}),
        ("lambda:invoke", INVOKE, {"FunctionName": 5}),
        ("lambda:invoke", f"{INVOKE}.waitForTaskToken", {"FunctionName": "Charge"}),
        ("lambda:*", INVOKE, None),
    ],
)
def test_names_of_resources(key, resource, parameters):
    script = mocks(f'  "resource:{key}": {{returns: yes}}')
    assert values(script, [call("A", resource, parameters)]) == ["yes"]


@pytest.mark.parametrize(
    ("key", "resource", "parameters"),
    [
        ("sqs:sendmessage", SEND, None),
        ("sqs:sendMessage.waitForTaskToken", SEND, None),
        ("sqs", SEND, None),
        ("*Message*x", SEND, None),
        ("sqs:sendMessage*sendMessage", SEND, None),
        ("*a*b*c", SEND, None),
        ("lambda:invoke", CHARGE, None),
        ("lambda:Charge:live", CHARGE, None),
        ("lambda:Charge", INVOKE, {"FunctionName": "Discharge"}),
        ("lambda:Charge", INVOKE, None),
        ("Charge", INVOKE, {"FunctionName": "Charge"}),
        ("aws-sdk:s3:getObject", "arn:aws:states:::aws-sdk:s3:putObject", None),
    ],
)
def test_names_that_are_not_of_the_resource(key, resource, parameters):
    script = mocks(f'  "resource:{key}": {{returns: yes}}')
    assert values(script, [call("A", resource, parameters)]) == [None]


def test_the_closest_mock_answers_wherever_it_stands_in_the_file():
    script = mocks(
        f"""
  "resource:*": {{returns: any resource}}
  "resource:lambda:invoke": {{returns: any function}}
  "resource:lambda:Charge": {{returns: the function}}
  "resource:lambda:Charge:live": {{returns: its alias}}
  {CHARGE}: {{returns: its ARN}}
  "Pay*": {{returns: a pattern of states}}
  Pay: {{returns: the state}}
"""
    )
    calls = [
        call("Pay", INVOKE, {"FunctionName": CHARGE}),
        call("PayLater", INVOKE, {"FunctionName": CHARGE}),
        call("X", INVOKE, {"FunctionName": CHARGE}),
        call("X", INVOKE, {"FunctionName": "Charge:live"}),
        call("X", INVOKE, {"FunctionName": "Charge:dead"}),
        call("X", INVOKE, {"FunctionName": "Other"}),
        call("X", SEND),
    ]
    assert values(script, calls) == [
        "the state",
        "a pattern of states",
        "its ARN",
        "its alias",
        "the function",
        "any function",
        "any resource",
    ]


def test_among_equals_the_first_in_the_file_wins():
    script = mocks('  "B*": {returns: first}\n  "*B": {returns: second}\n  "*A": {returns: third}')
    assert values(script, [call("BB"), call("AB"), call("BA")]) == ["first", "second", "first"]


def test_a_prefix_names_states_that_look_like_resources():
    script = mocks('  "state:resource:x": {returns: 1}\n  "state:A": {returns: 2}\n  "sqs:sendMessage": {returns: 3}')
    assert values(script, [call("resource:x"), call("A"), call("B"), call("sqs:sendMessage")]) == [1, 2, None, 3]


# --- hints, and mocks that nobody used ------------------------------------------------------------------------------


def hint(text: str, missing: TaskCall, before: int = 0) -> str:
    run = mocks(text).start()
    for _ in range(before):
        assert run.answer(missing) is not None
    assert run.answer(missing) is None
    return run.hint(missing)


def test_a_hint_names_the_task_and_gives_an_example():
    assert hint("  B: {returns: 1}", call("Ship", iteration=(1, 2), attempt=3, visit=4)) == (
        "No mock for state 'Ship' (sqs:sendMessage, iteration 1/2, attempt 3, visit 4): "
        "add one under `mocks`, for example `Ship: {returns: {}}`."
    )
    assert hint("  Q: {returns: 1}", call("Ship", INVOKE)).endswith("for example `Ship: {returns_payload: {}}`.")
    assert hint("  Q: {returns: 1}", call("Ship", CHARGE)).endswith("for example `Ship: {returns_payload: {}}`.")
    assert hint("  Q: {returns: 1}", call("resource:A")).endswith('for example `"state:resource:A": {returns: {}}`.')


@pytest.mark.parametrize(
    "example", ["Ship", "resource:A", "state:A", "Two words", "a: b", "#1", "*", "- x", "5", "true"]
)
def test_the_example_of_a_hint_works(example):
    said = Script().start().hint(call(example))
    written = re.search("for example `(.*)`\\.$", said)
    assert written is not None
    assert values(mocks("  " + written[1]), [call(example)]) == [{}]


def test_a_hint_notices_a_misspelt_state_or_resource():
    assert hint("  Chrage: {returns: 1}", call("Charge")).endswith(": there is one for 'Chrage'; is it misspelt?")
    said = hint('  "resource:sqs:sendmessage": {returns: 1}', call("Notify"))
    assert said.endswith(": there is one for 'resource:sqs:sendmessage'; is it misspelt?")


def test_a_hint_says_which_numbers_are_covered():
    said = hint(
        '  A: {iterations: {"3": {attempts: {"0-1": {returns: 1}}}, "5/*": {returns: 1}}}', call(iteration=(4,))
    )
    assert said == (
        "No mock for state 'A' (sqs:sendMessage, iteration 4): there is only A (iteration 3, attempt 0-1), "
        "A (iteration 5/*); a `default` beside it would cover the rest."
    )
    many = ", ".join(f'"{index}": {{returns: 1}}' for index in range(10))
    assert "(visit 0), A (visit 1), A (visit 2), ...;" in hint(f"  A: {{visits: {{{many}}}}}", call(visit=99))


def test_a_hint_says_that_a_list_has_stopped():
    said = hint("  A: {returns: 1, times: 2, then: stop}", call(), before=2)
    assert said == (
        "No mock for state 'A' (sqs:sendMessage): the one for A has given 2 answers and has none for this call."
    )
    assert "has given 1 answer and" in hint("  A: {returns: 1, then: stop}", call(), before=1)


def test_unused_mocks_are_known():
    script = mocks('  A: {attempts: {"0": {returns: 1}, default: {returns: 2}}}\n  B: {returns: 3}')
    run = script.start()
    assert [rule.label for rule in run.unused()] == ["A (attempt 0)", "A", "B"]
    run.answer(call())
    run.answer(call("C"))
    assert [(rule.label, rule.place[0]) for rule in run.unused()] == [("A", 2), ("B", 3)]


def test_states_that_the_machine_does_not_have():
    script = mocks(
        """
  Charge: {iterations: {"1": {returns: 1}, default: {returns: 1}}}
  Chrage: {iterations: {"1": {returns: 1}, default: {returns: 1}}}
  "Ch*": {returns: 1}
  "Zz*": {returns: 1}
  "sqs:sendMessage": {returns: 1}
  "resource:nobody:calls": {returns: 1}
"""
    )
    found = script.unknown_states(["Charge", "Notify"])
    assert [(warning.message, warning.hint, warning.line) for warning in found] == [
        ("there is no Task state 'Chrage' to mock", "did you mean Charge?", 4),
        ("there is no Task state 'Zz*' to mock", None, 6),
        ("there is no Task state 'sqs:sendMessage' to mock", "for a resource write resource:sqs:sendMessage", 7),
    ]
    assert {warning.severity for warning in found} == {"WARNING"}


# --- rules without a file ---------------------------------------------------------------------------------------------


def test_rules_can_be_made_without_a_file():
    def double(asked: TaskCall) -> Returned:
        return Returned(asked.parameters * 2)

    script = Script((Rule((Result(Threw("E", None), times=2), Result(double)), state="A"),))
    assert values(script, [call(parameters=4)] * 3) == ["E", "E", 8]


@pytest.mark.parametrize("arguments", [{"results": ()}, {}, {"state": "A", "resource": "B"}])
def test_a_rule_needs_results_and_one_target(arguments):
    with pytest.raises(ValueError, match="a rule needs"):
        Rule(**{"results": (Result(Hung()),), **arguments})
