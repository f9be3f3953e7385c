"""The Ray actor that runs one worker of a function: a fork server with one process, on a node of the cluster.

Rules:

1. The actor adds nothing to a handler and takes nothing away. It starts `zygote.py` as the server does, with the same
   message, and carries bytes between the worker's socket and the server unread. It looks at frames only to see where
   the answer to an invocation ends; the server checks them.
2. What a server does beside a worker of its own machine is done here: memory is watched, idle processes are stopped,
   the folder for temporary files is made and removed.
3. The worker ends with the actor: when the actor is killed, its socket closes, and the fork server kills what it
   started. An actor whose node has lost its Ray daemon ends by itself.

The class is sent to the cluster by value, so this module uses the standard library alone; nodes need no Statewright.
"""

from __future__ import annotations

import array
import contextlib
import errno
import hashlib
import importlib.util
import io
import json
import os
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from typing import Any

LENGTH = ">I"
HEAD = ">II"
LONGEST_FRAME = 8 + 4_096 + 6_291_556
"""`frames.LONGEST_FRAME`: longer ones are passed on as they are, and the server ends their worker."""
OUTPUT_BYTES = 4 * 1024 * 1024
"""Output held until the server fetches it; a handler that writes more waits, as it does for a full pipe."""
FREEZE_SECONDS = 0.5
CHECK_SECONDS = 0.5
LAST_WORDS_SECONDS = 0.2
END_SECONDS = 5.0
PATH_MARK = "@PATH-OF-THE-NODE@"
"""Stands in the worker's environment for the PATH of the Ray node."""

Reply = "tuple[bytes, bytes, dict[str, Any] | None]"
"""Frames of the worker, its output so far, and its end: `None` while it lives, else `code`, `memory` and `why`."""


class CannotHost(Exception):
    """Raised when this node cannot run a worker; the text says why."""


class Host:
    """One worker on this node. Its methods are called by `ray_bridge.py`, `read`, `ping` and `end` beside a `call`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._end: dict[str, Any] = {"code": None, "memory": False, "why": ""}
        self._output = bytearray()
        self._received = b""
        self._pipe = -1
        self._pid = 0
        self._is_busy = True
        self._idle_since = time.monotonic()
        self._stopped: list[int] = []
        self._daemon = os.getppid()
        self._scratch = ""
        self._memory_bytes = 0
        self._processes: Any = None
        self._control: socket.socket | None = None
        self._socket: socket.socket | None = None

    # ------------------------------------------------------------------ called from outside

    def ping(self) -> None:
        """Answer: the node lives."""

    def start(self, message: dict[str, Any], parcels: list[tuple[str, Callable[[], bytes]]]) -> Any:
        """Start the worker, and wait until it is ready or has ended.

        `parcels` are the names of zips, and how to get the bytes of those that this node does not have.
        """
        try:
            self._start(message, parcels)
        except (CannotHost, OSError, zipfile.BadZipFile) as problem:
            self._remove_scratch()
            self._end["why"] = f"the Ray node {socket.gethostname()} cannot run the function: {problem}"
            return b"", b"", self._end
        frames = self._frames_until(("ready", "failed"), "")
        self._idle_since, self._is_busy = time.monotonic(), False
        return self._reply(frames)

    def call(self, frame: bytes) -> Any:
        """Run an invocation, given as a frame; the reply has its answer, unless the worker has ended."""
        assert self._socket is not None
        with self._lock:
            self._is_busy = True
            stopped, self._stopped = self._stopped, []
        if stopped:
            self._processes.send(stopped[::-1], signal.SIGCONT)
        _, head = struct.unpack_from(HEAD, frame)
        request_id = json.loads(frame[8 : 8 + head]).get("id", "")
        with contextlib.suppress(OSError):
            self._socket.sendall(frame)
        frames = self._frames_until(("result", "error", "too_long"), request_id)
        with self._lock:
            self._idle_since, self._is_busy = time.monotonic(), False
        return self._reply(frames)

    def read(self) -> bytes:
        """The output since it was last asked for."""
        self._drain()
        with self._lock:
            found = bytes(self._output)
            self._output.clear()
        return found

    def end(self, grace_seconds: float) -> Any:
        """End the worker with its children: SIGTERM, and SIGKILL after the grace."""
        with self._lock:
            stopped, self._stopped, self._is_busy = self._stopped, [], True
        if stopped:
            self._processes.send(stopped[::-1], signal.SIGCONT)
        self._send_end(grace_seconds)
        self._ended.wait(grace_seconds + END_SECONDS)
        return self._reply(b"")

    # ------------------------------------------------------------------ the node

    def _start(self, message: dict[str, Any], parcels: list[tuple[str, Callable[[], bytes]]]) -> None:
        settings, spawn = message["ray"], {name: value for name, value in message.items() if name != "ray"}
        folder = settings["folder"]
        own_folder(folder)
        for name, fetch in parcels:
            unpack(folder, name, fetch)
        programs = f"{folder}/{parcels[0][0]}"
        self._processes = load("processes", f"{programs}/processes.py")
        self._memory_bytes = settings["memory_bytes"]
        level = self._level(settings["isolation"], folder, programs)
        os.makedirs(f"{folder}/tmp", mode=0o700, exist_ok=True)
        self._scratch = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=f"{folder}/tmp")
        spawn["env"] = {**spawn["env"], "TMPDIR": self._scratch}
        spawn["env"]["PATH"] = spawn["env"].get("PATH", "").replace(PATH_MARK, os.environ.get("PATH", os.defpath))
        program, said = self._program(settings["program"], spawn)
        ours, theirs = socket.socketpair()
        output, their_output = os.pipe()
        control, their_control = socket.socketpair()
        null = os.open(os.devnull, os.O_RDONLY)
        os.set_blocking(output, False)
        kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "HOME")
        environment = {name: value for name, value in os.environ.items() if name in kept}
        confinement = json.dumps({"level": level, "code": "", "visible": [], "hide": [], "sdk": None})
        try:
            subprocess.Popen(
                [program, f"{programs}/zygote.py", str(their_control.fileno()), confinement, *settings["preload"]],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(their_control.fileno(),),
                env={**environment, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}, start_new_session=True, cwd="/",
            )  # fmt: skip
            self._output += said
            self._control, self._socket, self._pipe = control, ours, output
            body = json.dumps({**spawn, "do": "spawn", "worker": 1}).encode()
            rights = array.array("i", [theirs.fileno(), their_output, null])
            data = struct.pack(LENGTH, len(body)) + body
            sent = control.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            control.sendall(data[sent:])
        finally:
            theirs.close()
            their_control.close()
            os.close(their_output)
            os.close(null)
        for work in (self._follow, self._collect, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def _program(self, wanted: str, spawn: dict[str, Any]) -> tuple[str, bytes]:
        """The interpreter of the fork server, and a remark for the log; puts Node.js into the message."""
        if spawn["argv"] is not None:
            node = shutil.which("node")
            if node is None:
                raise CannotHost("it has no Node.js")
            spawn["argv"] = [node, *spawn["argv"][1:]]
        own = "python{}.{}".format(*sys.version_info)
        found = sys.executable if wanted in ("", own) else shutil.which(wanted)
        if found is not None:
            return found, b""
        return sys.executable, f"This Ray node has no {wanted}: {own} runs the function instead.\n".encode()

    def _level(self, wanted: str, folder: str, programs: str) -> str:
        """`hardened` if this node has it, else `none`; tried once for each node. Raises: CannotHost."""
        if wanted == "none":
            return "none"
        noted = f"{folder}/isolation-{os.path.basename(programs)}"
        try:
            with open(noted) as file:
                problem = file.read()
        except OSError:
            tried = subprocess.run(
                [sys.executable, "-I", "-S", f"{programs}/confinement.py", "hardened"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20,
            )  # fmt: skip
            problem = "" if tried.returncode == 0 else (tried.stdout.strip() or "unknown")
            with open(f"{noted}.{os.getpid()}", "w") as file:
                file.write(problem)
            os.replace(f"{noted}.{os.getpid()}", noted)
        if problem and wanted == "hardened":
            raise CannotHost(f"it cannot isolate handlers by hardened: {problem}")
        return "none" if problem else "hardened"

    # ------------------------------------------------------------------ the worker's bytes

    def _frames_until(self, kinds: tuple[str, ...], request_id: str) -> bytes:
        """The worker's bytes up to the frame that ends what it was asked for, or to their end."""
        assert self._socket is not None
        taken = bytearray()
        data = bytearray(self._received)
        self._received = b""
        while True:
            while len(data) >= 8:
                total, head = struct.unpack_from(HEAD, data)
                if total + 4 > LONGEST_FRAME or head + 4 > total:
                    return bytes(taken + data)
                if len(data) < 4 + total:
                    break
                frame = bytes(data[: 4 + total])
                del data[: 4 + total]
                kind, named = _kind_of(frame[8 : 8 + head])
                if kind in ("now", "sleep_until"):
                    self._refuse_clock()
                    continue
                taken += frame
                if not kind or (kind in kinds and named in ("", request_id)):
                    self._received = bytes(data)
                    return bytes(taken)
            try:
                more = self._socket.recv(1 << 20)
            except OSError:
                more = b""
            if not more:
                self._wait_for_end()
                return bytes(taken)
            data += more

    def _refuse_clock(self) -> None:
        assert self._socket is not None
        why = "this server keeps real time: read the time and sleep by yourself"
        header = json.dumps({"t": "refused", "why": why}).encode()
        with contextlib.suppress(OSError):
            self._socket.sendall(struct.pack(HEAD, 4 + len(header), len(header)) + header)

    def _wait_for_end(self) -> None:
        """The worker has closed its socket: it has ended, or is of no more use."""
        if not self._ended.wait(LAST_WORDS_SECONDS):
            self._send_end(0.5)
            self._ended.wait(END_SECONDS)
        self._ended.set()

    def _reply(self, frames: bytes) -> Any:
        if not self._ended.is_set():
            return frames, self.read(), None
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        output = self.read()
        while self._pipe >= 0 and time.monotonic() < deadline:
            time.sleep(0.005)
            output += self.read()
        self._remove_scratch()
        return frames, output, self._end

    def _drain(self) -> None:
        """Take what the pipe holds, as long as there is room."""
        with self._lock:
            while self._pipe >= 0 and len(self._output) < OUTPUT_BYTES:
                try:
                    data = os.read(self._pipe, 65536)
                except BlockingIOError:
                    return
                except OSError:
                    data = b""
                if not data:
                    os.close(self._pipe)
                    self._pipe = -1
                self._output += data

    def _collect(self) -> None:
        """Thread: empty the pipe, so that a handler that writes much goes on."""
        while (pipe := self._pipe) >= 0:
            if len(self._output) >= OUTPUT_BYTES:
                time.sleep(0.02)
                continue
            with contextlib.suppress(OSError, ValueError):
                select.select([pipe], [], [], 1)
            self._drain()

    # ------------------------------------------------------------------ the worker's process

    def _send_end(self, grace_seconds: float) -> None:
        if self._control is None:
            self._ended.set()
            return
        body = json.dumps({"do": "end", "worker": 1, "grace_seconds": grace_seconds}).encode()
        with contextlib.suppress(OSError):
            self._control.sendall(struct.pack(LENGTH, len(body)) + body)

    def _follow(self) -> None:
        """Thread: take the fork server's messages, of which the last one is the end of its worker."""
        assert self._control is not None
        data = b""
        while True:
            try:
                more = self._control.recv(65536)
            except OSError:
                more = b""
            data += more
            while len(data) >= 4 and len(data) >= 4 + struct.unpack_from(LENGTH, data)[0]:
                (length,) = struct.unpack_from(LENGTH, data)
                message = json.loads(data[4 : 4 + length])
                data = data[4 + length :]
                if message["did"] == "started":
                    self._pid = message["pid"]
                    continue
                self._end["code"] = message.get("status")
                self._end["why"] = message.get("why", "")
                self._ended.set()
            if not more:
                self._ended.set()
                return
            if self._ended.is_set():
                # The fork server ends with its socket.
                self._control.close()
                return

    def _watch(self) -> None:
        """Thread: memory while the worker works, its freezing while it is idle, and the node's Ray daemon."""
        while not self._ended.wait(CHECK_SECONDS):
            if os.getppid() != self._daemon:
                # The fork server sees its socket close, and kills the worker.
                os._exit(1)
            with self._lock:
                family = self._processes.family(self._pid) if self._pid else []
                if self._is_busy:
                    too_large = self._processes.exceeds(family, self._memory_bytes)
                    if too_large or len(family) > self._processes.MOST_PROCESSES:
                        self._end["memory"] = too_large
                        self._send_end(0)
                elif not self._stopped and time.monotonic() - self._idle_since >= FREEZE_SECONDS:
                    while born := [pid for pid in family if pid not in self._stopped]:
                        self._processes.send(born, signal.SIGSTOP)
                        self._stopped += born
                        family = self._processes.family(self._pid)

    def _remove_scratch(self) -> None:
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _kind_of(header: bytes) -> tuple[str, str]:
    """Kind and id of a frame's header; two empty texts for what is none."""
    try:
        found = json.loads(header)
        return str(found["t"]), str(found.get("id", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", ""


def load(name: str, path: str) -> Any:
    """A parcel's module, by its path."""
    spec = importlib.util.spec_from_file_location(f"statewright_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_folder(folder: str) -> None:
    """Make the folder of parcels, which only this user may write to: its code is executed. Raises: CannotHost."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise CannotHost(
            f"{folder} is not a folder of this user alone: remove it, or name another one with folder under [ray]"
        )


def unpack(folder: str, name: str, fetch: Callable[[], bytes]) -> None:
    """Have a parcel's files in the folder of its name. Raises: CannotHost, OSError."""
    target = f"{folder}/{name}"
    if os.path.isdir(target):
        return
    data = fetch()
    if hashlib.sha256(data).hexdigest() != name:
        raise CannotHost(f"the parcel {name} arrived damaged")
    staging = tempfile.mkdtemp(prefix=".unpacking-", dir=folder)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                if member.filename.endswith("/"):
                    continue
                # The server has checked the members' names before it took the package.
                path = os.path.join(staging, member.filename)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with archive.open(member) as source, open(path, "wb") as sink:
                    shutil.copyfileobj(source, sink)
                os.chmod(path, 0o500 if (member.external_attr >> 16) & 0o111 else 0o400)
        for below, _, _ in os.walk(staging, topdown=False):
            os.chmod(below, 0o500)
        os.rename(staging, target)
    except OSError as problem:
        if problem.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not os.path.isdir(target):
            raise
    finally:
        for below, _, _ in os.walk(staging):
            os.chmod(below, 0o700)
        shutil.rmtree(staging, ignore_errors=True)
