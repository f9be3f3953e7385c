"""Services that are neither Statewright's own nor at an endpoint: moto, in a child process, started at first use.

The data in moto is lost with its process, hence the name volatile. The process ends with a clean stop of the server
that uses it. It outlives a killed server: its socket is in the data folder, and the next server that needs it adopts
it. After ten minutes without a connection to that socket it exits. `volatile_server.py` runs in the child.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from statewright.config import Config, Endpoint
from statewright.files.data_folder import FOLDER_MODE
from statewright.integrations.endpoints.volatile_server import FAREWELL

SOCKET_NAME: Final = "volatile.sock"
START_SECONDS: Final = 60.0
MOST_NAMED: Final = 400
"""Services that the log and `played` name: callers choose the names. AWS has fewer."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,50}")
LONGEST_SOCKET_PATH: Final = 100
"""Bytes of a path that every system takes for a Unix socket."""

log = logging.getLogger("statewright.integrations")


class VolatileServices:
    """The child process, as one server sees it. `data` is the data folder; without one no later server adopts it."""

    def __init__(self, config: Config, data: Path | None) -> None:
        self._config = config
        self._path = _socket_path(data)
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._endpoint: Endpoint | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._played: set[str] = set()

    def available(self) -> bool:
        """True if moto is installed, and its use is configured."""
        return self._config.volatile and find_spec("moto") is not None

    @property
    def played(self) -> list[str]:
        """The services that moto has played for this server."""
        return sorted(self._played)

    def endpoint(self, service: str) -> Endpoint | None:
        """The endpoint of a service; adopts or starts the child if necessary. `None` without moto. Blocks.

        The log says once for each service that its answers are invented.

        Raises: OSError when the child cannot be started.
        """
        if not self.available():
            return None
        with self._lock:
            if self._endpoint is None or not self._is_alive():
                self._endpoint = self._adopt() or self._start()
            self._note(service)
            return self._endpoint

    def _note(self, service: str) -> None:
        if service in self._played or len(self._played) >= MOST_NAMED or not _NAME.fullmatch(service):
            return
        self._played.add(service)
        log.warning(
            "moto plays the service '%s': results of jobs, queries and models are invented. For a real one, name its "
            "endpoint in statewright.toml, under [endpoints]", service,
        )  # fmt: skip

    def close(self) -> None:
        """End the child, unless another server is connected to it, too. Part of a clean stop."""
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    self._connection.setblocking(True)
                    self._connection.sendall(FAREWELL)
                self._connection.close()
                self._connection = None

    def _is_alive(self) -> bool:
        """True if the child still holds the connection: it never writes after its greeting."""
        if self._connection is None:
            return False
        self._connection.setblocking(False)
        try:
            return self._connection.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _adopt(self) -> Endpoint | None:
        """Connect to the child that an earlier server of the same user has left, if it answers."""
        if not _is_own(self._path):
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(START_SECONDS)
        try:
            connection.connect(str(self._path))
            greeting = connection.recv(100).decode()
            pid, port = map(int, greeting.split())
        except (OSError, ValueError):
            connection.close()
            return None
        self._connection = connection
        log.warning(
            "other services answer from moto (pid %d, port %d): volatile, what they keep is lost with that process",
            pid, port,
        )  # fmt: skip
        return Endpoint(f"http://127.0.0.1:{port}", region=self._config.region)

    def _start(self) -> Endpoint:
        log.info("starting moto for services that are neither Statewright's own nor configured")
        folder = self._path.parent
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        if folder != Path(tempfile.gettempdir()) and not _is_own(folder):
            raise OSError(f"moto could not be started: {folder} belongs to another user")
        self._path.unlink(missing_ok=True)
        environment = {**os.environ, "MOTO_ACCOUNT_ID": self._config.account, "TZ": "UTC"}
        child = subprocess.Popen(
            [sys.executable, "-m", "statewright.integrations.endpoints.volatile_server", str(self._path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # The child outlives the server, so a signal to the server's process group must not reach it.
            start_new_session=True,
        )
        self._child = child
        assert child.stdout is not None
        with child.stdout as ready:
            line = ready.readline()
        found = self._adopt() if line.strip() == b"ready" else None
        if found is None:
            child.kill()
            raise OSError(
                "moto could not be started; try: python -m statewright.integrations.endpoints.volatile_server /tmp/x"
            )
        return found


def _is_own(path: Path) -> bool:
    """True if a path exists and belongs to this user: in a shared folder another user may have been first."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _socket_path(data: Path | None) -> Path:
    folder = data.absolute() if data is not None else Path(tempfile.gettempdir()) / f"statewright-{os.getpid()}"
    path = folder / SOCKET_NAME
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        # The same long folder always leads to the same short name.
        from hashlib import blake2b

        short = blake2b(os.fsencode(folder), digest_size=8).hexdigest()
        return Path(tempfile.gettempdir()) / f"statewright-{short}.sock"
    return path
