from __future__ import annotations

from statewright.instants import iso_ms, iso_seconds


def test_instants_to_the_second_and_the_millisecond() -> None:
    assert iso_seconds(1_714_557_600_999) == "2024-05-01T10:00:00Z"
    assert iso_ms(1_714_557_600_000) == "2024-05-01T10:00:00.000Z"
    assert iso_ms(1_714_557_600_007, "+0000") == "2024-05-01T10:00:00.007+0000"
    assert iso_ms(0) == "1970-01-01T00:00:00.000Z"
    assert iso_seconds(-1) == "1969-12-31T23:59:59Z"
