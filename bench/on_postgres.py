"""A server on a PostgreSQL of its own, for `bench.py --spawn`: the CPU of the database counts with the server's.

python bench/bench.py --workload start_rate --spawn ".venv/bin/python bench/on_postgres.py --port {port} --data {dir}"

The database is on the disk of temporary files, and syncs each commit.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres_server import NoServer, Server

DURABLE = ("fsync=on", "full_page_writes=on")


def main() -> int:
    """Start both, and end both with the first signal; the exit code of the server."""
    try:
        database = Server(settings=DURABLE)
    except NoServer as problem:
        print(problem, file=sys.stderr)
        return 1
    command = [str(Path(sys.executable).with_name("statewright")), "serve", *sys.argv[1:]]
    server = subprocess.Popen([*command, "--store", database.new_database()])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, _: server.send_signal(given))
    code = server.wait()
    database.remove()
    return code


if __name__ == "__main__":
    sys.exit(main())
