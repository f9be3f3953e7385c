from __future__ import annotations

import os
from pathlib import Path

import pytest

from statewright.projects.folder import find_machines, machine_name
from statewright.projects.watch import INTERVAL_MS, Watch, watch_files
from statewright.virtual_clock import VirtualClock, run_virtual

PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("order.asl.json", "order"),
        ("a.b.asl.yml", "a-b"),
        ("größe.asl.yaml", "gr--e"),
        ("x" * 99 + ".asl.json", "x" * 80),
    ],
)
def test_names(file, name):
    assert machine_name(Path(file)) == name


def test_a_folder_has_the_definitions_that_are_ours(tmp_path):
    for name in (
        "b.asl.json",
        "a.asl.yaml",
        ".hidden/c.asl.json",
        "node_modules/d.asl.json",
        "sub/a.asl.yml",
        "e.json",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PASS)
    found = find_machines(tmp_path)
    assert found.machines == {"a": tmp_path / "a.asl.yaml", "b": tmp_path / "b.asl.json"}
    assert found.clashes == {tmp_path / "sub" / "a.asl.yml": tmp_path / "a.asl.yaml"}


def test_a_change_is_told_once_the_file_is_at_rest(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")
    watch = Watch(lambda: tmp_path.iterdir())
    assert watch.changes() == []
    path.write_text("12")
    assert watch.changes() == []
    path.write_text("123")
    assert watch.changes() == [], "it has changed again meanwhile"
    assert watch.changes() == [path]
    assert watch.changes() == []
    path.unlink()
    new = tmp_path / "b"
    new.write_text("")
    assert watch.changes() == []
    assert watch.changes() == [path, new]
    assert watch.changes() == []


def test_the_clock_says_when_to_look(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")

    class EnoughError(Exception):
        pass

    async def main(clock: VirtualClock) -> int:
        began_ms = clock.now_ms()
        watch = Watch(lambda: [path])
        os.utime(path, (1, 1))

        def on_change(changed: list[Path]) -> None:
            assert changed == [path]
            raise EnoughError

        with pytest.raises(EnoughError):
            await watch_files(watch, clock, on_change)
        return clock.now_ms() - began_ms

    assert run_virtual(main) == 2 * INTERVAL_MS
