from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from statewright.config import Config
from statewright.integrations.endpoints.volatile import LONGEST_SOCKET_PATH, VolatileServices, _socket_path
from statewright.integrations.endpoints.volatile_server import _serve_clients
from tests.deadlines import PATIENCE_SECONDS


def test_it_may_be_unwanted(tmp_path: Path) -> None:
    services = VolatileServices(Config(volatile=False), tmp_path)
    assert not services.available()
    assert services.endpoint("athena") is None


def test_a_child_that_answers_is_adopted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(_socket_path(tmp_path)))
    listening.listen()
    child = threading.Thread(target=_serve_clients, args=(listening, b"77 4242", 1.0))
    child.start()
    services = VolatileServices(Config(), tmp_path)
    found = services.endpoint("athena")
    assert found is not None
    assert found.url == "http://127.0.0.1:4242"
    assert services.endpoint("athena") is found
    # Each service is named once; callers cannot write into the log.
    services.endpoint("glue")
    services.endpoint("odd\nname")
    assert services.played == ["athena", "glue"]
    said = [one.getMessage() for one in caplog.records if "moto plays the service" in one.getMessage()]
    assert [text.split("'")[1] for text in said] == ["athena", "glue"]
    assert "invented" in said[0]
    # Once its last guest has gone, a child that waits for nobody ends.
    services.close()
    child.join(PATIENCE_SECONDS)
    listening.close()
    assert not child.is_alive()


def test_a_child_ends_with_the_clean_stop_of_its_last_server(tmp_path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(_socket_path(tmp_path)))
    listening.listen()
    child = threading.Thread(target=_serve_clients, args=(listening, b"77 4242", 10 * PATIENCE_SECONDS), daemon=True)
    child.start()
    killed, first, last = (VolatileServices(Config(), tmp_path) for _ in range(3))
    for services in (killed, first, last):
        assert services.endpoint("athena") is not None
    assert killed._connection is not None
    killed._connection.close()
    first.close()
    assert last.endpoint("athena") is not None
    assert last._is_alive(), "another server needs it still"
    last.close()
    child.join(PATIENCE_SECONDS)
    listening.close()
    assert not child.is_alive()


def test_a_long_folder_has_a_short_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 90)
    path = _socket_path(folder)
    assert len(str(path)) <= LONGEST_SOCKET_PATH
    assert path == _socket_path(folder)
    assert path != _socket_path(tmp_path / ("y" * 90))


def test_a_socket_of_another_user_is_not_connected_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket of a long folder's name is in a folder that all users share: another one may have been first."""
    path = _socket_path(tmp_path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()
    services = VolatileServices(Config(), tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: path.lstat().st_uid + 1)
    assert services._adopt() is None
    with pytest.raises(OSError, match="belongs to another user"):
        services._start()
    listening.close()
