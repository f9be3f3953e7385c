"""An owner and its standby in the storm: both are killed and frozen in turn, while the other one serves or takes over.

A server that is dead is started again at once: see `several`. It comes to a fail point only once it is the owner.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.deadlines import until
from tests.storm.several import AT_A_FAIL_POINT, LEASE_SECONDS, Several

LONGEST_LIFE_SECONDS: Final = 1.0
NAMES: Final = ("one", "two")
BLOWS: Final = {
    "owner killed": 7,
    "owner frozen": 6,
    "owner paused": 2,
    "standby killed": 2,
    "standby frozen": 2,
    "both killed": 2,
    "owner killed while the former one is frozen": 2,
    "owner stopped": 1,
}
"""How often each of them is drawn."""
TAKEOVERS: Final = ("owner killed", "owner frozen", "owner stopped", AT_A_FAIL_POINT)


class TwoServers(Several):
    """Two servers with `--standby` on one database, each on a port and with a data folder of its own."""

    is_scattered: Final = False
    answer_seconds: Final = 1.5
    """Callers then try the other server, as load balancers do with one that is frozen."""
    fail_points = 0.4

    def __init__(self, folder: Path, address: str, chance: random.Random) -> None:
        super().__init__(folder, address, chance, NAMES)

    # ------------------------------------------------------------------ rounds

    def up(self) -> None:
        """Have an owner and a standby that nothing happens to."""
        self._restart(NAMES)
        self.settle()

    def settle(self) -> None:
        """Wait until one is the owner and the other one the standby; one that is dead is started again."""
        until(lambda: sorted(self._states().values()) == ["ready", "standby"], "an owner and a standby")

    # ------------------------------------------------------------------ blows

    def blow(self, chance: random.Random) -> bool:
        """Do something to one of them or both, and wait until there are an owner and a standby again.

        True if a standby that was there had to take over.
        """
        time.sleep(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        kind = chance.choices(list(BLOWS), list(BLOWS.values()))[0]
        states = self._states()
        if sorted(states.values()) != ["ready", "standby"]:
            # One has come to its fail point, or the database was broken.
            kind = AT_A_FAIL_POINT
        else:
            owner, standby = sorted(NAMES, key=states.__getitem__)
            self._strike(kind, owner, standby, chance)
        self._met[kind] += 1
        self.settle()
        return kind in TAKEOVERS

    def _strike(self, kind: str, owner: str, standby: str, chance: random.Random) -> None:
        if kind == "owner paused":
            self._freeze(owner, chance.uniform(0.1, LEASE_SECONDS))
        elif kind == "standby frozen":
            self._freeze(standby, chance.uniform(0.1, 2 * LEASE_SECONDS))
        elif kind == "owner frozen":
            self._freeze(owner, chance.uniform(LEASE_SECONDS + 0.2, 2 * LEASE_SECONDS))
        elif kind == "owner killed while the former one is frozen":
            frozen = self._nodes[owner]
            frozen.freeze()
            until(lambda: self._seen(standby) == "ready" or self._is_dead(standby), "the standby to take over")
            time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
            self._nodes[standby].process.kill()
            frozen.thaw()
        elif kind == "owner stopped":
            self._stopping.add(owner)
            self._nodes[owner].process.terminate()
        elif kind == "standby killed":
            self._nodes[standby].process.kill()
        else:
            self._nodes[owner].process.kill()
            if kind == "both killed":
                # The standby dies while it waits, takes over, or has just taken over.
                time.sleep(chance.uniform(0, 1.5 * LEASE_SECONDS))
                self._nodes[standby].process.kill()

    # ------------------------------------------------------------------ processes

    def _role(self, name: str) -> Sequence[str]:
        return ("--standby",)

    def _states(self) -> dict[str, str]:
        """The state of each, by name; one that is dead is started again."""
        return {name: self._seen(name) for name in NAMES}

    def _seen(self, name: str) -> str:
        if self._is_dead(name):
            self._revive(name)
        return self._state(name)
