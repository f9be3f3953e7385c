"""`kill -9` of a process that writes and deletes versions: what was acknowledged holds, and each change is whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from statewright.errors import ApiError
from statewright.objects.objects import Objects
from statewright.objects.versions.lists import START, ListedVersion
from statewright.stores import fail_points
from statewright.stores.object_rows import IN_FILE, MARKER
from statewright.stores.sqlite.file import FILE_NAME
from statewright.stores.sqlite.store import SqliteStore
from tests.crash.versioning import BUCKET, NOTE, body_of, opened
from tests.thoroughness import slow

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")

ROOT = Path(__file__).parents[2]


class Promises:
    """What the processes have acknowledged, and what they may have done."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.markers: set[tuple[str, str]] = set()
        self.tried: set[tuple[str, str]] = set()
        self.gone: set[tuple[str, str]] = set()

    def take(self, line: str) -> None:
        word, key, version, *more = line.split()
        if word == "put":
            self.bodies[key, version] = body_of(more[0], int(more[1]))
        elif word == "marked" and version != "null":
            self.markers.add((key, version))
        elif word in ("try", "gone"):
            (self.tried if word == "try" else self.gone).add((key, version))


def run_until_killed(folder: Path, promises: Promises, run: str, *, lines: int = 10**9, point: str = "") -> None:
    command = [sys.executable, "-m", "tests.crash.versioning", str(folder), run]
    environment = {**os.environ, fail_points.VARIABLE: point}
    said = 0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.endswith("\n"):
                promises.take(line)
            said += 1
            if said == lines:
                child.kill()
    assert child.returncode == -9, child.returncode


async def every_version(objects: Objects) -> list[ListedVersion]:
    found, after = list[ListedVersion](), START
    while True:
        page = await objects.list_versions(BUCKET, after=after)
        found += page.versions
        if page.next is None:
            return found
        after = page.next


async def check(folder: Path, promises: Promises) -> None:
    store, objects = await opened(folder, "check")
    listed = await every_version(objects)
    there = {(one.view.key, one.id) for one in listed}
    for (key, version), body in promises.bodies.items():
        if (key, version) in promises.tried:
            continue
        _, stream, _ = await objects.reading.get(BUCKET, key, version=version)
        assert b"".join([chunk async for chunk in stream]) == body, "acknowledged and lost"
    assert promises.markers <= there
    assert not promises.gone & there, "deleted for good, and there"
    await check_order(objects, listed)
    await check_notes(store, {one.id for one in listed if one.id != "null"})
    await objects.stop()
    await store.close()
    # Bytes that no row names stay for an hour, and their ids are doomed.
    files = {path.name for path in (folder / "objects").rglob("*") if path.is_file()} - doomed(folder)
    assert len(files) == sum(one.view.row.place == IN_FILE for one in listed), "a file without a row, or a row without"


def doomed(folder: Path) -> set[str]:
    """The names of files whose ids are to be deleted."""
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        return {f"{number:x}" for (number,) in connection.execute("SELECT id FROM doomed_file")}


async def check_order(objects: Objects, listed: list[ListedVersion]) -> None:
    """The newest version of each key is its object, unless it is a marker; there is one null version at most."""
    keys = Counter(one.view.key for one in listed)
    assert [one.view.key for one in listed if one.is_latest] == sorted(keys)
    assert max(Counter(one.view.key for one in listed if one.id == "null").values(), default=0) <= 1
    for one in listed:
        if one.is_latest and one.view.row.place != MARKER:
            assert (await objects.reading.head(BUCKET, one.view.key)).version == one.id
        elif one.is_latest:
            with pytest.raises(ApiError, match="NoSuchKey"):
                await objects.reading.head(BUCKET, one.view.key)


async def check_notes(store: SqliteStore, there: set[str]) -> None:
    """Each version has the note of its write, and each that is gone the note of its deletion: once."""
    rows = await store.catalogue.list_entries(NOTE, "", after=None, limit=10**6, newest_first=False)
    notes = [row.key.split()[1:] for row in rows]
    made = Counter(version for event, version in notes if event != "ObjectRemoved:Delete")
    gone = Counter(version for event, version in notes if event == "ObjectRemoved:Delete")
    assert set(made.values()) | set(gone.values()) <= {1}, "noted twice"
    assert set(made) - set(gone) == there, "a version without its note, or a note without its version"


@pytest.mark.parametrize("kills", [2, pytest.param(15, marks=slow)])
def test_no_acknowledged_version_is_lost(tmp_path: Path, kills: int) -> None:
    promises = Promises()
    for run in range(kills):
        run_until_killed(tmp_path, promises, str(run), lines=80 + 57 * run)
        asyncio.run(check(tmp_path, promises))


@pytest.mark.parametrize("point", [fail_points.BEFORE_COMMIT, fail_points.AFTER_COMMIT])
def test_a_process_killed_at_a_commit(tmp_path: Path, point: str) -> None:
    promises = Promises()
    for passing in (9, 25):
        run_until_killed(tmp_path, promises, f"{point}.{passing}", point=f"{point}:{passing}")
        asyncio.run(check(tmp_path, promises))
