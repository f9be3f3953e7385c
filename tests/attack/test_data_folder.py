"""Another user of the machine, who wants to read what the server stores: payloads, secrets, code, logs, its keys."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from statewright.files import data_folder
from statewright.files.whole import write_bytes
from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server, ended, machine
from tests.e2e.systems import RUNTIME, zipped
from tests.thoroughness import slow

NOBODY = 65534
LARGE = 3_000_000
"""Bytes of an object that gets a file of its own."""
HANDLER = """
import os
def handler(event, context):
    print('said', event)
    return f'{os.umask(0o777):o}'
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user of the machine can enter; servers start with the usual mask."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    before = os.umask(0o022)
    yield folder
    os.umask(before)
    shutil.rmtree(folder)


def open_parts(folder: Path) -> list[str]:
    """What is below a folder and has permissions for others, with its mode."""
    found = [folder, *folder.rglob("*")]
    modes = {path: path.lstat().st_mode for path in found if not path.is_symlink()}
    return [f"{path} {stat.S_IMODE(mode):o}" for path, mode in modes.items() if mode & data_folder.MASK]


def read_as_nobody(folders: list[Path], control: Path) -> list[str]:
    """The paths in and of folders that another user can read; `control` is one that this user can."""
    paths = [control, *folders, *(path for folder in folders for path in folder.rglob("*"))]
    script = (
        "import os, sys\nos.setgroups([])\nos.setegid(int(sys.argv[1]))\nos.seteuid(int(sys.argv[1]))\n"
        "for path in sys.stdin.read().split('\\0'):\n"
        "    try:\n        os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(1)\n        print(path)\n"
        "    except OSError:\n        pass\n"
    )
    done = completed([sys.executable, "-c", script, str(NOBODY)], input="\0".join(map(str, paths)))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def fill(server: Server) -> str:
    """Have a server store something of every kind; returns the mask that a handler found."""
    sfn = server.client()
    arn = machine(sfn, {"Type": "Pass", "Result": {"secret": "payload"}})
    ended(sfn, sfn.start_execution(stateMachineArn=arn)["executionArn"])
    s3, sqs, functions = server.client("s3"), server.client("sqs"), server.client("lambda")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="large", Body=b"x" * LARGE)
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="secret")
    functions.create_function(
        FunctionName="f", Runtime=RUNTIME, Role=ROLE, Handler="f.handler", Code={"ZipFile": zipped(f=HANDLER)}
    )
    mask: str = functions.invoke(FunctionName="f")["Payload"].read().decode().strip('"')
    logs = server.client("logs")
    logs.create_log_group(logGroupName="/mine")
    logs.create_log_stream(logGroupName="/mine", logStreamName="s")
    logs.put_log_events(
        logGroupName="/mine", logStreamName="s", logEvents=[{"timestamp": 1_700_000_000_000, "message": "secret"}]
    )
    run_job(server)
    return mask


def run_job(server: Server) -> None:
    """Run a job that writes a file into its folder and prints its mask."""
    batch = server.client("batch")
    batch.create_compute_environment(computeEnvironmentName="here", type="UNMANAGED")
    order = [{"order": 1, "computeEnvironment": "here"}]
    batch.create_job_queue(jobQueueName="jobs", priority=1, computeEnvironmentOrder=order)
    command = {"image": "busybox", "command": ["sh", "-c", "umask; echo secret > made"]}
    batch.register_job_definition(jobDefinitionName="d", type="container", containerProperties=command)
    job = batch.submit_job(jobName="j", jobQueue="jobs", jobDefinition="d")["jobId"]
    until(lambda: batch.describe_jobs(jobs=[job])["jobs"][0]["status"] == "SUCCEEDED", "the end of the job")


def test_nothing_that_the_server_makes_is_open_to_others(shared: Path) -> None:
    control = shared / "control"
    control.write_text("open to all")
    data = shared / "data"
    server = Server(data, "--log-level", "debug")
    mask = fill(server)
    live = open_parts(data)
    assert server.stop() == 0, server.log.read_text()
    # A program of a job may write files for others; it has the mask that the server was started with.
    made_by_jobs = list(data.glob("jobs/**/work/made"))
    assert len(made_by_jobs) == 1
    assert "022" in next(data.glob("jobs/**/output.log")).read_text()
    of_jobs = {f"{path} 644" for path in made_by_jobs}
    assert [said for said in live if said not in of_jobs] == []
    assert mask == "77"
    for name in ("statewright.db", "lock", "objects/*/*", "functions/code/*.zip", "functions/logs/*", "metrics/*"):
        assert list(data.glob(name)), f"there is no {name}, so nothing was tested"
    foreign = [
        path.name for path in data.iterdir() if not any(fnmatchcase(path.name, one) for one in data_folder.PARTS)
    ]
    assert foreign == [], "the list of the folder's parts is not complete"
    backup = shared / "backups"
    backup.mkdir(0o755)
    for command in (["backup", str(backup / "b.db"), "--data", str(data)],
                    ["restore", str(backup / "b.db"), "--data", str(shared / "again")]):  # fmt: skip
        done = completed([sys.executable, "-m", "statewright.cli.main", *command], umask=0o022)
        assert done.returncode == 0, done.stderr
    assert open_parts(backup)[1:] == []
    assert open_parts(shared / "again") == []
    if os.geteuid() == 0:
        assert read_as_nobody([data, backup, shared / "again"], control) == [str(control), str(backup)]


@slow
def test_an_open_folder_is_closed_and_that_is_said(shared: Path) -> None:
    data = shared / "data"
    first = Server(data)
    assert first.stop() == 0
    data.chmod(0o755)
    for path in data.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    doctor = [
        sys.executable,
        "-m",
        "statewright.cli.main",
        "doctor",
        "--data",
        str(data),
        "--endpoint",
        "http://[::1]:1",
    ]
    assert f"✗ privacy       other users of this machine can read {data}" in completed(doctor).stdout
    second = Server(data)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "statewright.db").stat().st_mode) == 0o600
    said = second.log.read_text()
    assert said.count("was open to other users of this machine; it is closed now") == 1
    assert second.stop() == 0
    third = Server(data)
    assert third.log.read_text().count("open to other users") == 1, "a closed folder is not worth a line"
    assert third.stop() == 0
    assert f"✓ privacy       only its owner can read {data}" in completed(doctor).stdout


def test_files_of_others_in_the_data_folder_keep_their_mode(shared: Path) -> None:
    note = shared / "note.txt"
    note.write_text("for all")
    server = Server(shared, "--log-level", "error")
    assert server.stop() == 0
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE(note.stat().st_mode) == 0o644
    assert [path.name for path in shared.iterdir() if path.stat().st_mode & 0o077] == ["note.txt"]


@slow
def test_a_settings_file_with_secrets_that_others_can_read_is_said(shared: Path) -> None:
    settings = shared / "statewright.toml"
    settings.write_text('[credentials]\nAKIDEXAMPLE = "secret"\n')
    server = Server(shared / "data", "--config", str(settings))
    assert f"other users of this machine can read the secrets in {settings}: chmod 600" in server.log.read_text()
    assert server.stop() == 0
    doctor = [sys.executable, "-m", "statewright.cli.main", "doctor", "--config", str(settings)]
    assert "✗ credentials" in completed(doctor).stdout
    settings.chmod(0o600)
    assert "✓ credentials" in completed(doctor).stdout
    server = Server(shared / "more", "--config", str(settings))
    assert "can read the secrets" not in server.log.read_text()
    assert server.stop() == 0


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no file system in memory")
def test_files_in_memory_are_private_and_whole_though_their_folder_is_below_that_of_devices() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "secret"
        write_bytes(path, b"old", mode=0o600)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(TypeError):
            write_bytes(path, "no bytes")  # type: ignore[arg-type]
        assert (path.read_bytes(), list(path.parent.iterdir())) == (b"old", [path])
