"""The functions of templates: what each gives at once, what it leaves for later, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.payload import Json
from statewright.projects.evaluation import LATER, NAMES, NO_VALUE, Allowance, Unresolved, references, waits
from statewright.projects.intrinsics import FUNCTIONS, fold, resolve
from tests.unit.projects.reading import Deployed


class Names:
    """A scope with a parameter, a list, a condition, a mapping and an export; other names are resources."""

    def __init__(self) -> None:
        self.allowance: Allowance = Allowance()

    def ref(self, name: str) -> Json:
        known: dict[str, Json] = {
            "Stage": "dev", "Zones": ["a", "b", "c"], "AWS::Region": "eu-central-1", "AWS::StackName": "shop",
        }  # fmt: skip
        if name == "Unknown":
            raise Unresolved("there is no Unknown")
        return known.get(name, LATER)

    def attribute(self, id: str, name: str) -> Json:
        return LATER

    def condition(self, name: str) -> bool:
        if name not in ("Yes", "No"):
            raise Unresolved(f"there is no condition {name}")
        return name == "Yes"

    def mapping(self, name: str, first: str, second: str) -> Json:
        rows = {"Sizes": {"dev": {"memory": 128, "zones": ["x", "y"]}}}
        try:
            return rows[name][first][second]
        except KeyError:
            raise LookupError(f"no {name}/{first}/{second}") from None

    def imported(self, name: str) -> Json:
        if name == "shop:Table":
            return {"Ref": "Table"}
        raise Unresolved(f"nothing exports {name}")


def folded(value: Json) -> tuple[Json, list[str]]:
    problems: list[str] = []
    found = fold(value, Names(), lambda path, reason: problems.append(f"{'/'.join(map(str, path))}: {reason}"))
    return found, problems


REF = {"Ref": "Queue"}
ATT = {"Fn::GetAtt": ["Queue", "Arn"]}

KNOWN: list[tuple[str, Json, Json]] = [
    ("a parameter", {"Ref": "Stage"}, "dev"),
    ("a resource waits", REF, REF),
    ("an attribute as a text", {"Fn::GetAtt": "Queue.Arn"}, ATT),
    ("an attribute with dots", {"Fn::GetAtt": ["Child", "Outputs.Url"]}, {"Fn::GetAtt": ["Child", "Outputs.Url"]}),
    ("an attribute by parameter", {"Fn::GetAtt": ["Q", {"Ref": "Stage"}]}, {"Fn::GetAtt": ["Q", "dev"]}),
    ("sub", {"Fn::Sub": "${Stage}-${AWS::Region}"}, "dev-eu-central-1"),
    ("sub with blanks", {"Fn::Sub": "${ Stage }"}, "dev"),
    ("sub keeps what is escaped", {"Fn::Sub": "${!Stage}"}, "${Stage}"),
    ("sub with a resource", {"Fn::Sub": "a-${Queue}-b"}, {"Fn::Join": ["", ["a-", REF, "-b"]]}),
    ("sub with an attribute", {"Fn::Sub": "x${Queue.Arn}"}, {"Fn::Join": ["", ["x", ATT]]}),
    ("sub of one resource", {"Fn::Sub": "${Queue}"}, REF),
    ("sub with values", {"Fn::Sub": ["${A}/${Stage}", {"A": {"Ref": "Stage"}}]}, "dev/dev"),
    ("sub: values go first", {"Fn::Sub": ["${Stage}", {"Stage": "own"}]}, "own"),
    ("sub of a number", {"Fn::Sub": ["${N}", {"N": 3}]}, "3"),
    ("sub without variables", {"Fn::Sub": "plain"}, "plain"),
    ("join", {"Fn::Join": ["-", ["a", {"Ref": "Stage"}, 3, True]]}, "a-dev-3-true"),
    ("join of a list by name", {"Fn::Join": [",", {"Ref": "Zones"}]}, "a,b,c"),
    ("join waits, its known parts do not", {"Fn::Join": ["-", ["a", "b", REF, "c", "d"]]},
     {"Fn::Join": ["-", ["a-b", REF, "c-d"]]}),
    ("join leaves out no value", {"Fn::Join": ["-", ["a", {"Ref": "AWS::NoValue"}, "b"]]}, "a-b"),
    ("join of nothing", {"Fn::Join": ["-", []]}, ""),
    ("select", {"Fn::Select": ["1", {"Ref": "Zones"}]}, "b"),
    ("select by number", {"Fn::Select": [0, ["x"]]}, "x"),
    ("select from what waits in part", {"Fn::Select": [1, ["x", REF]]}, REF),
    ("select from what waits", {"Fn::Select": [1, {"Fn::Split": ["/", REF]}]},
     {"Fn::Select": [1, {"Fn::Split": ["/", REF]}]}),
    ("split", {"Fn::Split": ["|", "a||b"]}, ["a", "", "b"]),
    ("if yes", {"Fn::If": ["Yes", {"Ref": "Stage"}, REF]}, "dev"),
    ("if no", {"Fn::If": ["No", {"Ref": "Unknown"}, REF]}, REF),
    ("and", {"Fn::And": [{"Condition": "Yes"}, {"Fn::Not": [{"Condition": "No"}]}]}, True),
    ("or", {"Fn::Or": [{"Condition": "No"}, {"Fn::Equals": [{"Ref": "Stage"}, "dev"]}]}, True),
    ("equals compares texts", {"Fn::Equals": ["1", 1]}, True),
    ("equals of lists", {"Fn::Equals": [["a"], ["b"]]}, False),
    ("a mapping", {"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "memory"]}, 128),
    ("a mapping's default", {"Fn::FindInMap": ["Sizes", "prod", "memory", {"DefaultValue": 256}]}, 256),
    ("an import", {"Fn::ImportValue": {"Fn::Sub": "${AWS::StackName}:Table"}}, {"Ref": "Table"}),
    ("base64", {"Fn::Base64": "hello"}, "aGVsbG8="),
    ("base64 of what waits", {"Fn::Base64": REF}, {"Fn::Base64": REF}),
    ("cidr", {"Fn::Cidr": ["10.0.0.0/24", 3, 5]}, ["10.0.0.0/27", "10.0.0.32/27", "10.0.0.64/27"]),
    ("cidr of a text", {"Fn::Cidr": ["10.0.0.0/16", "2", "8"]}, ["10.0.0.0/24", "10.0.1.0/24"]),
    ("zones", {"Fn::GetAZs": ""}, ["eu-central-1a", "eu-central-1b", "eu-central-1c"]),
    ("zones of a region", {"Fn::GetAZs": "us-east-1"}, ["us-east-1a", "us-east-1b", "us-east-1c"]),
    ("length", {"Fn::Length": {"Ref": "Zones"}}, 3),
    ("length of what waits in part", {"Fn::Length": [REF, "b"]}, 2),
    ("json", {"Fn::ToJsonString": {"a": [1, {"Ref": "Stage"}], "ü": None}}, '{"a":[1,"dev"],"ü":null}'),
    ("json of what waits", {"Fn::ToJsonString": {"q": REF}}, {"Fn::ToJsonString": {"q": REF}}),
    ("no value as a member", {"a": {"Ref": "AWS::NoValue"}, "b": 1}, {"b": 1}),
    ("no value by a condition", [{"Fn::If": ["No", 1, {"Ref": "AWS::NoValue"}]}, 2], [2]),
    ("no value alone", {"Ref": "AWS::NoValue"}, NO_VALUE),
    ("a condition of a policy is none", {"Condition": {"Bool": {"a": "b"}}}, {"Condition": {"Bool": {"a": "b"}}}),
    ("two members are no function", {"Ref": "Stage", "Other": 1}, {"Ref": "Stage", "Other": 1}),
    ("dynamic references wait", "{{resolve:ssm:/a}}", "{{resolve:ssm:/a}}"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), [case[1:] for case in KNOWN], ids=[case[0] for case in KNOWN])
def test_folding(value: Json, expected: Json) -> None:
    found, problems = folded(value)
    assert problems == []
    assert found == expected


MISTAKES: list[tuple[Json, str]] = [
    ({"Ref": 3}, "Ref needs the name"),
    ({"Ref": "Unknown"}, "there is no Unknown"),
    ({"Fn::GetAtt": "Queue"}, "needs the id of a resource and the name of an attribute"),
    ({"Fn::GetAtt": ["Queue", REF]}, "the name of an attribute must be known before anything is deployed"),
    ({"Fn::Sub": ["x"]}, "a text, or a list of a text and an object"),
    ({"Fn::Sub": "${}"}, "empty ${}"),
    ({"Fn::Sub": "${Unknown}"}, "${Unknown}: there is no Unknown"),
    ({"Fn::Sub": "${Zones}"}, "a list found where a string is needed"),
    ({"Fn::Join": ["-"]}, "a delimiter and a list"),
    ({"Fn::Join": [1, ["a"]]}, "a text as delimiter"),
    ({"Fn::Join": ["-", "text"]}, "Fn::Join needs a list"),
    ({"Fn::Join": ["-", [{"a": 1}]]}, "an object found where a string is needed"),
    ({"Fn::Select": [3, ["a"]]}, "asks for element 3 of a list of 1"),
    ({"Fn::Select": ["one", ["a"]]}, "a whole number from 0"),
    ({"Fn::Select": [-1, ["a"]]}, "a whole number from 0"),
    ({"Fn::Select": [REF, ["a"]]}, "the index of Fn::Select must be known"),
    ({"Fn::Select": [0, "a"]}, "Fn::Select needs a list"),
    ({"Fn::Split": ["", "a"]}, "a delimiter and a text"),
    ({"Fn::If": ["Yes", 1]}, "a condition and two values"),
    ({"Fn::If": ["Perhaps", 1, 2]}, "there is no condition Perhaps"),
    ({"Fn::Not": ["maybe"]}, "a condition is made of"),
    ({"Fn::And": []}, "2 to 10 conditions"),
    ({"Fn::Equals": [REF, "a"]}, "cannot compare values that are known only after deployment"),
    ({"Fn::FindInMap": ["Sizes", "dev"]}, "the name of a mapping and two keys"),
    ({"Fn::FindInMap": ["Sizes", "prod", "memory"]}, "no Sizes/prod/memory"),
    ({"Fn::ImportValue": "else:where"}, "nothing exports else:where"),
    ({"Fn::Base64": ["a"]}, "a list found where a string is needed"),
    ({"Fn::Cidr": ["10.0.0.0/30", 9, 1]}, "has no room"),
    ({"Fn::Cidr": ["nonsense", 1, 8]}, "Fn::Cidr:"),
    ({"Fn::Length": "a"}, "Fn::Length needs a list"),
    ({"Fn::ToJsonString": "a"}, "needs an object or a list"),
    ({"Fn::Nothing": 1}, "Fn::Nothing is not a known function"),
]


@pytest.mark.parametrize(("value", "words"), MISTAKES, ids=lambda case: str(case)[:60])
def test_mistakes_are_told_and_left(value: Json, words: str) -> None:
    found, problems = folded({"Deep": [value]})
    assert len(problems) == 1
    assert words in problems[0]
    assert problems[0].startswith("Deep/0")
    assert found == {"Deep": [value]}


def test_values_nested_beyond_reason_are_told() -> None:
    value: Any = "x"
    for _ in range(400):
        value = {"Fn::Base64": value}
    _, problems = folded(value)
    assert any("nested more than" in problem for problem in problems)


RESOLVED: list[tuple[Json, Json]] = [
    (REF, "<Queue>"),
    ({"a": [ATT, {"Fn::Join": ["/", ["x", REF]]}]}, {"a": ["<Queue.Arn>", "x/<Queue>"]}),
    ({"Fn::Select": [1, {"Fn::Split": ["e", REF]}]}, "u"),
    ({"Fn::ToJsonString": {"q": REF}}, '{"q":"<Queue>"}'),
    ({"Fn::Base64": REF}, "PFF1ZXVlPg=="),
    ({"Fn::Sub": "${Queue.Arn}!"}, "<Queue.Arn>!"),
]


@pytest.mark.parametrize(("value", "expected"), RESOLVED, ids=lambda case: str(case)[:50])
def test_resolving(value: Json, expected: Json) -> None:
    assert resolve(value, Deployed()) == expected


def test_resolving_asks_for_dynamic_references() -> None:
    asked = []

    def dynamic(text: str) -> str:
        asked.append(text)
        return "42"

    value = {"a": "{{resolve:ssm:/size}} GB", "b": {"Fn::Join": ["", ["{{resolve:ssm:/size}}", REF]]}}
    assert resolve(value, Deployed(), dynamic) == {"a": "42 GB", "b": "42<Queue>"}
    assert asked == ["ssm:/size", "ssm:/size"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"Environment": {"Url": {"Fn::Sub": "x${Gone}"}}}, "Environment/Url/Fn::Sub: ${Gone}: Gone is not there"),
        ({"Fn::If": ["Yes", 1, 2]}, "Fn::If: the condition Yes is not known here"),
        ({"Fn::ImportValue": "x"}, "Fn::ImportValue: nothing exports 'x'"),
        ({"Fn::FindInMap": ["A", "b", "c"]}, "the mapping A (b, c) is not known here"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_resolving_refuses_once_and_with_the_place(value: Json, words: str) -> None:
    with pytest.raises(Unresolved) as refused:
        resolve(value, Deployed(frozenset({"Gone"})))
    assert str(refused.value).endswith(words)


def test_references_are_in_order_and_once() -> None:
    value = {"a": REF, "b": [ATT, {"Fn::Join": ["", [{"Ref": "Table"}, REF]]}], "c": {"Ref": "x", "d": 1}}
    assert references(value) == ["Queue", "Table"]
    assert waits(value)
    assert not waits({"Ref": "x", "d": 1})


def test_every_function_that_a_value_may_wait_for_is_there() -> None:
    assert FUNCTIONS.keys() == NAMES
