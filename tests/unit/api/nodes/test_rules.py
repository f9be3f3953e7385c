from __future__ import annotations

import pytest

from statewright.api.nodes.rules import (
    OWN_ON_EXECUTIONS,
    RULES,
    Rule,
    is_answered_anywhere,
    may_repeat,
    rule_of,
)
from statewright.api.operations import registered
from statewright.limits import API_RATES, EXPRESS_STARTS


def test_every_operation_has_a_rule():
    assert sorted(RULES) == registered("states")


def test_what_has_no_rule_runs_at_the_home():
    assert rule_of("NoSuchOperation") is Rule.HOME


def test_nodes_share_the_rates_of_what_several_of_them_answer():
    assert {name for name in API_RATES if not is_answered_anywhere(name)} == {
        name for name, rule in RULES.items() if rule is Rule.HOME
    }
    assert is_answered_anywhere(EXPRESS_STARTS)


def test_operations_of_statewrights_own_run_at_the_home_but_for_those_on_executions():
    rules = {name: rule_of(name, "statewright") for name in registered("statewright")}
    assert {name for name, rule in rules.items() if rule is not Rule.HOME} == OWN_ON_EXECUTIONS
    assert {rules[name] for name in OWN_ON_EXECUTIONS} == {Rule.EXECUTION}


@pytest.mark.parametrize(
    ("service", "operation", "request_", "sent_by", "may"),
    [
        ("states", "StartExecution", {}, None, False),
        ("states", "StartExecution", {"name": "n"}, None, True),
        ("states", "StartExecution", {}, "a task", True),
        ("states", "StartSyncExecution", {"name": "n"}, "a task", False),
        ("states", "StopExecution", {}, None, True),
        ("states", "SendTaskHeartbeat", {}, None, True),
        ("states", "SendTaskSuccess", {}, None, False),
        ("states", "RedriveExecution", {}, None, False),
        ("states", "DescribeMapRun", {}, None, True),
        ("states", "GetActivityTask", {}, None, False),
        ("s3", "GetObject", {}, None, True),
        ("s3", "PutObject", {}, None, False),
        ("sqs", "ReceiveMessage", {}, None, False),
    ],
)
def test_what_may_be_repeated(service, operation, request_, sent_by, may):
    assert may_repeat(service, operation, request_, sent_by) is may
