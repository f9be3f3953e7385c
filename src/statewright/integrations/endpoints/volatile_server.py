"""The child process with moto in it: `python -m statewright.integrations.endpoints.volatile_server SOCKET`.

Whoever needs it connects to the socket, is told pid and port, and stays connected. When nobody has been connected for
ten minutes, the process ends. The wait is of real time: it concerns processes, not workflows.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import time
from typing import Final

ALONE_SECONDS: Final = 600.0


def main(path: str, alone_seconds: float = ALONE_SECONDS) -> None:
    """Serve until nobody needs it any more."""
    from moto.server import ThreadedMotoServer

    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    os.chmod(path, 0o600)
    listening.listen()
    # The server's own lines are of no use to anybody, and standard output tells the parent one thing only.
    with contextlib.redirect_stdout(sys.stderr):
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
    _, port = server.get_host_and_port()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdout.close()
    try:
        _keep_company(listening, f"{os.getpid()} {port}".encode(), alone_seconds)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    # Its threads wait for connections for ever.
    os._exit(0)


def _keep_company(listening: socket.socket, greeting: bytes, alone_seconds: float) -> None:
    """Greet whoever connects; return when nobody has been there for so long."""
    company: list[socket.socket] = []
    alone_since = time.monotonic()
    while company or time.monotonic() - alone_since < alone_seconds:
        wait = None if company else alone_seconds - (time.monotonic() - alone_since)
        readable, _, _ = select.select([listening, *company], [], [], wait)
        for one in readable:
            if one is listening:
                guest, _ = listening.accept()
                guest.sendall(greeting)
                company.append(guest)
                continue
            # A guest never speaks: what can be read is its going.
            with contextlib.suppress(OSError):
                if one.recv(1):
                    continue
            one.close()
            company.remove(one)
            alone_since = time.monotonic()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else ALONE_SECONDS)
