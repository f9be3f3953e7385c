"""One server in the storm: how it is killed. Each blow is one life of it, and its death."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.crash.servers import Servers
from tests.storm.faults import Faults
from tests.storm.load import WRONG_CLOCK_SECONDS
from tests.wrong_clock import WrongClock

POINTS: Final = ("before-commit", "after-commit", "before-dispatch", "dispatched", "result")
LONGEST_LIFE_SECONDS: Final = 0.6
PASSING_SECONDS: Final = 4


class OneServer:
    """One server after another, on one port."""

    round: Final = 100
    is_scattered: Final = False
    answer_seconds: Final = 30.0

    def __init__(self, servers: Servers, clock: WrongClock | None = None, faults: Faults | None = None) -> None:
        self._servers = servers
        self._clock = clock
        self._faults = faults

    @property
    def ports(self) -> Sequence[int]:
        return (self._servers.port,)

    @property
    def logs(self) -> Sequence[Path]:
        return (self._servers.log,)

    @property
    def met_so_far(self) -> str:
        return ""

    def up(self) -> None:
        """Start a server that nothing happens to."""
        self._wrong(0)
        self._servers.up()

    def begin(self) -> None:
        """End that server: a round begins."""
        self._servers.kill()

    def stop(self) -> None:
        """End the server in good order."""
        self._servers.stop()

    def blow(self, chance: random.Random) -> bool:
        """One life of a server, and its death. False: what begins next is no other server's taking over."""
        servers, clock, faults = self._servers, self._clock, self._faults
        self._wrong(chance.uniform(-WRONG_CLOCK_SECONDS, WRONG_CLOCK_SECONDS) if clock is not None else 0)
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
                self._lack(faults, chance)
            if clock is not None:
                clock.set(chance.uniform(-WRONG_CLOCK_SECONDS, WRONG_CLOCK_SECONDS))
                servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
            if how > 0.9:
                servers.signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0.05, 1))
                servers.signal(signal.SIGCONT)
                servers.wait_dead(chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        servers.kill()
        return False

    def _lack(self, faults: Faults, chance: random.Random) -> None:
        servers = self._servers
        recover = faults.begin(chance, servers.pid, servers.data)
        servers.wait_dead(chance.uniform(0.05, LONGEST_LIFE_SECONDS))
        recover()
        # Half of them are killed while they find their feet again.
        servers.wait_dead(chance.choice((0, chance.uniform(0.05, 3 * LONGEST_LIFE_SECONDS))))

    def _wrong(self, seconds: float) -> None:
        if self._clock is not None:
            self._clock.set(seconds)
