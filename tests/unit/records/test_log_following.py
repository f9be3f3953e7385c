"""Places of a reader that follows a group: recognized after renames, and lost to rotation."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from statewright.records.log_files import Lane, history_line, worker_line
from statewright.records.log_following import NO_MARK, Places, ends, is_read, marked, new_lines, usable

MOST = 1 << 20


def write(path: Path, *numbers: int) -> None:
    with path.open("a") as file:
        file.writelines(f"{number}\ts\tline {number}\n" for number in numbers)


def worker(folder: Path) -> Lane:
    return Lane((folder / "f.log.1", folder / "f.log"), worker_line)


def rotate(folder: Path) -> None:
    (folder / "f.log").replace(folder / "f.log.1")


def read(lane: Lane, places: Places) -> list[int]:
    return [line.event.at_ms for line in new_lines([lane], places, MOST).lines]


def test_a_place_is_usable_after_one_rotation_and_lost_after_two(tmp_path: Path) -> None:
    lane = worker(tmp_path)
    write(tmp_path / "f.log", 1, 2)
    places = marked([lane], ends([lane]))
    write(tmp_path / "f.log", 3)
    rotate(tmp_path)
    write(tmp_path / "f.log", 4)
    assert usable([lane], places) == (places, 0)
    assert read(lane, places) == [3, 4]
    rotate(tmp_path)
    write(tmp_path / "f.log", 5)
    assert usable([lane], places) == ({}, 1)


def test_another_file_with_the_inode_of_a_place_is_not_taken_for_it(tmp_path: Path) -> None:
    lane = worker(tmp_path)
    write(tmp_path / "f.log", 1, 2)
    places = marked([lane], ends([lane]))
    # The same inode with other content, as of a file that was made after this one was deleted.
    os.truncate(tmp_path / "f.log", 0)
    write(tmp_path / "f.log", 8, 9)
    write(tmp_path / "f.log.1", 7)
    assert usable([lane], places) == ({}, 1)
    # A caller deletes both files; then there is no older one.
    (tmp_path / "f.log.1").unlink()
    assert usable([lane], places) == ({}, 0)


def test_a_place_that_could_not_be_marked_goes_by_its_inode(tmp_path: Path) -> None:
    lane = worker(tmp_path)
    write(tmp_path / "f.log", 1)
    (place,) = marked([lane], ends([lane])).values()
    unmarked = {"": (*place[:2], NO_MARK)}
    assert usable([lane], unmarked) == (unmarked, 0)


def test_reading_ends_at_its_bounds(tmp_path: Path) -> None:
    lane = worker(tmp_path)
    write(tmp_path / "f.log", *range(10))
    first = new_lines([lane], {}, MOST, 4)
    assert ([line.event.at_ms for line in first.lines], first.has_more) == ([0, 1, 2, 3], True)
    rest = new_lines([lane], first.places, MOST, 100)
    assert ([line.event.at_ms for line in rest.lines], rest.has_more) == ([4, 5, 6, 7, 8, 9], False)
    assert len(new_lines([lane], {}, 12).lines) == 2


def history(folder: Path, day: int) -> Lane:
    path = folder / f"states-2026-01-0{day}.jsonl"
    path.write_text(f'{{"event_timestamp":"{day}"}}\n')
    return Lane((path,), history_line, f"states/2026-01-0{day}", 300_000)


def test_files_of_executions_are_lost_only_if_no_later_one_was_begun(tmp_path: Path) -> None:
    first, second, third = (history(tmp_path, day) for day in (1, 2, 3))
    places = marked([first, second], ends([first, second]))
    assert usable([second, third], places) == ({second.stream: places[second.stream]}, 0)
    assert usable([third], places) == ({}, 1)
    # The group was deleted.
    assert usable([], places) == ({}, 0)


def test_a_function_s_file_is_no_history_although_its_lines_may_be_out_of_order(tmp_path: Path) -> None:
    lane = replace(worker(tmp_path), slack_ms=300_000)
    write(tmp_path / "f.log", 1)
    places = {**marked([lane], ends([lane])), "/of-another-lane": (1, 2, 3)}
    assert usable([lane], places)[1] == 0
    first, second = history(tmp_path, 1), history(tmp_path, 2)
    places = marked([lane, first], ends([lane, first]))
    assert usable([lane, second], places) == ({lane.stream: places[lane.stream]}, 1)
    # Lines that came late change how the files are searched, not whether one is lost.
    assert usable([lane, replace(second, slack_ms=None)], places)[1] == 1


def test_a_lane_is_read_at_the_end_of_its_newest_file(tmp_path: Path) -> None:
    lane = worker(tmp_path)
    assert not is_read(lane, {})
    write(tmp_path / "f.log", 1)
    places = marked([lane], ends([lane]))
    assert is_read(lane, places)
    rotate(tmp_path)
    assert is_read(lane, places)
    write(tmp_path / "f.log", 2)
    assert not is_read(lane, places)
