"""Strategies for valid machines of every type of state, and for what may happen to them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Node = dict[str, Any]

LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:f"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:a"
RESOURCES = [
    LAMBDA,
    ACTIVITY,
    "arn:aws:states:::sqs:sendMessage",
    "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
    "arn:aws:states:::batch:submitJob.sync",
    "arn:aws:states:::aws-sdk:s3:getObject",
]
ERRORS = ["A", "B", "States.ALL", "States.TaskFailed", "States.Timeout", "States.QueryEvaluationError"]

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 300), st.sampled_from(["", "x", "long " * 30])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
)
items = st.sampled_from([[], [1], [{"a": 1, "n": 1, "l": [1, 2]}, {"a": 2, "n": 0, "l": []}], [[1], [2], [3]]])
records = st.fixed_dictionaries({"a": values, "n": st.integers(1, 4), "l": items})
"""What most expressions here can read."""
inputs = st.one_of(records, records, records, values)

paths = st.sampled_from(["$", "$.a", "$.n", "$.l", "$.l", "$$.State.Name", "$$.Execution.Input", "$v0", "$v1", "$.no"])
dynamic = st.one_of(paths, st.sampled_from(["States.Format('{}', $.n)", "States.ArrayLength($.l)", "States.UUID()"]))
templates = st.one_of(
    st.just({"a.$": "$", "n": 2, "l": [1, 2]}),
    st.just({"a.$": "$$.State.Name", "n.$": "$.n", "l.$": "$.l"}),
    dynamic.map(lambda path: {"a.$": path, "n": 1, "l": [1, {"in.$": path}]}),
)
expressions = st.sampled_from(
    [
        "{% $states.input %}",
        "{% $states.input.a %}",
        "{% $states.input.n + 1 %}",
        "{% [1, 2] %}",
        "{% $v0 %}",
        "{% $states.context.State.Name %}",
        "{% $random() < 2 %}",
        "plain",
        3,
    ]
)
objects = expressions.map(lambda text: {"a": text, "n": 1, "l": [1, 2]})


def _chance(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.integers(1, one_in)) == one_in


@st.composite
def definitions(draw: st.DrawFn) -> Node:
    """A machine that the validator accepts."""
    numbers = iter(range(1000))
    definition = draw(_scopes(numbers, 0, draw(st.integers(0, 2))))
    if _chance(draw, 4):
        definition["TimeoutSeconds"] = draw(st.integers(5, 100))
    return definition


@st.composite
def _scopes(draw: st.DrawFn, numbers: Any, depth: int, below: int) -> Node:
    count = draw(st.integers(1, 3))
    names = [f"S{next(numbers)}" for _ in range(count)]
    states = {}
    for index, name in enumerate(names):
        following = names[index + 1] if index + 1 < count else None
        states[name] = draw(_states(numbers, depth, below, names[0], following))
    return {"StartAt": names[0], "States": states}


@st.composite
def _states(draw: st.DrawFn, numbers: Any, depth: int, below: int, first: str, following: str | None) -> Node:
    kinds = ["Pass", "Task", "Task", "Wait"]
    if following is not None:
        kinds.append("Choice")
    else:
        kinds += ["Succeed", "Fail"]
    if below:
        kinds += ["Parallel", "Map"] * 2
    kind = draw(st.sampled_from(kinds))
    jsonata = _chance(draw, 3)
    node: Node = {"Type": kind}
    if jsonata:
        node["QueryLanguage"] = "JSONata"
    if kind not in ("Choice", "Succeed", "Fail"):
        node |= {"Next": following} if following is not None else {"End": True}
    if kind not in ("Fail", "Succeed") and _chance(draw, 3):
        value = draw(expressions if jsonata else dynamic)
        node["Assign"] = {f"v{depth}": value} if jsonata else {f"v{depth}.$": value}
    if kind != "Fail":
        draw(_flow(node, kind, jsonata))
    match kind:
        case "Task":
            draw(_task(node, jsonata))
        case "Wait":
            draw(_wait(node, jsonata))
        case "Choice":
            draw(_choice(node, jsonata, first, following))
        case "Fail":
            node |= draw(st.sampled_from([{}, {"Error": "A"}, {"Error": "B", "Cause": "why"}]))
        case "Parallel":
            node["Branches"] = [draw(_scopes(numbers, depth + 1, below - 1)) for _ in range(draw(st.integers(1, 3)))]
        case "Map":
            draw(_map(node, numbers, jsonata, depth, below))
        case _:
            pass
    if kind in ("Task", "Parallel", "Map"):
        draw(_rules(node, jsonata, depth, first, following))
    return node


@st.composite
def _flow(draw: st.DrawFn, node: Node, kind: str, jsonata: bool) -> None:
    if jsonata:
        if _chance(draw, 3):
            node["Output"] = draw(st.one_of(objects, objects, expressions))
        if kind in ("Task", "Parallel") and _chance(draw, 3):
            node["Arguments"] = draw(objects)
        return
    if _chance(draw, 6):
        node["InputPath"] = draw(st.sampled_from(["$", "$", "$", "$.a", "$.no", None]))
    if _chance(draw, 6):
        node["OutputPath"] = draw(st.sampled_from(["$", "$", "$", "$.a", "$.l[*]", None]))
    if kind in ("Pass", "Task", "Parallel") and _chance(draw, 3):
        node["Parameters"] = draw(templates)
    if kind in ("Task", "Parallel", "Map") and _chance(draw, 5):
        node["ResultSelector"] = draw(templates)
    if kind in ("Pass", "Task", "Parallel", "Map") and _chance(draw, 3):
        node["ResultPath"] = draw(st.sampled_from(["$.r", "$.a.b", None]))
    if kind == "Pass" and "Parameters" not in node and _chance(draw, 3):
        node["Result"] = draw(values)


@st.composite
def _task(draw: st.DrawFn, node: Node, jsonata: bool) -> None:
    node["Resource"] = draw(st.sampled_from(RESOURCES))
    if _chance(draw, 3):
        node["TimeoutSeconds"] = draw(st.integers(20, 60))
    if _chance(draw, 3):
        node["HeartbeatSeconds"] = draw(st.integers(1, 19))
    elif not jsonata and _chance(draw, 6):
        node["HeartbeatSecondsPath"] = "$.n"


@st.composite
def _wait(draw: st.DrawFn, node: Node, jsonata: bool) -> None:
    if jsonata:
        node["Seconds"] = draw(st.sampled_from([5, "{% $states.input.n %}", "{% 2 %}"]))
    else:
        node |= draw(
            st.sampled_from(
                [
                    {"Seconds": 5},
                    {"SecondsPath": "$.n"},
                    {"Timestamp": "2026-01-01T00:00:30Z"},
                    {"TimestampPath": "$.no"},
                ]
            )
        )


@st.composite
def _choice(draw: st.DrawFn, node: Node, jsonata: bool, first: str, following: str | None) -> None:
    target = first if _chance(draw, 4) else following
    if jsonata:
        rule: Node = {"Condition": draw(st.sampled_from(["{% true %}", "{% $states.input.n > 1 %}", "{% 1 %}"]))}
        if _chance(draw, 3):
            rule["Output"] = draw(expressions)
    else:
        rule = draw(
            st.sampled_from(
                [
                    {"Variable": "$.n", "NumericGreaterThan": 1},
                    {"Variable": "$.a", "IsPresent": True},
                    {"Not": {"Variable": "$.no", "StringEquals": "x"}},
                ]
            )
        )
    node["Choices"] = [{**rule, "Next": target}]
    node["Default"] = following


@st.composite
def _map(draw: st.DrawFn, node: Node, numbers: Any, jsonata: bool, depth: int, below: int) -> None:
    processor = draw(_scopes(numbers, depth + 1, below - 1))
    if depth == 0 and _chance(draw, 5):
        processor["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    node["ItemProcessor"] = processor
    if draw(st.booleans()):
        node["MaxConcurrency"] = draw(st.integers(0, 3))
    if jsonata:
        node["Items"] = draw(st.sampled_from(["{% [1, 2, 3] %}", "{% $states.input.l %}", [1, "{% 2 %}"]]))
        if _chance(draw, 3):
            node["ItemSelector"] = {"a": "{% $states.context.Map.Item.Value %}", "n": 1, "l": []}
    else:
        node["ItemsPath"] = draw(st.sampled_from(["$.l", "$.l", "$.l", "$$.Execution.Input.l", "$.a"]))
        if _chance(draw, 3):
            path = draw(st.sampled_from(["$$.Map.Item.Value", "$$.Map.Item.Value", "$$.Map.Item.Value.a"]))
            node["ItemSelector"] = {"a.$": path, "n.$": "$$.Map.Item.Index", "l": [1]}


@st.composite
def _rules(draw: st.DrawFn, node: Node, jsonata: bool, depth: int, first: str, following: str | None) -> None:
    if _chance(draw, 3):
        node["Retry"] = [
            {
                "ErrorEquals": [draw(st.sampled_from(ERRORS))],
                "MaxAttempts": draw(st.integers(0, 2)),
                "IntervalSeconds": draw(st.integers(1, 3)),
                "JitterStrategy": draw(st.sampled_from(["NONE", "FULL"])),
            }
        ]
    if draw(st.booleans()):
        catcher: Node = {"ErrorEquals": [draw(st.sampled_from(ERRORS))], "Next": following or first}
        if jsonata:
            if _chance(draw, 2):
                catcher["Output"] = draw(st.sampled_from(["{% $states.errorOutput %}", "{% $states.errorOutput.no %}"]))
        elif _chance(draw, 2):
            catcher["ResultPath"] = draw(st.sampled_from(["$.e", None]))
            catcher["Assign"] = {f"v{depth}.$": draw(st.sampled_from(["$.Error", "$.no"]))}
        node["Catch"] = [catcher]
