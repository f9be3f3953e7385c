"""Two hundred times `kill -9` under load, six times in the quick run: nothing that was acknowledged is lost, and every
execution ends as it would.

The kills come at random: while a server starts, while it works, or at a fail point. A failure prints the seed
(`SEED=N` draws the same kinds and instants again) and keeps the data folder and the servers' log.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

from statewright.stores import fail_points
from tests.crash.invariants import check_rest
from tests.crash.load import Load
from tests.crash.outside import Outside
from tests.crash.servers import Servers
from tests.thoroughness import THOROUGH, scaled

KILLS = int(os.environ.get("KILLS", "200" if THOROUGH else "6"))
POINTS = (
    fail_points.BEFORE_COMMIT,
    fail_points.AFTER_COMMIT,
    fail_points.BEFORE_DISPATCH,
    fail_points.DISPATCHED,
    fail_points.RESULT,
)
LONGEST_LIFE_SECONDS = 0.3


def kill_often(servers: Servers, chance: random.Random) -> dict[str, int]:
    """Kill and start, and start again; how often each kind of death was met."""
    met: dict[str, int] = {}
    for number in range(1, KILLS + 1):
        how = "random"
        if number % 10 == 0:
            how = "starting"
            servers.start()
            time.sleep(chance.uniform(0, 0.06))
        elif number % 2:
            how = chance.choice(POINTS)
            servers.start(f"{how}:{chance.randint(1, 25)}")
            servers.wait_ready()
            # A point that nobody passes often enough.
            servers.wait_dead(2 * LONGEST_LIFE_SECONDS)
        else:
            servers.start()
            servers.wait_ready()
            servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        if servers.status is None and how in POINTS:
            how = "random"
        servers.kill()
        assert servers.status == -9, f"a server ended by itself with {servers.status}"
        met[how] = met.get(how, 0) + 1
        if number % 25 == 0:
            print(f"{number} kills: {met}", flush=True)
    return met


@scaled
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_nothing_acknowledged_is_lost_by_kills_under_load() -> None:
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    folder = Path(tempfile.mkdtemp(prefix="statewright-kills-"))
    print(f"SEED={seed}, data in {folder}", flush=True)
    chance = random.Random(seed)
    with Servers(folder) as servers, Outside() as outside:
        load = Load(servers, outside, random.Random(seed))
        servers.up()
        load.prepare()
        servers.kill()
        began = time.monotonic()
        load.go()
        load.flood()
        met = kill_often(servers, chance)
        took = time.monotonic() - began
        servers.up()
        load.rest()
        load.check()
        assert servers.stop() == 0, servers.log.read_text()[-4000:]
        kept = check_rest(servers.data)
        assert "bug in Statewright" not in servers.log.read_text(), f"see {servers.log}"
        print(
            f"{sum(met.values())} kills in {took:.0f} s {met}; {len(load.promises)} executions and {len(load.fast)} "
            f"EXPRESS ones, {sum(load.calls.values())} calls, {sum(load.unanswered.values())} without an answer; {kept}"
        )
    shutil.rmtree(folder)
