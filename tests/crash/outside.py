"""The world outside the server: an HTTP endpoint for tasks. It counts who called, and fails until told not to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class Outside:
    """Answers `POST /done {"name": N}` with `{"done": N}`; `/barred` with 500 until `allow(N)`."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.allowed: set[str] = set()
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                try:
                    body = self.rfile.read(int(self.headers["content-length"]))
                    name = json.loads(body)["name"]
                    barred = self.path == "/barred" and name not in outside.allowed
                    outside.seen[name] += 1
                    answer = json.dumps({"done": name}).encode()
                    self.send_response(500 if barred else 200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except (OSError, ValueError, KeyError):
                    # The server was killed in the middle of its call.
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 200

            def handle_error(self, request: object, client_address: object) -> None:
                """Killed callers are the point of it all."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def allow(self, name: str) -> None:
        self.allowed.add(name)

    def __enter__(self) -> Outside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
