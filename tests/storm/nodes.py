"""Three nodes of a cluster in the storm: killed, frozen, stopped and joined in turn, while the others answer.

A node that is dead is started again at once, half of the time with an empty data folder, as on another machine, and
often with a fail point, at which it kills itself.
"""

from __future__ import annotations

import datetime
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
from typing import Any, Final

from tests.crash.pairs import Node
from tests.crash.servers import held_port
from tests.deadlines import until
from tests.storm.client import Client, NoAnswer
from tests.storm.one_server import POINTS
from tests.storm.proxies import FROM, TO, Proxy
from tests.storm.two_servers import NO_DATABASE

LEASE_SECONDS: Final = 3
LONGEST_LIFE_SECONDS: Final = 1.5
NAMES: Final = "abcdefghi"
MOST_NODES: Final = len(NAMES) - 1
HOME_KILLED, HOME_FROZEN, HOME_STOPPED = "home killed", "home frozen", "home stopped"
HOME_CUT_OFF: Final = "home cut off"
AT_A_FAIL_POINT: Final = "at a fail point"
BLOWS: Final = {
    HOME_KILLED: 5,
    "worker killed": 5,
    HOME_FROZEN: 4,
    "worker frozen": 4,
    "one paused": 2,
    "two killed": 2,
    "all killed": 1,
    HOME_STOPPED: 2,
    "worker stopped": 2,
    "one joins and leaves": 2,
    "home killed while the former one is frozen": 2,
}
"""How often each of them is drawn."""
NETWORK_BLOWS: Final = {
    HOME_CUT_OFF: 3,
    "worker cut off": 3,
    "one halved": 3,
    "one delayed": 2,
    "connections reset": 2,
    "worker killed while it is cut off": 2,
}
"""The same, if there are proxies between the nodes and PostgreSQL."""
TAKEOVERS: Final = (HOME_KILLED, HOME_FROZEN, HOME_STOPPED, HOME_CUT_OFF, AT_A_FAIL_POINT)
"""After these, the stall of calls of the home is measured; after all, that of any call."""
FAIL_POINTS: Final = 0.3
"""The part of starts with a fail point."""
MOST_PASSINGS: Final = 400
ANSWER_SECONDS: Final = 1.5
"""For `/health` and the list of nodes."""


class Nodes:
    """Nodes of a cluster on one database, each on a port and with a data folder of its own."""

    round: Final = 50
    is_scattered: Final = True
    answer_seconds: Final = 12.0
    """A node waits for the owner of a cell for 8 s."""

    def __init__(
        self,
        folder: Path,
        address: str,
        chance: random.Random,
        many: int = 3,
        cells: int = 32,
        *,
        has_proxies: bool = False,
    ) -> None:
        """With `has_proxies`, there is one between each node and PostgreSQL, whose address names the folder of its
        socket.
        """
        self._met: Counter[str] = Counter()
        self._folder = folder
        self._address = address
        self._chance = chance
        self._cells = cells
        self._members = list(NAMES[:many])
        """Those that are meant to live."""
        self._guest = NAMES[many]
        """Joins for a while."""
        held = {name: held_port() for name in (*self._members, self._guest)}
        self._held = [one for one, _ in held.values()]
        self._ports = {name: port for name, (_, port) in held.items()}
        self._proxies = {name: Proxy(address) for name in self._ports} if has_proxies else {}
        self._blows = {**BLOWS, **NETWORK_BLOWS} if has_proxies else BLOWS
        self._arms = False
        self._stopping: set[str] = set()
        self._nodes: dict[str, Node] = {}

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes.values():
            node.kill()
        for proxy in self._proxies.values():
            proxy.close()
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

    # ------------------------------------------------------------------ rounds

    def up(self) -> None:
        """Have all nodes, to which nothing happens."""
        self._arms = False
        for node in self._nodes.values():
            node.kill()
        self._nodes = {name: self._started(name) for name in self._members}
        self.settle()

    def begin(self) -> None:
        """Let nodes that are started from now on have fail points: a round begins."""
        self._arms = True

    def stop(self) -> None:
        """End all, one after the other, in good order. Raises: AssertionError if one does not."""
        codes = [node.stop() for node in self._nodes.values()]
        assert set(codes) == {0}, codes

    def settle(self) -> None:
        """Wait until every node is ready, and they agree on which there are and which one has the home.

        One that is dead is started again. Every cell has an owner then; the shares of nodes may be any.
        """
        until(self._home, "a cluster that agrees on its nodes, its home and the owners of its cells")

    def _home(self) -> str:
        """The node that has the home, by all of them; empty while they do not agree, or one is missing."""
        for name in self._members:
            if self._is_dead(name):
                self._revive(name)
        if any(self._state(name) != "ready" for name in self._members):
            return ""
        homes = set()
        for name in self._members:
            shown = self._shown(name)
            if sorted(one["name"] for one in shown) != sorted(self._members):
                return ""
            if sum(one["cells"] for one in shown) != self._cells - 1:
                return ""
            homes.add(tuple(one["name"] for one in shown if one["isHome"]))
        return homes.pop()[0] if len(homes) == 1 and len(next(iter(homes))) == 1 else ""

    # ------------------------------------------------------------------ blows

    def blow(self, chance: random.Random) -> bool:
        """Do something to one or more of them, and wait until all agree again; true if another one took the home."""
        time.sleep(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        kind = chance.choices(list(self._blows), list(self._blows.values()))[0]
        home = "" if any(self._is_dead(name) for name in self._members) else self._home()
        if home:
            self._strike(kind, home, chance)
        else:
            # One has come to its fail point, or the database was broken.
            kind = AT_A_FAIL_POINT
            self._note(kind)
        self._met[kind] += 1
        self.settle()
        self._note("settled")
        return kind in TAKEOVERS

    def _note(self, what: str) -> None:
        """Write into `blows.log` what happens, for those who read the logs of the nodes beside it."""
        now = datetime.datetime.now(datetime.UTC)
        with (self._folder / "blows.log").open("a") as log:
            log.write(f"{now:%H:%M:%S.%f} {what}\n")

    def _strike(self, kind: str, home: str, chance: random.Random) -> None:
        workers = [name for name in self._members if name != home]
        worker = chance.choice(workers)
        struck = home if kind in (HOME_KILLED, HOME_FROZEN, HOME_STOPPED, HOME_CUT_OFF) else worker
        self._note(f"{kind}; the home is {home}, the worker {worker}")
        if kind in (HOME_KILLED, "worker killed"):
            self._nodes[struck].process.kill()
        elif kind in (HOME_FROZEN, "worker frozen"):
            self._freeze(struck, chance.uniform(LEASE_SECONDS + 0.2, 2 * LEASE_SECONDS))
        elif kind == "one paused":
            self._freeze(chance.choice(self._members), chance.uniform(0.1, LEASE_SECONDS))
        elif kind in (HOME_STOPPED, "worker stopped"):
            self._stop(struck)
        elif kind == "one joins and leaves":
            self._join_and_leave(chance)
        elif kind == "home killed while the former one is frozen":
            self._kill_the_next_home(home, chance)
        elif kind in NETWORK_BLOWS:
            self._disturb(kind, struck if "cut off" in kind else chance.choice(self._members), chance)
        else:
            # They die together, or one while another one takes over what it had.
            many = 2 if kind == "two killed" else len(self._members)
            for name in chance.sample(self._members, many):
                self._nodes[name].process.kill()
                time.sleep(chance.choice((0, chance.uniform(0, 1.5 * LEASE_SECONDS))))

    def _freeze(self, name: str, seconds: float) -> None:
        self._nodes[name].freeze()
        time.sleep(seconds)
        self._nodes[name].thaw()

    def _disturb(self, kind: str, name: str, chance: random.Random) -> None:
        """Do something to the connections of a node with PostgreSQL; half of the time they break in the end."""
        proxy = self._proxies[name]
        self._note(f"{kind}: {name}")
        seconds = chance.uniform(LEASE_SECONDS + 0.2, 2 * LEASE_SECONDS)
        if kind == "one delayed":
            proxy.delay(chance.uniform(0.02, 0.3))
        elif kind == "one halved":
            proxy.hold(chance.choice((TO, FROM)))
            seconds = chance.uniform(0.1, 2 * LEASE_SECONDS)
        elif kind != "connections reset":
            proxy.hold(TO, FROM)
        if kind == "worker killed while it is cut off":
            time.sleep(chance.uniform(0, LEASE_SECONDS))
            self._nodes[name].process.kill()
        if kind != "connections reset":
            time.sleep(seconds)
        if kind == "connections reset" or chance.random() < 0.5:
            proxy.reset()
        proxy.heal()

    def _stop(self, name: str) -> None:
        """Stop a node, and wait for its end: until then it may say that it is ready."""
        self._stopping.add(name)
        self._nodes[name].process.terminate()
        self._nodes[name].ended()

    def _join_and_leave(self, chance: random.Random) -> None:
        """A further node joins, and leaves again: in good order, by a kill, or before it has its cells."""
        guest = self._guest
        self._members.append(guest)
        self._nodes[guest] = self._started(guest)
        if chance.random() < 0.8:
            self.settle()
            time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
        self._members.remove(guest)
        if chance.random() < 0.7:
            self._stop(guest)
        else:
            self._nodes[guest].process.kill()
        self._check_end(guest, self._nodes.pop(guest).ended())

    def _kill_the_next_home(self, home: str, chance: random.Random) -> None:
        frozen = self._nodes[home]
        frozen.freeze()
        others = [name for name in self._members if name != home]

        def taken() -> str:
            if any(self._is_dead(name) for name in others):
                return home
            return next((one["name"] for one in self._shown(others[0]) if one["isHome"] and one["name"] != home), "")

        found = until(taken, "another node to take the home")
        time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
        if found != home:
            self._nodes[found].process.kill()
        frozen.thaw()

    # ------------------------------------------------------------------ processes

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _started(self, name: str) -> Node:
        data = self._folder / f"data-{name}"
        if self._arms and self._chance.random() < 0.5:
            shutil.rmtree(data, ignore_errors=True)
        point = ""
        if self._arms and self._chance.random() < FAIL_POINTS:
            point = f"{self._chance.choice(POINTS)}:{self._chance.randint(1, MOST_PASSINGS)}"
        address = self._proxies[name].address if self._proxies else self._address
        return Node(
            self._folder, name, address, data=data, port=self._ports[name], fail_point=point,
            role=("--node", name, "--cells", str(self._cells)),
        )  # fmt: skip

    def _is_dead(self, name: str) -> bool:
        return self._nodes[name].process.poll() is not None

    def _revive(self, name: str) -> None:
        self._check_end(name, self._nodes[name].ended())
        self._nodes[name] = self._started(name)

    def _check_end(self, name: str, code: int) -> None:
        # One that was stopped may have come to its fail point before.
        allowed = {-signal.SIGKILL, 0} if name in self._stopping else {-signal.SIGKILL}
        if self._log(name).read_text().rstrip().rpartition("\n")[2].startswith(NO_DATABASE):
            # A start that finds no database ends, and is repeated, as by systemd.
            allowed.add(1)
        self._stopping.discard(name)
        assert code in allowed, f"{name} ended by itself with {code}: {self._log(name)}"

    def _state(self, name: str) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[name], timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/health")
            return str(json.loads(connection.getresponse().read())["status"])
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        finally:
            connection.close()

    def _shown(self, name: str) -> list[dict[str, Any]]:
        """The nodes, as one of them sees them; none without an answer."""
        client = Client(self._ports[name], seconds=ANSWER_SECONDS)
        try:
            return list(client.json("statewright", "ListNodes")["nodes"])
        except NoAnswer:
            return []
        finally:
            client.close()
