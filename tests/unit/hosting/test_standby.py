"""A standby's changes of state: it waits for the lease, takes it, and gives everything up when the lease is lost."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable

import pytest

from statewright.clock import RealClock
from statewright.errors import InUse, StoreError, Unavailable
from statewright.hosting import standby
from statewright.hosting.standby import Demotion, LeaseWait, StoreState, received_port
from statewright.stores.postgres.watching import Seen
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.deadlines import PATIENCE_SECONDS

LEASE_MS = 3_000
RENEW_MS = 1_000


class Database:
    """A store whose lease another process renews until `dies_ms`; it does not answer within `outage_ms`."""

    def __init__(self, clock: VirtualClock, dies_ms: int = 0, outage_ms: range = range(0)) -> None:
        self.clock = clock
        self.began_ms = clock.now_ms()
        self.dies_ms = dies_ms
        self.outage_ms = outage_ms
        self.owner: str | None = "pid 1 on one" if dies_ms else None
        self.refusals: list[StoreError] = []
        self.looks = 0
        self.taken_ms: int | None = None

    def passed_ms(self) -> int:
        return self.clock.now_ms() - self.began_ms

    async def look(self) -> Seen:
        self.looks += 1
        if self.passed_ms() in self.outage_ms:
            raise Unavailable("the store does not answer")
        renewed_ms = min(self.passed_ms(), self.dies_ms - 1) // RENEW_MS * RENEW_MS
        return Seen(self.owner, renewed_ms + LEASE_MS - self.passed_ms() if self.owner else 0)

    async def open(self, owner: str) -> int:
        if self.refusals:
            raise self.refusals.pop()
        self.owner, self.taken_ms = owner, self.passed_ms()
        return 1


def waited(
    make: Callable[[VirtualClock], Database], *, was_owner: bool = False, stop_ms: int | None = None
) -> tuple[Database, LeaseWait, bool, list[StoreState]]:
    """A wait in virtual time, from its start to its end."""
    told: list[StoreState] = []

    async def scenario(clock: VirtualClock) -> tuple[Database, LeaseWait, bool, list[StoreState]]:
        database = make(clock)
        wait = LeaseWait(database, clock, "db", "pid 2 on two", was_owner=was_owner, on_wait=told.append)
        if stop_ms is not None:
            clock.call_at(clock.now_ms() + stop_ms, wait.stop)
        return database, wait, await wait.taken(), told

    return run_virtual(scenario)


def test_a_free_lease_is_taken_at_once() -> None:
    database, _, taken, told = waited(Database)
    assert (database.taken_ms, taken, told) == (0, True, [])


@pytest.mark.parametrize("dies_ms", [1, 999, 1_000, 1_001, 2_777, 100_000])
def test_the_lease_of_a_dead_owner_is_taken_when_it_ends(dies_ms: int) -> None:
    database, wait, taken, told = waited(lambda clock: Database(clock, dies_ms))
    ends_ms = (dies_ms - 1) // RENEW_MS * RENEW_MS + LEASE_MS
    assert taken
    assert database.taken_ms is not None
    assert ends_ms <= database.taken_ms <= ends_ms + standby.AFTER_MS
    assert wait.free_since_ms - database.began_ms == ends_ms
    assert len(told) == 1


def test_an_owner_that_lives_is_left_alone() -> None:
    database, wait, taken, told = waited(lambda clock: Database(clock, 10**9), stop_ms=3_600_000)
    assert (taken, database.taken_ms, database.owner) == (False, None, "pid 1 on one")
    assert (len(told), wait.store_state.owner) == (1, "pid 1 on one")
    # Five statements a second, whatever the length of the lease.
    assert database.looks <= 3_600 * 5 + 1


def test_a_faster_standby_is_waited_for() -> None:
    def make(clock: VirtualClock) -> Database:
        database = Database(clock, 1)
        database.refusals = [InUse("in use by pid 3")]
        return database

    database, _, taken, _ = waited(make)
    assert taken
    assert database.taken_ms is not None
    assert database.taken_ms >= LEASE_MS


def test_a_store_that_does_not_answer_refuses_a_start() -> None:
    with pytest.raises(Unavailable):
        waited(lambda clock: Database(clock, 0, range(10_000)))


def test_a_process_that_was_up_outlives_an_outage() -> None:
    database, wait, taken, told = waited(lambda clock: Database(clock, 0, range(10_000)), was_owner=True)
    assert (taken, len(told), wait.store_state.is_answering) == (True, 1, True)
    assert database.taken_ms is not None
    assert database.taken_ms >= 10_000


def test_a_waiting_standby_outlives_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "statewright.server"):
        database, _, taken, _ = waited(lambda clock: Database(clock, 60_000, range(5_000, 30_000)))
    assert taken
    assert database.taken_ms is not None
    assert database.taken_ms >= 60_000
    said = [record.getMessage() for record in caplog.records]
    # One line for each change, however often it looks.
    assert [sum(part in line for line in said) for part in ("waits for it", "answers again", "in use by")] == [1, 1, 1]


def test_a_store_that_cannot_be_used_ends_the_wait() -> None:
    def make(clock: VirtualClock) -> Database:
        database = Database(clock)
        database.refusals = [StoreError("a newer program wrote it")]
        return database

    with pytest.raises(StoreError, match="newer"):
        waited(make, was_owner=True)


def demoted(*, is_stuck: bool = False, is_called_off: bool = False) -> tuple[list[str], str | None]:
    """What a demotion does, in order, and its reason."""
    done: list[str] = []
    became = threading.Event()

    def become() -> None:
        done.append("become")
        became.set()

    async def scenario() -> str | None:
        demotion = Demotion(RealClock(), lambda: done.append("refuse"), become, 0.0 if is_stuck else PATIENCE_SECONDS)
        demotion("the store was taken over")
        demotion("and again")
        if is_called_off:
            demotion.call_off()
            clock = RealClock()
            await clock.sleep_until(clock.now_ms() + 2 * standby.GRACE_MS)
        elif is_stuck:
            # Holds the loop until the thread has acted.
            assert became.wait(PATIENCE_SECONDS)
            demotion.call_off()
        else:
            while not became.is_set():
                await asyncio.sleep(0.01)
            demotion.call_off()
        return demotion.reason

    return done, asyncio.run(scenario())


def test_a_demotion_refuses_calls_and_becomes_the_standby_once() -> None:
    assert demoted() == (["refuse", "become"], "the store was taken over")


def test_a_stuck_event_loop_does_not_hold_up_a_demotion() -> None:
    done, _ = demoted(is_stuck=True)
    assert sorted(done) == ["become", "refuse"]


def test_a_process_that_was_asked_to_end_becomes_nothing() -> None:
    assert demoted(is_called_off=True) == (["refuse"], "the store was taken over")


def test_the_port_of_the_former_image_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as left:
        number = os.dup(left.fileno())
        found = received_port({standby.PORT_VARIABLE: str(number)})
        assert found is not None
        with found:
            assert found.getsockname() == left.getsockname()
            assert not os.get_inheritable(number)


@pytest.mark.parametrize("given", [{}, {standby.PORT_VARIABLE: "x"}, {standby.PORT_VARIABLE: "987654"}])
def test_a_process_that_begins_has_no_port(given: dict[str, str]) -> None:
    assert received_port(given) is None


def test_another_descriptor_is_no_port() -> None:
    with socket.socket() as other:
        assert received_port({standby.PORT_VARIABLE: str(other.fileno())}) is None
        # Still open.
        assert other.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0
