from __future__ import annotations

import asyncio
import json
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from statewright.cli.serving.moved_files import LEFT, MOVED, copy_moved, files_of_store, running_jobs
from statewright.files.data_folder import PARTS
from statewright.jobs.runner import started_at
from statewright.stores.sqlite.store import SqliteStore
from tests.unit.cli.conftest import Run

NOWHERE = "postgresql://user:geheim@127.0.0.1:1/none"


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("data", NOWHERE, "--from data is not a store."),
        ("sqlite:", NOWHERE, "--from sqlite: names no folder."),
        ("memory", NOWHERE, "--from memory is not a store."),
        ("sqlite:data", "postgres//u:geheim@h/x", "--to this address is not a store."),
        ("sqlite:data", "sqlite:other", "Both stores are data folders."),
        (NOWHERE, NOWHERE, "Both stores are PostgreSQL databases."),
        ("sqlite:beside", NOWHERE, "beside cannot be the data folder of both stores."),
        ("sqlite:data", "postgresql://user:ge%heim@h/x", "cannot be read: invalid percent-encoded token."),
        ("sqlite:data", "postgresql://user:ge/heim@h/x", "/ must be written as %2F"),
    ],
)
def test_what_is_no_move(statewright: Run, data: Path, source: str, target: str, said: str):
    result = statewright("move", "--from", source, "--to", target, "--data", "beside")
    assert (result.code, said in result.err) == (2, True)
    assert "heim" not in result.err
    assert not Path("beside").exists()


@pytest.mark.parametrize(
    ("source", "target", "code", "said"),
    [
        ("sqlite:nowhere", NOWHERE, 3, "There is no store in nowhere."),
        (NOWHERE, "sqlite:new", 3, "There is no folder 'beside'."),
        ("sqlite:data", NOWHERE, 1, "Nothing was moved: the store postgresql://127.0.0.1:1/none does not answer:"),
    ],
)
def test_what_cannot_be_moved(statewright: Run, data: Path, source: str, target: str, code: int, said: str):
    for options in ([], ["--dry-run"]):
        result = statewright("move", "--from", source, "--to", target, "--data", "beside", *options)
        assert (result.code, said in result.err) == (code, True)
        assert "geheim" not in result.err
        assert not Path("beside").exists()
        assert not Path("new").exists()


def test_a_folder_in_use_or_with_files_is_not_moved(statewright: Run, data: Path):
    async def refused() -> None:
        store = SqliteStore(data)
        await store.open("pid 1")
        result = statewright("move", "--from", "sqlite:data", "--to", NOWHERE, "--data", "beside")
        assert (result.code, f"data folder data is in use by pid {os.getpid()}" in result.err) == (1, True)
        await store.close()

    asyncio.run(refused())
    (data.parent / "beside" / "objects").mkdir(parents=True)
    result = statewright("move", "--from", "sqlite:data", "--to", NOWHERE, "--data", "beside")
    assert (result.code, "beside has files of a store already, for one objects;" in result.err) == (1, True)


def test_every_part_of_a_data_folder_goes_along_or_is_known_to_stay():
    unknown = [part for part in PARTS if part not in (*MOVED, *LEFT) and not any(fnmatchcase(part, o) for o in LEFT)]
    assert not unknown, "add the part to MOVED or LEFT in cli/serving/moved_files.py"
    assert set(MOVED) <= set(PARTS)


def test_files_go_along_as_they_are(tmp_path):
    source = tmp_path / "source"
    for name in (
        "objects/00/1", "functions/code/abc.zip", "functions/code/abc/handler.py", "logs/a/b.log", "lock", "notes.txt",
        "regions/eu-west-1/functions/code/def.zip", "regions/eu-west-1/functions/code/def/handler.py",
        "jobs/one/work/objects/result",
    ):  # fmt: skip
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    (source / "jobs" / "one" / "work" / "run").symlink_to("../order.json")
    (source / "jobs" / "one" / "work" / "objects" / "result").chmod(0o750)
    names = files_of_store(source)
    assert sorted(names) == [
        "functions/code/abc.zip", "jobs/one/work/objects/result", "jobs/one/work/run", "logs/a/b.log", "objects/00/1",
        "regions/eu-west-1/functions/code/def.zip",
    ]  # fmt: skip
    target = tmp_path / "target"
    assert copy_moved(names, source, target) == sum((source / name).lstat().st_size for name in names)
    assert {name: (target / name).read_text() for name in names if not name.endswith("/run")} == {
        name: name for name in names if not name.endswith("/run")
    }
    assert os.readlink(target / "jobs" / "one" / "work" / "run") == "../order.json"
    assert (target / "jobs" / "one" / "work" / "objects" / "result").stat().st_mode & 0o777 == 0o750
    # What never changes is linked; what may is not.
    assert (target / "objects" / "00" / "1").samefile(source / "objects" / "00" / "1")
    for name in ("logs/a/b.log", "jobs/one/work/objects/result"):
        assert not (target / name).samefile(source / name)


@pytest.mark.skipif(sys.platform == "win32", reason="jobs are processes of POSIX")
def test_processes_of_jobs_that_still_run_are_counted(tmp_path):
    for name, pid in (("mine", os.getpid()), ("ended", os.getpid()), ("gone", 2**22 + 1)):
        place = tmp_path / "jobs" / "task" / name
        place.mkdir(parents=True)
        started = started_at(pid) or "long ago"
        (place / "claim").write_text(json.dumps({"pid": pid, "started": started}))
    (tmp_path / "jobs" / "task" / "ended" / "exit.json").write_text("{}")
    (tmp_path / "jobs" / "broken").mkdir()
    (tmp_path / "jobs" / "broken" / "claim").write_text("{")
    assert running_jobs(tmp_path) == 1


def test_an_incomplete_folder_is_neither_served_nor_copied_nor_filled(statewright: Run, data: Path):
    (data / "unfinished").write_text("the move from a to b\n")
    wanted = "data is incomplete, because the move from a to b was interrupted"
    for command in (
        ("serve", "--data", "data", "--port", "0"),
        ("backup", "copy.db", "--data", "data"),
        ("move", "--from", "sqlite:data", "--to", NOWHERE, "--data", "beside"),
    ):
        result = statewright(*command)
        assert (result.code, wanted in result.err) == (1, True), command
    assert not Path("copy.db").exists()
