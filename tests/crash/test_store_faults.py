"""What can go wrong below a running server: a full disk, damaged or foreign files, a clock that jumps.

The cause is told, calls that cannot be kept are refused, and what was acknowledged is there afterwards. Space runs out
by a limit on the size of files that is set from outside, so that nothing has to be mounted.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.stores.sqlite.file import FILE_NAME
from tests.crash import faults
from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server, ended, machine
from tests.thoroughness import slow

WAL = f"{FILE_NAME}-wal"
COMMAND = [sys.executable, "-m", "statewright.cli.main"]
LARGE = json.dumps("x" * 100_000)


def every_execution(sfn: Any, arn: str) -> set[str]:
    pages = sfn.get_paginator("list_executions").paginate(stateMachineArn=arn)
    return {one["executionArn"] for page in pages for one in page["executions"]}


def refusal(call: Callable[..., Any], **members: Any) -> dict[str, Any] | None:
    """The error of a call; `None` when it went well."""
    try:
        call(**members)
    except ClientError as error:
        said: dict[str, Any] = {
            **error.response["Error"],
            "Status": error.response["ResponseMetadata"]["HTTPStatusCode"],
        }
        return said
    return None


# ------------------------------------------------------------------ space


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are set on Linux alone")
def test_a_full_disk_refuses_clearly_and_loses_nothing(tmp_path):
    data = tmp_path / "data"
    server = Server(data)
    sfn = server.client()
    waits = machine(sfn, {"Type": "Wait", "Seconds": 3600})
    soon = machine(sfn, {"Type": "Wait", "Seconds": 1}, {"Type": "Pass", "Result": "done"})
    kept = {sfn.start_execution(stateMachineArn=waits)["executionArn"] for _ in range(5)}
    due = sfn.start_execution(stateMachineArn=soon)["executionArn"]
    faults.fill_disk(server.process.pid, data)

    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})
    for refused in (
        refusal(sfn.start_execution, stateMachineArn=waits, name="refused", input=LARGE),
        refusal(sfn.create_activity, name="a"),
        refusal(sfn.create_state_machine, name="m", definition=definition, roleArn=ROLE),
        refusal(sfn.stop_execution, executionArn=next(iter(kept))),
    ):
        assert refused is not None
        assert (refused["Code"], refused["Status"]) == ("ServiceUnavailable", 503)
    # What can be read is answered, and the server says what it lacks.
    assert every_execution(sfn, waits) == kept
    assert sfn.describe_execution(executionArn=due)["status"] == "RUNNING"
    told = until(lambda: "disk" in (text := server.log.read_text()) and text, "the cause in the log")
    assert f"the store {data / FILE_NAME} does not answer" in told
    assert "Traceback" not in told

    faults.lift(server.process.pid, resource.RLIMIT_FSIZE)
    # The timer that fell due meanwhile is not forgotten, and callers are served again.
    assert ended(sfn, due)["output"] == '"done"'
    again = sfn.start_execution(stateMachineArn=waits, name="refused", input=LARGE)["executionArn"]
    kept.add(again)
    server.kill()
    server = Server(data)
    assert kept <= every_execution(server.client(), waits)
    assert server.stop() == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are set on Linux alone")
def test_a_server_that_cannot_write_ends_at_the_deadline_of_its_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("STATEWRIGHT_STOP_SECONDS", "1")
    data = tmp_path / "data"
    server = Server(data)
    sfn = server.client()
    arn = machine(sfn, {"Type": "Wait", "Seconds": 1}, {"Type": "Pass", "Result": "x" * 100_000})
    due = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    faults.fill_disk(server.process.pid, data)
    until(lambda: "work waits for it" in server.log.read_text(), "a commit that is not written")
    assert server.stop() == 1
    (told,) = [line for line in server.log.read_text().splitlines() if "was given up" in line]
    assert f"the store does not take the last steps of 1 executions ({due})" in told
    again = Server(data)
    assert ended(again.client(), due)["status"] == "SUCCEEDED"
    assert again.stop() == 0


@slow
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are set on Linux alone")
def test_a_server_killed_on_a_full_disk_has_what_was_acknowledged(tmp_path):
    data = tmp_path / "data"
    server = Server(data)
    sfn = server.client()
    arn = machine(sfn, {"Type": "Pass"}, {"Type": "Wait", "Seconds": 3600})
    faults.fill_disk(server.process.pid, data, room_bytes=1_000_000)
    kept = set()
    for number in range(1_000):
        # Sizes differ, so that the limit falls into the middle of a transaction's pages.
        text = json.dumps("x" * (1_000 + 7_919 * number % 50_000))
        try:
            kept.add(sfn.start_execution(stateMachineArn=arn, input=text)["executionArn"])
        except ClientError:
            break
    else:
        raise AssertionError("the disk was never full")
    assert len(kept) > 5
    server.kill()
    server = Server(data)
    sfn = server.client()
    assert kept <= every_execution(sfn, arn)
    assert sfn.get_execution_history(executionArn=next(iter(kept)))["events"][-1]["type"] == "WaitStateEntered"
    assert server.stop() == 0


# ------------------------------------------------------------------ files


def serve(data: Path | str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "serve", "--port", "0", "--data", str(data)]
    return completed(command, **more)


def doctor(data: Path | str) -> dict[str, Any]:
    command = [*COMMAND, "doctor", "--data", str(data), "--endpoint", "http://127.0.0.1:1", "-o", "json"]
    done = completed(command)
    checks = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert (done.returncode == 1) is any(one["status"] == "problem" for one in checks.values())
    found: dict[str, Any] = checks["data"]
    return found


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """The data folder of a server that was killed: its log holds everything. With a machine and its executions."""
    folder = tmp_path_factory.mktemp("killed") / "data"
    server = Server(folder)
    sfn = server.client()
    arn = machine(sfn, {"Type": "Pass"}, {"Type": "Wait", "Seconds": 3600})
    started = [sfn.start_execution(stateMachineArn=arn)["executionArn"] for _ in range(50)]
    server.kill()
    assert (folder / WAL).stat().st_size > 1_000_000
    return folder, arn, started


@pytest.fixture
def folder(killed: tuple[Path, str, list[str]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed[0], tmp_path / "data"))


def settled(folder: Path) -> Path:
    """The database file, once the log has been brought into it."""
    file = sqlite3.connect(folder / FILE_NAME)
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    return folder / FILE_NAME


def damage_header(folder: Path) -> None:
    file = settled(folder)
    file.write_bytes(os.urandom(100) + file.read_bytes()[100:])


def damage_pages(folder: Path) -> None:
    file = settled(folder)
    content = file.read_bytes()
    file.write_bytes(content[:8192] + os.urandom(len(content) - 8192))


def cut_short(folder: Path) -> None:
    file = settled(folder)
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize(
    "damage", [damage_header, *(pytest.param(one, marks=slow) for one in (damage_pages, cut_short))]
)
def test_a_damaged_file_is_refused_by_name(folder, damage):
    damage(folder)
    size = (folder / FILE_NAME).stat().st_size
    done = serve(folder)
    assert (done.returncode, done.stdout) == (1, "")
    said = " ".join(done.stderr.split())
    assert str(folder / FILE_NAME) in said
    assert "damaged" in said
    assert "restore a backup" in said
    assert "Traceback" not in said
    assert (folder / FILE_NAME).stat().st_size == size
    found = doctor(folder)
    assert found["status"] == "problem"
    assert "statewright restore BACKUP" in found["hint"]


def test_doctor_finds_a_page_that_no_start_reads(folder):
    file = settled(folder)
    content = bytearray(file.read_bytes())
    page = struct.unpack_from(">H", content, 16)[0]
    last = len(content) // page - 2
    content[last * page : (last + 1) * page] = os.urandom(page)
    file.write_bytes(content)
    found = doctor(folder)
    assert (found["status"], "damaged" in found["message"]) == ("problem", True)


@slow
def test_a_log_cut_in_the_middle_of_a_commit_costs_that_commit_alone(folder, killed):
    """As a power cut leaves it: whole commits before the cut stay, and the server goes on from there."""
    _, arn, started = killed
    os.truncate(folder / WAL, (folder / WAL).stat().st_size - 2_000)
    server = Server(folder)
    sfn = server.client()
    found = every_execution(sfn, arn)
    assert found in (set(started), set(started[:-1]))
    assert sfn.start_execution(stateMachineArn=arn)["executionArn"] not in started
    assert server.stop() == 0


@slow
def test_a_newer_file_is_refused(folder):
    file = sqlite3.connect(settled(folder))
    with file:
        file.execute("INSERT INTO schema_version VALUES (99)")
    file.close()
    done = serve(folder)
    assert done.returncode == 1
    assert "has version 99; this program knows versions up to" in " ".join(done.stderr.split())
    assert "a newer Statewright wrote it" in doctor(folder)["message"]


@slow
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/statewright")):
        done = serve(place)
        assert (done.returncode, done.stdout) == (1, "")
        said = " ".join(done.stderr.split())
        assert f"data folder {place} cannot be used: " in said
        assert "Traceback" not in said


def obey_permissions() -> None:
    """Root may write anywhere, until it gives that up: CAP_DAC_OVERRIDE, by PR_CAPBSET_DROP."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


@slow
@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its rights in another way there")
def test_a_read_only_folder_is_refused(folder):
    settled(folder)
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    done = serve(folder, preexec_fn=obey_permissions)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"data folder {folder} cannot be used: Permission denied" in " ".join(done.stderr.split())
    (folder / "lock").chmod(0o644)
    done = serve(folder, preexec_fn=obey_permissions)
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    assert "check the permissions of the folder and its files" in " ".join(done.stderr.split())
