"""A server on PostgreSQL whose large bytes are in a bucket: refused starts, kills, outages, backups, the way back."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from statewright.stores.blobs.protocol import PIECE_BYTES
from statewright.stores.fail_points import BODY_FREED, BODY_WRITTEN, VARIABLE
from tests.bucket_server import Place, with_credentials
from tests.deadlines import PATIENCE_SECONDS, completed, until
from tests.e2e.conftest import Server, error_of
from tests.e2e.test_no_shared_disk import check, invoked, make_function, put_in_parts
from tests.postgres_server import server_or_skip

CONTENT = os.urandom(20 * PIECE_BYTES)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    with_credentials(monkeypatch)
    return Place()


class Kept(Server):
    """A server with the credentials of its bucket."""

    def __init__(self, data: Path, *options: str) -> None:
        # The servers of other tests begin without variables of AWS.
        kept = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        folder = data.parent / "aws"
        folder.mkdir(exist_ok=True)
        lines = ["[default]", *(f"{name.lower()} = {kept[name]}" for name in kept if name.endswith(("_ID", "_KEY")))]
        (folder / ".aws").mkdir(exist_ok=True)
        (folder / ".aws" / "credentials").write_text("\n".join(lines) + "\n")
        before = os.environ.get("HOME")
        os.environ["HOME"] = str(folder)
        try:
            super().__init__(data, *options)
        finally:
            if before is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = before


def refused(data: Path, *options: str, **variables: str) -> str:
    """The last line of a start that is refused."""
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(data), *options]
    ended = completed(command, env={**os.environ, **variables})
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout
    lines: list[str] = ended.stderr.splitlines()
    return lines[-1]


def health(server: Server) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server.url}/health", timeout=PATIENCE_SECONDS) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def fill(server: Server) -> None:
    s3 = server.client("s3")
    s3.create_bucket(Bucket="bucket")
    put_in_parts(s3, CONTENT)
    s3.put_object(Bucket="bucket", Key="small", Body=CONTENT[:100_000])
    s3.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": "small"})
    s3.delete_object(Bucket="bucket", Key="small")
    for region in ("us-east-1", "eu-west-1"):
        make_function(server.client("lambda", region=region), region)
    check(server, CONTENT)


def test_a_start_that_cannot_work_is_refused(tmp_path, place):
    said = refused(tmp_path, "--bucket", place.address.text)
    assert "--bucket needs a store in PostgreSQL (--store postgresql://...)" in said
    store = ("--store", server_or_skip().new_database())
    assert "name is not the address of a bucket" in refused(tmp_path, *store, "--bucket", "name")
    said = refused(tmp_path, *store, STATEWRIGHT_BUCKET="s3://no-such-bucket?endpoint=" + place.server.url)
    assert f"the bucket s3://no-such-bucket at {place.server.url} cannot be used: there is no such bucket" in said
    settings = tmp_path / "statewright.toml"
    settings.write_text('[server]\nbucket = "s3://named-in-file?endpoint=http://127.0.0.1:1"\n')
    said = refused(tmp_path, *store, "--config", str(settings))
    assert "the bucket s3://named-in-file at http://127.0.0.1:1 does not answer" in said


@pytest.mark.slow
def test_large_bytes_lie_in_the_bucket_alone(tmp_path, place):
    address = server_or_skip().new_database()
    options = "--store", address, "--bucket", place.address.text
    first = Kept(tmp_path / "first", *options)
    fill(first)
    assert health(first)["bucket"] == "ok"
    assert not (tmp_path / "first" / "objects").exists()
    kinds = sorted(key.partition("/")[0] for key in place.stored())
    assert kinds == ["code", "code", "eu-west-1", "eu-west-1", "object", "object", "object", "object", "object"]
    assert first.stop() == 0

    second = Kept(tmp_path / "second", *options)
    check(second, CONTENT)
    s3 = second.client("s3")
    for key in ("large", "copy"):
        s3.delete_object(Bucket="bucket", Key=key)
    until(lambda: not [key for key in place.stored() if key.startswith("object")], "the deletion of the bodies")
    assert second.stop() == 0
    assert "start the server with --bucket" in refused(tmp_path / "second", "--store", address)


@pytest.mark.slow
@pytest.mark.parametrize(("point", "is_new"), [(BODY_WRITTEN, False), (BODY_FREED, True)])
def test_bytes_and_rows_agree_after_a_kill(tmp_path, place, point, is_new, monkeypatch):
    options = "--store", server_or_skip().new_database(), "--bucket", place.address.text
    old, new = CONTENT[: 7 * PIECE_BYTES], CONTENT[PIECE_BYTES : 9 * PIECE_BYTES]
    first = Kept(tmp_path / "first", *options)
    first.client("s3").create_bucket(Bucket="bucket")
    first.client("s3").put_object(Bucket="bucket", Key="key", Body=old)
    assert first.stop() == 0
    monkeypatch.setenv(VARIABLE, point)
    dying = Kept(tmp_path / "first", *options)
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        dying.client("s3").put_object(Bucket="bucket", Key="key", Body=new)
    except (BotoCoreError, ClientError):
        assert not is_new
    assert dying.process.wait(PATIENCE_SECONDS) != 0
    dying.kill()
    monkeypatch.delenv(VARIABLE)
    second = Kept(tmp_path / "second", *options)
    s3 = second.client("s3")
    expected = new if is_new else old
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == expected
    # What no row names waits for an hour.
    assert len(place.stored()) == 2
    s3.put_object(Bucket="bucket", Key="key", Body=CONTENT)
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == CONTENT
    assert place.uploads() == []
    until(lambda: len(place.stored()) == 2, "the deletion of the bytes before")
    assert second.stop() == 0


@pytest.mark.slow
def test_a_kill_in_the_middle_of_an_upload_leaves_no_parts(tmp_path, place):
    options = "--store", server_or_skip().new_database(), "--bucket", place.address.text
    first = Kept(tmp_path / "first", *options)
    first.client("s3").create_bucket(Bucket="bucket")
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", first.port, timeout=PATIENCE_SECONDS)
    connection.putrequest("PUT", "/bucket/key")
    connection.putheader("Content-Length", str(len(CONTENT)))
    connection.endheaders()
    connection.send(CONTENT[: 8 * PIECE_BYTES])
    until(lambda: place.uploads() != [], "the first part")
    first.kill()
    connection.close()
    second = Kept(tmp_path / "first", *options)
    assert place.uploads() == []
    assert second.client("s3").list_objects_v2(Bucket="bucket")["KeyCount"] == 0
    assert second.stop() == 0


@pytest.mark.slow
def test_a_server_outlives_an_outage_of_its_bucket(tmp_path, monkeypatch):
    with_credentials(monkeypatch)
    endpoint = Server(tmp_path / "endpoint")
    place = Place(endpoint)
    address = server_or_skip().new_database()
    server = Kept(tmp_path / "data", "--store", address, "--bucket", place.address.text)
    s3 = server.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="large", Body=CONTENT[:100_000])
    assert endpoint.stop() == 0
    for _ in range(3):
        assert error_of(s3.get_object, Bucket="bucket", Key="large")["status"] == 503
        assert error_of(s3.put_object, Bucket="bucket", Key="new", Body=CONTENT[:100_000])["status"] == 503
    s3.put_object(Bucket="bucket", Key="little", Body=b"in a row")
    assert s3.get_object(Bucket="bucket", Key="little")["Body"].read() == b"in a row"
    assert health(server)["status"] == "ok"
    assert health(server)["bucket"] == "unavailable"
    again = Server(tmp_path / "endpoint", "--port", str(endpoint.port))
    until(lambda: health(server)["bucket"] == "ok", "the end of the outage")
    assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == CONTENT[:100_000]
    s3.put_object(Bucket="bucket", Key="new", Body=CONTENT[:100_000])
    assert s3.list_objects_v2(Bucket="bucket")["KeyCount"] == 3
    assert server.stop() == 0
    assert again.stop() == 0
    lines = [line for line in server.log.read_text().splitlines() if f"the bucket {place.address.place}" in line]
    assert len([line for line in lines if " bucket " in line.partition("the bucket")[0]]) == 3, lines


@pytest.mark.slow
def test_blobs_of_a_database_move_into_a_bucket_and_come_back_by_a_backup(tmp_path, place):
    address = server_or_skip().new_database()
    first = Server(tmp_path / "first", "--store", address)
    fill(first)
    assert first.stop() == 0
    assert place.stored() == []

    second = Kept(tmp_path / "second", "--store", address, "--bucket", place.address.text)
    check(second, CONTENT)
    until(lambda: "of the database are in the bucket" in second.log.read_text(), "the move")
    check(second, CONTENT)

    def run(*words: str) -> None:
        ended = completed([sys.executable, "-m", "statewright.cli.main", *words])
        assert ended.returncode == 0, ended.stderr

    backup, folder = str(tmp_path / "copy.db"), str(tmp_path / "second")
    run("backup", backup, "--store", address, "--data", folder)
    assert second.stop() == 0
    run("move", "--from", address, "--to", f"sqlite:{tmp_path / 'moved'}", "--data", folder)

    other = Place()
    restored = server_or_skip().new_database()
    run("restore", backup, "--store", restored, "--data", str(tmp_path / "restored"))
    third = Kept(tmp_path / "restored", "--store", restored, "--bucket", other.address.text)
    check(third, CONTENT)
    until(lambda: not list((tmp_path / "restored" / "objects").glob("*/*")), "the move of the files")
    check(third, CONTENT)
    assert third.stop() == 0
    on_disk = Server(tmp_path / "moved")
    check(on_disk, CONTENT)
    assert invoked(on_disk.client("lambda"))["own"] == "code of us-east-1"
    assert on_disk.stop() == 0
