"""The last outcome of the deliveries of each schedule and rule."""

from __future__ import annotations

from dataclasses import replace

from statewright.errors import ApiError
from statewright.events.delivery_records import Delivery
from statewright.events.outcomes import DELIVERED, GIVEN_UP, MOST_KEPT, Outcomes

DELIVERY = Delivery(1, {"Arn": "arn:t"}, "{}", 0, 0, {"SCHEDULE_ARN": "arn:s"})


def test_the_last_outcome_replaces_the_one_before():
    outcomes = Outcomes()
    outcomes.note(replace(DELIVERY, attempts=3), GIVEN_UP, 5, ApiError("Busy", "x" * 2_000))
    failed = outcomes.of("arn:s")
    assert failed is not None
    assert (failed.what, failed.attempts, failed.error, len(failed.message or "")) == (GIVEN_UP, 3, "Busy", 1_000)
    outcomes.note(DELIVERY, DELIVERED, 9)
    last = outcomes.of("arn:s")
    assert last is not None
    assert (last.at_ms, last.what, last.attempts, last.error) == (9, DELIVERED, 1, None)
    assert last.call_id == DELIVERY.call_id


def test_deliveries_of_topics_are_left_out():
    outcomes = Outcomes()
    outcomes.note(replace(DELIVERY, origin={}), DELIVERED, 1)
    assert outcomes.of("arn:s") is None


def test_the_longest_unchanged_are_dropped():
    outcomes = Outcomes()
    for number in range(MOST_KEPT):
        outcomes.note(replace(DELIVERY, origin={"RULE_ARN": f"r{number}"}), DELIVERED, number)
    outcomes.note(replace(DELIVERY, origin={"RULE_ARN": "r0"}), DELIVERED, 1)
    outcomes.note(DELIVERY, DELIVERED, 1)
    assert [outcomes.of(arn) is None for arn in ("r0", "r1", "r2", "arn:s")] == [False, True, False, False]
