"""Polls as loops of Task, Choice and Wait: they ask as often, end the same, and end when they should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.functions.workers.models import Model
from statewright.virtual import VirtualSystem
from tests.unit.export.exporting import INVOKE, POLL, Json, exported, kinds, ran

STATUS = {"Variable": "$.Payload.status", "StringEquals": "DONE"}


def jsonpath(plan: Json, **more: Any) -> Json:
    plan = {
        "Resource": INVOKE,
        "Parameters": {"FunctionName": "look", "Payload": {"job.$": "$.job", "literal": "{% no %}", "deep": [1, {}]}},
        "Until": STATUS,
        **plan,
    }
    state = {"Type": "Task", "Resource": POLL, "Parameters": plan, **more}
    return {"StartAt": "Poll", "States": {"Poll": {**state, "End": True}}}


def jsonata(plan: Json, **more: Any) -> Json:
    plan = {
        "Resource": INVOKE,
        "Parameters": {"FunctionName": "look", "Payload": {"job": "{% $states.input.job %}", "deep": [1, {}]}},
        "Until": "$states.result.Payload.status = 'DONE' and $exists($states.result.Payload.asked)",
        **plan,
    }
    state = {"Type": "Task", "Resource": POLL, "Arguments": plan, **more}
    return {"QueryLanguage": "JSONata", "StartAt": "Poll", "States": {"Poll": {**state, "End": True}}}


class Job:
    """Is done at the given call, or fails at one; remembers what it was asked, and when."""

    def __init__(self, done_at: int = 4, fails_at: tuple[int, ...] = (), lasts: float = 0) -> None:
        self.done_at, self.fails_at, self.lasts = done_at, fails_at, lasts
        self.asked: list[Any] = []
        self.at: list[float] = []

    def prepare(self, system: VirtualSystem) -> None:
        began_ms = system.now_ms

        def answer(event: Any) -> Any:
            self.at.append((system.now_ms - began_ms) / 1000)
            self.asked.append(event)
            if len(self.asked) in self.fails_at:
                raise RuntimeError("not now")
            return {"status": "DONE" if len(self.asked) >= self.done_at else "RUNNING", "asked": len(self.asked)}

        system.model("look", Model(duration=self.lasts, answer=answer))


def both(definition: Json, **job: Any) -> tuple[tuple[Json, Job], tuple[Json, Job]]:
    """One run of the definition and one of its export, each with a job of its own."""
    found = []
    for one in (definition, exported(definition).definition):
        asked = Job(**job)
        found.append((ran(one, [{"job": 7}], prepare=asked.prepare)[0], asked))
    return found[0], found[1]


def payload(end: Json) -> Any:
    """The output without what is different in each answer of a function."""
    text = json.dumps({key: end.get(key) for key in ("status", "output", "error")})
    found = json.loads(text)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(member) for key, member in value.items() if not key.startswith("Sdk")}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(found)


@pytest.mark.parametrize("written", [jsonpath, jsonata])
@pytest.mark.parametrize(
    ("plan", "pauses"),
    [
        ({}, [1, 1, 1]),
        ({"IntervalSeconds": 10}, [10, 10, 10]),
        ({"IntervalSeconds": 2, "BackoffRate": 3}, [2, 6, 18]),
        ({"IntervalSeconds": 0.5, "BackoffRate": 1.5}, [0.5, 0.75, 1.125]),
        ({"IntervalSeconds": 2, "BackoffRate": 3, "MaxIntervalSeconds": 7}, [2, 6, 7]),
        ({"IntervalSeconds": 20, "MaxIntervalSeconds": 7}, [7, 7, 7]),
        ({"MaxAttempts": 4}, [1, 1, 1]),
    ],
)
def test_the_same_calls_at_the_same_times(written: Any, plan: Json, pauses: list[float]):
    (native, first), (portable, second) = both(written(plan, TimeoutSeconds=100))
    assert payload(portable) == payload(native)
    assert portable["output"]["Payload"] == {"status": "DONE", "asked": 4}
    assert second.asked == first.asked
    assert [round(b - a, 3) for a, b in zip(second.at, second.at[1:], strict=False)] == pauses
    assert second.at == first.at


@pytest.mark.parametrize("written", [jsonpath, jsonata])
def test_too_many_attempts(written: Any):
    (native, first), (portable, second) = both(written({"MaxAttempts": 3}))
    assert (portable["status"], portable["error"]) == ("FAILED", "Statewright.MaxAttemptsExceeded")
    assert payload(portable) == payload(native)
    assert len(second.asked) == len(first.asked) == 3


@pytest.mark.parametrize("written", [jsonpath, jsonata])
@pytest.mark.parametrize(("lasts", "seconds"), [(0, 25), (40, 25)], ids=["between two calls", "in a call"])
def test_a_deadline(written: Any, lasts: float, seconds: float):
    caught = {"ErrorEquals": ["States.Timeout"], "Next": "Late"}
    definition = written({"IntervalSeconds": 10}, TimeoutSeconds=25, Catch=[caught])
    definition["States"]["Late"] = {"Type": "Pass", "End": True}
    (native, first), (portable, second) = both(definition, done_at=99, lasts=lasts)
    assert (native["status"], portable["status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert (native["seconds"], portable["seconds"]) == (seconds, seconds)
    assert len(second.asked) == len(first.asked)


def test_a_deadline_from_the_input():
    definition = jsonpath({"IntervalSeconds": 10}, TimeoutSecondsPath="$.job")
    portable = ran(exported(definition).definition, [{"job": 12}], prepare=Job(99).prepare)[0]
    assert (portable["error"], portable["seconds"]) == ("Statewright.Timeout", 12)


@pytest.mark.parametrize("written", [jsonpath, jsonata])
def test_a_call_that_fails_ends_the_poll_and_retry_begins_it_anew(written: Any):
    retry = [{"ErrorEquals": ["RuntimeError"], "IntervalSeconds": 5, "MaxAttempts": 1}]
    (native, first), (portable, second) = both(written({}, Retry=retry), fails_at=(2,))
    assert payload(portable) == payload(native)
    assert second.at == first.at == [0, 1, 6, 7]
    (native, _), (portable, _) = both(written({}, Retry=retry), fails_at=(2, 3))
    assert portable["error"] == native["error"] == "RuntimeError"
    assert portable["cause"] == native["cause"]


FIELDS: list[Json] = [
    {"ResultPath": "$.status"},
    {"ResultPath": None},
    {"ResultSelector": {"is.$": "$.Payload.status"}},
    {"ResultSelector": {"is.$": "$.Payload.status"}, "ResultPath": "$.found", "OutputPath": "$.found.is"},
    {"ResultSelector": {"is.$": "$.Payload.status"}, "ResultPath": "$.found", "Assign": {"n.$": "$.Payload.asked"}},
    {"Assign": {"n.$": "$.Payload.asked"}, "ResultPath": None},
    {"InputPath": "$", "OutputPath": "$.Payload", "Assign": {"n.$": "$.Payload.asked"}},
]


@pytest.mark.parametrize("fields", FIELDS)
def test_what_becomes_of_the_answer_in_json_path(fields: Json):
    definition = jsonpath({}, **fields)
    if "Assign" in fields:
        poll = {**definition["States"]["Poll"], "Next": "After"}
        del poll["End"]
        after = {"Type": "Pass", "Parameters": {"n.$": "$n", "input.$": "$"}, "End": True}
        definition["States"] = {"Poll": poll, "After": after}
    (native, _), (portable, _) = both(definition)
    assert native["status"] == "SUCCEEDED"
    assert payload(portable) == payload(native)


def test_what_becomes_of_the_answer_in_jsonata():
    output = {"is": "{% $states.result.Payload.status %}", "job": "{% $states . result.Payload.asked %}", "l": [1]}
    definition = jsonata({}, Output=output, Assign={"n": "{% [$states.result.Payload.asked] %}"})
    (native, _), (portable, _) = both(definition)
    assert portable["output"] == native["output"] == {"is": "DONE", "job": 4, "l": [1]}


def test_numbers_and_parameters_from_the_input():
    plan = {"IntervalSeconds.$": "$.job", "Parameters.$": 'States.StringToJson(\'{"FunctionName":"look"}\')'}
    definition = jsonpath(plan)
    del definition["States"]["Poll"]["Parameters"]["Parameters"]
    (native, first), (portable, second) = both(definition)
    assert payload(portable) == payload(native)
    assert second.at == first.at == [0, 7, 14, 21]


def test_a_json_path_machine_with_a_jsonata_state():
    definition = jsonata({})
    definition["QueryLanguage"] = "JSONPath"
    definition["States"]["Poll"]["QueryLanguage"] = "JSONata"
    (native, _), (portable, _) = both(definition)
    assert payload(portable) == payload(native)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (jsonpath({"Resource.$": "$.r", "Resource": None}), "Resource"),
        (jsonata({"Until": STATUS}), "write it as a JSONata expression"),
        (jsonata({"Until": ["no"]}), "Until"),
        ({"StartAt": "Poll", "States": {"Poll": {"Type": "Task", "Resource": POLL, "End": True}}}, "not an object"),
        (jsonpath({}, Credentials={"RoleArn.$": "$.role"}), "Credentials"),
    ],
)
def test_what_cannot_be_rewritten(definition: Json, said: str):
    from statewright.asl.reader import read_document
    from statewright.export.portable import export

    made = export(read_document(json.dumps(definition)))
    assert kinds(made) == [("cannot", "Poll")]
    assert said in made.notes[0].message
    assert made.definition == definition
