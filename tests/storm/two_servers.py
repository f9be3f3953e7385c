"""An owner and its standby in the storm: both are killed and frozen in turn, while the other one serves or takes over.

A server that is dead is started again at once, half of the time with an empty data folder, as on another machine, and
often with a fail point, at which it kills itself once it is the owner.
"""

from __future__ import annotations

import http.client
import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.crash.pairs import Node
from tests.crash.servers import held_port
from tests.deadlines import until
from tests.storm.one_server import POINTS

LEASE_SECONDS: Final = 3
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
NO_DATABASE: Final = "Error: the store postgresql:"
"""How the last line of a server begins that was started while the database did not answer."""
AT_A_FAIL_POINT: Final = "at a fail point"
TAKEOVERS: Final = ("owner killed", "owner frozen", "owner stopped", AT_A_FAIL_POINT)
FAIL_POINTS: Final = 0.4
"""The part of starts with a fail point."""
MOST_PASSINGS: Final = 400


class TwoServers:
    """Two servers with `--standby` on one database, each on a port and with a data folder of its own."""

    round: Final = 50
    is_scattered: Final = False
    answer_seconds: Final = 1.5
    """Callers then try the other server, as load balancers do with one that is frozen."""

    def __init__(self, folder: Path, address: str, chance: random.Random) -> None:
        self._met: Counter[str] = Counter()
        self._folder = folder
        self._address = address
        self._chance = chance
        self._held, self.ports = zip(*(held_port() for _ in NAMES), strict=True)
        self._arms = False
        self._stopping: set[int] = set()
        self._nodes: list[Node] = []

    def __enter__(self) -> TwoServers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes:
            node.kill()
        for held in self._held:
            held.close()

    @property
    def logs(self) -> Sequence[Path]:
        return tuple(self._folder / f"{name}.log" for name in NAMES)

    @property
    def met_so_far(self) -> str:
        return ", ".join(f"{kind} {many}" for kind, many in sorted(self._met.items()))

    # ------------------------------------------------------------------ rounds

    def up(self) -> None:
        """Have an owner and a standby that nothing happens to."""
        self._arms = False
        for place, node in enumerate(self._nodes):
            node.kill()
            self._nodes[place] = self._started(place)
        while len(self._nodes) < len(NAMES):
            self._nodes.append(self._started(len(self._nodes)))
        self.settle()

    def begin(self) -> None:
        """Let servers that are started from now on have fail points: a round begins."""
        self._arms = True

    def stop(self) -> None:
        """End both, in good order. Raises: AssertionError if one does not."""
        codes = [node.stop() for node in self._nodes]
        assert codes == [0, 0], codes

    def settle(self) -> None:
        """Wait until one is the owner and the other one the standby; one that is dead is started again."""
        until(lambda: sorted(self._states()) == ["ready", "standby"], "an owner and a standby")

    # ------------------------------------------------------------------ blows

    def blow(self, chance: random.Random) -> bool:
        """Do something to one of them or both, and wait until there are an owner and a standby again.

        True if a standby that was there had to take over.
        """
        time.sleep(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        kind = chance.choices(list(BLOWS), list(BLOWS.values()))[0]
        states = self._states()
        if sorted(states) != ["ready", "standby"]:
            # One has come to its fail point, or the database was broken.
            kind = AT_A_FAIL_POINT
        else:
            owner, standby = states.index("ready"), states.index("standby")
            self._strike(kind, owner, standby, chance)
        self._met[kind] += 1
        self.settle()
        return kind in TAKEOVERS

    def _strike(self, kind: str, owner: int, standby: int, chance: random.Random) -> None:
        if kind == "owner paused":
            self._freeze(owner, chance.uniform(0.1, LEASE_SECONDS))
        elif kind == "standby frozen":
            self._freeze(standby, chance.uniform(0.1, 2 * LEASE_SECONDS))
        elif kind == "owner frozen":
            self._freeze(owner, chance.uniform(LEASE_SECONDS + 0.2, 2 * LEASE_SECONDS))
        elif kind == "owner killed while the former one is frozen":
            frozen = self._nodes[owner]
            frozen.freeze()
            until(lambda: self._states(owner) == ["ready"] or self._is_dead(standby), "the standby to take over")
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

    def _freeze(self, place: int, seconds: float) -> None:
        self._nodes[place].freeze()
        time.sleep(seconds)
        self._nodes[place].thaw()

    # ------------------------------------------------------------------ processes

    def _started(self, place: int) -> Node:
        data = self._folder / f"data-{NAMES[place]}"
        if self._arms and self._chance.random() < 0.5:
            shutil.rmtree(data, ignore_errors=True)
        point = ""
        if self._arms and self._chance.random() < FAIL_POINTS:
            point = f"{self._chance.choice(POINTS)}:{self._chance.randint(1, MOST_PASSINGS)}"
        return Node(self._folder, NAMES[place], self._address, data=data, port=self.ports[place], fail_point=point)

    def _is_dead(self, place: int) -> bool:
        return self._nodes[place].process.poll() is not None

    def _states(self, without: int | None = None) -> list[str]:
        """What `/health` of each says, or nothing; one that is dead is started again."""
        found = []
        for place in range(len(self._nodes)):
            if place == without:
                continue
            if self._is_dead(place):
                self._revive(place)
            found.append(self._state(place))
        return found

    def _revive(self, place: int) -> None:
        code = self._nodes[place].ended()
        # One that was stopped may have come to its fail point before.
        allowed = {-signal.SIGKILL, 0} if place in self._stopping else {-signal.SIGKILL}
        if self.logs[place].read_text().rstrip().rpartition("\n")[2].startswith(NO_DATABASE):
            # A start that finds no database ends, and is repeated, as by systemd.
            allowed.add(1)
        self._stopping.discard(place)
        assert code in allowed, f"{NAMES[place]} ended by itself with {code}: {self.logs[place]}"
        self._nodes[place] = self._started(place)

    def _state(self, place: int) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[place], timeout=self.answer_seconds)
        try:
            connection.request("GET", "/health")
            return str(json.loads(connection.getresponse().read())["status"])
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        finally:
            connection.close()
