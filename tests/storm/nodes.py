"""Three nodes of a cluster in the storm: killed, frozen, stopped and joined in turn, while the others answer.

A node that is dead is started again at once: see `several`.
"""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.deadlines import until
from tests.storm.client import Client, NoAnswer
from tests.storm.proxies import FROM, TO, DatabaseProxy, NodeProxy, Proxy
from tests.storm.several import AT_A_FAIL_POINT, HEALTH_SECONDS, LEASE_SECONDS, Several
from tests.wrong_clock import WrongClock

LONGEST_LIFE_SECONDS: Final = 1.5
NAMES: Final = "abcdefghi"
MOST_NODES: Final = len(NAMES) - 1
HOME_KILLED, HOME_FROZEN, HOME_STOPPED = "home killed", "home frozen", "home stopped"
HOME_CUT_OFF: Final = "home cut off"
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
CALL_BLOWS: Final = {
    "one unreachable for the others": 3,
    "calls between nodes reset": 3,
    "calls between nodes delayed": 2,
}
"""The same, with proxies between the nodes."""
CLOCK_BLOWS: Final = {"clock wrong": 8, "killed while its clock is wrong": 4}
"""The same, if nodes have clocks of their own."""
APART_SECONDS: Final = 4
"""How wrong their clocks are all the time."""
MOST_WRONG_SECONDS: Final = 30
"""How wrong one is for a while. Nodes refuse calls of others whose clock differs from theirs by more."""
SHORT_FAULTS: Final = {
    "short pause": 4,
    "short delay": 3,
    "short hold to the database": 3,
    "short hold from the database": 3,
    "connections reset while held": 3,
    "connections reset at once": 2,
}
"""Those that come between two blows, if they are asked for; no lease ends for them, unless they add up."""
LONGEST_FAULT_SECONDS: Final = 0.3
LONGEST_PAUSE_SECONDS: Final = 0.1
"""Between two short faults."""
ROUND_OF_MANY: Final = 10
"""Blows of a round, if short faults come before each."""
TAKEOVERS: Final = (HOME_KILLED, HOME_FROZEN, HOME_STOPPED, HOME_CUT_OFF, AT_A_FAIL_POINT)
"""After these, the stall of calls of the home is measured; after all, that of any call."""


class Nodes(Several):
    """Nodes of a cluster on one database, each on a port and with a data folder of its own."""

    is_scattered: Final = True
    answer_seconds: Final = 12.0
    """A node waits for the owner of a cell for 8 s."""
    fail_points = 0.3

    def __init__(
        self,
        folder: Path,
        address: str,
        chance: random.Random,
        many: int = 3,
        cells: int = 32,
        *,
        has_proxies: bool = False,
        has_clocks: bool = False,
        short_faults: int = 0,
    ) -> None:
        """With `has_proxies`, there is one between each node and PostgreSQL, whose address names the folder of its
        socket, and one between each node and the others. Then there may be short faults, too, so many before each blow.
        With `has_clocks`, each node has a wall clock of its own.
        """
        super().__init__(folder, address, chance, NAMES[: many + 1])
        self._cells = cells
        self._members = list(NAMES[:many])
        """Those that are meant to live."""
        self._guest = NAMES[many]
        """Joins for a while."""
        self._proxies = {name: DatabaseProxy(address) for name in self._ports} if has_proxies else {}
        self._fronts = {name: NodeProxy(port) for name, port in self._ports.items()} if has_proxies else {}
        self._clocks = {name: WrongClock(folder / f"clock-{name}") for name in self._ports} if has_clocks else {}
        self._blows = {
            **BLOWS,
            **(NETWORK_BLOWS | CALL_BLOWS if has_proxies else {}),
            **(CLOCK_BLOWS if has_clocks else {}),
        }
        self._short_faults = short_faults
        if short_faults:
            self.round = ROUND_OF_MANY

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        for proxy in (*self._proxies.values(), *self._fronts.values()):
            proxy.close()

    # ------------------------------------------------------------------ rounds

    def up(self) -> None:
        """Have all nodes, to which nothing happens."""
        self._restart(self._members)
        self.settle()

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
        for _ in range(self._short_faults):
            self._have_a_short_fault(chance)
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
        elif kind in CLOCK_BLOWS:
            self._turn_clock(kind, chance.choice(self._members), chance)
        elif kind in CALL_BLOWS:
            self._disturb_calls(kind, chance.choice(self._members), chance)
        elif kind in NETWORK_BLOWS:
            self._disturb(kind, struck if "cut off" in kind else chance.choice(self._members), chance)
        else:
            # They die together, or one while another one takes over what it had.
            many = 2 if kind == "two killed" else len(self._members)
            for name in chance.sample(self._members, many):
                self._nodes[name].process.kill()
                time.sleep(chance.choice((0, chance.uniform(0, 1.5 * LEASE_SECONDS))))

    def _turn_clock(self, kind: str, name: str, chance: random.Random) -> None:
        """Have the clock of a node wrong for a while; it may be killed before that is over."""
        wrong = chance.choice((APART_SECONDS, MOST_WRONG_SECONDS)) * chance.uniform(-1, 1)
        self._note(f"{kind}: {name}, by {wrong:.1f} s")
        self._clocks[name].set(wrong)
        time.sleep(chance.uniform(0.5, 2 * LEASE_SECONDS))
        if kind != "clock wrong":
            self._nodes[name].process.kill()
        self._clocks[name].set(APART_SECONDS * chance.uniform(-1, 1))

    def _disturb_calls(self, kind: str, name: str, chance: random.Random) -> None:
        """Do something to what the other nodes ask of one; half of the time their connections break in the end."""
        front = self._fronts[name]
        self._note(f"{kind}: {name}")
        if kind == "calls between nodes delayed":
            front.delay(chance.uniform(0.02, 0.3))
        else:
            # Without `TO`, it does what it is asked, and its answers do not arrive.
            front.hold(*chance.choice(((TO, FROM), (TO,), (FROM,))))
        long = kind == "one unreachable for the others"
        time.sleep(chance.uniform(0.5, 2 * LEASE_SECONDS) if long else chance.uniform(0.02, 0.5))
        if kind == "calls between nodes reset" or chance.random() < 0.5:
            front.reset()
        front.heal()

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

    def _have_a_short_fault(self, chance: random.Random) -> None:
        """Pause a node for less than its lease, or disturb its connections with PostgreSQL for as long.

        One that is dead, since it came to its fail point, is started again, without a wait until it is ready.
        """
        name = chance.choice(self._members)
        if self._is_dead(name):
            self._note(f"{AT_A_FAIL_POINT}: {name}")
            self._met[AT_A_FAIL_POINT] += 1
            self._revive(name)
            return
        kind = chance.choices(list(SHORT_FAULTS), list(SHORT_FAULTS.values()))[0]
        self._note(f"{kind}: {name}")
        self._met[kind] += 1
        seconds = chance.uniform(0.01, LONGEST_FAULT_SECONDS)
        if kind == "short pause":
            self._freeze(name, seconds)
        else:
            self._disturb_shortly(kind, self._proxies[name], seconds)
        time.sleep(chance.uniform(0, LONGEST_PAUSE_SECONDS))

    def _disturb_shortly(self, kind: str, proxy: Proxy, seconds: float) -> None:
        if kind == "short delay":
            proxy.delay(seconds / 10)
        elif kind == "short hold to the database":
            proxy.hold(TO)
        elif kind in ("short hold from the database", "connections reset while held"):
            # In the second, the database does what was sent, or not, and the node sees no answer.
            proxy.hold(FROM)
        time.sleep(seconds)
        if "reset" in kind:
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

    def _role(self, name: str) -> Sequence[str]:
        front = self._fronts.get(name)
        advertised = ("--advertise", front.address) if front is not None else ()
        return ("--node", name, "--cells", str(self._cells), *advertised)

    def _address_of(self, name: str) -> str:
        return self._proxies[name].address if self._proxies else self._address

    def _clock_of(self, name: str) -> WrongClock | None:
        clock = self._clocks.get(name)
        if clock is not None:
            clock.set(APART_SECONDS * self._chance.uniform(-1, 1) if self._arms else 0)
        return clock

    def _shown(self, name: str) -> list[dict[str, Any]]:
        """The nodes, as one of them sees them; none without an answer."""
        client = Client(self._ports[name], seconds=HEALTH_SECONDS)
        try:
            return list(client.json("statewright", "ListNodes")["nodes"])
        except NoAnswer:
            return []
        finally:
            client.close()
