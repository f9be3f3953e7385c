"""Points: merging, statistics, and how wrong a percentile may be."""

from __future__ import annotations

import random

import pytest

from statewright.metrics.columns import Column
from statewright.metrics.points import ERROR, EXACT, Point, bucket_of, is_statistic, merged, point_of, statistic


def spread(values: list[float]) -> dict[float, float]:
    found: dict[float, float] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [("SampleCount", 5), ("Sum", 110), ("Average", 22), ("Minimum", 1), ("Maximum", 100), ("p50", 3), ("p100", 100),
     ("p0", 1), ("p90", 100), ("tm80", 2.5), ("tc80", 4), ("ts80", 10)],
)  # fmt: skip
def test_a_statistic_of_few_values_is_exact(name: str, expected: float) -> None:
    assert statistic(point_of(60, spread([1, 2, 3, 4, 100])), name) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["p101", "p", "Mean", "tm(10%:90%)", ""])
def test_what_is_no_statistic(name: str) -> None:
    assert not is_statistic(name)


@pytest.mark.parametrize("share", [1, 25, 50, 90, 99, 99.9])
def test_a_percentile_of_many_values_is_off_by_no_more_than_the_bound(share: float) -> None:
    chance = random.Random(7)
    values = [chance.lognormvariate(3, 2) for _ in range(20_000)]
    whole = merged(0, [point_of(at, spread(values[at::10])) for at in range(10)])
    assert whole is not None
    assert whole.samples == len(values)
    assert whole.total == pytest.approx(sum(values))
    exact = sorted(values)[max(0, -(-int(share * 200) * 20_000 // 20_000) - 1)]
    found = statistic(whole, f"p{share}")
    assert found is not None
    assert abs(found - exact) <= 1.01 * ERROR * exact


def test_a_middle_is_its_own_bucket() -> None:
    chance = random.Random(3)
    for _ in range(1_000):
        value = chance.choice((1, -1)) * 10 ** chance.uniform(-20, 20)
        middle = bucket_of(value)
        assert abs(middle - value) <= 1.01 * ERROR * abs(value)
        assert bucket_of(middle) == middle
    assert bucket_of(0.0) == 0.0


def test_a_spread_stays_small() -> None:
    point = point_of(0, {10.0 ** (number / 50 - 200): 1 for number in range(20_000)})
    assert point.spread is not None
    assert len(point.spread) <= 2_048
    assert sum(point.spread.values()) == 20_000
    assert len(point_of(0, {float(number): 1 for number in range(EXACT)}).spread or {}) == EXACT


@pytest.mark.parametrize("point", [Point(0, 2, 3, 1, 2, 2), point_of(0, {-1.0: 1, 5.0: 1})])
def test_no_percentile_where_values_are_unknown_or_negative(point: Point) -> None:
    assert statistic(point, "p50") is None
    assert statistic(point, "Average") == point.total / 2


def test_a_column_keeps_points_in_order_and_adds_those_of_one_instant() -> None:
    column = Column()
    for at in (60, 180, 120, 60):
        column.put(point_of(at, {1.0: 1, float(at): 1}))
    points = column.between(0, 1000)
    assert [(one.at, one.samples, one.total, one.high) for one in points] == [
        (60, 4, 122, 60), (120, 2, 121, 120), (180, 2, 181, 180),
    ]  # fmt: skip
    assert points[0].spread == {1.0: 2, 60.0: 2}
    assert [one.at for one in column.between(61, 180)] == [120]
    last = column.last_before(180)
    assert last is not None
    assert last.at == 120
    column.drop_before(180)
    assert [one.at for one in column.between(0, 1000)] == [180]
    column.drop_before(1000)
    assert (len(column), column.size_bytes) == (0, 0)


def test_a_gauges_second_has_its_last_level_and_its_peak() -> None:
    column = Column()
    column.put(Point(5, 1, 3, 3, 9, 3), replaces=True)
    column.put(Point(5, 1, 4, 4, 4, 4), replaces=True)
    assert column.between(0, 10) == [Point(5, 1, 4, 3, 9, 4)]
