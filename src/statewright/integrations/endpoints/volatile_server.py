"""The child process with moto in it: `python -m statewright.integrations.endpoints.volatile_server SOCKET`.

A server that needs it connects to the socket, receives pid and port, and stays connected. One that stops cleanly says
farewell, and the process exits with the last such server; after a server that was killed, it waits ten minutes for
another connection. The wait is in real time: it concerns processes, not workflows.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import threading
import time
from typing import Final

from statewright.integrations.endpoints.moto_failures import Failures

ALONE_SECONDS: Final = 600.0
FAREWELL: Final = b"."
"""The only byte that a client writes: it stops cleanly, and needs the process no more."""


def main(path: str, alone_seconds: float = ALONE_SECONDS) -> None:
    """Serve until no server has been connected for `alone_seconds`."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    os.chmod(path, 0o600)
    listening.listen()
    # Standard output is for the line that tells the parent that the server is ready, not for the server's own output.
    with contextlib.redirect_stdout(sys.stderr):
        port = _serve_moto()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdout.close()
    # moto prints, too.
    sys.stdout = sys.stderr
    try:
        _serve_clients(listening, f"{os.getpid()} {port}".encode(), alone_seconds)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    # The server's threads wait for connections forever.
    os._exit(0)


def _serve_moto() -> int:
    """Serve moto in threads; returns the port."""
    from flask import got_request_exception
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    application = Failures(DomainDispatcherApplication(create_backend_app))
    # Signals hold their receivers weakly; this one lives as long as the server.
    got_request_exception.connect(lambda _sender, exception, **_: application.note(exception), weak=False)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_port)


def _serve_clients(listening: socket.socket, greeting: bytes, alone_seconds: float) -> None:
    """Greet each client that connects; return once the last one has said farewell, or after so many seconds without."""
    clients: list[socket.socket] = []
    alone_since = time.monotonic()
    while clients or time.monotonic() - alone_since < alone_seconds:
        wait = None if clients else alone_seconds - (time.monotonic() - alone_since)
        readable, _, _ = select.select([listening, *clients], [], [], wait)
        for one in readable:
            if one is listening:
                client, _ = listening.accept()
                client.sendall(greeting)
                clients.append(client)
                continue
            # A socket is readable once its client has said farewell or has disconnected.
            said = b""
            with contextlib.suppress(OSError):
                said = one.recv(1)
            one.close()
            clients.remove(one)
            alone_since = time.monotonic()
            if said == FAREWELL and not clients:
                return


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else ALONE_SECONDS)
