"""The actor of a job in a process of its own, for `fake_bridge.py`: a `JobHost` behind a Unix socket.

It takes one call after the other on each connection, and each call has a connection.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any


def start(folder: Path, note: dict[str, Any]) -> None:
    """Start the actor, and wait until it listens."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, __file__, str(folder), json.dumps(note)], check=True, stdin=subprocess.DEVNULL)
    while not (folder / "placed.json").exists():
        time.sleep(0.005)


def ask(folder: Path, method: str, arguments: tuple[Any, ...]) -> Any:
    """The answer of a method. Raises: OSError, EOFError."""
    with Client(str(folder / "s"), "AF_UNIX") as connection:
        connection.send((method, arguments))
        return connection.recv()


def kill(folder: Path) -> None:
    """Kill the actor, if it is there."""
    with contextlib.suppress(OSError, ValueError):
        os.kill(json.loads((folder / "placed.json").read_text())["pid"], signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _serve(host: Any, connection: Connection) -> None:
    with contextlib.suppress(OSError, EOFError), connection:
        method, arguments = connection.recv()
        if method == "begin":
            order, parcels = arguments
            arguments = order, [(name, lambda data=data: data) for name, data in parcels]
        connection.send(None if method == "ping" else getattr(host, method)(*arguments))


def main() -> None:
    folder, note = Path(sys.argv[1]), json.loads(sys.argv[2])
    with Listener(str(folder / "s"), "AF_UNIX") as listener:
        # It outlives the process that started it, and must not see a change of its parent later.
        first = os.getpid()
        if os.fork():
            os._exit(0)
        os.setsid()
        while os.getppid() == first:
            time.sleep(0.005)
        sys.path.insert(0, os.environ["RAY_FAKE_RUNTIMES"])
        import ray_job_host  # type: ignore[import-not-found]

        ray_job_host.OUTPUT_EVERY_SECONDS = 0.05
        host = ray_job_host.JobHost()
        new = folder / "placed.new"
        new.write_text(json.dumps({**note, "pid": os.getpid()}))
        new.replace(folder / "placed.json")
        while True:
            threading.Thread(target=_serve, args=(host, listener.accept()), daemon=True).start()


if __name__ == "__main__":
    main()
