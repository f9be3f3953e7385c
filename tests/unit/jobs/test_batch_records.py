from __future__ import annotations

import pytest

from statewright.jobs.batch_definitions import substituted
from statewright.jobs.batch_records import Attempt, is_tried_again, matches

ATTEMPT = Attempt("t", 1, 2, 42, "OutOfMemoryError: killed", "Essential container in task exited")


@pytest.mark.parametrize(
    ("rules", "again"),
    [
        ([], True),
        ([{"onExitCode": "42", "action": "EXIT"}], False),
        ([{"onExitCode": "4*", "action": "exit"}], False),
        ([{"onExitCode": "2", "action": "EXIT"}], True),
        ([{"onExitCode": "42", "onReason": "Other*", "action": "EXIT"}], True),
        ([{"onReason": "outofmemory*", "action": "RETRY"}, {"onExitCode": "*", "action": "EXIT"}], True),
        ([{"onStatusReason": "Host*", "action": "RETRY"}, {"onReason": "*", "action": "EXIT"}], False),
    ],
)
def test_rules_decide_in_their_order(rules, again):
    strategy = {"retryStrategy": {"attempts": 3, "evaluateOnExit": rules}}
    assert is_tried_again(strategy, {}, ATTEMPT, 1) is again
    assert is_tried_again({}, strategy, ATTEMPT, 2) is again
    assert is_tried_again(strategy, {}, ATTEMPT, 3) is False


@pytest.mark.parametrize(
    ("pattern", "text", "is_one"),
    [
        ("a", "A", True),
        ("a*", "Abc", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a?", "ab", False),
        ("[a]", "a", False),
    ],
)
def test_the_only_wildcard_is_a_star_at_the_end(pattern, text, is_one):
    assert matches(pattern, text) is is_one


@pytest.mark.parametrize(
    ("text", "made"),
    [("Ref::a", "1"), ("--x=Ref::a/Ref::b-c", "--x=1/2"), ("Ref::none", "Ref::none"), ("ref::a", "ref::a"), ("", "")],
)
def test_parameters_take_the_place_of_references(text, made):
    assert substituted(text, {"a": "1", "b-c": "2"}) == made
