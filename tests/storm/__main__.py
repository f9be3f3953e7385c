"""Kills a server under mixed load, again and again, and checks what it promised: `python -m tests.storm`.

    python -m tests.storm --seed 1 --kills 1000 --store sqlite

Rounds of a hundred kills: load and kills, then rest and checks. Kills come at random instants, at fail points, and
while a server starts; a tenth of them after the process was stopped (SIGSTOP) for a while. On PostgreSQL, the database
is killed, stopped at once, or breaks its connections off, every twenty kills; with `--replica`, its synchronous replica
is promoted each time it ends, and the next one is made. With `--clock`, the server's wall clock jumps in every life, up
to twenty seconds forwards and backwards. With `--faults`, two lives in five lack something for a while: a disk that
keeps what it is given, space, memory or descriptors. Ends with exit code 1 if anything that was acknowledged is lost,
an execution is stuck or has failed, a history has a gap, or an effect has happened twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.crash.servers import Servers
from tests.crash.template_server import WRONG_CLOCK, wrong_by
from tests.storm.checks import Figures, check
from tests.storm.faults import Faults
from tests.storm.load import WRONG_CLOCK_SECONDS, Load

ROUND = 100
POINTS = ("before-commit", "after-commit", "before-dispatch", "dispatched", "result")
LONGEST_LIFE_SECONDS = 0.6
PASSING_SECONDS = 4
SIGNALS = (signal.SIGKILL, signal.SIGQUIT)


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    folder = Path(tempfile.mkdtemp(prefix="statewright-storm-"))
    store = "postgres with a replica" if options.replica else options.store
    print(f"seed {seed}, store {store}, data and log in {folder}", flush=True)
    database = _database(replica=options.replica) if options.replica or options.store == "postgres" else None
    address = database.new_database() if database is not None else ""
    clock = Clock(folder / "wrong-clock") if options.clock else None
    faults = Faults(folder) if options.faults else None
    with Servers(folder, address) as servers:
        figures = storm(servers, seed, options.kills, options.minutes, database, clock, faults, go_on=options.go_on)
        log = servers.log.read_text(errors="replace")
    bugs = log.count("bug in Statewright")
    if bugs:
        print(f"{bugs} lines of the log speak of a bug: {folder}")
    return 0 if figures.is_clean and not bugs else 1


class Clock:
    """The wall clock of servers, which is wrong by what is written into a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)
        os.environ[WRONG_CLOCK] = str(path)

    def set(self, seconds: float) -> None:
        # In place: the servers have the file mapped.
        with self._path.open("r+b" if self._path.exists() else "wb") as file:
            file.write(wrong_by(seconds))


def storm(
    servers: Servers,
    seed: int,
    kills: int,
    minutes: float = 30,
    database: Any = None,
    clock: Clock | None = None,
    faults: Faults | None = None,
    *,
    go_on: bool = False,
) -> Figures:
    """Kill servers in rounds, and say what was found after each of them."""
    chance = random.Random(seed)
    figures = Figures()
    done = 0
    began = time.monotonic()
    servers.up()
    load = Load(servers.port, seed)
    load.prepare()
    while done < kills and time.monotonic() - began < 60 * minutes:
        servers.kill()
        load.go()
        for _ in range(min(ROUND, kills - done)):
            _kill(servers, chance, clock, faults)
            done += 1
            if database is not None and done % 20 == 0:
                _break(database, chance)
            if time.monotonic() - began > 60 * minutes:
                break
        if clock is not None:
            clock.set(0)
        servers.up()
        load.rest(patience_seconds=120)
        check(load, figures)
        print(f"{done} kills in {time.monotonic() - began:.0f} s: {figures.line()}", flush=True)
        for found in (figures.lost, figures.stuck, figures.gaps, figures.repeated, figures.failed):
            for one in found[:10]:
                print(f"  {one}", flush=True)
        if not figures.is_clean and not go_on:
            break
    servers.stop()
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, help="of the kinds and instants of kills; drawn unless given")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--replica", action="store_true", help="PostgreSQL with a replica that is promoted")
    parser.add_argument("--clock", action="store_true", help="the server's wall clock jumps in every life")
    parser.add_argument("--faults", action="store_true", help="lives without disk, space, memory or descriptors")
    parser.add_argument("--minutes", type=float, default=30, help="ends a longer storm after its present kill")
    parser.add_argument("--go-on", action="store_true", help="continue after a round that found something")
    return parser.parse_args()


def _kill(servers: Servers, chance: random.Random, clock: Clock | None, faults: Faults | None) -> None:
    """One life of a server, and its death."""
    if clock is not None:
        clock.set(chance.uniform(-WRONG_CLOCK_SECONDS, WRONG_CLOCK_SECONDS))
    how = chance.random()
    if how < 0.5:
        servers.start(f"{chance.choice(POINTS)}:{chance.randint(1, 40)}")
        servers.wait_ready()
        # It may be a point that is not passed so often.
        servers.wait_dead(PASSING_SECONDS)
    elif how < 0.6:
        servers.start()
        time.sleep(chance.uniform(0, 0.1))
    else:
        servers.start()
        servers.wait_ready()
        servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        if faults is not None and chance.random() < 0.8:
            recover = faults.begin(chance, servers.pid, servers.data)
            servers.wait_dead(chance.uniform(0.05, LONGEST_LIFE_SECONDS))
            recover()
            # Half of them are killed while they find their feet again.
            servers.wait_dead(chance.choice((0, chance.uniform(0.05, 3 * LONGEST_LIFE_SECONDS))))
        if clock is not None:
            clock.set(chance.uniform(-WRONG_CLOCK_SECONDS, WRONG_CLOCK_SECONDS))
            servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        if how > 0.9:
            servers.signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.05, 1))
            servers.signal(signal.SIGCONT)
            servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
    servers.kill()


def _database(*, replica: bool) -> Any:
    # Only where it is needed: its helper imports the driver and the schema.
    from tests.postgres_server import Server
    from tests.storm.pair import Pair

    return Pair() if replica else Server()


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
