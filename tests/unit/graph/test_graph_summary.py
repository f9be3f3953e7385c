from typing import Any

import pytest

from statewright.graph import summary


def comparison(operator: str, value: Any) -> Any:
    return {"Variable": "$.x", operator: value, "Next": "N"}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (comparison("StringEquals", "a"), '$.x = "a"'),
        (comparison("NumericEquals", 3), "$.x = 3"),
        (comparison("NumericLessThan", 1.5), "$.x < 1.5"),
        (comparison("NumericGreaterThan", 2), "$.x > 2"),
        (comparison("NumericLessThanEquals", 2), "$.x ≤ 2"),
        (comparison("StringGreaterThanEquals", "b"), '$.x ≥ "b"'),
        (comparison("BooleanEquals", True), "$.x = true"),
        (comparison("NumericEqualsPath", "$.y"), "$.x = $.y"),
        (comparison("TimestampLessThan", "2030-01-01T00:00:00Z"), "$.x < 2030-01-01T00:00:00Z"),
        (comparison("StringMatches", "log-*"), '$.x matches "log-*"'),
        (comparison("IsPresent", True), "$.x is present"),
        (comparison("IsPresent", False), "$.x is absent"),
        (comparison("IsNull", True), "$.x is null"),
        (comparison("IsNumeric", False), "$.x is not a number"),
        (comparison("IsString", True), "$.x is a string"),
        (comparison("IsBoolean", True), "$.x is a boolean"),
        (comparison("IsTimestamp", True), "$.x is a timestamp"),
        ({"Not": comparison("IsPresent", True)}, "$.x is absent"),
        ({"Not": comparison("NumericEquals", 1)}, "$.x ≠ 1"),
        ({"Not": comparison("StringMatches", "a*")}, '$.x does not match "a*"'),
        ({"Not": comparison("NumericLessThan", 1)}, "not $.x < 1"),
        ({"And": [comparison("IsPresent", True), comparison("NumericEquals", 1)]}, "$.x is present and $.x = 1"),
        (
            {
                "And": [
                    comparison("IsNull", False),
                    {"Or": [comparison("NumericEquals", 1), comparison("IsString", True)]},
                ]
            },
            "$.x is not null and ($.x = 1 or $.x is a string)",
        ),
        (
            {"Not": {"And": [comparison("NumericEquals", 1), comparison("NumericEquals", 2)]}},
            "not ($.x = 1 and $.x = 2)",
        ),
        (
            {"Or": [comparison("NumericEquals", n) for n in range(7)]},
            " or ".join(f"$.x = {n}" for n in range(5)) + " or … 2 more",
        ),
        ({"Condition": "{% $count >\n   3 %}"}, "$count > 3"),
        ({"Condition": True}, "true"),
        ({"Variable": "$.x", "Next": "N"}, "$.x ?"),
        ({"Next": "N"}, "?"),
        ({"And": []}, "?"),
        ({"And": ["no"]}, "?"),
        ({"NumericEquals": {}, "Variable": 3}, "? = {…}"),
        (comparison("StringEquals", ["a"]), "$.x = […]"),
        ("no rule", "?"),
        (None, "?"),
    ],
)
def test_a_rule_in_words(rule, words):
    assert summary.rule_words(rule) == words


def test_a_deep_rule_ends_in_dots():
    rule = comparison("IsPresent", True)
    for _ in range(5_000):
        rule = {"Not": {"And": [rule, rule]}}
    assert "…" in summary.rule_words(rule)


def test_a_long_rule_is_cut():
    assert len(summary.rule_words(comparison("StringEquals", "x" * 5_000))) == summary.LONGEST


def test_a_number_beyond_printing_is_a_question_mark():
    assert summary.rule_words(comparison("NumericEquals", 10**6_000)) == "$.x = ?"


@pytest.mark.parametrize(
    ("catcher", "words"),
    [
        ({"ErrorEquals": ["States.ALL"]}, "States.ALL"),
        ({"ErrorEquals": ["A", "B", "C"]}, "A, B, C"),
        ({"ErrorEquals": ["A", "B", "C", "D", "E"]}, "A, B, C +2"),
        ({"ErrorEquals": [3]}, "?"),
        ({"ErrorEquals": []}, "?"),
        ({}, "?"),
        (7, "?"),
    ],
)
def test_error_names(catcher, words):
    assert summary.error_words(catcher) == words


@pytest.mark.parametrize(
    ("retrier", "words"),
    [
        ({}, "3 times (1 s, 2 s, 4 s)"),
        ({"MaxAttempts": 0}, "never"),
        ({"MaxAttempts": 1, "IntervalSeconds": 5}, "once (5 s)"),
        ({"MaxAttempts": 2, "BackoffRate": 1, "IntervalSeconds": 60}, "2 times (1 min each)"),
        ({"MaxAttempts": 9, "IntervalSeconds": 10, "MaxDelaySeconds": 15}, "9 times (10 s, 15 s, 15 s, …)"),
        ({"MaxAttempts": "many"}, '"many" times'),
        ({"BackoffRate": 0.1}, "3 times"),
        ({"MaxAttempts": -1}, "-1 times"),
        ({"BackoffRate": float("nan")}, "3 times"),
    ],
)
def test_retriers(retrier, words):
    assert list(summary.retry_words([{"ErrorEquals": ["E"], **retrier}, "no retrier"])) == [f"{words} on E"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 s"),
        (60, "1 min"),
        (90, "90 s"),
        (7_200, "2 h"),
        (86_400, "1 day"),
        (172_800, "2 days"),
        (0.5, "0.5 s"),
        (1_000_001, "1000001 s"),
    ],
)
def test_durations(seconds, words):
    assert summary.seconds_words(seconds) == words


LAMBDA = "arn:aws:states:::lambda:invoke"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"Type": "Task", "Resource": LAMBDA}, "lambda:invoke"),
        ({"Type": "Task", "Resource": LAMBDA, "Parameters": {"FunctionName": "pay"}}, "lambda:invoke pay"),
        ({"Type": "Task", "Resource": LAMBDA, "Parameters": {"FunctionName": "pay:$LATEST"}}, "lambda:invoke pay"),
        ({"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:pay:$LATEST"}, "lambda pay"),
        (
            {
                "Type": "Task",
                "Resource": LAMBDA,
                "Arguments": {"FunctionName": "arn:aws:lambda:us-east-1:1:function:pay:2"},
            },
            "lambda:invoke pay:2",
        ),
        ({"Type": "Task", "Resource": LAMBDA + ".waitForTaskToken"}, "lambda:invoke.waitForTaskToken"),
        ({"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:pay"}, "lambda pay"),
        ({"Type": "Task", "Resource": "arn:aws:states:us-east-1:1:activity:approve"}, "activity approve"),
        ({"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:describeExport"}, "dynamodb:describeExport"),
        ({"Type": "Task", "Resource": "arn:aws:other:us-east-1:1:thing"}, "other thing"),
        ({"Type": "Task", "Resource": "${Function}"}, "${Function}"),
        ({"Type": "Task", "Resource": 5}, ""),
        ({"Type": "Wait", "Seconds": 300}, "5 min"),
        ({"Type": "Wait", "Seconds": "{% $delay %}"}, "$delay seconds"),
        ({"Type": "Wait", "SecondsPath": "$.delay"}, "$.delay seconds"),
        ({"Type": "Wait", "Timestamp": "2030-01-01T00:00:00Z"}, "until 2030-01-01T00:00:00Z"),
        ({"Type": "Wait", "TimestampPath": "$.at"}, "until $.at"),
        ({"Type": "Wait"}, ""),
        ({"Type": "Fail", "Error": "Broken"}, "Broken"),
        ({"Type": "Fail", "ErrorPath": "$.error"}, "$.error"),
        ({"Type": "Fail"}, ""),
        ({"Type": "Map"}, "each item"),
        ({"Type": "Map", "ItemsPath": "$.a", "MaxConcurrency": 1}, "each of $.a, one at a time"),
        ({"Type": "Map", "Items": [1, 2], "MaxConcurrency": 4}, "each of 2 items, 4 at once"),
        (
            {
                "Type": "Map",
                "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED"}},
                "ItemReader": {"Resource": "arn:aws:states:::s3:getObject"},
            },
            "distributed, items from s3:getObject",
        ),
        ({"Type": "Parallel", "Branches": [{}]}, "1 branch"),
        ({"Type": "Parallel", "Branches": [{}, {}]}, "2 branches"),
        ({"Type": "Parallel"}, "0 branches"),
        ({"Type": "Pass"}, ""),
        ({"Type": ["Task"]}, ""),
    ],
)
def test_what_a_state_does(state, words):
    assert summary.detail_words(state) == words
