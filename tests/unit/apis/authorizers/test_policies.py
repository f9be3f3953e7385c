"""Policies of authorizers: wildcards, precedence, conditions, and documents that are none."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.apis.authorizers.policies import Facts, Policy, PolicyMalformed, wildcard_matches
from statewright.virtual_clock import VIRTUAL_START_MS

ARN = "arn:aws:execute-api:eu-west-1:123456789012:abc/dev/GET/orders/7"
FACTS = Facts("203.0.113.9", "curl/8", "", VIRTUAL_START_MS)


def statement(**changes: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": ARN, **changes}


def decided(*statements: dict[str, Any], arn: str = ARN) -> str:
    return Policy.of({"Version": "2012-10-17", "Statement": list(statements)}).decide(arn, FACTS)


@pytest.mark.parametrize(
    ("resource", "decision"),
    [
        (ARN, "allow"), ("*", "allow"), ("arn:aws:execute-api:*", "allow"), ("arn:aws:execute-api:*:*:*", "allow"),
        ("arn:aws:execute-api:eu-west-1:*:abc/*", "allow"), ("arn:aws:execute-api:eu-west-?:*:abc/dev/GET/*", "allow"),
        ("arn:aws:execute-api:eu-west-1:123456789012:abc/*/orders/?", "allow"), (f"{ARN}/", "none"), (ARN[:-1], "none"),
        ("arn:aws:execute-api:eu-west-1:123456789012:abc/dev/POST/*", "none"), ("arn:aws:execute-api", "none"),
        ("arn:aws:execute-api:us-east-1:*:*", "none"), ("arn:aws:s3:::*", "none"), ("", "none"),
        (["arn:aws:execute-api:*:*:x/*", ARN], "allow"), (ARN.replace("GET", "get"), "none"),
    ],
)  # fmt: skip
def test_resources(resource, decision):
    assert decided(statement(Resource=resource)) == decision


def test_a_wildcard_for_an_account_does_not_reach_into_the_path():
    arn = "arn:aws:execute-api:eu-west-1:123456789012:abc/dev/GET/x:other/y"
    assert decided(statement(Resource="arn:aws:execute-api:eu-west-1:*:other/*"), arn=arn) == "none"


@pytest.mark.parametrize(
    ("action", "decision"),
    [
        ("execute-api:Invoke", "allow"), ("EXECUTE-API:INVOKE", "allow"), ("*", "allow"), ("execute-api:*", "allow"),
        (["s3:*", "execute-api:Inv*"], "allow"), ("execute-api:InvalidateCache", "none"), ("lambda:*", "none"),
    ],
)  # fmt: skip
def test_actions(action, decision):
    assert decided(statement(Action=action)) == decision


def test_what_denies_wins():
    assert decided(statement(), statement(Effect="Deny")) == "deny"
    assert decided(statement(Effect="Deny", Resource="*/other"), statement()) == "allow"
    complement = {"Effect": "Deny", "NotAction": "s3:*", "NotResource": f"{ARN}0"}
    assert decided(statement(), complement) == "deny"
    assert decided(statement(), {**complement, "NotResource": ARN}) == "allow"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}, True),
        ({"IpAddress": {"aws:sourceip": ["10.0.0.0/8", "::/0"]}}, False),
        ({"NotIpAddress": {"aws:SourceIp": "203.0.113.9"}}, False),
        ({"StringLike": {"aws:UserAgent": "curl/*"}}, True),
        ({"StringNotEquals": {"aws:UserAgent": "curl/8"}}, False),
        ({"StringEqualsIgnoreCase": {"aws:UserAgent": "CURL/8"}}, True),
        ({"StringLike": {"aws:Referer": "*"}}, False),
        ({"StringEquals": {"aws:Referer": ""}}, False),
        ({"StringNotLike": {"aws:Referer": "*"}}, True),
        ({"StringLikeIfExists": {"aws:Referer": "https://shop.example/*"}}, True),
        ({"StringLikeIfExists": {"aws:UserAgent": "wget/*"}}, False),
        ({"DateLessThan": {"aws:CurrentTime": "2026-01-01T00:00:01Z"}}, True),
        ({"DateGreaterThan": {"aws:CurrentTime": "2026-01-01T00:00:00Z"}}, False),
        ({"Bool": {"aws:SecureTransport": "false"}}, True),
        ({"StringLike": {"aws:UserAgent": "curl/*"}, "Bool": {"aws:SecureTransport": "true"}}, False),
        ({"IpAddress": {"aws:SourceIp": "everywhere"}}, None),
        ({"StringEquals": {"aws:PrincipalTag/team": "orders"}}, None),
        ({"ForAnyValue:StringEquals": {"aws:UserAgent": "curl/8"}}, None),
        ({"NumericLessThan": {"aws:UserAgent": 9}}, None),
        ({"StringNotLike": {"aws:Username": "x"}}, None),
        ({"DateLessThan": {"aws:CurrentTime": "tomorrow"}}, None),
        ({"StringLike": "curl"}, None),
        ({"StringLike": {"aws:UserAgent": {"a": 1}}}, None),
    ],
)
def test_conditions_that_are_not_understood_admit_no_caller(condition, holds):
    assert decided(statement(Condition=condition)) == ("allow" if holds else "none")
    denied = decided(statement(), statement(Effect="Deny", Condition=condition))
    assert denied == ("allow" if holds is False else "deny")


@pytest.mark.parametrize(
    "document",
    [
        None, [], "x", {}, {"Statement": []}, {"Statement": None}, {"Statement": "x"},
        {"Statement": [statement()] * 1001},
        {"Statement": {"Effect": "allow"}}, {"Statement": statement(Effect="Maybe")}, {"Statement": statement(Extra=1)},
        {"Statement": statement(NotAction="x")}, {"Statement": statement(Resource=[])},
        {"Statement": statement(Resource=[1])}, {"Statement": statement(Resource="a" * 513)},
        {"Statement": statement(Condition="x")}, {"Statement": {"Effect": "Allow", "Action": "*"}},
    ],
)  # fmt: skip
def test_documents_that_are_no_policies(document):
    with pytest.raises(PolicyMalformed):
        Policy.of(document)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a*b*c", "abbc", True), ("a*b*c", "acb", False), ("*", "", True), ("?", "", False), ("a?", "ab", True),
        ("*a", "ba", True), ("ab*ba", "aba", False), ("a**b", "ab", True), ("a.c", "abc", False), ("*?", "", False),
        ("*\\?", "a\\b", True), ("*\\?", "ab", False), ("**?*", "x", True), ("a*?c", "ac", False),
        ("a\n*", "a\nb", True),
    ],
)  # fmt: skip
def test_wildcards(pattern, text, expected):
    assert wildcard_matches(pattern, text) is expected


def test_a_pattern_of_many_wildcards_ends():
    """One that tries every way of matching would not."""
    assert not wildcard_matches("*a" * 256, "a" * 255 + "b" * 2_000)
