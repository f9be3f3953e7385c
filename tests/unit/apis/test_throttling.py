"""Throttles in virtual time: buckets, settings of stages for routes and methods, and wrong values."""

from __future__ import annotations

import pytest

from statewright.apis.throttling import (
    BURST,
    RATE,
    Bucket,
    Buckets,
    Throttle,
    check_throttle,
    throttle_of,
    throttles_of_methods,
    throttles_of_routes,
)
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual


def taken(bucket: Bucket, times: int) -> int:
    """How many of some requests pass."""
    return sum(bucket.take() for _ in range(times))


def test_a_bucket_lets_a_burst_in_and_then_the_rate() -> None:
    async def test(clock: VirtualClock) -> None:
        bucket = Bucket(Throttle(0.3, 5), clock)
        assert taken(bucket, 10) == 5
        await clock.sleep_until(clock.now_ms() + 3_333)
        assert taken(bucket, 10) == 0
        await clock.sleep_until(clock.now_ms() + 1)
        assert taken(bucket, 10) == 1
        for _ in range(10):
            # A tenth of what one token takes, ten times: rounding loses none.
            assert taken(bucket, 1) == 0
            await clock.sleep_until(clock.now_ms() + 334)
        assert taken(bucket, 10) == 1
        await clock.sleep_until(clock.now_ms() + 3_600_000)
        assert taken(bucket, 10) == 5

    run_virtual(test)


@pytest.mark.parametrize("throttle", [Throttle(0.0, 5), Throttle(5.0, 0), Throttle(0.0, 0)])
def test_a_rate_or_burst_of_0_lets_nothing_in(throttle: Throttle) -> None:
    async def test(clock: VirtualClock) -> None:
        bucket = Bucket(throttle, clock)
        assert taken(bucket, 3) == 0
        await clock.sleep_until(clock.now_ms() + 60_000)
        assert taken(bucket, 3) == 0

    run_virtual(test)


def test_buckets_outlive_a_stage_that_is_compiled_again_unless_their_throttle_changed() -> None:
    async def test(clock: VirtualClock) -> None:
        def compiled(burst: int, before: Buckets | None) -> tuple[Buckets, Bucket]:
            buckets = Buckets(clock, lambda key: Throttle(1.0, burst) if key == "GET /a" else None, before)
            bucket = buckets.bucket("GET /a")
            assert bucket is not None
            assert buckets.bucket("GET /b") is None
            return buckets.compiled(), bucket

        first, bucket = compiled(2, None)
        assert taken(bucket, 3) == 2
        second, bucket = compiled(2, first)
        assert taken(bucket, 3) == 0
        third, bucket = compiled(4, second)
        assert taken(bucket, 9) == 4
        assert list(third.made) == ["GET /a"]

    run_virtual(test)


def test_a_missing_rate_or_burst_is_that_of_an_account() -> None:
    assert throttle_of(None, None) is None
    assert throttle_of(-1, -1) is None
    assert throttle_of(2.5, None) == Throttle(2.5, BURST)
    assert throttle_of(-1, 7) == Throttle(RATE, 7)
    assert throttle_of(0, 0) == Throttle(0.0, 0)


def test_settings_of_a_route_go_before_those_of_its_stage() -> None:
    of = throttles_of_routes({
        "DefaultRouteSettings": {"ThrottlingRateLimit": 10.0, "ThrottlingBurstLimit": 20},
        "RouteSettings": {"GET /a": {"ThrottlingBurstLimit": 3}, "GET /b": {"DetailedMetricsEnabled": True}},
    })  # fmt: skip
    assert of("GET /a") == Throttle(10.0, 3)
    assert of("GET /b") == of("$default") == Throttle(10.0, 20)
    assert throttles_of_routes({})("GET /a") is None


def test_settings_of_a_method_go_before_those_of_all_methods() -> None:
    of = throttles_of_methods({
        "methodSettings": {
            "*/*": {"throttlingRateLimit": 10.0, "throttlingBurstLimit": 20},
            "~1pets~1{id}/GET": {"throttlingBurstLimit": 3}, "pets/POST": {"throttlingRateLimit": 1.0},
            "~1/GET": {"throttlingRateLimit": -1, "throttlingBurstLimit": -1}, "~1pets/*": {"loggingLevel": "INFO"},
        }
    })  # fmt: skip
    assert of("/pets/{id}/GET") == Throttle(10.0, 3)
    assert of("/pets/POST") == Throttle(1.0, 20)
    assert of("//GET") is None
    assert of("//PUT") == of("/pets/GET") == Throttle(10.0, 20)


@pytest.mark.parametrize("value", [-2, -0.5, float("nan"), float("inf"), 2**31, 1e300])
def test_wrong_values_are_refused(value: float) -> None:
    for rate, burst in ((value, None), (None, value)):
        with pytest.raises(ApiError, match="Invalid throttling"):
            check_throttle(rate, burst)
    check_throttle(0, 2**31 - 1)
    check_throttle(-1, -1)
