"""A server killed three times in the middle of its work: `make demo-crash`.

Deploys three machines through boto3 and runs each undisturbed. Then runs many of them on a second server, kills that
with -9 again and again, and compares: every execution must end as the undisturbed one did, through the same events.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compared import ACTS, Approver, End, deploy, running, say, seen_end, show_differences, show_expected, start
from killed_server import PATIENCE_SECONDS, served

EACH = 25
KILLS = 3
BETWEEN_KILLS_SECONDS = 0.5


@contextmanager
def answering(folder: str, approver: Approver, *, at_once: bool = True) -> Iterator[tuple[Any, Any]]:
    """A server, and the approver at work with it."""
    with served(folder) as (server, client):
        if at_once:
            approver.client = client
        try:
            yield server, client
        finally:
            approver.client = None


def undisturbed(approver: Approver) -> dict[str, End]:
    """One execution of each act on a server that nobody kills."""
    with tempfile.TemporaryDirectory() as folder, answering(folder, approver) as (_, client):
        machines = deploy(client)
        started = {act.title: start(client, machines, act, "0") for act in ACTS}
        until = time.monotonic() + PATIENCE_SECONDS
        return {title: seen_end(client, arn, until) for title, arn in started.items()}


def disturbed(approver: Approver) -> dict[str, list[End]]:
    """Many executions of each act on a server that is killed again and again."""
    with tempfile.TemporaryDirectory() as folder:
        with answering(folder, approver, at_once=False) as (server, client):
            machines = deploy(client)
            started = {act.title: [start(client, machines, act, str(n)) for n in range(EACH)] for act in ACTS}
            say(f"  {EACH * len(ACTS)} executions started and acknowledged")
            server.kill()
            say(f"  kill -9 (1 of {KILLS})")
        for number in range(2, KILLS + 1):
            with answering(folder, approver, at_once=False) as (server, client):
                time.sleep(BETWEEN_KILLS_SECONDS)
                counted = running(client, machines)
                server.kill()
                say(f"  restarted: {counted} still at work; kill -9 again ({number} of {KILLS})")
        with answering(folder, approver) as (_, client):
            say(f"  restarted: {running(client, machines)} still at work; now they are let alone")
            until = time.monotonic() + PATIENCE_SECONDS
            return {title: [seen_end(client, arn, until) for arn in arns] for title, arns in started.items()}


def main() -> int:
    """Run both, compare; returns the exit code."""
    began = time.monotonic()
    approver = Approver()
    try:
        say(f"Each of {len(ACTS)} workflows once, undisturbed")
        expected = undisturbed(approver)
        show_expected(expected)
        say(f"{EACH} of each, on a server that is killed {KILLS} times")
        found = disturbed(approver)
    except KeyboardInterrupt:
        say("Interrupted; the servers are stopped and their data is deleted.")
        return 130
    finally:
        approver.leave()
    bad = show_differences(found, expected)
    total = sum(map(len, found.values()))
    seconds = time.monotonic() - began
    if bad:
        say(f"✗ {bad} of {total} executions did not end as they would have without the kills ({seconds:.0f} s)")
        return 1
    say(f"✓ {KILLS} kills, {total} executions, nothing lost: same ends, same events ({seconds:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
