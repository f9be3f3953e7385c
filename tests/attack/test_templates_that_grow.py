"""Templates that grow when they are evaluated: functions within functions, loops, aliases of YAML, references."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.projects.cloudformation import Identity
from statewright.stacks.planning.plans import Circumstances, plan_of
from statewright.stacks.planning.templates import read_template

TOO_MUCH = "the functions of the template make more than"
LONG = "x" * 4_000


def inner(depth: int) -> Any:
    """A text that is a thousand times the one within it."""
    return "x" * 1_000 if depth == 0 else {"Fn::Sub": ["${a}" * 1_000, {"a": inner(depth - 1)}]}


def named(value: Any, **sections: Any) -> str:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": value}}
    return json.dumps({"Resources": {"Q": queue}, **sections})


def repeated(depth: int, **properties: Any) -> Any:
    """Loops within loops, of twenty rounds each."""
    body: Any = {"Q" + "".join(f"${{X{at}}}" for at in range(depth)): {
        "Type": "AWS::SQS::Queue", "Properties": properties,
    }}  # fmt: skip
    for at in range(depth):
        body = {f"Fn::ForEach::L{at}": [f"X{at}", [f"v{number}" for number in range(20)], body]}
    return body


def refused(body: str) -> str:
    given = Circumstances(Identity("stack", "000000000000", "us-east-1"), {"P": LONG}, {}, {"e": LONG}, {})
    with pytest.raises(ApiError) as problem:
        plan_of(read_template(body), given)
    return problem.value.message


@pytest.mark.parametrize(
    "body",
    [
        named(inner(4)),
        named({"Fn::Join": [LONG * 5, [""] * 4_000]}),
        named({"Fn::Join": ["", [{"Ref": "P"}] * 5_000]}, Parameters={"P": {"Type": "String"}}),
        named({"Fn::ToJsonString": [{"Fn::ImportValue": "e"}] * 5_000}),
        named({"Fn::Join": ["", [{"Fn::FindInMap": ["M", "a", "b"]}] * 5_000]}, Mappings={"M": {"a": {"b": LONG}}}),
        json.dumps({"Transform": "AWS::LanguageExtensions", "Resources": repeated(2, QueueName=LONG * 20)}),
        json.dumps({"Transform": "AWS::LanguageExtensions", "Resources": repeated(2, A=[[]] * 40_000)}),
        json.dumps({"Transform": "AWS::LanguageExtensions", "Resources": {
            "Fn::ForEach::L": ["X", [LONG * 20], {"Q": {"Type": "AWS::SQS::Queue", "Properties": {
                "QueueName": "${X}" * 5_000,
            }}}],
        }}),
    ],
)  # fmt: skip
def test_what_functions_make_is_bounded(body: str) -> None:
    assert TOO_MUCH in refused(body)


def test_rounds_of_loops_are_bounded() -> None:
    body = json.dumps({"Transform": "AWS::LanguageExtensions", "Resources": repeated(5)})
    assert "the loops make more than 5000 rounds" in refused(body)


def test_conditions_within_conditions_are_bounded() -> None:
    within: dict[str, Any] = {f"C{at}": {"Fn::Not": [{"Condition": f"C{at + 1}"}]} for at in range(400)}
    last = {"C400": {"Fn::Equals": ["a", "a"]}}
    assert "more than 50 levels deep" in refused(named("q", Conditions={**within, **last}))


def test_aliases_tags_and_cycles_of_yaml_are_refused() -> None:
    laughs = "Metadata:\n  a: &a [x, x]\n" + "".join(
        f"  {new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    for body in (
        laughs + "Resources: {Q: {Type: AWS::SQS::Queue}}", "Resources: &r\n  Q: *r\n",
        "Resources: {Q: !!python/object/apply:os.system [id]}", "Resources: {Q: {Type: !Unknown x}}",
    ):  # fmt: skip
        assert refused(body).startswith("Template format error: YAML not well-formed.")
