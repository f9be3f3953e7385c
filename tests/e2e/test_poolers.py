"""PgBouncer in front of the database: a session for each connection works, one for each transaction is refused."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from statewright.errors import StoreError
from statewright.stores.postgres.connection import connect
from statewright.stores.postgres.surroundings import examine
from tests.deadlines import completed, running, until
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_standby import serving
from tests.postgres_server import server_or_skip

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")


@contextmanager
def pooler(mode: str, *settings: str) -> Iterator[str]:
    """The address of a new database behind a pooler."""
    if PROGRAM is None:
        pytest.skip("there is no PgBouncer here")
    database = server_or_skip()
    name = database.new_database().split("/")[3].split("?")[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # In a folder that the pooler's own user may read.
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    file = folder / "pgbouncer.ini"
    file.write_text(
        f"[databases]\n{name} = host={database.folder} user=test dbname={name}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 30\n"
        + "".join(f"{setting}\n" for setting in settings)
    )
    identity = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    with running([PROGRAM, "-q", file], stderr=subprocess.DEVNULL, **identity) as one:
        address = f"postgresql://test@127.0.0.1:{port}/{name}"

        def answers() -> bool:
            assert one.poll() is None, "PgBouncer has ended"
            try:
                psycopg.connect(address).close()
            except psycopg.OperationalError:
                return False
            return True

        until(answers, "an answer of PgBouncer")
        yield address
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), ("server_round_robin = 1",)])
def test_a_pooler_by_transactions_is_refused(tmp_path: Path, settings: tuple[str, ...]) -> None:
    with pooler("transaction", *settings) as address:
        for _ in range(5):
            with pytest.raises(StoreError, match="pool_mode = session"):
                examine(address, "db")
        for options in ((), ("--standby",)):
            done = completed([*serving(tmp_path / "data"), "--store", address, *options])
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.count("pool_mode = session") == 1
        assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_pooler_by_sessions_works(tmp_path: Path) -> None:
    with pooler("session") as address:
        with connect(address, 1_234) as connection:
            shown = connection.execute("SELECT current_setting('statement_timeout'), current_setting('enable_seqscan')")
            assert shown.fetchone() == ("1234ms", "off")
        server = Server(tmp_path / "data", "--store", address, "--standby")
        sfn = server.client()
        started = sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Wait", "Seconds": 1}))["executionArn"]
        assert ended(sfn, started)["status"] == "SUCCEEDED"
        assert server.stop() == 0
