"""A process that has everything imported and forks servers from itself, so that a restart costs no imports.

Each fork is a server process of its own, with its own sockets, threads, lock and files, and is what gets killed. Reads
`start FAIL_POINT` lines on its input; says `pid N`, `ready LINE` and `dead N STATUS` on its output. Arguments: the data
folder, the port, the file of the log, and the address of a PostgreSQL database, if that is the store. The wall clock
may be wrong: see `tests.wrong_clock`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

from tests.wrong_clock import read_wrong_clock


def main() -> None:
    data, port, log = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    store = sys.argv[4] if len(sys.argv) > 4 else "sqlite"
    read_wrong_clock()
    _import_everything()
    signal.signal(signal.SIGCHLD, _reap)
    say("loaded")
    for line in sys.stdin:
        point = line.removeprefix("start").strip()
        # Nobody may be told of a death before the birth.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        child = os.fork()
        if child == 0:
            _be_a_server(data, port, log, point, store)
        say(f"pid {child}")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _import_everything() -> None:
    import statewright.api.calls.inner
    import statewright.api.http.listening
    import statewright.cli.serving.logs
    import statewright.integrations.endpoints.tasks
    import statewright.integrations.http
    import statewright.server
    import statewright.stores.sqlite.store  # noqa: F401
    from statewright.api import operations

    operations.load_all()


def _be_a_server(data: Path, port: int, log: str, point: str, store: str) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        to_log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(to_log, 2)
        from statewright.cli.serving import logs
        from statewright.config import Config, Connection
        from statewright.hosting.options import ServerOptions
        from statewright.server import serve
        from statewright.stores import fail_points

        logs.configure("text", "info")
        logging.captureWarnings(True)
        fail_points.arm(point)
        config = Config(connections={"out": Connection("out")})
        serve(ServerOptions(port=port, data=data, store=store, config=config), lambda line: say(f"ready {line}"))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap(_number: int, _frame: FrameType | None) -> None:
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        say(f"dead {child} {os.waitstatus_to_exitcode(status)}")


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
