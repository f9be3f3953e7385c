"""Filter policies: what they match, and which are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.query.matching import Matching
from statewright.topics.filters import Candidate, compile_filter
from statewright.topics.messages import read_attributes


def attribute(kind: str, value: str) -> dict[str, str]:
    return {"DataType": kind, "StringValue": value}


@pytest.mark.parametrize(
    ("policy", "attributes", "expected"),
    [
        ({"a": ["x", "y"]}, {"a": attribute("String", "y")}, True),
        ({"a": ["x", "y"]}, {"a": attribute("String", "z")}, False),
        ({"a": ["x"]}, {}, False),
        ({"a": ["x"]}, {"a": attribute("String.Array", '["z","x"]')}, True),
        ({"a": ["x"]}, {"a": attribute("String.Array", '["z"]')}, False),
        ({"a": [True]}, {"a": attribute("String.Array", "[true]")}, True),
        ({"a": [{"anything-but": ["x"]}]}, {"a": attribute("String.Array", '["x","y"]')}, True),
        ({"a": [{"anything-but": ["x"]}]}, {"a": attribute("String", "x")}, False),
        ({"a": [{"anything-but": {"prefix": "order-"}}]}, {"a": attribute("String", "order-1")}, False),
        ({"a": [{"prefix": "ab"}]}, {"a": attribute("String", "abc")}, True),
        ({"a": [{"suffix": "bc"}]}, {"a": attribute("String", "abc")}, True),
        ({"a": [{"equals-ignore-case": "TENNIS"}]}, {"a": attribute("String", "tennis")}, True),
        ({"a": [{"cidr": "10.0.0.0/24"}]}, {"a": attribute("String", "10.0.0.255")}, True),
        ({"a": [{"cidr": "10.0.0.0/24"}]}, {"a": attribute("String", "10.1.1.0")}, False),
        ({"a": [{"exists": True}]}, {"a": attribute("String", "x")}, True),
        ({"a": [{"exists": False}]}, {}, True),
        ({"a": [{"exists": False}]}, {"a": attribute("String", "x")}, False),
        ({"a": [{"numeric": ["=", 301.5]}]}, {"a": attribute("Number", "3.015e2")}, True),
        ({"a": [{"numeric": [">", 0, "<=", 150]}]}, {"a": attribute("Number", "150")}, True),
        ({"a": [{"numeric": [">", 0, "<=", 150]}]}, {"a": attribute("Number", "151")}, False),
        # A text is no number.
        ({"a": [{"numeric": [">", 0]}]}, {"a": attribute("String", "5")}, False),
        # Five digits after the point count.
        ({"a": [{"numeric": ["=", 2.000001]}]}, {"a": attribute("Number", "2.000003")}, True),
        ({"a": [{"numeric": ["=", 2.00001]}]}, {"a": attribute("Number", "2.00002")}, False),
        ({"a": [{"numeric": [">", 2.00001]}]}, {"a": attribute("Number", "2.000013")}, False),
        ({"a": [{"numeric": ["<=", 2.00001]}]}, {"a": attribute("Number", "2.000013")}, True),
        ({"a": [{"numeric": [">", 2, "<", 2.00003]}]}, {"a": attribute("Number", "2.00002")}, True),
        ({"a": [100]}, {"a": attribute("Number", "100")}, True),
        ({"a": ["x"], "b": ["y"]}, {"a": attribute("String", "x")}, False),
        ({"$or": [{"a": ["x"]}, {"b": ["y"]}]}, {"b": attribute("String", "y")}, True),
        ({"c": ["z"], "$or": [{"a": ["x"]}, {"b": ["y"]}]}, {"b": attribute("String", "y")}, False),
        ({"a": [{"wildcard": "*ball"}]}, {"a": attribute("String", "football")}, True),
        # Bytes are not looked at.
        ({"a": [{"exists": True}]}, {"a": {"DataType": "Binary", "BinaryValue": b"x"}}, False),
    ],
)
def test_attributes_match(policy: Any, attributes: Any, expected: bool) -> None:
    judge = compile_filter(json.dumps(policy), "MessageAttributes")
    assert judge is not None
    assert judge(Candidate(read_attributes(attributes)[0], Matching()), "{}") is expected


@pytest.mark.parametrize(
    ("policy", "body", "expected"),
    [
        ({"a": {"b": ["x"]}}, '{"a":{"b":"x"}}', True),
        ({"a": {"b": ["x"]}}, '{"a":{"b":["y","x"]}}', True),
        ({"a": {"b": ["x"]}}, '{"a":{"b":"y"}}', False),
        ({"a": ["x"]}, "no JSON", False),
        ({"a": ["x"]}, '["a"]', False),
        ({"a": [None]}, '{"a":null}', True),
    ],
)
def test_bodies_match(policy: Any, body: str, expected: bool) -> None:
    judge = compile_filter(json.dumps(policy), "MessageBody")
    assert judge is not None
    assert judge(Candidate({}, Matching()), body) is expected


@pytest.mark.parametrize(
    ("policy", "scope", "reason"),
    [
        (
            '{"a" 1}',
            "MessageBody",
            "failed to parse JSON. Unexpected character ('1' (code 49)): was expecting a colon to separate field name "
            "and value\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, "
            "column: 7]",
        ),
        # A fault in the pattern comes first.
        ({"a": {"suffix": "x"}}, "MessageAttributes", '"suffix" must be an object or an array'),
        ({"a": [{"numeric": []}]}, "MessageBody", "Invalid member in numeric match: ]"),
        ({"a": [{"numeric": [">", 1, 7]}]}, "MessageBody", "Bad value in numeric range: 7"),
        ("[]", "MessageBody", "Filter policy must be a JSON object"),
        ({"a": {"b": ["x"]}}, "MessageAttributes", "does not support nested filter policy"),
        ({name: ["x"] for name in "abcdef"}, "MessageAttributes", "Filter policy can not have more than 5 keys"),
        ({"a": list("0123456789abcdef"), "b": list("0123456789")}, "MessageBody", "Filter policy is too complex"),
        # 4 values on the third level and 13 on the first: 12 * 13.
        ({"a": {"b": {"c": list("1234")}}, "d": list("0123456789abc")}, "MessageBody", "Filter policy is too complex"),
        ({"a": [{"numeric": [">", 1e10]}]}, "MessageBody", "Value of numeric must be from"),
        ({"a": []}, "MessageBody", "Empty arrays are not allowed"),
        ({"a": [{"before": 1}]}, "MessageBody", "Unrecognized match type before"),
        ({"a": "x"}, "MessageBody", "must be an object or an array"),
    ],
)
def test_policies_are_refused(policy: Any, scope: str, reason: str) -> None:
    with pytest.raises(ApiError, match="Invalid parameter: Filter") as refused:
        compile_filter(policy if isinstance(policy, str) else json.dumps(policy), scope)
    assert reason in refused.value.message
    assert refused.value.code == "InvalidParameter"


def test_an_empty_policy_takes_all() -> None:
    assert compile_filter("{}", "MessageAttributes") is None


def test_alternatives_are_added_up() -> None:
    """The examples of the guide: 7 and 32 combinations; at ten times as many values the first is too complex."""
    policy = {
        "source": ["aws.cloudwatch"],
        "$or": [
            {"metricName": ["CPUUtilization", "ReadLatency"]},
            {"metricType": ["MetricType"], "$or": [{"metricId": [1234, 4321]}, {"spaceId": [1000, 2000, 3000]}]},
        ],
    }
    assert compile_filter(json.dumps(policy), "MessageAttributes") is not None
    policy["source"] = [str(number) for number in range(22)]
    with pytest.raises(ApiError, match="too complex"):
        compile_filter(json.dumps(policy), "MessageAttributes")
