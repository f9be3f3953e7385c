"""The runtime API inside a worker, for programs with a runtime of their own (`provided`), over HTTP on loopback.

Starts the function's `bootstrap` as a child and answers its calls; to the server it speaks the frames of
`python_worker.py`. Loaded by the fork server, so it uses the standard library alone. Exits with the child's code.

Source: Lambda developer guide, "Using the Lambda runtime API for custom runtimes".
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import time

import python_worker  # type: ignore[import-not-found]

BASE = "/2018-06-01/runtime/"
REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 413: "Payload Too Large"}


class Connection:
    """A connection of the runtime, with the received part of its request."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.data = b""

    def request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        """Method, path, headers and body, once the request is complete."""
        head, end, rest = self.data.partition(b"\r\n\r\n")
        if not end:
            return None
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("transfer-encoding", "").lower() == "chunked":
            found = _unchunked(rest)
            if found is None:
                return None
            body, self.data = found
        else:
            length = int(headers.get("content-length") or 0)
            if len(rest) < length:
                return None
            body, self.data = rest[:length], rest[length:]
        method, path = lines[0].split(" ")[:2]
        return method, path, headers, body

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Answer the request; the connection stays open."""
        lines = [
            f"HTTP/1.1 {status} {REASONS[status]}",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
        ]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        with contextlib.suppress(OSError):
            self.link.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def _unchunked(data: bytes) -> tuple[bytes, bytes] | None:
    """A chunked body and the data after it, once the body is complete."""
    parts: list[bytes] = []
    while True:
        line, end, rest = data.partition(b"\r\n")
        if not end:
            return None
        size = int(line.split(b";")[0], 16)
        if len(rest) < size + 2:
            return None
        if size == 0:
            # Trailers, if any, end with an empty line.
            _, end, after = (b"\r\n" + rest).partition(b"\r\n\r\n")
            return (b"".join(parts), after) if end else None
        parts.append(rest[:size])
        data = rest[size + 2 :]


class RuntimeApi:
    """One runtime and its current invocation."""

    def __init__(self, channel: python_worker.Channel, listening: socket.socket) -> None:
        self.channel = channel
        self.listening = listening
        self.selector = selectors.DefaultSelector()
        self.connections: dict[int, Connection] = {}
        self.asking: Connection | None = None
        self.current: str | None = None
        self.frame: tuple[python_worker.Header, bytes] | None = None
        self.ready = False
        self.failed = False

    def serve(self, child: subprocess.Popen[bytes]) -> int:
        """Serve until the child or the server has ended; return the child's exit code."""
        woken, waking = socket.socketpair()
        waking.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        for source in (self.channel.connection, self.listening, woken):
            self.selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listening:
                    link, _ = self.listening.accept()
                    self.connections[link.fileno()] = Connection(link)
                    self.selector.register(link, selectors.EVENT_READ)
                elif key.fileobj is self.channel.connection:
                    if not self._next():
                        return 0
                elif key.fileobj is woken:
                    woken.recv(64)
                else:
                    self._read(self.connections[key.fd])
            if child.poll() is not None:
                return child.returncode

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.link.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(connection.link)
            del self.connections[connection.link.fileno()]
            connection.link.close()
            if self.asking is connection:
                self.asking = None
            return
        connection.data += data
        while True:
            request = connection.request()
            if request is None:
                return
            self._serve(connection, *request)

    def _serve(self, connection: Connection, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        parts: list[str] = path[len(BASE) :].split("/") if path.startswith(BASE) else []
        if (method, parts) == ("GET", ["invocation", "next"]):
            self.asking = connection
            if not self.ready:
                self.ready = True
                self.channel.send({"t": "ready"})
            self._answer_next()
        elif method == "POST" and parts == ["init", "error"]:
            self.failed = True
            self.channel.send({"t": "failed"}, _document(body, headers)[: python_worker.RESPONSE_BYTES])
            connection.answer(202, b'{"status":"OK"}')
        elif method == "POST" and len(parts) == 3 and parts[0] == "invocation" and parts[2] in ("response", "error"):
            self._finish(connection, parts[1], parts[2], headers, body)
        else:
            connection.answer(404, b'{"errorMessage":"not found","errorType":"NotFound"}')

    def _finish(self, connection: Connection, id: str, what: str, headers: dict[str, str], body: bytes) -> None:
        if id != self.current:
            connection.answer(400, b'{"errorMessage":"Invalid request ID","errorType":"InvalidRequestID"}')
            return
        self.current = None
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * python_worker.RSS_UNIT // 1024
        if what == "error":
            python_worker.send_answer(self.channel, "error", id, peak, _document(body, headers))
        else:
            python_worker.send_answer(self.channel, "result", id, peak, body or b"null")
        if what == "response" and len(body) > python_worker.RESPONSE_BYTES:
            said = {"errorMessage": "Exceeded maximum allowed payload size", "errorType": "RequestEntityTooLarge"}
            connection.answer(413, json.dumps(said).encode())
        else:
            connection.answer(202, b'{"status":"OK"}')

    def _next(self) -> bool:
        frame = self.channel.receive()
        if frame is None:
            return False
        self.frame = frame
        self._answer_next()
        return True

    def _answer_next(self) -> None:
        """Answer the runtime's request for the next invocation, once both have arrived."""
        if self.asking is None or self.frame is None:
            return
        connection, self.asking = self.asking, None
        (header, body), self.frame = self.frame, None
        self.current = header["id"]
        headers = {
            "Lambda-Runtime-Aws-Request-Id": header["id"],
            "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + header["timeout_ms"]),
            "Lambda-Runtime-Invoked-Function-Arn": header["arn"],
        }
        if header.get("trace"):
            headers["Lambda-Runtime-Trace-Id"] = header["trace"]
        if header.get("client_context") is not None:
            headers["Lambda-Runtime-Client-Context"] = json.dumps(header["client_context"])
        connection.answer(200, body, headers)


def _document(body: bytes, headers: dict[str, str]) -> bytes:
    try:
        given = json.loads(body)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        given = {"errorMessage": body.decode("utf-8", "replace")}
    given.setdefault("errorType", headers.get("lambda-runtime-function-error-type", "Runtime.Unknown"))
    return json.dumps(given).encode()


def main(message: python_worker.Header) -> None:
    """Run the function's own runtime until it ends."""
    channel = python_worker.Channel(socket.socket(fileno=3))
    os.set_inheritable(3, False)
    listening = socket.create_server(("127.0.0.1", 0))
    os.environ["AWS_LAMBDA_RUNTIME_API"] = f"127.0.0.1:{listening.getsockname()[1]}"
    program = os.path.join(message["root"], "bootstrap")
    try:
        child = subprocess.Popen([program], cwd=message["root"])
    except OSError as problem:
        said = {
            "errorType": "Runtime.InvalidEntrypoint",
            "errorMessage": f"RequestId:  Error: Couldn't find valid bootstrap(s): [{program}]: {problem.strerror}",
        }
        channel.send({"t": "failed"}, json.dumps(said).encode())
        return
    api = RuntimeApi(channel, listening)
    code = api.serve(child)
    sys.stdout.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
