"""What a server with its standby and the nodes of a cluster have in common in the storm.

Each server has a name, a port and a data folder of its own. One that is dead is started again, half of the time with an
empty data folder, as on another machine, and often with a fail point, at which it kills itself.
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
from typing import Final, Self

from tests.crash.pairs import Node
from tests.crash.servers import held_port
from tests.storm.one_server import POINTS
from tests.wrong_clock import WrongClock

LEASE_SECONDS: Final = 3
NO_DATABASE: Final = "Error: the store postgresql:"
"""How the last line of a server begins that was started while the database did not answer."""
AT_A_FAIL_POINT: Final = "at a fail point"
MOST_PASSINGS: Final = 400
HEALTH_SECONDS: Final = 1.5


class Several:
    """Servers on one database, by name."""

    round = 50
    fail_points: float
    """The part of starts with a fail point."""

    def __init__(self, folder: Path, address: str, chance: random.Random, names: Sequence[str]) -> None:
        self._met: Counter[str] = Counter()
        self._folder = folder
        self._address = address
        self._chance = chance
        held = {name: held_port() for name in names}
        self._held = [one for one, _ in held.values()]
        self._ports = {name: port for name, (_, port) in held.items()}
        self._arms = False
        self._stopping: set[str] = set()
        self._nodes: dict[str, Node] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes.values():
            node.kill()
        for held in self._held:
            held.close()

    @property
    def ports(self) -> Sequence[int]:
        return tuple(self._ports.values())

    @property
    def logs(self) -> Sequence[Path]:
        return tuple(log for name in self._ports if (log := self._log(name)).exists())

    @property
    def met_so_far(self) -> str:
        return ", ".join(f"{kind} {many}" for kind, many in sorted(self._met.items()))

    def begin(self) -> None:
        """Let servers that are started from now on have fail points: a round begins."""
        self._arms = True

    def stop(self) -> None:
        """End all, one after the other, in good order. Raises: AssertionError if one does not."""
        codes = [node.stop() for node in self._nodes.values()]
        assert set(codes) == {0}, codes

    def _restart(self, names: Sequence[str]) -> None:
        """Kill those that live, and start the named ones, to which nothing happens."""
        self._arms = False
        for node in self._nodes.values():
            node.kill()
        self._nodes = {name: self._started(name) for name in names}

    def _freeze(self, name: str, seconds: float) -> None:
        self._nodes[name].freeze()
        time.sleep(seconds)
        self._nodes[name].thaw()

    # ------------------------------------------------------------------ processes

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _role(self, name: str) -> Sequence[str]:
        """The options that make a server what it is."""
        raise NotImplementedError

    def _address_of(self, name: str) -> str:
        """That of the database, for one of the servers."""
        return self._address

    def _clock_of(self, name: str) -> WrongClock | None:
        """The wall clock of a server that is about to start; `None` for this machine's."""
        return None

    def _started(self, name: str) -> Node:
        data = self._folder / f"data-{name}"
        if self._arms and self._chance.random() < 0.5:
            shutil.rmtree(data, ignore_errors=True)
        point = ""
        if self._arms and self._chance.random() < self.fail_points:
            point = f"{self._chance.choice(POINTS)}:{self._chance.randint(1, MOST_PASSINGS)}"
        return Node(
            self._folder, name, self._address_of(name), data=data, port=self._ports[name], fail_point=point,
            role=self._role(name), clock=self._clock_of(name),
        )  # fmt: skip

    def _is_dead(self, name: str) -> bool:
        return self._nodes[name].process.poll() is not None

    def _revive(self, name: str) -> None:
        """Start a server again that is dead. Raises: AssertionError if it ended by itself."""
        self._check_end(name, self._nodes[name].ended())
        self._nodes[name] = self._started(name)

    def _check_end(self, name: str, code: int) -> None:
        # One that was stopped may have come to its fail point before, or have been about to start.
        allowed = {-signal.SIGKILL, -signal.SIGTERM, 0} if name in self._stopping else {-signal.SIGKILL}
        if self._log(name).read_text().rstrip().rpartition("\n")[2].startswith(NO_DATABASE):
            # A start that finds no database ends, and is repeated, as by systemd.
            allowed.add(1)
        self._stopping.discard(name)
        assert code in allowed, f"{name} ended by itself with {code}: {self._log(name)}"

    def _state(self, name: str) -> str:
        """The state in `/health` of a server; empty without an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[name], timeout=HEALTH_SECONDS)
        try:
            connection.request("GET", "/health")
            return str(json.loads(connection.getresponse().read())["status"])
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        finally:
            connection.close()
