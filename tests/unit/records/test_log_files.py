"""Files of log events: both directions, places, searches by time, rotation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from statewright.records.log_files import BLOCK_BYTES, Lane, Place, backwards, forwards, put_line, put_text, worker_line
from statewright.records.log_reading import Extents, Window, search, stream_page

COUNT = 5_000


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    """A function's log of two streams, in two files; the last line is being written."""
    half = COUNT // 2
    lines = [f"{number}\ts{number % 2}\tline {number} {'x' * (number % 97)}\n" for number in range(COUNT)]
    (tmp_path / "f.log.1").write_text("".join(lines[:half]))
    (tmp_path / "f.log").write_text("".join(lines[half:]) + f"{COUNT}\ts0\tunfin")
    return Lane((tmp_path / "f.log.1", tmp_path / "f.log"), worker_line)


def test_both_directions_see_the_same(lane: Lane) -> None:
    there = [(line.event.at_ms, line.begin, line.end) for line in forwards(lane, None, None)]
    back = [(line.event.at_ms, line.begin, line.end) for line in backwards(lane, None)]
    assert [at for at, *_ in there] == list(range(COUNT))
    assert back == there[::-1]


@pytest.mark.parametrize("number", [0, 1, 2_499, 2_500, 2_501, 4_998, 4_999])
def test_reading_continues_at_a_place(lane: Lane, number: int) -> None:
    every = list(forwards(lane, None, None))
    assert [one.event.at_ms for one in forwards(lane, every[number].end, None)] == list(range(number + 1, COUNT))
    assert [one.event.at_ms for one in backwards(lane, every[number].begin)] == list(range(number - 1, -1, -1))


def test_a_place_outlives_a_renamed_file(lane: Lane) -> None:
    newer = lane.paths[1]
    place = next(one.end for one in forwards(lane, None, None) if one.event.at_ms == 3_000)
    newer.replace(lane.paths[0])
    newer.write_text("9999\ts0\tafter\n")
    found = [one.event.at_ms for one in forwards(lane, place, None)]
    assert (found[0], found[-1]) == (3_001, 9_999)


@pytest.mark.parametrize("from_ms", [0, 17, 2_500, 4_000, 4_999, 6_000])
def test_a_search_by_time_misses_nothing(lane: Lane, from_ms: int) -> None:
    found = {one.event.at_ms for one in forwards(lane, None, from_ms)}
    assert set(range(from_ms, COUNT)) <= found


@pytest.mark.parametrize("forward", [True, False])
def test_pages_of_a_stream(lane: Lane, forward: bool) -> None:
    found: list[int] = []
    place = None
    while True:
        page = stream_page(lane, "s1", Window(100, 4_000), 700, place, forward=forward)
        instants = [one.at_ms for one in page.events]
        assert instants == sorted(instants)
        if not instants:
            break
        found = found + instants if forward else instants + found
        place = page.behind if forward else page.before
    assert found == list(range(101, 4_000, 2))
    again = stream_page(lane, "s1", Window(100, 4_000), 700, place, forward=forward)
    assert (again.before, again.behind) == (place, place)


def test_a_search_merges_lanes_page_by_page(lane: Lane, tmp_path: Path) -> None:
    (tmp_path / "own.log").write_bytes(b"".join(put_text(number, 0, f"own {number}") for number in range(0, COUNT, 10)))
    own = Lane((tmp_path / "own.log",), put_line, "own", None)
    found: list[tuple[int, str]] = []
    places: dict[str, Place] = {}
    for _ in range(1_000):
        page = search([lane, own], Window(1_000, 3_000), lambda event: "9" in event.message, 33, places)
        found += [(event.at_ms, event.stream) for event, _ in page.events]
        if page.places is None:
            break
        places = page.places
    expected = [(n, f"s{n % 2}") for n in range(1_000, 3_000) if "9" in str(n)]
    expected += [(n, "own") for n in range(1_000, 3_000, 10) if "9" in str(n)]
    assert sorted(found) == sorted(expected)
    assert [at for at, _ in found] == sorted(at for at, _ in found)


SLACK = 1_000


@pytest.fixture
def untidy(tmp_path: Path) -> Lane:
    """A function's log of three nodes, whose lines come in batches: out of order by up to the slack of the lane."""
    lines = [(number, f"s{number % 3}") for number in range(COUNT)]
    batches = [
        [one for one in lines[begin : begin + SLACK] if one[1] == stream]
        for begin in range(0, COUNT, SLACK) for stream in ("s2", "s0", "s1")
    ]  # fmt: skip
    text = "".join(f"{at}\t{stream}\tline {at} {'x' * 300}\n" for batch in batches for at, stream in batch)
    path = tmp_path / "g.log"
    path.write_text(text)
    assert path.stat().st_size > 10 * BLOCK_BYTES
    return Lane((path,), worker_line, slack_ms=SLACK)


def searched(lane: Lane, window: Window, limit: int) -> list[list[int]]:
    """The instants of each page of a search."""
    pages: list[list[int]] = []
    places: dict[str, Place] = {}
    while True:
        page = search([lane], window, lambda _: True, limit, places)
        pages.append([event.at_ms for event, _ in page.events])
        if page.places is None:
            return pages
        places = page.places


@pytest.mark.parametrize(("from_ms", "to_ms"), [(0, 10), (299, 302), (1_000, 3_000), (2_345, 2_346), (4_990, 9_999)])
def test_windows_over_lines_that_are_out_of_order_miss_nothing(untidy: Lane, from_ms: int, to_ms: int) -> None:
    expected = list(range(from_ms, min(to_ms, COUNT)))
    for limit in (7, 10_000):
        pages = searched(untidy, Window(from_ms, to_ms), limit)
        assert sorted(at for page in pages for at in page) == expected
        assert all(page == sorted(page) for page in pages)
    for stream in ("s0", "s1", "s2"):
        of_stream = [at for at in expected if f"s{at % 3}" == stream]
        for forward in (True, False):
            page = stream_page(untidy, stream, Window(from_ms, to_ms), 10_000, None, forward=forward)
            assert [one.at_ms for one in page.events] == of_stream


@pytest.mark.parametrize("from_ms", range(0, COUNT, 250))
def test_a_search_by_time_begins_before_the_slack(untidy: Lane, from_ms: int) -> None:
    found = [line.event.at_ms for line in forwards(untidy, None, from_ms)]
    assert set(range(from_ms, COUNT)) <= set(found)


def test_lines_that_came_too_late_are_found_only_by_reading_everything(untidy: Lane) -> None:
    lines = untidy.paths[0].read_text().splitlines(keepends=True)
    late = [f"{number}\ts0\tlate {'x' * 500}\n" for number in range(1_000)]
    half = len(lines) // 2
    untidy.paths[0].write_text("".join([*lines[:half], *late, *lines[half:]]))
    whole = replace(untidy, slack_ms=None)
    for window in (Window(10, 20), Window(1_800, 1_810), Window(4_000, 4_010)):
        every = [line.event.at_ms for line in forwards(untidy, None, None)]
        expected = sorted(at for at in every if window.includes(at))
        assert [at for page in searched(whole, window, 10_000) for at in page] == expected
    assert sum(len(page) for page in searched(untidy, Window(10, 20), 10_000)) == 10


def test_extents_follow_what_is_added(lane: Lane) -> None:
    extents = Extents()
    first = extents.of(lane)
    assert {name: (one.first_ms, one.last_ms) for name, one in first.items()} == {"s0": (0, 4_998), "s1": (1, 4_999)}
    with lane.paths[1].open("a") as file:
        file.write("ished\n6000\ts2\tnew\n")
    second = extents.of(lane)
    assert (second["s0"].last_ms, second["s2"].last_ms, second["s1"]) == (COUNT, 6_000, first["s1"])


def test_long_lines_and_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(put_text(1, 1, "a\nb") + put_text(2, 2, "x" * 300_000) + b"rubbish\n" + put_text(3, 3, "€"))
    lane = Lane((path, tmp_path / "none"), put_line, "s", None)
    messages = [line.event.message for line in forwards(lane, None, None)]
    assert messages == ["a\nb", "x" * 300_000, "€"]
    assert [line.event.message for line in backwards(lane, None)] == messages[::-1]
    path.write_bytes(b"")
    assert list(backwards(lane, None)) == list(forwards(lane, None, None)) == []
