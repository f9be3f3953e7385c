"""Why a value is what it is: chains over histories that the simulator made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import pytest

from statewright.asl.compile import compile_definition
from statewright.console.analysis import why
from statewright.console.analysis.replays import Shown
from statewright.console.analysis.visited import History
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import dump_json
from statewright.settings.server import ConsoleSettings
from statewright.simulator.judging import story_of
from statewright.simulator.mocks import Result, Returned, Rule, Script, Threw
from statewright.simulator.simulate import Simulation, make_identity

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Here:
    """Runs errands in this process, and counts them."""

    def __init__(self) -> None:
        self.errands = 0

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        self.errands += 1
        return work(*arguments)


class Ran:
    """One run of a machine, whose tasks answer as `answers` says by their states."""

    def __init__(
        self, definition: dict[str, Any], given: Any, settings: ConsoleSettings | None = None, **answers: Any
    ) -> None:
        rules = tuple(Rule([Result(answer)], state=state) for state, answer in answers.items())
        program = compile_definition(definition)
        self.history: list[HistoryEvent] = Simulation(Script(rules)).run(program, given).history
        self.definition, self.settings = definition, settings or ConsoleSettings()
        self.visits = list(story_of(program, make_identity(), self.history).visits())
        self.here = Here()

    def why(self, name: str, path: str, where: str = "output") -> Any:
        """The chain of a value at the last visit of a state."""
        text, identity = dump_json(self.definition), make_identity()
        shown = Shown(self.settings, self.history)
        walk = why.Walk(self.here, self.visits, History(self.history), text, identity, shown)
        visit = next(visit for visit in reversed(self.visits) if visit.name == name)
        return asyncio.run(walk.chain(visit, where, path))

    def way(self, name: str, path: str, where: str = "output") -> tuple[list[str], str]:
        """The places of a chain, and the kind of its end."""
        found = self.why(name, path, where)
        return [f"{one['state']}.{one['where']}{one['path']}" for one in found["links"]], found["end"]["kind"]


def fields(link: Any) -> list[tuple[str, str | None]]:
    return [(one["field"], one["expression"]) for one in link["fields"]]


def chain(*states: tuple[str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """States one after the other."""
    following = [name for name, _ in states[1:]]
    found = {}
    for number, (name, state) in enumerate(states):
        target = {"Next": following[number]} if number < len(following) else {"End": True}
        found[name] = {**state, **(target if state["Type"] not in ("Choice", "Succeed") else {})}
    return {"StartAt": states[0][0], "States": found, **fields}


def passing(**fields: Any) -> dict[str, Any]:
    return {"Type": "Pass", **fields}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": FUNCTION, **fields}


# ------------------------------------------------------------------ JSONPath


def test_a_value_that_passes_unchanged_is_from_the_executions_input():
    wait = {"Type": "Wait", "Seconds": 1}
    ran = Ran(chain(("A", passing()), ("B", wait), ("C", passing())), {"order": {"id": "o-1"}})
    assert ran.way("C", "/order/id") == (
        ["C.output/order/id", "B.output/order/id", "A.output/order/id", "A.input/order/id"],
        "start",
    )
    found = ran.why("C", "/order/id")
    assert (found["end"]["path"], found["end"]["event"]) == ("/order/id", 1)
    assert {one["value"] for one in found["links"]} == {'"o-1"'}
    assert [one["how"] for one in found["links"]] == ["input", "input", "input", "start"]


def test_paths_of_fields_are_followed_exactly():
    inner = passing(InputPath="$.order", OutputPath="$.at[1]")
    ran = Ran(chain(("A", inner), ("B", passing())), {"order": {"at": [{"x": 1}, {"x": 2}]}})
    found = ran.why("B", "/x")
    assert [(one["state"], one["path"], fields(one)) for one in found["links"]] == [
        ("B", "/x", []),
        ("A", "/x", [("OutputPath", "$.at[1]"), ("InputPath", "$.order")]),
        ("A", "/order/at/1/x", []),
    ]
    nothing = Ran(chain(("A", passing(InputPath=None))), {"x": 1})
    assert nothing.way("A", "") == (["A.output"], "literal")


def test_result_path_parts_the_result_from_the_input():
    ran = Ran(chain(("A", task(ResultPath="$.a.got")), ("B", passing())), {"a": {"old": 1}}, A=Returned({"n": 7}))
    found = ran.why("B", "/a/got/n")
    assert fields(found["links"][-1]) == [("ResultPath", "$.a.got")]
    assert (found["end"]["kind"], found["end"]["resource"], found["end"]["path"]) == ("result", FUNCTION, "/n")
    assert ran.history[found["end"]["event"] - 1].type == "LambdaFunctionSucceeded"
    assert ran.way("B", "/a/old") == (["B.output/a/old", "A.output/a/old", "A.input/a/old"], "start")
    assert ran.way("B", "/a")[1] == "parts"
    kept = Ran(chain(("A", task(ResultPath=None))), {"a": 1}, A=Returned(2))
    assert kept.way("A", "/a") == (["A.output/a", "A.input/a"], "start")


def test_templates_are_followed_by_their_members():
    selector = {"id.$": "$.body.id", "fixed": {"n": [1, 2]}, "made.$": "States.Format('{}-{}', $.body.id, $.body.n)"}
    parameters = {"deep": {"order.$": "$.got.id"}, "made.$": "$.got.made", "fixed.$": "$.got.fixed"}
    states = chain(("A", task(ResultSelector=selector, ResultPath="$.got")), ("B", passing(Parameters=parameters)))
    ran = Ran(states, {}, A=Returned({"body": {"id": "x", "n": 3}}))
    assert ran.way("B", "/deep/order") == (["B.output/deep/order", "A.output/got/id"], "result")
    first, second = ran.why("B", "/deep/order")["links"]
    assert fields(first) == [("Parameters", "$.got.id")]
    assert fields(second) == [("ResultPath", "$.got"), ("ResultSelector", "$.body.id")]
    assert ran.way("B", "/fixed/n/1") == (["B.output/fixed/n/1", "A.output/got/fixed/n/1"], "literal")
    made = ran.why("B", "/made")["end"]
    assert (made["kind"], made["expression"]) == ("computed", selector["made.$"])
    assert ran.way("B", "/deep")[1] == "parts"
    written = Ran(chain(("A", passing(Result={"a": 1}, ResultPath="$.r"))), {})
    assert written.way("A", "/r/a") == (["A.output/r/a"], "literal")


def test_what_an_intrinsic_read_is_shown():
    made = passing(Parameters={"sum.$": "States.MathAdd($.a, $.b.c)", "text.$": "States.Format('$.a {}', $.b.c)"})
    ran = Ran(chain(("A", made)), {"a": 1, "b": {"c": 2}})
    reads = ran.why("A", "/sum")["end"]["reads"]
    assert [(one["expression"], one["value"], one["where"], one["path"]) for one in reads] == [
        ("$.a", "1", "input", "/a"),
        ("$.b.c", "2", "input", "/b/c"),
    ]
    assert [one["expression"] for one in ran.why("A", "/text")["end"]["reads"]] == ["$.b.c"]


def test_paths_that_visit_several_values_are_not_followed():
    ran = Ran(chain(("A", passing(Parameters={"all.$": "$.items[*].n", "last.$": "$.items[-1].n"}))),
              {"items": [{"n": 1}, {"n": 2}]})  # fmt: skip
    assert ran.way("A", "/all/0") == (["A.output/all/0"], "computed")
    assert ran.way("A", "/last") == (["A.output/last"], "computed")


def test_variables_lead_to_the_state_that_assigned_them():
    states = chain(
        ("A", task(Assign={"kept.$": "$.body", "fixed": 5}, ResultPath=None)),
        ("B", passing(Assign={"kept": {"id.$": "$kept.id"}})),
        ("C", passing(Parameters={"id.$": "$kept.id", "fixed.$": "$fixed", "given.$": "$$.Execution.Input.x"})),
    )
    ran = Ran(states, {"x": [9]}, A=Returned({"body": {"id": "b-1"}}))
    assert ran.way("C", "/id") == (["C.output/id", "B.assigned/kept/id", "A.assigned/kept/id"], "result")
    assert ran.way("C", "/fixed") == (["C.output/fixed", "A.assigned/fixed"], "literal")
    found = ran.why("C", "/given/0")["end"]
    assert (found["kind"], found["path"]) == ("start", "/x/0")


def test_items_are_followed_out_of_their_map_and_into_it():
    inner = {"StartAt": "Each", "States": {"Each": passing(End=True)}}
    selector = {"id.$": "$$.Map.Item.Value.id", "shop.$": "$.shop", "at.$": "$$.Map.Item.Index"}
    each = {"Type": "Map", "InputPath": "$.given", "ItemsPath": "$.orders", "ItemSelector": selector,
            "ItemProcessor": inner, "ResultPath": "$.done"}  # fmt: skip
    given = {"given": {"orders": [{"id": "a"}, {"id": "b"}], "shop": "s"}}
    ran = Ran(chain(("M", each), ("Z", passing())), given)
    assert ran.way("Z", "/done/1/id") == (
        ["Z.output/done/1/id", "M.output/done/1/id", "Each.output/id", "Each.input/id", "M.input/given/orders/1/id"],
        "start",
    )
    hows = [one["how"] for one in ran.why("Z", "/done/1/id")["links"]]
    assert hows == ["input", "inside", "input", "item", "start"]
    assert ran.way("Z", "/done/0/shop")[0][-1] == "M.input/given/shop"
    assert ran.way("Z", "/done/0/at")[1] == "context"
    assert ran.way("Z", "/done")[1] == "parts"
    plain = Ran(chain(("M", {"Type": "Map", "ItemProcessor": inner})), ["x", "y"])
    assert plain.way("M", "/1") == (["M.output/1", "Each.output", "Each.input", "M.input/1"], "start")


def test_branches_are_followed_out_of_their_parallel_and_into_it():
    branches = [chain(("L", passing())), chain(("R", task()))]
    ran = Ran(chain(("P", {"Type": "Parallel", "Parameters": {"n.$": "$.order.n"}, "Branches": branches})),
              {"order": {"n": 3}}, R=Returned({"r": 1}))  # fmt: skip
    assert ran.way("P", "/0/n") == (["P.output/0/n", "L.output/n", "L.input/n", "P.input/order/n"], "start")
    assert ran.way("P", "/1/r") == (["P.output/1/r", "R.output/r"], "result")


def test_an_error_that_was_caught_is_an_end():
    rules = [{"ErrorEquals": ["Busy"], "Next": "Z", "ResultPath": "$.busy"},
             {"ErrorEquals": ["States.ALL"], "Next": "Z", "ResultPath": "$.problem"}]  # fmt: skip
    states = chain(("A", task(Catch=rules)), ("Z", passing()))
    ran = Ran(states, {"n": 1}, A=Threw("Declined", "no money"))
    found = ran.why("Z", "/problem/Error")
    assert (found["end"]["kind"], found["links"][-1]["value"]) == ("error", '"Declined"')
    assert fields(found["links"][-1]) == [("Catch", None), ("ResultPath", "$.problem")]
    # Both rules go to Z: which one took it is found by a trial.
    assert ran.here.errands == 1
    assert ran.way("Z", "/n") == (["Z.output/n", "A.output/n", "A.input/n"], "start")


def test_the_catch_of_a_parallel_assigns_not_the_state_that_failed_inside():
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Z", "Assign": {"seen.$": "$.Error"}}]
    branch = {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "E", "Cause": "c"}}}
    states = chain(("P", {"Type": "Parallel", "Branches": [branch], "Catch": catch}),
                   ("Z", passing(Parameters={"seen.$": "$seen"})))  # fmt: skip
    ran = Ran(states, {})
    assert ran.way("Z", "/seen") == (["Z.output/seen", "P.assigned/seen"], "error")
    by_name, history = {visit.name: visit for visit in ran.visits}, History(ran.history)
    assert history.assigned(by_name["F"]) == {}
    assert history.variables(by_name["Z"])["seen"].state == "P"


# ------------------------------------------------------------------ JSONata


def jsonata(*states: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return chain(*states, QueryLanguage="JSONata")


def test_jsonata_paths_are_followed():
    call = task(
        Arguments={"id": "{% $states.input.id %}"},
        Output={"got": "{% $states.result.body.`the id` %}", "id": "{% $states.input.id %}", "n": 4,
                "sum": "{% $sum($states.input.list) + $base %}"},
        Assign={"kept": "{% $states.result.body %}"},
    )  # fmt: skip
    states = jsonata(("A", passing(Assign={"base": 10})), ("B", call), ("C", passing(Output={
        "x": "{% $kept.`the id` %}", "rest": "{% $states.input %}", "name": "{% $states.context.Execution.Input.id %}",
    })))  # fmt: skip
    ran = Ran(states, {"id": "i-1", "list": [1, 2]}, B=Returned({"body": {"the id": "t"}}))
    assert ran.way("C", "/x") == (["C.output/x", "B.assigned/kept/the id"], "result")
    assert ran.way("C", "/rest/got") == (["C.output/rest/got", "B.output/got"], "result")
    assert ran.way("C", "/rest/id") == (["C.output/rest/id", "B.output/id", "A.output/id", "A.input/id"], "start")
    assert ran.way("C", "/rest/n") == (["C.output/rest/n", "B.output/n"], "literal")
    assert ran.way("C", "/name") == (["C.output/name"], "start")
    computed = ran.why("C", "/rest/sum")["end"]
    assert computed["kind"] == "computed"
    assert [(one["expression"], one["state"], one["where"], one["path"]) for one in computed["reads"]] == [
        ("$states.input.list", "B", "input", "/list"),
        ("$base", "A", "assigned", "/base"),
    ]


def test_a_jsonata_path_over_a_list_is_computed():
    ran = Ran(jsonata(("A", passing(Output={"ids": "{% $states.input.items.id %}"}))),
              {"items": [{"id": 1}, {"id": 2}]})  # fmt: skip
    found = ran.why("A", "/ids/1")["end"]
    assert (found["kind"], found["expression"]) == ("computed", "{% $states.input.items.id %}")


def test_jsonata_items_choices_and_errors():
    inner = {"StartAt": "Each", "States": {"Each": passing(
        Output={"v": "{% $states.context.Map.Item.Value.v %}", "w": "{% $states.input.w %}"}, End=True)}}  # fmt: skip
    each = {"Type": "Map", "Items": "{% $states.input.items %}", "ItemProcessor": inner,
            "ItemSelector": {"w": "{% $states.context.Map.Item.Value.w %}"}}  # fmt: skip
    ran = Ran(jsonata(("M", each)), {"items": [{"v": 1, "w": 2}]})
    assert ran.way("M", "/0/v") == (["M.output/0/v", "Each.output/v", "M.input/items/0/v"], "start")
    assert ran.way("M", "/0/w") == (
        ["M.output/0/w", "Each.output/w", "Each.input/w", "M.input/items/0/w"], "start",
    )  # fmt: skip
    large = {"Condition": "{% $states.input.n > 5 %}", "Next": "Z", "Output": {"n": "large"}}
    small = {"Condition": "{% $states.input.n > 1 %}", "Next": "Z", "Output": {"n": "{% $states.input.n %}"}}
    choice = Ran(
        jsonata(("C", {"Type": "Choice", "Choices": [large, small], "Default": "Z"}), ("Z", passing())), {"n": 3}
    )
    assert choice.way("Z", "/n") == (["Z.output/n", "C.output/n", "C.input/n"], "start")
    assert choice.here.errands == 1
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Z", "Output": {"why": "{% $states.errorOutput.Cause %}"}}]
    failed = Ran(jsonata(("A", task(Catch=catch)), ("Z", passing())), {}, A=Threw("E", "because"))
    assert failed.way("Z", "/why") == (["Z.output/why", "A.output/why"], "error")


# ------------------------------------------------------------------ bounds


def test_a_claim_that_the_history_contradicts_is_not_made():
    ran = Ran(chain(("A", passing()), ("B", passing())), {"x": 1})
    events = [
        HistoryEvent(one.id, one.previous_id, one.at_ms, one.type, {**(one.details or {}), "input": '{"x":2}'})
        if one.type == "PassStateEntered" and (one.details or {}).get("name") == "B"
        else one
        for one in ran.history
    ]
    ran.history = events
    found = ran.why("B", "/x")
    assert found["end"]["kind"] == "unknown"
    assert found["end"]["reason"] == "The history does not hold the same value at the place that the definition names."
    assert [one["state"] for one in found["links"]] == ["B"]


def test_values_and_what_was_read_are_redacted():
    made = passing(Parameters={"token.$": "$.user.password", "text.$": "States.Format('{}!', $.user.password)"})
    given = {"user": {"password": "hunter-22", "name": "n"}}
    ran = Ran(chain(("A", made)), given, ConsoleSettings(redact=("**.password",)))
    found = ran.why("A", "/token")
    assert {one["value"] for one in found["links"]} == {'"•••"'}
    assert "hunter-22" not in json.dumps(found)
    assert "hunter-22" not in json.dumps(ran.why("A", "/text"))
    # A path below a hidden value leads to the hidden value, be there anything or not.
    for path in ("/user/password/first", "/user/password/none/at/all"):
        assert ran.why("A", path, "input")["links"][0]["path"] == "/user/password"

    assert ran.why("A", "/user/name", "input")["links"][0]["value"] == '"n"'
    hidden = Ran(chain(("A", made)), given, ConsoleSettings(payloads="hidden"))
    for path in ("", "/user", "/user/none"):
        found = hidden.why("A", path, "input")
        assert [(one["path"], one["value"]) for one in found["links"]] == [("", '"•••"')]
    assert "hunter-22" not in json.dumps(hidden.why("A", "/text"))


def test_a_long_value_is_sent_once():
    ran = Ran(chain(("A", passing()), ("B", passing())), {"x": "y" * 1000})
    assert [len(one["value"]) for one in ran.why("B", "/x")["links"]] == [1002, 201, 201]


def test_a_place_without_a_value_is_refused():
    ran = Ran(chain(("A", passing())), {"x": [1]})
    for path in ("/y", "/x/1", "/x/first", "/x/0/z"):
        with pytest.raises(ApiError, match="has nothing at"):
            ran.why("A", path)


def test_a_long_way_ends(monkeypatch):
    monkeypatch.setattr(why, "MOST_LINKS", 3)
    ran = Ran(chain(*((name, passing()) for name in "ABCDEF")), {"x": 1})
    links, kind = ran.way("F", "/x")
    assert (len(links), kind) == (3, "unknown")
