"""`validate` answers every JSON value with findings, never with an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.checks.fields import MACHINE_SHAPE, OBJECT_SHAPES, RULE_SHAPES, STATE_SHAPES
from statewright.asl.findings import LINT_CODES, SERVICE_CODES
from statewright.asl.program import MachineType
from statewright.asl.validate import validate_value
from tests.thoroughness import examples

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"

SEED: dict[str, Any] = {
    "StartAt": "First",
    "TimeoutSeconds": 60,
    "States": {
        "First": {
            "Type": "Task",
            "Resource": FUNCTION,
            "Parameters": {"a.$": "$.a", "b": [{"c.$": "States.Format('{}', $$.Execution.Id)"}]},
            "ResultPath": "$.r",
            "Retry": [{"ErrorEquals": ["E"], "BackoffRate": 1.5}, {"ErrorEquals": ["States.ALL"]}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Failed", "Assign": {"e.$": "$.Error"}}],
            "Next": "Each",
        },
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"},
                "StartAt": "Item",
                "States": {"Item": {"Type": "Pass", "Result": {"x": 1}, "Assign": {"v.$": "$.x"}, "End": True}},
            },
            "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"}},
            "ItemBatcher": {"MaxItemsPerBatch": 5},
            "Label": "each",
            "Next": "Both",
        },
        "Both": {
            "Type": "Parallel",
            "QueryLanguage": "JSONata",
            "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Wait", "Seconds": 5, "End": True}}}],
            "Output": {"all": "{% $states.result %}"},
            "Next": "Again?",
        },
        "Again?": {
            "Type": "Choice",
            "Choices": [
                {
                    "And": [{"Variable": "$.n", "IsPresent": True}, {"Variable": "$.n", "NumericLessThan": 3}],
                    "Next": "First",
                },
                {"Not": {"Variable": "$.status", "StringEquals": "FAILED"}, "Next": "Good"},
            ],
            "Default": "Failed",
        },
        "Good": {"Type": "Succeed"},
        "Failed": {"Type": "Fail", "ErrorPath": "$.e", "Cause": "c"},
    },
}

WORDS = sorted(
    {
        *MACHINE_SHAPE.fields,
        *(name for shape in STATE_SHAPES.values() for name in shape.fields),
        *(name for shape in OBJECT_SHAPES.values() for name in shape.fields),
        *(name for shape in RULE_SHAPES.values() for name in shape.fields),
        *("RoleArn", "RoleArn.$", "x.$", "First", "Good", "B"),
    }
)
TEXTS = st.one_of(
    st.sampled_from(sorted(STATE_SHAPES)),
    st.sampled_from(
        ["$", "$.a", "$$.a", "$v", "$.[", "States.UUID()", "{% $states.input %}", "{% (", "${X}", "{%", ""]
    ),
    st.sampled_from(["JSONata", "JSONPath", "DISTRIBUTED", "States.ALL", FUNCTION, "2030-01-01T00:00:00Z"]),
    st.text(max_size=12),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.sampled_from(WORDS), TEXTS), inner, max_size=4)
    ),
    max_leaves=12,
)
STATES = st.tuples(
    st.sampled_from(sorted(STATE_SHAPES)), st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=5)
).map(lambda drawn: {**drawn[1], "Type": drawn[0]})


def check(value: Any) -> None:
    types: tuple[MachineType, ...] = ("STANDARD", "EXPRESS")
    for machine_type in types:
        for finding in validate_value(value, machine_type=machine_type):
            assert finding.code in SERVICE_CODES or finding.code in LINT_CODES
            assert finding.code in SERVICE_CODES or finding.severity == "WARNING"
            assert finding.message
            assert finding.path is None or resolves(value, finding.path)


def resolves(value: Any, path: tuple[str | int, ...]) -> bool:
    for step in path:
        value = value[step]
    return True


@settings(max_examples=examples(150))
@given(VALUES)
def test_any_value(value):
    check(value)


@settings(max_examples=examples(150))
@given(
    st.dictionaries(st.sampled_from(["First", "Good", "B", ""]), STATES, max_size=3),
    st.dictionaries(st.sampled_from(sorted(MACHINE_SHAPE.fields)), VALUES, max_size=2),
)
def test_machines_of_random_states(states, top):
    check({"StartAt": "First", "States": states, **top})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


PLACES = places(SEED)[1:]


def changed(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy of `value` in which `change` treats the container and the key at a path."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        change(copy, path[0])
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


@settings(max_examples=examples(200))
@given(st.sampled_from(PLACES), VALUES, st.sampled_from(["replace", "remove", "rename"]), st.sampled_from(WORDS))
def test_mutated_machines(place, value, how, word):
    def change(container: Any, key: Any) -> None:
        if how == "replace" or isinstance(container, list):
            container[key] = value
        else:
            old = container.pop(key)
            if how == "rename":
                container[word] = old

    check(changed(SEED, place, change))


def test_the_seed_itself_is_valid():
    assert [d for d in validate_value(SEED) if d.severity == "ERROR"] == []


@settings(max_examples=examples(20))
@given(st.integers(100, 3_000), st.sampled_from(["Parallel", "Not", "And", "Parameters", "Result", "Output", "Map"]))
def test_deep_nesting(depth, kind):
    deep: Any = {"Variable": "$.x", "IsNull": True} if kind in ("Not", "And") else "$.x"
    if kind in ("Parallel", "Map"):
        deep = {"Type": "Succeed"}
    for index in range(depth):
        if kind == "Parallel":
            branch = {"StartAt": f"S{index}", "States": {f"S{index}": deep}}
            deep = {"Type": "Parallel", "Branches": [branch], "End": True}
        elif kind == "Map":
            processor = {"StartAt": f"S{index}", "States": {f"S{index}": deep}}
            deep = {"Type": "Map", "ItemProcessor": processor, "End": True}
        elif kind in ("Not", "And"):
            deep = {kind: deep if kind == "Not" else [deep]}
        else:
            deep = {"a": deep} if index % 2 else [deep]
    state = deep
    if kind in ("Not", "And"):
        state = {"Type": "Choice", "Choices": [{**deep, "Next": "E"}], "Default": "E"}
    elif kind not in ("Parallel", "Map"):
        state = {"Type": "Pass", kind: deep, "End": True}
    codes = [d.code for d in validate_value({"StartAt": "S", "States": {"S": state, "E": {"Type": "Succeed"}}})]
    assert (codes == ["TOO_DEEPLY_NESTED"]) or depth < 250
