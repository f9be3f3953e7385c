"""Delivery policies: pauses before retries, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.events.retry_phases import pause_ms
from statewright.topics.retries import DEFAULT, MANAGED, effective, read_subscription_policy, read_topic_policy


def pauses(policy: Any, many: int) -> list[int | None]:
    return [pause_ms({**DEFAULT, **policy}, retry) for retry in range(1, many + 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, [20_000, 20_000, 20_000, None]),
        ({"numRetries": 0}, [None]),
        (
            {"numRetries": 6, "numNoDelayRetries": 1, "numMinDelayRetries": 1, "numMaxDelayRetries": 1,
             "minDelayTarget": 1, "maxDelayTarget": 9},
            [0, 1_000, 1_000, 5_000, 9_000, 9_000, None],
        ),
        (
            {"numRetries": 3, "minDelayTarget": 1, "maxDelayTarget": 16, "backoffFunction": "exponential"},
            [1_000, 4_000, 16_000, None],
        ),
    ],
)  # fmt: skip
def test_pauses(policy: Any, expected: list[int | None]) -> None:
    assert pauses(policy, len(expected)) == expected


def test_functions_are_tried_for_twenty_three_days() -> None:
    assert [pause_ms(MANAGED, retry) for retry in (1, 3, 4, 5, 6, 15, 16, 100_015, 100_016)] == [
        0, 0, 1_000, 1_000, 1_000, 20_000, 20_000, 20_000, None,
    ]  # fmt: skip
    total = sum(pause_ms(MANAGED, retry) or 0 for retry in range(1, 100_016))
    assert 23 <= total / 86_400_000 < 24


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("x", "failed to parse JSON"),
        ([], "must be a JSON object"),
        ({"healthyRetryPolicy": 1}, "healthyRetryPolicy must be a JSON object"),
        ({"healthyRetryPolicy": {"numRetries": 101}}, "numRetries must be less than or equal to 100"),
        ({"healthyRetryPolicy": {"numRetries": "3"}}, "numRetries must be a whole number"),
        ({"healthyRetryPolicy": {"minDelayTarget": 0}}, "minDelayTarget"),
        ({"healthyRetryPolicy": {"minDelayTarget": 30}}, "minDelayTarget <= maxDelayTarget"),
        ({"healthyRetryPolicy": {"maxDelayTarget": 3601}}, "3600"),
        ({"healthyRetryPolicy": {"numNoDelayRetries": 4}}, "must not be more than numRetries"),
        ({"healthyRetryPolicy": {"backoffFunction": "cubic"}}, "backoffFunction must be one of"),
        ({"healthyRetryPolicy": {"numRetries": 100, "minDelayTarget": 60, "maxDelayTarget": 60}}, "all retries"),
        ({"requestPolicy": {"headerContentType": "a\nb/c"}}, "headerContentType"),
    ],
)
def test_policies_are_refused(policy: Any, reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        read_subscription_policy(policy if isinstance(policy, str) else json.dumps(policy))
    assert reason in refused.value.message


def test_a_subscription_overrides_its_topic_unless_that_forbids_it() -> None:
    topic = {"http": {"defaultHealthyRetryPolicy": {"numRetries": 5}}}
    own = {"healthyRetryPolicy": {"minDelayTarget": 10}, "requestPolicy": {"headerContentType": "application/json"}}
    read_topic_policy(json.dumps(topic))
    found = effective(json.dumps(topic), json.dumps(own))
    assert found["healthyRetryPolicy"] == {**DEFAULT, "numRetries": 5, "minDelayTarget": 10}
    assert found["requestPolicy"] == {"headerContentType": "application/json"}
    topic["http"]["disableSubscriptionOverrides"] = True  # type: ignore[assignment]
    assert effective(json.dumps(topic), json.dumps(own))["healthyRetryPolicy"] == {**DEFAULT, "numRetries": 5}
