"""Semaphores in plain Amazon States Language, beside what they stand for: both run on a whole system."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from statewright.export.portable import export
from statewright.export.semaphores import cleanup
from statewright.functions.workers.models import Model
from statewright.virtual import VirtualSystem
from tests.unit.export.exporting import (
    ACQUIRE,
    RELEASE,
    TABLE,
    Json,
    errors,
    exported,
    kinds,
    lock_table,
    machine,
    most_at_once,
    permits,
    ran,
    start,
    stays,
)
from tests.unit.virtual.building import entered

WORK = {"Type": "Wait", "Seconds": 60}


def jsonpath(limit: int = 1, **more: Any) -> Json:
    """Enter, work for a minute, leave; `more` is for the state that enters."""
    return {
        "StartAt": "Enter",
        "States": {
            "Enter": {
                "Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "door", "Limit": limit, "Key.$": "$.key"},
                "ResultPath": "$.permit", "Next": "Work", **more,
            },
            "Work": {**WORK, "Next": "Leave"},
            "Leave": {
                "Type": "Task", "Resource": RELEASE, "Parameters": {"Name": "door", "Key.$": "$.key"},
                "ResultPath": "$.back", "End": True,
            },
        },
    }  # fmt: skip


def jsonata(limit: int = 1, **more: Any) -> Json:
    return {
        "QueryLanguage": "JSONata",
        "StartAt": "Enter",
        "States": {
            "Enter": {
                "Type": "Task", "Resource": ACQUIRE,
                "Arguments": {"Name": "door", "Limit": limit, "Key": "{% $states.input.key %}"},
                "Assign": {"permit": "{% $states.result.Permit %}"},
                "Output": {"key": "{% $states.input.key %}", "permit": "{% $states.result %}"}, "Next": "Work", **more,
            },
            "Work": {**WORK, "Next": "Leave"},
            "Leave": {
                "Type": "Task", "Resource": RELEASE,
                "Arguments": {"Name": "door", "Key": "{% $states.input.key %}", "Permit": "{% $permit %}"},
                "Output": "{% $merge([$states.input, {'back': $states.result}]) %}", "End": True,
            },
        },
    }  # fmt: skip


def shown(end: Json) -> Json:
    """An end without what differs: whose permit it is, and how long it took."""
    output = end.get("output")
    if isinstance(output, dict) and "permit" in output:
        output = {**output, "permit": {**output["permit"], "Permit": None, "WaitedSeconds": None}}
    return {"status": end["status"], "output": output, "error": end.get("error")}


@pytest.mark.parametrize("written", [jsonpath, jsonata])
@pytest.mark.parametrize(("limit", "keys"), [(1, "aaaa"), (2, "aaaaa"), (1, "abab")])
def test_never_more_inside_than_may_be(written: Any, limit: int, keys: str):
    definition = written(limit)
    inputs = [{"key": key} for key in keys]
    native, portable = ran(definition, inputs), ran(exported(definition).definition, inputs)
    assert [shown(end) for end in portable] == [shown(end) for end in native]
    for key in set(keys):
        chosen = [end for end, given in zip(portable, inputs, strict=True) if given["key"] == key]
        assert most_at_once(stays(chosen, "Work")) == limit
    # One more pause for each that had to wait.
    last = max(end["seconds"] for end in native)
    assert last <= max(end["seconds"] for end in portable) <= last + 5 * len(keys)


def test_a_wait_that_is_too_long_is_caught_as_before():
    more: Json = {
        "TimeoutSeconds": 33,
        "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 5}],
        "Catch": [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.error", "Next": "Sorry"}],
    }
    definition = jsonpath(**more)
    definition["States"]["Sorry"] = {"Type": "Pass", "Parameters": {"late": True}, "End": True}
    made = exported(definition)
    native, portable = (ran(one, [{"key": "a"}] * 2) for one in (definition, made.definition))
    assert sorted(end["seconds"] for end in native) == [33, 60]
    assert sorted(end["seconds"] for end in portable) == [33, 60]
    for ends in (native, portable):
        assert sorted(json.dumps(end["output"].get("late")) for end in ends) == ["null", "true"]


def test_a_wait_that_is_too_long_and_not_caught():
    (first, second) = sorted(
        ran(exported(jsonata(TimeoutSeconds="{% 30 + 1 %}")).definition, [{"key": "a"}] * 2),
        key=lambda end: end["seconds"],
    )
    assert (first["status"], first["error"], first["seconds"]) == ("FAILED", "Statewright.Timeout", 31)
    assert second["status"] == "SUCCEEDED"


def test_who_fails_gives_everything_back():
    """The machine fails, or ends, with permits in its hand: the next one comes in."""
    definition: Json = {
        "StartAt": "First",
        "States": {
            "First": {
                "Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "door", "Limit": 1}, "ResultPath": None,
                "Next": "Second",
            },
            "Second": {
                "Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "gate", "Limit": 1}, "ResultPath": None,
                "Next": "Work",
            },
            "Work": {**WORK, "Next": "How"},
            "How": {
                "Type": "Choice", "Choices": [{"Variable": "$.fails", "BooleanEquals": True, "Next": "Broken"}],
                "Default": "Done",
            },
            "Broken": {"Type": "Fail", "Error": "Broken", "Cause": "as it was asked to"},
            "Done": {"Type": "Succeed"},
        },
    }  # fmt: skip
    inputs = [{"fails": True}, {"fails": False}, {"fails": True}]
    native, portable = ran(definition, inputs), ran(exported(definition).definition, inputs)
    assert [shown(end) for end in portable] == [shown(end) for end in native]
    assert [end.get("cause") for end in portable] == [end.get("cause") for end in native]
    assert most_at_once(stays(portable, "Work")) == 1


@pytest.mark.parametrize("rows", [0, 250], ids=["alone", "among many"])
def test_every_permit_of_every_semaphore_is_given_back(rows: int):
    """Two permits each of two semaphores, in a table of several pages."""
    states: Json = {
        f"{name}{number}": {
            "Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": name, "Limit": 2}, "ResultPath": None,
        }
        for name in ("door", "gate") for number in (1, 2)
    }  # fmt: skip
    names = [*states, "Broken"]
    for name, following in pairwise(names):
        states[name]["Next"] = following
    states["Broken"] = {"Type": "Fail", "Error": "Broken"}

    def prepare(system: VirtualSystem) -> None:
        for number in range(rows):
            row = {"LockName": {"S": f"other{number}"}, "Held": {"N": "0"}}
            system.call("dynamodb", "PutItem", {"TableName": TABLE, "Item": row})

    made = exported({"StartAt": "door1", "States": states})
    end = ran(made.definition, [{}], prepare=prepare)[0]
    assert (end["error"], end["cause"]) == ("Broken", "")
    looked = [one for one in entered(end["history"]) if one == "Machine: look for permits"]
    assert len(looked) == (3 if rows else 1)


def test_a_release_of_what_never_was():
    definition = jsonpath()
    alone = {"StartAt": "Leave", "States": {"Leave": definition["States"]["Leave"]}}
    for one in (alone, exported(alone).definition):
        assert ran(one, [{"key": "a"}])[0]["output"]["back"] == {"Name": "door", "Key": "a", "Released": False}


def test_several_permits_of_one_execution():
    """Iterations of one Map compete with each other; each gives back its own."""
    enter = {"Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "door", "Limit": 2}, "ResultPath": "$.permit"}
    leave = {
        "Type": "Task", "Resource": RELEASE, "Parameters": {"Name": "door", "Permit.$": "$.permit.Permit"},
        "ResultSelector": {"was.$": "$.Released"}, "End": True,
    }  # fmt: skip
    inner = {
        "StartAt": "Enter",
        "States": {"Enter": {**enter, "Next": "Work"}, "Work": {**WORK, "Next": "Leave"}, "Leave": leave},
    }
    definition = {"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemProcessor": inner, "End": True}}}
    items: Any = [{"n": n} for n in range(5)]
    native, portable = (ran(one, [items])[0] for one in (definition, exported(definition).definition))
    assert native["output"] == portable["output"] == [{"was": True}] * 5
    assert 180 <= portable["seconds"] <= 200


def test_a_repeated_release_is_told():
    definition = jsonpath()
    again = {**definition["States"]["Leave"], "ResultPath": "$.again"}
    definition["States"]["Leave"] = {**definition["States"]["Leave"], "Next": "Again"}
    definition["States"]["Leave"].pop("End")
    definition["States"]["Again"] = again
    for one in (definition, exported(definition).definition):
        output = ran(one, [{"key": "a"}])[0]["output"]
        assert (output["back"]["Released"], output["again"]["Released"]) == (True, False)


def test_a_permit_that_is_taken_though_the_answer_was_lost_is_not_taken_twice():
    """The call is repeated after its write: the execution looks and finds that it has the permit."""
    made = exported(jsonpath())
    text = json.dumps(made.definition)
    # The same write again, as after an answer that never came.
    states = json.loads(text)["States"]["Machine: all of it"]["Branches"][0]["States"]
    branch = states["Enter"]["Branches"][0]["States"]
    branch["Enter: take once more"] = {**branch["Enter: take"]}
    branch["Enter: take"] = {**branch["Enter: take"], "Next": "Enter: take once more"}
    definition = json.loads(text)
    definition["States"]["Machine: all of it"]["Branches"][0]["States"] = states
    end = ran(definition, [{"key": "a"}])[0]
    assert (end["status"], end["seconds"]) == ("SUCCEEDED", 60)


def test_a_machine_with_a_limit():
    definition = {"StartAt": "Work", "States": {"Work": {**WORK, "End": True}}}
    made = exported(definition, max_concurrent=2, wait_seconds=1)
    ends = ran(made.definition, [{"n": n} for n in range(6)])
    assert [(end["status"], end["output"]) for end in ends] == [("SUCCEEDED", {"n": n}) for n in range(6)]
    assert most_at_once(stays(ends, "Work")) == 2
    assert max(end["seconds"] for end in ends) <= 190
    assert kinds(made)[0] == ("rewritten", None)


@pytest.mark.parametrize(("rate", "gap"), [(0.1, 10), (2, 0.5)])
@pytest.mark.parametrize("limit", [None, 3])
def test_a_machine_with_a_rate(rate: float, gap: float, limit: int | None):
    definition = {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": 1, "End": True}}}
    made = exported(definition, per_second=rate, max_concurrent=limit, wait_seconds=1)
    ends = ran(made.definition, [{"n": n} for n in range(6)])
    assert [(end["status"], end["output"]) for end in ends] == [("SUCCEEDED", {"n": n}) for n in range(6)]
    begun = [begin for begin, _end in stays(ends, "Work")]
    gaps = [after - before for before, after in pairwise(begun)]
    if limit is None:
        assert gaps == pytest.approx([gap] * 5)
    assert min(gaps) >= gap - 0.001
    assert made.notes[-1 if limit is None else 1].kind == "rewritten"


def test_a_rate_after_a_pause():
    definition = {"StartAt": "Work", "States": {"Work": {"Type": "Pass", "End": True}}}
    made = exported(definition, per_second=0.1)
    with VirtualSystem() as system:
        lock_table(system)
        arn = machine(system, made.definition)
        for name in ("a", "b"):
            began_ms = system.now_ms
            start(system, arn, name)
            system.run_until_idle()
            assert system.now_ms == began_ms
            system.advance(60)


def test_children_of_a_distributed_map_have_permits_of_their_own():
    inner = {**jsonpath(), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    states = {**inner["States"]}
    states["Leave"] = {"Type": "Fail", "Error": "Broken"}
    inner["States"] = states
    definition = {
        "StartAt": "Each",
        "States": {"Each": {"Type": "Map", "ItemProcessor": inner, "ToleratedFailurePercentage": 100, "End": True}},
    }
    items: Any = [{"key": "a"}] * 3
    end = ran(exported(definition).definition, [items])[0]
    assert end["status"] == "SUCCEEDED"
    assert 180 <= end["seconds"] <= 200


@pytest.mark.parametrize("how", ["stopped", "timed out"])
def test_the_cleanup_gives_back_what_a_stopped_execution_held(how: str):
    assert errors(cleanup(TABLE)) == []
    definition = jsonpath()
    definition["States"]["Work"] = {**WORK, "Seconds": 3600, "Next": "Leave"}
    definition["TimeoutSeconds"] = 1000
    with VirtualSystem() as system:
        lock_table(system)
        arn, cleaning = machine(system, exported(definition).definition), machine(system, cleanup(TABLE), "cleanup")
        pattern = {
            "source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"],
            "detail": {"stateMachineArn": [arn], "status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"]},
        }  # fmt: skip
        system.call("events", "PutRule", {"Name": "ended", "EventPattern": json.dumps(pattern)})
        target = {"Id": "1", "Arn": cleaning, "RoleArn": "arn:aws:iam::000000000000:role/tests"}
        system.call("events", "PutTargets", {"Rule": "ended", "Targets": [target]})
        first = start(system, arn, "first", {"key": "a"})
        start(system, arn, "other", {"key": "b"})
        system.advance(1)
        assert permits(system) == {"door#a": 1, "door#b": 1}
        if how == "stopped":
            system.call("states", "StopExecution", {"executionArn": first})
        else:
            system.advance(1001)
        system.advance(10)
        assert permits(system) == ({"door#b": 1} if how == "stopped" else {})


def test_without_the_cleanup_a_stopped_execution_keeps_its_permit():
    """What the notes say, so that nobody takes the second machine for an ornament."""
    made = exported(jsonpath())
    assert any(note.kind == "differs" and "--cleanup" in note.message for note in made.notes)
    with VirtualSystem() as system:
        lock_table(system)
        arn = machine(system, made.definition)
        first = start(system, arn, "first", {"key": "a"})
        system.advance(1)
        system.call("states", "StopExecution", {"executionArn": first})
        system.advance(100)
        assert permits(system) == {"door#a": 1}


def test_express_executions_hold_nothing():
    from statewright.asl.reader import read_document

    made = export(read_document(json.dumps(jsonpath())), express=True)
    assert kinds(made) == [("cannot", "Enter"), ("cannot", "Leave")]
    assert made.definition == jsonpath()
    assert not made.is_whole


def test_a_failed_step_in_between_still_ends_with_its_own_error():
    definition = jsonpath()
    definition["States"]["Work"] = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "work"},
        "ResultPath": None, "Next": "Leave",
    }  # fmt: skip

    def prepare(system: VirtualSystem) -> None:
        system.model("work", Model(duration=1, failure_rate=1, error="Out.Of.Order"))

    native, portable = (
        ran(one, [{"key": "a"}], prepare=prepare)[0] for one in (definition, exported(definition).definition)
    )
    assert (portable["status"], portable["error"]) == (native["status"], native["error"]) == ("FAILED", "Out.Of.Order")
