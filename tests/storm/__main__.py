"""Kills a server under mixed load, again and again, and checks what it promised: `python -m tests.storm`.

    python -m tests.storm --seed 1 --kills 1000 --store sqlite
    python -m tests.storm --seed 1 --kills 500 --pair

Rounds of a hundred kills: load and kills, then rest and checks. Kills come at random instants, at fail points, and
while a server starts; a tenth of them after the process was stopped (SIGSTOP) for a while. On PostgreSQL, the database
is killed, stopped at once, or breaks its connections off, every twenty kills; with `--replica`, its synchronous replica
is promoted each time it ends, and the next one is made. With `--clock`, the server's wall clock jumps in every life, up
to twenty seconds forwards and backwards. With `--faults`, two lives in five lack something for a while: a disk that
keeps what it is given, space, memory or descriptors.

With `--nodes 3` there are three nodes of a cluster, on PostgreSQL, and further callers (`probes`): see `nodes`. A line
counts the kinds of blows. With `--network`, a proxy between each node and PostgreSQL delays, holds back or breaks off
what goes through it, and with `--short N`, N shorter faults come before each blow. With `--clock`, the wall clock of
each node is wrong by up to 4 s, and that of one for a while by up to 30 s.

With `--pair` there are two servers with `--standby`, on PostgreSQL: see `two_servers`. The database is broken only with
`--replica`. The figures say for how long no call was answered. Rounds of a pair and of nodes have fifty blows, or ten
with short faults.

Ends with exit code 1 if anything that was acknowledged is lost, an execution is stuck or has failed, a history has a
gap, an effect has happened twice, or what the probes check does not hold.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tests.crash.servers import Servers
from tests.storm.checks import Figures, check
from tests.storm.faults import Faults
from tests.storm.load import OTHERS, Load, Probe
from tests.storm.nodes import MOST_NODES, Nodes
from tests.storm.one_server import OneServer
from tests.storm.probes.activities import Activities
from tests.storm.probes.events import Events
from tests.storm.probes.messages import Messages
from tests.storm.probes.permits import Permits
from tests.storm.probes.races import Races
from tests.storm.probes.spread import Spread
from tests.storm.probes.watchers import Watchers
from tests.storm.recording import Recorder
from tests.storm.two_servers import TwoServers
from tests.wrong_clock import VARIABLE, WrongClock

EVERY = 25
"""Blows between two lines of progress."""
MOST_ROWS = 100_000
"""Of each table that is kept of a storm that has found something."""
SIGNALS = (signal.SIGKILL, signal.SIGQUIT)
PROBES: Sequence[Callable[[Recorder], Probe]] = (Races, Permits, Messages, Watchers, Activities, Spread, Events)
"""What makes the probes for a storm on a cluster."""
WITHOUT_CLOCKS = (Races, Activities, Spread, Events)
"""Those whose checks do not depend on the clocks of servers."""


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    folder = Path(tempfile.mkdtemp(prefix="statewright-storm-"))
    on_postgres = options.replica or options.pair or options.nodes or options.store == "postgres"
    store = "postgres with a replica" if options.replica else "postgres" if on_postgres else "sqlite"
    servers = f"{options.nodes} nodes" if options.nodes else "a server and its standby" if options.pair else "a server"
    print(f"seed {seed}, {servers} on {store}, data and log in {folder}", flush=True)
    database = _database(replica=options.replica) if on_postgres else None
    address = database.new_database() if database is not None else ""
    with ExitStack() as stack:
        target: Target
        if options.nodes:
            chance = random.Random(seed)
            nodes = Nodes(
                folder, address, chance, options.nodes, has_proxies=options.network, has_clocks=options.clock,
                short_faults=options.short,
            )  # fmt: skip
            target = stack.enter_context(nodes)
        elif options.pair:
            target = stack.enter_context(TwoServers(folder, address, random.Random(seed)))
        else:
            clock = WrongClock(folder / "wrong-clock") if options.clock else None
            if clock is not None:
                os.environ[VARIABLE] = str(clock.path)
            faults = Faults(folder) if options.faults else None
            target = OneServer(stack.enter_context(Servers(folder, address)), clock, faults)
        # Several servers are to be killed on a database that goes on, unless it has a replica to go on with.
        broken = database if options.replica or not (options.pair or options.nodes) else None
        probes: Sequence[Callable[[Recorder], Probe]] = PROBES if options.nodes or options.probes else ()
        if options.clock:
            # The others compare instants of several nodes.
            probes = [one for one in probes if one in WITHOUT_CLOCKS]
        figures = storm(
            target, seed, options.kills, options.minutes, broken,
            probes=probes, go_on=options.go_on, keep=partial(_keep_tables, address, folder),
        )  # fmt: skip
        bugs = sum(log.read_text(errors="replace").count("bug in Statewright") for log in target.logs)
    if bugs:
        print(f"{bugs} lines of the log speak of a bug: {folder}")
    return 0 if figures.is_clean and not bugs else 1


class Target(Protocol):
    """What the storm strikes: one server, two, or the nodes of a cluster."""

    @property
    def round(self) -> int:
        """How many blows there are between two checks."""

    @property
    def answer_seconds(self) -> float:
        """How long callers wait for an answer."""

    @property
    def is_scattered(self) -> bool:
        """True if all servers take calls, false if one of them does."""

    @property
    def ports(self) -> Sequence[int]:
        """Those of all servers."""

    @property
    def logs(self) -> Sequence[Path]:
        """The files of their logs."""

    @property
    def met_so_far(self) -> str:
        """How often each kind of blow was met, if kinds are counted."""

    def up(self) -> None:
        """Be ready, with nothing that will happen."""

    def begin(self) -> None:
        """Leave that state: a round begins."""

    def blow(self, chance: random.Random) -> bool:
        """Have one of them die, or freeze; true if callers had to wait for another server."""

    def stop(self) -> None:
        """End in good order."""


def storm(
    target: Target,
    seed: int,
    kills: int,
    minutes: float = 30,
    database: Any = None,
    *,
    probes: Sequence[Callable[[Recorder], Probe]] = (),
    go_on: bool = False,
    keep: Callable[[], None] | None = None,
) -> Figures:
    """Strike in rounds, and say what was found after each of them; `keep` is called where that is something."""
    chance = random.Random(seed)
    figures = Figures()
    done = 0
    began = time.monotonic()
    target.up()
    load = Load(target.ports, seed, target.answer_seconds, probes=probes, is_scattered=target.is_scattered)
    load.prepare()
    while done < kills and time.monotonic() - began < 60 * minutes:
        target.begin()
        load.go()
        for _ in range(min(target.round, kills - done)):
            load.begin_stall()
            if target.blow(chance):
                figures.stalls_seconds.append(load.end_stall())
                if target.is_scattered:
                    figures.home_stalls_seconds.append(load.end_stall(OTHERS))
            done += 1
            if done % EVERY == 0:
                print(f"  {done} blows in {time.monotonic() - began:.0f} s {target.met_so_far}", flush=True)
            if database is not None and done % 20 == 0:
                _break(database, chance)
            if time.monotonic() - began > 60 * minutes:
                break
        target.up()
        load.rest()
        check(load, figures)
        print(f"{done} kills in {time.monotonic() - began:.0f} s: {figures.line()}", flush=True)
        for found in figures.found:
            for one in found[:10]:
                print(f"  {one}", flush=True)
        if not figures.is_clean and keep is not None:
            keep()
        if not figures.is_clean and not go_on:
            break
    target.stop()
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, help="of the kinds and instants of kills; drawn unless given")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--pair", action="store_true", help="a server and its standby, on PostgreSQL")
    parser.add_argument("--nodes", type=int, metavar="N", help="nodes of a cluster, on PostgreSQL")
    parser.add_argument("--network", action="store_true", help="--nodes, cut off from PostgreSQL in turn")
    parser.add_argument("--short", type=int, default=0, metavar="N", help="--network, N short faults before each blow")
    parser.add_argument("--probes", action="store_true", help="the further callers of --nodes, without it")
    parser.add_argument("--replica", action="store_true", help="PostgreSQL with a replica that is promoted")
    parser.add_argument("--clock", action="store_true", help="the server's wall clock jumps in every life")
    parser.add_argument("--faults", action="store_true", help="lives without disk, space, memory or descriptors")
    parser.add_argument("--minutes", type=float, default=30, help="ends a longer storm after its present kill")
    parser.add_argument("--go-on", action="store_true", help="continue after a round that found something")
    options = parser.parse_args()
    if (options.pair and options.clock) or ((options.pair or options.nodes) and options.faults):
        parser.error("--pair has no --clock, and --pair and --nodes have no --faults")
    if options.network and (options.replica or not options.nodes):
        parser.error("--network needs --nodes, and has no --replica")
    if options.short and not options.network:
        parser.error("--short needs --network")
    if options.nodes is not None and not 2 <= options.nodes <= MOST_NODES:
        parser.error(f"--nodes: 2 to {MOST_NODES}")
    return options


def _database(*, replica: bool) -> Any:
    # Only where it is needed: its helper imports the driver and the schema.
    from tests.postgres_server import Server
    from tests.storm.replicated import Replicated

    return Replicated() if replica else Server()


def _keep_tables(address: str, folder: Path) -> None:
    """Write the tables of the database into the folder of the storm: the database goes with it."""
    if not address:
        return
    import psycopg
    import psycopg.sql

    (folder / "tables").mkdir(exist_ok=True)
    with psycopg.connect(address) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        for (name,) in names:
            asked = psycopg.sql.SQL("COPY (SELECT * FROM {} LIMIT {}) TO STDOUT WITH (FORMAT csv, HEADER)")
            copied = connection.cursor().copy(asked.format(psycopg.sql.Identifier(name), MOST_ROWS))
            with (folder / "tables" / f"{name}.csv").open("wb") as file, copied as pieces:
                file.writelines(pieces)


def _break(database: Any, chance: random.Random) -> None:
    """Kill the database, stop it at once, or have it break its connections off; then start it again."""
    if chance.random() < 0.3:
        database.break_connections()
        return
    database.stop(chance.choice(SIGNALS))
    time.sleep(chance.uniform(0, 1))
    database.start()


if __name__ == "__main__":
    sys.exit(main())
