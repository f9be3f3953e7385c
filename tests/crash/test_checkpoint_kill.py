"""`kill -9` while SQLite carries its write-ahead log over into the file: the next start goes on from both."""

from __future__ import annotations

import json
import os
import secrets
import signal
import struct
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from statewright.stores.sqlite.file import FILE_NAME
from tests.crash.load import ARNS, ROLE, states
from tests.crash.servers import NoAnswer, Refused, Servers
from tests.deadlines import PATIENCE_SECONDS

KILLS = 4
STARTERS = 2
INPUT_BYTES = 250_000
MOST_STARTS = 400


class Watch:
    """Kills the server as soon as its file is written to, which only a checkpoint does."""

    def __init__(self, servers: Servers, chance: Random) -> None:
        self._file = servers.data / FILE_NAME
        self._servers = servers
        self._before = self._file.stat().st_mtime_ns
        self._writes = chance.randint(1, 3)
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self.over.is_set() and self._writes:
            now = self._file.stat().st_mtime_ns
            if now != self._before:
                self._before = now
                self._writes -= 1
        # Held still for a look: only a checkpoint that is not through yet is the moment.
        while not self.over.is_set():
            self._servers.signal(signal.SIGSTOP)
            done, tried = carried_over(self._servers.data)
            if tried > done:
                break
            self._servers.signal(signal.SIGCONT)
        self._servers.kill()
        self.over.set()

    def wait(self) -> None:
        self.over.set()
        self._thread.join()


def carried_over(data: Path) -> tuple[int, int]:
    """Frames of the log that were surely carried over, and those that a checkpoint set out to carry over.

    Source: SQLite, "WAL-mode File Format", section 2.1: `nBackfill` and `nBackfillAttempted` of the shared memory.
    """
    memory = (data / f"{FILE_NAME}-shm").read_bytes()
    done, tried = struct.unpack_from("=I", memory, 96)[0], struct.unpack_from("=I", memory, 128)[0]
    return done, tried


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_a_server_killed_during_a_checkpoint(tmp_path):
    seed = int(os.environ.get("SEED", secrets.randbits(32)))
    print(f"SEED={seed}")
    chance = Random(seed)
    acknowledged: dict[str, str] = {}
    deadline = time.monotonic() + PATIENCE_SECONDS
    number = in_the_middle = 0
    with Servers(tmp_path) as servers:
        while number < KILLS or not in_the_middle:
            assert time.monotonic() < deadline, "no kill came in the middle of a checkpoint"
            servers.up()
            if number == 0:
                with closing(servers.client()) as ask:
                    definition = json.dumps(states(A={"Type": "Wait", "Seconds": 9_000}))
                    ask("CreateStateMachine", name="hold", definition=definition, roleArn=ROLE)
            watch = Watch(servers, chance)
            starters = [
                threading.Thread(target=start, args=(servers, watch, acknowledged, f"{number}-{one}"))
                for one in range(STARTERS)
            ]
            for starter in starters:
                starter.start()
            for starter in starters:
                starter.join()
            watch.wait()
            done, tried = carried_over(servers.data)
            in_the_middle += tried > done
            number += 1
        servers.up()
        with closing(servers.client()) as ask:
            for name, given in acknowledged.items():
                shown = ask("DescribeExecution", executionArn=f"{ARNS}:execution:hold:{name}")
                assert shown["status"] == "RUNNING"
                assert shown["input"] == given
        assert servers.stop() == 0
    assert len(acknowledged) > KILLS


def start(servers: Servers, watch: Watch, acknowledged: dict[str, str], prefix: str) -> None:
    """Start executions with large inputs until the server dies."""
    with closing(servers.client()) as ask:
        for number in range(MOST_STARTS):
            name = f"{prefix}-{number}"
            given = json.dumps(secrets.token_hex(INPUT_BYTES // 2))
            try:
                ask("StartExecution", stateMachineArn=f"{ARNS}:stateMachine:hold", name=name, input=given)
            except NoAnswer:
                if watch.over.is_set() or servers.status is not None:
                    return
            except Refused:
                raise
            else:
                acknowledged[name] = given
