"""Mock files of our own format: what they mean, and what is said about those that are wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json
from statewright.simulator.script import (
    Answer,
    Hung,
    Returned,
    Script,
    TaskCall,
    Threw,
    load_script,
    read_spans,
)

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "mocks.md"
INVOKE = "arn:aws:states:::lambda:invoke"
SEND = "arn:aws:states:::sqs:sendMessage"
CHARGE = "arn:aws:lambda:us-east-1:000000000000:function:Charge"


def mocks(text: str) -> Script:
    """The script of the indented mocks in `text`."""
    return load_script("mocks:\n" + text)


def problems(text: str) -> list[Diagnostic]:
    with pytest.raises(DefinitionError) as caught:
        load_script(text)
    return caught.value.diagnostics


def values(script: Script, calls: list[TaskCall]) -> list[Json]:
    """What each call gets: the value, the error's name, or ... for a task that hangs; None without an answer."""
    run = script.start()
    found: list[Json] = []
    for call in calls:
        answer = run.answer(call)
        match answer and answer.outcome:
            case None:
                found.append(None)
            case Returned(value):
                found.append(value)
            case Threw(error, _):
                found.append(error)
            case Hung():
                found.append(...)
    return found


def call(state: str = "A", resource: str = SEND, parameters: Json = None, **numbers: object) -> TaskCall:
    return TaskCall(state, resource, parameters, **numbers)  # type: ignore[arg-type]


# --- results --------------------------------------------------------------------------------------------------------


def test_a_state_gets_the_value_it_returns():
    answer = mocks("  A: {returns: {id: 1, list: [1.5, null]}}").start().answer(call())
    assert answer == Answer(0, Returned({"id": 1, "list": [1.5, None]}))


@pytest.mark.parametrize(
    ("throws", "error", "cause"),
    [
        ("Declined", "Declined", None),
        ("{error: Declined}", "Declined", None),
        ("{error: Declined, cause: no money}", "Declined", "no money"),
        ("{error: null, cause: who knows}", None, "who knows"),
        ("{error: E, cause: {errorMessage: ä, n: 1}}", "E", '{"errorMessage":"ä","n":1}'),
        ("{error: E, cause: 5}", "E", "5"),
    ],
)
def test_a_state_throws(throws, error, cause):
    answer = mocks(f"  A: {{throws: {throws}}}").start().answer(call())
    assert answer == Answer(0, Threw(error, cause))


def test_a_list_is_used_up_and_its_last_result_repeats():
    script = mocks(
        """
  A:
    - throws: Declined
      times: 2
    - returns: late
      delay: 1.5s
    - returns: {id: 1}
"""
    )
    assert values(script, [call()] * 6) == ["Declined", "Declined", "late", {"id": 1}, {"id": 1}, {"id": 1}]
    run = script.start()
    assert [answer.delay_ms for answer in (run.answer(call()) for _ in range(4)) if answer] == [0, 0, 1500, 0]


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("repeat", ["a", "b", "b", "b", "b", "b", "b"]),
        ("cycle", ["a", "b", "b", "a", "b", "b", "a"]),
        ("stop", ["a", "b", "b", None, None, None, None]),
    ],
)
def test_what_follows_a_list(then, expected):
    script = mocks(f"  A: [{{returns: a}}, {{returns: b, times: 2, then: {then}}}]")
    assert values(script, [call()] * 7) == expected


def test_a_run_keeps_its_own_counts():
    script = mocks("  A: [{returns: 1}, {returns: 2}]")
    one, two = script.start(), script.start()
    assert one.answer(call()) == Answer(0, Returned(1))
    assert one.answer(call()) == Answer(0, Returned(2))
    assert two.answer(call()) == Answer(0, Returned(1))


def test_delays_heartbeats_and_what_was_submitted():
    script = mocks(
        """
  A: {submitted: {JobId: J}, heartbeats: [500ms, 2], returns: done, delay: 1m, comment: a job}
  B: {hangs: true, heartbeats: [1h]}
"""
    )
    run = script.start()
    assert run.answer(call("A")) == Answer(60_000, Returned("done"), {"JobId": "J"}, (500, 2000))
    assert run.answer(call("B")) == Answer(0, Hung(), None, (3_600_000,))


# --- payloads of functions ------------------------------------------------------------------------------------------


def payload(resource: str, value: str = "{ü: 1}") -> Json:
    return values(mocks(f"  A: {{returns_payload: {value}}}"), [call("A", resource)])[0]


def test_a_payload_is_wrapped_as_lambda_invoke_does():
    result = payload(INVOKE)
    assert list(result) == ["ExecutedVersion", "Payload", "SdkHttpMetadata", "SdkResponseMetadata", "StatusCode"]
    assert (result["ExecutedVersion"], result["Payload"], result["StatusCode"]) == ("$LATEST", {"ü": 1}, 200)
    metadata = result["SdkHttpMetadata"]
    assert metadata["HttpStatusCode"] == 200
    assert metadata["HttpHeaders"]["Content-Length"] == "8"
    assert metadata["AllHttpHeaders"] == {name: [value] for name, value in metadata["HttpHeaders"].items()}
    assert result["SdkResponseMetadata"]["RequestId"] == metadata["HttpHeaders"]["x-amzn-RequestId"]


@pytest.mark.parametrize("resource", [CHARGE, f"{CHARGE}:live", f"{INVOKE}.waitForTaskToken", "${ChargeFunctionArn}"])
def test_a_payload_is_bare_where_the_function_answers_itself(resource):
    assert payload(resource) == {"ü": 1}


def test_a_payload_of_the_sdk_integration_is_text():
    result = payload("arn:aws:states:::aws-sdk:lambda:invoke")
    assert result == {"ExecutedVersion": "$LATEST", "Payload": '{"ü":1}', "StatusCode": 200}


def test_a_payload_for_what_is_no_function_is_a_mistake_in_the_mock():
    with pytest.raises(DefinitionError, match=r"use `returns`; in state 'A' \(sqs:sendMessage\)"):
        payload(SEND)


# --- iterations, attempts, visits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("3", [3], [2, 4]),
        ("0-2", [0, 1, 2], [3]),
        ("5+", [5, 10**6], [4]),
        (" 0 , 4-6 ,9+", [0, 4, 6, 9, 99], [1, 3, 7, 8]),
        ("7-7", [7], [6, 8]),
    ],
)
def test_spans(text, inside, outside):
    spans = read_spans(text)
    assert spans is not None
    assert [number for number in inside + outside if number in spans] == inside


@pytest.mark.parametrize("text", ["", ",", "-1", "1-", "a", "3-1", "1..2", "1 2", "٣", "1.5", "9" * 30, "1-2+"])
def test_what_is_no_span(text):
    assert read_spans(text) is None


def test_iterations():
    script = mocks(
        """
  A:
    iterations:
      default: {returns: ok}
      "3": {throws: Boom}
      "5-6,8": {hangs: true}
"""
    )
    calls = [call(iteration=(index,)) for index in (0, 3, 5, 7, 8)]
    assert values(script, calls) == ["ok", "Boom", ..., "ok", ...]
    assert values(script, [call()]) == ["ok"]


def test_nested_iterations_compare_the_innermost_indexes():
    script = mocks(
        """
  A:
    iterations:
      "1/4": {returns: exact}
      "2/*": {returns: outer}
      "*/0": {returns: first}
      "9": {returns: inner}
      default: {returns: rest}
"""
    )
    expected = {
        (1, 4): "exact",
        (2, 0): "outer",
        (2, 4): "outer",
        (0, 0): "first",
        (7, 1, 4): "exact",
        (1, 9): "inner",
        (9,): "inner",
        (4,): "rest",
        (4, 1): "rest",
    }
    assert values(script, [call(iteration=path) for path in expected]) == list(expected.values())


def test_attempts_and_visits_nest():
    script = mocks(
        """
  A:
    visits:
      "0": {returns: not ready}
      default:
        attempts:
          "0-1": {throws: Flaky}
          default: [{returns: 1}, {returns: 2}]
"""
    )
    calls = [call(visit=0, attempt=5)] + [call(visit=3, attempt=attempt) for attempt in (0, 1, 2, 3)]
    assert values(script, calls) == ["not ready", "Flaky", "Flaky", 1, 2]


def test_numbers_that_nobody_covers_go_to_the_next_mock():
    script = mocks('  A: {attempts: {"0": {throws: Boom}}}\n  "resource:sqs:*": {returns: ok}')
    assert values(script, [call(attempt=0), call(attempt=1)]) == ["Boom", "ok"]


def test_a_stopped_list_does_not_go_to_the_next_mock():
    script = mocks('  A: {returns: 1, then: stop}\n  "resource:sqs:*": {returns: ok}')
    assert values(script, [call(), call()]) == [1, None]


# --- expressions ----------------------------------------------------------------------------------------------------


def test_an_expression_sees_the_parameters_and_the_place():
    script = mocks(
        """
  A: {expression: "{% $sum($states.input.prices) %}"}
  B:
    expression: {state: "{% $states.context.State.Name %}", fixed: 1, at: ["{% $states.context.Map.Item.Index %}"]}
"""
    )
    calls = [call(parameters={"prices": [1, 2, 3]}), call("B", iteration=(4, 7))]
    assert values(script, calls) == [6, {"state": "B", "fixed": 1, "at": [7]}]


def test_an_expression_computes_a_payload():
    script = mocks('  A: {payload_expression: "{% $states.input.Payload.n + 1 %}"}')
    wrapped, bare = values(script, [call("A", INVOKE, {"Payload": {"n": 1}}), call("A", CHARGE, {"Payload": {"n": 2}})])
    assert wrapped["Payload"] == 2
    assert bare == 3


def test_chance_in_an_expression_is_the_same_in_every_run():
    script = mocks('  A: {expression: "{% $uuid() %}"}')
    calls = [call(), call(), call(attempt=1), call(iteration=(1,))]
    first, again = values(script, calls), values(script, calls)
    assert first == again
    assert first[0] == first[1]
    assert len(set(first)) == 3


def test_an_expression_that_fails_is_a_mistake_in_the_mock():
    run = mocks('  B: {returns: 1}\n  A: {expression: "{% $states.input.nothing %}"}').start()
    with pytest.raises(DefinitionError, match=r"returned nothing .*; in state 'A' \(sqs:sendMessage\)") as caught:
        run.answer(call(parameters={}))
    assert [(found.code, found.line) for found in caught.value.diagnostics] == [("MOCK_FAILED", 3)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('"{% 1 + %}"', "this is no JSONata"),
        ('"{% 1"', "begins with {% and ends with %}"),
        ('"1 %}"', "begins with {% and ends with %}"),
        ('"{%}"', "begins with {% and ends with %}"),
        ('"$states.input"', "no expression in 'expression'"),
        ("{a: 1}", "no expression in 'expression'"),
        ('"{% $total %}"', "there is no $total in a mock"),
        ('"{% $states.result %}"', "there is no $states.result in a mock"),
        ('{a: [{b: "{% ) %}"}]}', "this is no JSONata"),
    ],
)
def test_expressions_that_are_wrong(expression, message):
    (found,) = problems(f"mocks:\n  A: {{expression: {expression}}}")
    assert found.code == "MOCK_INVALID_EXPRESSION"
    assert message in found.message


# --- files that are wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "line", "hint_part"),
    [
        ("", "mocks is empty", 1, None),
        ("[]", "a mock file must be an object", 1, "start with `mocks:`"),
        ("mock: {A: {returns: 1}}", "a mock file has no field 'mock'", 1, "did you mean mocks?"),
        ("comment: x", "there is no `mocks` in this file", 1, "start with `mocks:`"),
        ("mocks: 5", "`mocks` must be an object", 1, "start with `mocks:`"),
        ('{"StateMachines": {}, "MockedResponses": {}}', "this is a MockConfigFile.json", 1, "--case"),
        ("mocks:\n  A: 5", "a result must be an object", 2, "write {returns: 5}"),
        ("mocks:\n  A: {id: 1}", "a result has no field 'id'", 2, "there are returns"),
        ("mocks:\n  A:\n    retrns: 1", "a result has no field 'retrns'", 3, "did you mean returns?"),
        ("mocks:\n  A: {Returns: 1}", "a result has no field 'Returns'", 2, "did you mean returns?"),
        ("mocks:\n  A: {returns: 1, wait: 5}", "a result has no field 'wait'", 2, "did you mean delay?"),
        ("mocks:\n  A: {error: E}", "a result has no field 'error'", 2, "did you mean throws?"),
        ("mocks:\n  A: {delay: 1s}", "this says nothing about the result", 2, "add one of returns"),
        ("mocks:\n  A: {}", "this says nothing about the result", 2, "add one of returns"),
        ("mocks:\n  A: []", "there are no results", 2, "add one"),
        ("mocks:\n  A: {returns: 1, hangs: true}", "a result is one of returns or hangs, not several", 2, None),
        ("mocks:\n  A: {returns: 1, delay: soon}", "'soon' is not a length of time", 2, None),
        ("mocks:\n  A: {returns: 1, delay: [1]}", "[1] is not a length of time", 2, None),
        ("mocks:\n  A: {returns: 1, times: 0}", "times: 0 is not a whole number from 1", 2, None),
        ("mocks:\n  A: {returns: 1, times: true}", "times: true is not a whole number from 1", 2, None),
        ("mocks:\n  A: {returns: 1, times: 1.5}", "times: 1.5 is not a whole number from 1", 2, None),
        ("mocks:\n  A: {hangs: false}", "hangs can only be true", 2, "leave it out"),
        ("mocks:\n  A: {hangs: true, delay: 1s}", "a task that hangs has no delay", 2, "never answers"),
        ("mocks:\n  A: {returns: 1, heartbeats: 5s}", "heartbeats must be a list", 2, None),
        ("mocks:\n  A: {returns: 1, heartbeats: [x]}", "'x' is not a length of time", 2, None),
        ("mocks:\n  A: {hangs: true, heartbeats: [2s, 1s]}", "each later than the one before", 2, None),
        ("mocks:\n  A: {returns: 1, delay: 5s, heartbeats: [1s, 5s]}", "would come after the answer", 2, "delay"),
        ("mocks:\n  A:\n  - {returns: 1, then: stop}\n  - {returns: 1}", "'then' belongs to the last result", 3, None),
        ("mocks:\n  A: {returns: 1, then: explode}", 'then: "explode" is none of repeat, cycle, stop', 2, None),
        ("mocks:\n  A: {throws: 5}", "'throws' must be an object", 2, "throws: Name"),
        ("mocks:\n  A: {throws: {}}", "'throws' has no error", 2, "throws: Name"),
        ("mocks:\n  A: {throws: {error: 5}}", "an error is a name", 2, None),
        ("mocks:\n  A: {throws: {error: E, Cause: c}}", "'throws' has no field 'Cause'", 2, "did you mean cause?"),
        ("mocks:\n  A: {attempts: {x: {returns: 1}}}", "'x' is no number of attempts", 2, "0-2"),
        ("mocks:\n  A: {iterations: {1/x: {returns: 1}}}", "'1/x' is no number of iterations", 2, "*/3"),
        ("mocks:\n  A: {iterations: {}}", "'iterations' is empty", 2, "numbers and results"),
        ("mocks:\n  A: {iterations: [1]}", "'iterations' must be an object", 2, "numbers and results"),
        (
            'mocks:\n  A: {iterations: {"0": {returns: 1}},\n      returns: 2}',
            "'returns' cannot stand beside 'iterations'",
            3,
            "`default`",
        ),
        (
            'mocks:\n  A: {visits: {"0": {visits: {"1": {returns: 1}}}}}',
            "'visits' inside 'visits'",
            2,
            "once is enough",
        ),
        ('mocks:\n  "resource:": {returns: 1}', "'resource:' names no resource", 2, None),
        ('mocks:\n  "state:": {returns: 1}', "'state:' names no state", 2, None),
        ('mocks:\n  "": {returns: 1}', "'' names no state", 2, None),
    ],
)
def test_what_is_wrong_with_a_file(text, message, line, hint_part):
    (found,) = problems(text)
    assert message in found.message
    assert found.line == line
    assert (found.hint is None) == (hint_part is None)
    assert hint_part is None or hint_part in str(found.hint)
    assert found.severity == "ERROR"


def test_all_problems_are_reported_with_their_places():
    found = problems(
        """
mocks:
  A: {retrns: 1}
  B:
    - returns: 1
      dealy: 1s
    - throws: {error: E, casue: c}
  C: {iterations: {"0": {times: -1, returns: 1}, x: {returns: 1}}}
"""
    )
    assert [(problem.pointer, problem.line, problem.column) for problem in found] == [
        ("/mocks/A/retrns", 3, 7),
        ("/mocks/B/0/dealy", 6, 7),
        ("/mocks/B/1/throws/casue", 7, 26),
        ("/mocks/C/iterations/0/times", 8, 26),
        ("/mocks/C/iterations/x", 8, 50),
    ]


def test_a_file_that_is_no_yaml_says_where():
    (found, *_) = problems("mocks:\n  A: {returns: ]\n")
    assert found.line == 2


# --- reading --------------------------------------------------------------------------------------------------------


def test_a_file_is_read_by_its_path(tmp_path):
    path = tmp_path / "mocks.json"
    path.write_text(json.dumps({"mocks": {"A": {"returns": "ä"}}}), encoding="utf-8")
    assert values(load_script(path), [call()]) == ["ä"]
    path.write_text("{", encoding="utf-8")
    with pytest.raises(DefinitionError):
        load_script(path)
    with pytest.raises(FileNotFoundError):
        load_script(tmp_path / "nowhere.yaml")
    (tmp_path / "empty.yaml").write_text(" \n", encoding="utf-8")
    with pytest.raises(DefinitionError, match=r"empty\.yaml is empty"):
        load_script(tmp_path / "empty.yaml")


def examples() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(examples())))
def test_the_examples_of_the_documentation_are_right(number):
    assert load_script(examples()[number]).rules


def test_the_documentation_shows_every_field():
    from statewright.simulator import script

    text = DOCUMENTATION.read_text(encoding="utf-8")
    fields = (*script._RESULT_FIELDS, *script._SPLITS, *script._ENDINGS)
    assert [field for field in fields if f"`{field}" not in text] == []
    assert [field for field in (*script._OUTCOMES, *script._SPLITS) if f"{field}:" not in "".join(examples())] == []
