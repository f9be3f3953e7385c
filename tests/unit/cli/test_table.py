"""Tables on terminals of all widths."""

from __future__ import annotations

import io

import pytest

from statewright.cli.output import Printer
from statewright.cli.table import narrowed, print_table

RUN = "7d954c01-462d-4eda-9912-cc3c57e2c922"


class Screen(Printer):
    """A printer of a terminal."""

    def __init__(self, width: int) -> None:
        super().__init__(io.StringIO())
        self.encodes_all = True
        self._width = width

    @property
    def width(self) -> int:
        return self._width

    def lines(self) -> list[str]:
        """What was printed."""
        assert isinstance(self.stream, io.StringIO)
        return self.stream.getvalue().splitlines()


def printed(width: int, titles: list[str], *rows: list[str]) -> list[str]:
    screen = Screen(width)
    print_table(screen, titles, rows)
    return screen.lines()


TITLES = ["NAME", "MACHINE", "STATUS", "STARTED (UTC)", "DURATION"]
ROW = [RUN, "order", "SUCCEEDED", "2026-11-22 14:14:28", "103 ms"]


def test_an_id_is_cut_before_any_other_column():
    assert printed(60, TITLES, ROW) == [
        "NAME       MACHINE  STATUS     STARTED (UTC)        DURATION",
        "7d954c01…  order    SUCCEEDED  2026-11-22 14:14:28  103 ms",
    ]
    assert printed(120, TITLES, ROW)[1].startswith(RUN)


def test_of_two_long_columns_the_id_gives_way():
    [_, row] = printed(59, ["MESSAGE", "BODY"], [RUN, '{"order": 7, "customer": "ada", "more": "of it"}'])
    assert row == '7d954c01…  {"order": 7, "customer": "ada", "more": "of it"}'


@pytest.mark.parametrize("instant", ["2026-11-22T14:28:45.123456+00:00"])
def test_instants_stay_whole(instant: str):
    [_, row] = printed(50, ["NEXT", "TARGET"], [instant, "a-long-name-of-a-target-that-is-cut"])
    assert row == f"{instant}  a-long-name-of-…"


def test_a_table_that_cannot_fit_is_cut_at_its_edge():
    assert printed(32, TITLES, ROW)[1] == "7d954c01…  order    SUCCEEDED  …"


def test_columns_that_fit_keep_their_width():
    assert narrowed([36, 10], [9, 10], [True, False], 46) == [36, 10]
    assert narrowed([36, 10], [9, 10], [True, False], 45) == [35, 10]
    assert narrowed([36, 30], [9, 9], [True, False], 20) == [9, 11]
    assert narrowed([30, 40], [9, 9], [False, False], 20) == [10, 10]
