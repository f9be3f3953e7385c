"""Data folders of every format that was published: this version starts on them, answers as before, and goes on.

The folders are made by `making.py`. One with a dump of a PostgreSQL database is opened on that database. Each is opened
in virtual time, at the instant when its server was killed, so that nothing in it is too old, whenever the tests run.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from statewright.cli.commands import run_command
from statewright.config import Config
from statewright.engine.dispatch import CALL_VERSION
from statewright.records.entries import SESSION_KEY
from statewright.records.sessions import Sessions
from statewright.stores.opening import open_store
from statewright.virtual.system import VirtualSystem
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.formats.making import ACCOUNT, ANSWERS, DUMP, FOLDERS, REGION, plain, queue_arn
from tests.postgres_server import server_or_skip

ANSWERED = "answered-4"
"""A folder with one execution, whose task has happened and is not answered; no other has format 2 of calls."""
EVERY = sorted({path.name.removesuffix(".tar.xz") for path in FOLDERS.glob("*.tar.xz")} - {ANSWERED})
QUICK = {"schema-3", "schema-5", "postgres-5"}
"""The oldest and the newest; the others are started on in `make test-slow`."""
PARAMS = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in EVERY]
SQLITE = [name for name in EVERY if name.startswith("schema-")]
WITHOUT_LIMITS = {"schema-3", "postgres-3"}
"""Made before there were limits of machines and semaphores."""
CHANGED = re.compile(
    r"lambda list_versions_by_function .*"
    r"|lambda list_functions .*\.CodeSize was 0, and is \d+"
    r"|s3 .*\.Owner\.DisplayName is gone"
    r"|s3 list_multipart_uploads .*\.Next(Key|UploadId)Marker was '', and is .*"
    r"|s3 list_parts .*\.Checksum\w+ is gone"
)
"""Differences that are meant: answers were changed on purpose since the first folders were made."""

BY_NAME = {"list_state_machines": "stateMachines", "list_activities": "activities"}
"""Lists that were ordered by creation when the first folders were made, and are ordered by name."""


def unpacked(name: str, target: Path) -> Path:
    """A copy of a folder."""
    with tarfile.open(FOLDERS / f"{name}.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target


class Folder:
    """A copy of a folder with a system on it."""

    def __init__(self, name: str, data: Path, patch: pytest.MonkeyPatch) -> None:
        self.name = name
        self.noted = json.loads((unpacked(name, data) / ANSWERS).read_text())
        if (data / DUMP).is_file():
            address = restored((data / DUMP).read_text())
            patch.setattr("statewright.virtual.system._store_in", lambda _, clock: open_store(address, clock=clock))
        config = Config(extensions=True)
        self.system = VirtualSystem(start=self.noted["made_ms"] + 1, data=data, config=config)

    @property
    def sfn(self) -> Any:
        return self.system.client("stepfunctions")

    def status(self, machine: str, execution: str = "one") -> str:
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{machine}:{execution}"
        found: str = self.sfn.describe_execution(executionArn=arn)["status"]
        return found


def restored(dump: str) -> str:
    """The address of a database with what a dump has."""
    address = server_or_skip().new_database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(dump.encode())
    return address


@pytest.fixture(params=PARAMS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    found = Folder(request.param, tmp_path / "data", monkeypatch)
    with found.system:
        yield found


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """What was answered before and is not now; members that are new do not count."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, one in before.items():
            if name not in now:
                yield f"{place}.{name} is gone"
            else:
                yield from differences(one, now[name], f"{place}.{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif before != now:
        yield f"{place} was {before!r}, and is {now!r}"


def test_the_present_format_and_its_forerunners_have_folders() -> None:
    from statewright.stores.sqlite.file import SCHEMA_VERSION

    assert f"schema-{SCHEMA_VERSION}" in EVERY, "make the folder of this schema: see tests/formats/making.py"
    assert {"schema-3", "postgres-3"} <= set(EVERY)


def test_a_call_that_has_happened_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    folder = Folder(ANSWERED, data, monkeypatch)
    stored = sqlite3.connect(data / "statewright.db")
    [(body,)] = stored.execute("SELECT body FROM outbox WHERE kind = 'task'").fetchall()
    assert json.loads(body)[0] == CALL_VERSION == 2, "make a folder of the new format: see tests/formats/making.py"
    stored.close()
    with folder.system as system:
        # The message was sent after the instant that is noted.
        system.advance("1m")
        assert folder.status("sends") == "SUCCEEDED"
        sqs = system.client("sqs")
        tokens = sqs.get_queue_url(QueueName="tokens")["QueueUrl"]
        assert [one["Body"] for one in sqs.receive_message(QueueUrl=tokens)["Messages"]] == ["once"]
        assert "Messages" not in sqs.receive_message(QueueUrl=tokens)


def test_temporary_credentials_stay_valid(tmp_path: Path) -> None:
    data = unpacked(ANSWERED, tmp_path / "data")
    noted = json.loads((data / ANSWERS).read_text())

    async def main(clock: VirtualClock) -> None:
        store = open_store(str(data), clock=clock)
        await store.open("test")
        entry = await store.catalogue.get("session-key", "")
        assert entry is not None
        assert json.loads(entry.body)["format"] == SESSION_KEY.format.version == 2, "make a folder of the new format"
        sessions = Sessions(store.catalogue, clock)
        await sessions.start()
        session = sessions.session_of({"x-amz-security-token": noted["token"]})
        assert session is not None
        assert session.access_key.startswith("ASIA")
        await store.close()

    run_virtual(main, start_ms=noted["made_ms"])


def test_every_resource_is_answered_for_as_before(folder: Folder) -> None:
    found: list[str] = []
    for read in folder.noted["reads"]:
        service, operation = read["service"], read["operation"]
        now = plain(getattr(folder.system.client(service), operation)(**read["request"]))
        if operation in BY_NAME:
            read["answer"][BY_NAME[operation]].sort(key=lambda one: one["name"])
        found += [f"{service} {operation} {read['request']}: {one}" for one in differences(read["answer"], now)]
    assert not "\n".join(one for one in found if not CHANGED.fullmatch(one))


def test_waiting_executions_go_on(folder: Folder) -> None:
    sqs, sfn, system = folder.system.client("sqs"), folder.sfn, folder.system
    tokens = sqs.get_queue_url(QueueName="tokens")["QueueUrl"]
    token = sqs.receive_message(QueueUrl=tokens)["Messages"][0]["Body"]
    sfn.send_task_success(taskToken=token, output='{"answer": 1}')
    task = sfn.get_activity_task(activityArn=f"arn:aws:states:{REGION}:{ACCOUNT}:activity:by-hand")
    sfn.send_task_success(taskToken=task["taskToken"], output="2")
    assert (folder.status("asks"), folder.status("by-hand")) == ("SUCCEEDED", "SUCCEEDED")
    waiting = ("waits", "many", "both", "spread", "parent", "calls")
    assert {folder.status(name) for name in waiting} == {"RUNNING"}
    system.advance("1h")
    assert {name: folder.status(name) for name in waiting} == {
        **dict.fromkeys(("waits", "many", "both", "parent"), "SUCCEEDED"),
        # Two of three children at once; and a task that is tried three times more, ever later.
        **dict.fromkeys(("spread", "calls"), "RUNNING"),
    }
    system.advance("1h")
    assert folder.status("spread") == "SUCCEEDED"
    system.advance("12h")
    assert folder.status("calls") == "FAILED"


def test_messages_are_there_and_the_move_of_dead_letters_goes_on(folder: Folder) -> None:
    sqs, system = folder.system.client("sqs"), folder.system
    orders = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    fifo = sqs.get_queue_url(QueueName="ordered.fifo")["QueueUrl"]
    messages = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10)["Messages"]
    assert [one["Body"] for one in messages] == ["0", "1", "2"]
    system.advance("5m")
    assert sqs.list_message_move_tasks(SourceArn=queue_arn("dead"))["Results"][0]["Status"] == "COMPLETED"
    counts = sqs.get_queue_attributes(QueueUrl=orders, AttributeNames=["All"])["Attributes"]
    assert [counts[f"ApproximateNumberOfMessages{kind}"] for kind in ("", "NotVisible", "Delayed")] == ["51", "1", "1"]
    system.advance("2h")
    bodies: set[str] = set()
    while more := sqs.receive_message(QueueUrl=orders, MaxNumberOfMessages=10).get("Messages"):
        bodies |= {one["Body"] for one in more}
    assert bodies == {"waiting", "delayed", "in flight", *(f"dead {number}" for number in range(50))}


def test_objects_have_their_bytes_and_an_upload_is_completed(folder: Folder) -> None:
    s3 = folder.system.client("s3")
    assert s3.get_object(Bucket="shelf", Key="small")["Body"].read() == b"few bytes"
    assert s3.get_object(Bucket="shelf", Key="large")["Body"].read() == b"many bytes" * 30_000
    upload = s3.list_multipart_uploads(Bucket="shelf")["Uploads"][0]["UploadId"]
    part = s3.list_parts(Bucket="shelf", Key="unfinished", UploadId=upload)["Parts"][0]
    named = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(Bucket="shelf", Key="unfinished", UploadId=upload, MultipartUpload=named)
    assert s3.get_object(Bucket="shelf", Key="unfinished")["Body"].read() == b"first part"


def test_a_queued_event_is_run_again_until_it_is_given_up(folder: Folder) -> None:
    assert folder.system.parts.app.services.functions.events.count == 1
    # Where the function's runtime is not there, the event becomes too old after six hours.
    folder.system.advance("7h")
    assert folder.system.parts.app.services.functions.events.count == 0


@pytest.mark.parametrize("folder", [one for one in PARAMS if one.values[0] not in WITHOUT_LIMITS], indirect=True)
def test_executions_in_a_queue_and_at_a_semaphore_have_their_turn(folder: Folder) -> None:
    both = ("one-at-a-time", "guarded")
    assert {folder.status(name, "second") for name in both} == {"RUNNING"}
    folder.system.advance("1h")
    assert {folder.status(name, "first") for name in both} == {"SUCCEEDED"}
    assert {folder.status(name, "second") for name in both} == {"RUNNING"}
    folder.system.advance("1h")
    assert {folder.status(name, "second") for name in both} == {"SUCCEEDED"}


# ------------------------------------------------------------------ folders of the future


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What `serve` sets for its whole process is as before afterwards."""
    monkeypatch.setattr("statewright.cli.serving.logs.configure", lambda _form, _level: None)
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)


def refused(data: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `serve` says of a folder that it must not serve, in one line."""
    assert run_command(["serve", "--port", "0", "--data", str(data)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return " ".join(said.err.split())


def change(data: Path, work: Callable[[sqlite3.Connection], object]) -> None:
    connection = sqlite3.connect(data / "statewright.db")
    with connection:
        work(connection)
    connection.close()


@pytest.mark.parametrize("name", SQLITE)
def test_a_schema_of_the_future_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = unpacked(name, tmp_path / "data")
    change(data, lambda db: db.execute("INSERT INTO schema_version (version) VALUES (99)"))
    said = refused(data, capsys)
    assert "has version 99; this program knows versions up to" in said
    assert "run the newer Statewright that wrote it, or restore an older copy" in said


@pytest.mark.parametrize("kind", ["queue", "topic", "table", "functionEvent", "eventSourceMapping", "rule"])
def test_an_entry_of_the_future_is_refused_by_name(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = unpacked(SQLITE[-1], tmp_path / "data")

    def newer(db: sqlite3.Connection) -> None:
        key, body = db.execute("SELECT key, body FROM entry WHERE kind = ?", (kind,)).fetchone()
        head, *rest = body.split(b"\n")
        head = json.dumps({**json.loads(head), "format": 99, "wings": ["left", "right"]}).encode()
        body = b"\n".join([head, *rest])
        db.execute("UPDATE entry SET body = ? WHERE kind = ? AND key = ?", (body, kind, key))

    change(data, newer)
    said = refused(data, capsys)
    assert f"{kind} " in said
    assert "was written by a newer Statewright (format 99, this one reads up to " in said
    assert "start that version again or restore a backup" in said


@pytest.mark.parametrize("kind", ["task", "activity", "map run"])
def test_a_call_of_the_future_is_refused_by_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = unpacked(SQLITE[-1], tmp_path / "data")
    newer = "UPDATE outbox SET body = CAST('[99' || substr(CAST(body AS TEXT), 3) AS BLOB) WHERE kind = ?"
    change(data, lambda db: db.execute(newer, (kind,)))
    what = "the request to a Map Run" if kind == "map run" else "the call of a task"
    known = 1 if kind == "map run" else CALL_VERSION
    newest = f"{what} was written by a newer Statewright (format 99, this one reads up to {known})"
    assert newest in refused(data, capsys)


def test_an_execution_of_the_future_is_held_back_alone(tmp_path: Path) -> None:
    data = unpacked(SQLITE[-1], tmp_path / "data")
    of_one = "SELECT id FROM execution WHERE name = 'child'"
    newer = "UPDATE frame SET body = CAST(replace(CAST(body AS TEXT), char(10) || '[1,', char(10) || '[99,') AS BLOB) "
    change(data, lambda db: db.execute(f"{newer} WHERE execution IN ({of_one})"))
    noted = json.loads((data / ANSWERS).read_text())
    with VirtualSystem(start=noted["made_ms"] + 1, data=data, config=Config(extensions=True)) as system:
        system.advance("1h")
        held = list(system.parts.engine.cells.quarantined.values())
        assert len(held) == 1
        assert "was written by a newer Statewright (format 99, this one reads up to 1)" in held[0]
        counts = system.run(system.parts.engine.store.executions.count_by_status(None))
        assert counts["SUCCEEDED"] > 5


def test_members_that_are_not_known_keep_no_server_from_starting(tmp_path: Path) -> None:
    data = unpacked(SQLITE[-1], tmp_path / "data")
    more = "UPDATE entry SET body = CAST('{\"wings\":[1],' || substr(CAST(body AS TEXT), 2) AS BLOB) "
    kinds = "queue topic topic-subscription table function rule eventBus schedule schedule-group machine revision tags"
    change(data, lambda db: [db.execute(f"{more} WHERE kind = ?", (kind,)) for kind in kinds.split()])
    noted = json.loads((data / ANSWERS).read_text())
    with VirtualSystem(start=noted["made_ms"] + 1, data=data, config=Config(extensions=True)) as system:
        assert len(system.client("sqs").list_queues()["QueueUrls"]) == 4
        assert len(system.client("lambda").list_functions()["Functions"]) == 2
