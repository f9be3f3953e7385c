"""The Python runtime inside a worker: imports the handler, then calls it once for every invocation.

Loaded by the fork server (`zygote.py`), so it too uses the standard library alone, from Python 3.9 on. The context
object, environment, log lines and error documents are as in the service.

Frames, both ways, on descriptor 3: `u32 length of the rest | u32 length of the header | header (JSON) | body`.
From the server: `invoke` with the event as body, `time` and `refused` as answers about the clock. To the server:
`ready`, `failed` (the handler cannot be loaded), `result` and `error`, or `too_long` in place of either, with the id of
the invocation, and the clock's `now` and `sleep_until`.

Source: Lambda developer guide, "Python context object", "Python logging"; error documents observed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import resource
import signal
import site
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, Protocol

HEAD = struct.Struct(">II")
RESPONSE_BYTES = 6_291_556
"""Longest result that the server accepts; `limits.FUNCTION_RESPONSE_BYTES`."""
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def preload(modules: list[str]) -> None:
    """Import modules in the fork server that every worker would import otherwise."""
    import uuid  # noqa: F401

    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


Header = dict[str, Any]
"""The header of a frame, or another JSON object."""
Handler = Callable[[Any, "LambdaContext"], object]
"""A function's handler, called with the event, a JSON value."""


class VirtualTime(Protocol):
    """Virtual time in this process; implemented by `worker_time.WorkerTime`."""

    def install(self, worker: int) -> None:
        """Replace the clocks of this process."""

    def begin(self, now_ms: int, request_id: str) -> None:
        """Start an invocation at an instant."""


class Channel:
    """The worker's end of its socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.buffer = b""

    def send(self, header: Header, body: bytes = b"") -> None:
        """Send a frame."""
        head = json.dumps(header).encode()
        self.connection.sendall(HEAD.pack(4 + len(head) + len(body), len(head)) + head + body)

    def receive(self) -> tuple[Header, bytes] | None:
        """The next frame; `None` when the server is gone."""
        data = self.buffer or self._read(65536)
        while len(data) < 8:
            more = self._read(65536)
            if not more:
                return None
            data += more
        total, head = HEAD.unpack_from(data)
        missing = 4 + total - len(data)
        if missing > 0:
            parts = [data]
            while missing > 0:
                more = self._read(min(missing + 65536, 1 << 20))
                if not more:
                    return None
                parts.append(more)
                missing -= len(more)
            data = b"".join(parts)
        self.buffer = data[4 + total :]
        return json.loads(data[8 : 8 + head]), data[8 + head : 4 + total]

    def _read(self, most: int) -> bytes:
        try:
            return self.connection.recv(most)
        except ConnectionError:
            return b""


class ClockRefused(RuntimeError):
    """Raised when the server runs in real time: a worker reads the clock and sleeps by itself."""


class ServerClock:
    """The server's clock, for workers of a server in virtual time."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def now_ms(self) -> int:
        """The server's instant in epoch milliseconds. Raises: ClockRefused in real time."""
        return self._ask({"t": "now"})

    def sleep_until(self, due_ms: int) -> int:
        """Wait until the server's clock has reached an instant; return its time. Raises: ClockRefused."""
        return self._ask({"t": "sleep_until", "due_ms": due_ms})

    def _ask(self, header: Header) -> int:
        self._channel.send(header)
        answer = self._channel.receive()
        if answer is None:
            raise SystemExit(0)
        if answer[0]["t"] == "refused":
            raise ClockRefused(answer[0]["why"])
        now_ms: int = answer[0]["now_ms"]
        return now_ms


SHOWN: list[tuple[str, str]] = []
"""Folders of the code and of layers, with their names in stack traces: those of the service at every level."""
CLOCK: ServerClock
"""The server's clock, set when the worker starts."""


class CognitoIdentity:
    """`context.identity`."""

    def __init__(self) -> None:
        self.cognito_identity_id = None
        self.cognito_identity_pool_id = None

    def __repr__(self) -> str:
        return "CognitoIdentity([cognito_identity_id=None,cognito_identity_pool_id=None])"


class Client:
    """`context.client_context.client`."""

    def __init__(self, given: Header) -> None:
        self.installation_id = given.get("installation_id")
        self.app_title = given.get("app_title")
        self.app_version_name = given.get("app_version_name")
        self.app_version_code = given.get("app_version_code")
        self.app_package_name = given.get("app_package_name")


class ClientContext:
    """`context.client_context`."""

    def __init__(self, given: Header) -> None:
        self.client = Client(given.get("client") or {})
        self.custom = given.get("custom")
        self.env = given.get("env")


class LambdaContext:
    """The second argument of a handler."""

    def __init__(self, header: Header, settings: dict[str, str]) -> None:
        self.aws_request_id = header["id"]
        self.invoked_function_arn = header["arn"]
        self.function_name = settings["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = settings["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = settings["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = settings["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = settings["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.tenant_id = None
        self.identity = CognitoIdentity()
        given = header.get("client_context")
        self.client_context = ClientContext(given) if isinstance(given, dict) else None
        self._deadline_ms = time.time() * 1000 + header["timeout_ms"]

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation times out; never less than 0."""
        return max(int(self._deadline_ms - time.time() * 1000), 0)

    def log(self, message: object) -> None:
        """Write to the log."""
        sys.stdout.write(str(message))

    def __repr__(self) -> str:
        shown = ("aws_request_id", "function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb")
        return "LambdaContext([{}])".format(",".join(f"{name}={getattr(self, name)}" for name in shown))


class CannotLoad(Exception):
    """Raised when the handler does not exist, or its module does not load."""

    def __init__(self, kind: str, message: str, trace: list[str]) -> None:
        super().__init__(message)
        self.document = {"errorMessage": message, "errorType": kind, "requestId": "", "stackTrace": trace}


def load_handler(text: str) -> Handler:
    """Import the function `module.name`. Raises: CannotLoad."""
    module_name, dot, name = text.rpartition(".")
    if not dot:
        raise CannotLoad(
            "Runtime.MalformedHandlerName",
            f"Bad handler '{text}': not enough values to unpack (expected 2, got 1)",
            [],
        )
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as problem:
        raise CannotLoad(
            "Runtime.ImportModuleError", f"Unable to import module '{module_name}': {problem}", []
        ) from None
    except SyntaxError as problem:
        place, text = shown(problem.filename or ""), (problem.text or "").strip()
        where = f'  File "{place}" Line {problem.lineno}\n    {text}'
        raise CannotLoad(
            "Runtime.UserCodeSyntaxError", f"Syntax error in module '{module_name}': {problem}", [where]
        ) from None
    except Exception as problem:
        raise CannotLoad(type(problem).__name__, str(problem), _trace(problem)) from None
    try:
        handler: Handler = getattr(module, name)
    except AttributeError:
        raise CannotLoad("Runtime.HandlerNotFound", f"Handler '{name}' missing on module '{module_name}'", []) from None
    return handler


def shown(file: str) -> str:
    """The name of a file in stack traces."""
    for folder, name in SHOWN:
        if file.startswith(folder):
            return name + file[len(folder) :]
    return file


def _trace(problem: BaseException) -> list[str]:
    """Stack frames of the function's own code, as the service shows them."""
    found = [
        (shown(frame.filename), frame.lineno, frame.name, frame.line)
        for frame in traceback.extract_tb(problem.__traceback__)
        if frame.filename not in (__file__, importlib.__file__) and not frame.filename.startswith("<frozen importlib")
    ]
    return traceback.format_list(found)  # type: ignore[arg-type]


def _document(problem: BaseException, request_id: str) -> Header:
    return {
        "errorMessage": str(problem),
        "errorType": type(problem).__name__,
        "requestId": request_id,
        "stackTrace": _trace(problem),
    }


class RequestLog(logging.StreamHandler):  # type: ignore[type-arg]
    """The root logger's handler, as in the service: level, instant, request, message."""

    request_id = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        record.aws_request_id = RequestLog.request_id
        self.stream = sys.stdout
        super().emit(record)


def _set_up_logging() -> None:
    handler = RequestLog(sys.stdout)
    shape = logging.Formatter(
        "[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    shape.converter = time.gmtime
    handler.setFormatter(shape)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    level = os.environ.get("AWS_LAMBDA_LOG_LEVEL")
    if level:
        root.setLevel(level)


def _say(document: Header) -> None:
    lines = ["[ERROR] {}: {}".format(document["errorType"], document["errorMessage"])]
    if document["stackTrace"]:
        lines.append("Traceback (most recent call last):")
        lines += [line.rstrip("\n") for line in document["stackTrace"]]
    # Carriage returns keep a traceback one event in the log.
    sys.stdout.write("\r".join(lines) + "\n")


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT // 1024


def main(message: Header) -> None:
    """Serve until the server is gone. `message` is the spawn message: handler, paths, environment."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.argv = [""]
    sys.path[:0] = message["paths"]
    for path in message["paths"]:
        if path.endswith("/site-packages"):
            # Its `.pth` files count.
            site.addsitedir(path)
    SHOWN[:] = message["shown"]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    _set_up_logging()
    channel = Channel(socket.socket(fileno=3))
    global CLOCK
    CLOCK = ServerClock(channel)
    own_pid = os.getpid()
    virtual = _virtual_time(message, channel)
    try:
        handler = load_handler(message["handler"])
    except CannotLoad as problem:
        _say(problem.document)
        sys.stdout.flush()
        channel.send({"t": "failed"}, json.dumps(problem.document).encode())
        return
    except SystemExit as problem:
        sys.stdout.flush()
        os._exit(_exit_code(problem))
    channel.send({"t": "ready"})
    settings = dict(os.environ)
    while True:
        frame = channel.receive()
        if frame is None:
            return
        header, body = frame
        if header["t"] != "invoke":
            # The end of a sleep, for a thread that the last invocation has left behind.
            continue
        if virtual is not None:
            virtual.begin(header["now_ms"], header["id"])
        kind, answer = _call(handler, header, body, settings)
        if os.getpid() != own_pid:
            # The child of a handler that forked: only the parent answers.
            os._exit(0)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
        send_answer(channel, kind, header["id"], _peak_kib(), answer)


def send_answer(channel: Channel, kind: str, request_id: str, peak_kib: int, body: bytes) -> None:
    """Send the end of an invocation, without its body if that exceeds the service's limit."""
    if len(body) > RESPONSE_BYTES:
        kind, body = "too_long", b""
    channel.send({"t": kind, "id": request_id, "peak_kib": peak_kib}, body)


def _virtual_time(message: Header, channel: Channel) -> VirtualTime | None:
    """Install virtual time in this process if the server runs in it; return its `WorkerTime`."""
    if "now_ms" not in message:
        return None

    def ask(due_ms: int) -> None:
        channel.send({"t": "sleep_until", "due_ms": due_ms})

    def answer() -> int:
        frame = channel.receive()
        if frame is None:
            os._exit(0)
        now_ms: int = frame[0]["now_ms"]
        return now_ms

    # The fork server, or `start_anew`, has loaded the module.
    made: VirtualTime = importlib.import_module("worker_time").WorkerTime(message["now_ms"], ask, answer)
    made.install(message["worker"])
    return made


def _call(handler: Handler, header: Header, body: bytes, settings: dict[str, str]) -> tuple[str, bytes]:
    request_id = RequestLog.request_id = header["id"]
    os.environ["_X_AMZN_TRACE_ID"] = header["trace"]
    try:
        try:
            event = json.loads(body)
        except ValueError as problem:
            return _failed("Runtime.UnmarshalError", f"Unable to unmarshal input: {problem}", request_id)
        result = handler(event, LambdaContext(header, settings))
        if isinstance(result, (bytes, bytearray)):
            # Bytes are the payload unchanged.
            return "result", bytes(result)
        try:
            return "result", json.dumps(result).encode("utf-8", "surrogatepass")
        except Exception as problem:
            return _failed("Runtime.MarshalError", f"Unable to marshal response: {problem}", request_id)
    except SystemExit as problem:
        sys.stdout.flush()
        os._exit(_exit_code(problem))
    except BaseException as problem:
        document = _document(problem, request_id)
        _say(document)
        return "error", json.dumps(document).encode()


def _failed(kind: str, message: str, request_id: str) -> tuple[str, bytes]:
    document = {"errorMessage": message, "errorType": kind, "requestId": request_id, "stackTrace": []}
    _say(document)
    return "error", json.dumps(document).encode()


def _exit_code(problem: SystemExit) -> int:
    if problem.code is None:
        return 0
    return problem.code & 255 if isinstance(problem.code, int) else 1


def start_anew(message: Header) -> None:
    """Replace this process, a worker, by an interpreter that starts with the worker's environment, then serve.

    The loader reads the path of libraries when a process starts, so what a fork has of it is the fork server's.
    """
    program = sys.executable
    kept = {name: value for name, value in message.items() if name != "env"}
    os.execve(program, [program, "-B", os.path.abspath(__file__), json.dumps(kept)], message["env"])


if __name__ == "__main__":
    _message = json.loads(sys.argv[1])
    if "now_ms" in _message:
        importlib.import_module("worker_time")
    # The folder of this file.
    del sys.path[0]
    main(_message)
