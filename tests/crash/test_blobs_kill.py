"""`kill -9` between the bytes of an object and the row that names them, in files and in PostgreSQL."""

from __future__ import annotations

import contextlib
import http.client
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from statewright.stores.blobs.protocol import ORPHAN_MS, PIECE_BYTES
from statewright.stores.fail_points import BODY_FREED, BODY_WRITTEN, VARIABLE
from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import Server
from tests.postgres_server import server_or_skip

OLD = b"o" * (2 * PIECE_BYTES + 1)
NEW = b"n" * (3 * PIECE_BYTES + 1)


class Bodies:
    """Where the bytes of a server's objects are, as its operator sees them."""

    def __init__(self, data: Path, address: str) -> None:
        self.options = ("--store", address) if address else ()
        self._folder = data / "objects"
        self._address = address

    def count(self) -> int:
        if not self._address:
            return len(list(self._folder.glob("*/*")))
        return int(self._rows("SELECT count(DISTINCT name) FROM blob")[0][0])

    def grow_old(self) -> None:
        if not self._address:
            for path in self._folder.glob("*/*"):
                os.utime(path, (0, 0))
        else:
            self._rows(f"UPDATE blob SET at_ms = at_ms - {2 * ORPHAN_MS} RETURNING 1")

    def _rows(self, query: str) -> list[Any]:
        with psycopg.connect(self._address, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture(params=["files", "postgres"])
def bodies(request: pytest.FixtureRequest, tmp_path: Path) -> Bodies:
    address = server_or_skip().new_database() if request.param == "postgres" else ""
    return Bodies(tmp_path / "data", address)


def killed_while_putting(data: Path, bodies: Bodies, point: str, patch: pytest.MonkeyPatch) -> None:
    """An object of which the second version is being put when the server dies."""
    server = Server(data, *bodies.options)
    s3 = server.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="key", Body=OLD)
    assert server.stop() == 0
    patch.setenv(VARIABLE, point)
    server = Server(data, *bodies.options)
    with contextlib.suppress(BotoCoreError, ClientError):
        server.client("s3").put_object(Bucket="bucket", Key="key", Body=NEW)
    assert server.process.wait(PATIENCE_SECONDS) != 0
    server.kill()
    patch.delenv(VARIABLE)
    assert bodies.count() == 2


@pytest.mark.slow
@pytest.mark.parametrize(("point", "content"), [(BODY_WRITTEN, OLD), (BODY_FREED, NEW)])
def test_bytes_and_rows_agree_after_a_kill(bodies, point, content, tmp_path, monkeypatch):
    data = tmp_path / "data"
    killed_while_putting(data, bodies, point, monkeypatch)
    # What no row names is kept while it is young, whatever else happens.
    server = Server(data, *bodies.options)
    assert server.client("s3").get_object(Bucket="bucket", Key="key")["Body"].read() == content
    assert bodies.count() == 2
    server.kill()
    bodies.grow_old()
    server = Server(data, *bodies.options)
    s3 = server.client("s3")
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == content
    assert bodies.count() == 1
    s3.put_object(Bucket="bucket", Key="key", Body=NEW + OLD)
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == NEW + OLD
    until(lambda: bodies.count() == 1, "the deletion of the bytes before")
    s3.delete_object(Bucket="bucket", Key="key")
    until(lambda: bodies.count() == 0, "the deletion of the bytes")
    assert server.stop() == 0


def is_answered(connection: http.client.HTTPConnection) -> bool:
    """Whether there is something to read."""
    return bool(select.select([connection.sock], [], [], 0)[0])


@pytest.mark.slow
def test_a_server_that_was_frozen_and_replaced_leaves_no_bytes_behind(tmp_path):
    """The fence of the blobs: an upload goes on in a server that has lost the store meanwhile."""
    address = server_or_skip().new_database()
    bodies = Bodies(tmp_path / "first", address)
    first = Server(tmp_path / "first", *bodies.options)
    s3 = first.client("s3")
    s3.create_bucket(Bucket="bucket")

    connection = http.client.HTTPConnection("127.0.0.1", first.port, timeout=PATIENCE_SECONDS)
    written: list[int] = []

    def content() -> Iterator[bytes]:
        yield OLD
        until(lambda: bodies.count() == 1 or is_answered(connection), "the first pieces")
        assert not is_answered(connection), connection.sock.recv(4096)
        # As if the server had been frozen for longer than its lease.
        with psycopg.connect(address, autocommit=True) as database:
            replaced = database.execute("UPDATE shard SET owner = 'another', epoch = epoch + 1").rowcount
        assert replaced == 1
        written.append(bodies.count())
        yield OLD

    with contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("PUT", "/bucket/key", body=content(), headers={"Content-Length": str(2 * len(OLD))})
        assert connection.getresponse().status >= 500
    connection.close()
    assert written == [1]
    first.kill()
    bodies.grow_old()
    second = Server(tmp_path / "first", *bodies.options)
    assert second.client("s3").list_objects_v2(Bucket="bucket")["KeyCount"] == 0
    assert bodies.count() == 0
    assert second.stop() == 0
