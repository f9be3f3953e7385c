"""A server and its standby, killed, frozen and cut off in turn under load: nothing that was acknowledged is lost, and a
server that has lost the lease becomes the standby, in the same process and on the same port.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from statewright.stores.sqlite.file import FolderLock
from tests.crash.pairs import Callers, Node, check, pair
from tests.deadlines import until
from tests.postgres_server import Server, server_or_skip

pytestmark = pytest.mark.slow


def test_killed_owners_lose_nothing(tmp_path: Path) -> None:
    address = server_or_skip().new_database()
    owner, other = pair(tmp_path, address)
    callers = Callers([owner, other])
    callers.prepare()
    with callers:
        for number in range(3):
            callers.progress()
            owner.kill()
            other.wait("ready")
            callers.progress()
            owner, other = other, Node(tmp_path, f"again{number}", address)
            callers.nodes[:] = [owner, other]
            other.wait("standby")
    check(callers)
    assert (owner.stop(), other.stop()) == (0, 0)


def test_a_frozen_owner_becomes_the_standby_and_takes_over_again(tmp_path: Path) -> None:
    first, second = pair(tmp_path, server_or_skip().new_database())
    pid, port = first.process.pid, first.port
    callers = Callers([first, second])
    callers.prepare()
    with callers:
        callers.progress()
        first.freeze()
        second.wait("ready", 2)
        callers.progress()
        first.thaw()
        first.wait("standby", 2)
        assert first.health() == (503, "standby")
        callers.progress()
        second.freeze()
        first.wait("ready", 3)
        callers.progress()
        second.thaw()
        second.wait("standby", 3)
    check(callers)
    assert (first.process.pid, first.port, {event["pid"] for event in first.events}) == (pid, port, {pid})
    # Without a demotion there is no other way back.
    assert [event["event"] for event in first.events] == ["ready", "standby", "ready"]
    assert [event["event"] for event in second.events] == ["standby", "ready", "standby"]
    assert (second.stop(), first.stop()) == (0, 0)


def test_a_stopped_owner_hands_over(tmp_path: Path) -> None:
    first, second = pair(tmp_path, server_or_skip().new_database())
    callers = Callers([first, second])
    callers.prepare()
    with callers:
        callers.progress()
        assert first.stop() == 0
        second.wait("ready", 2)
        callers.progress()
    check(callers)
    assert second.stop() == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_both_outlive_an_outage_of_the_database(tmp_path: Path, how: signal.Signals) -> None:
    database = Server()
    try:
        nodes = pair(tmp_path, database.new_database())
        callers = Callers(list(nodes))
        callers.prepare()
        with callers:
            callers.progress()
            database.stop(how)
            until(lambda: nodes[0].health() == (503, "no lease"), "the doubt of the owner")
            until(lambda: "waits for it" in nodes[1].log.read_text(), "the doubt of the standby")
            database.start()
            callers.progress()
            until(lambda: {node.health()[1] for node in nodes} == {"ready", "standby"}, "one owner and one standby")
        check(callers)
        assert [node.stop() for node in nodes] == [0, 0]
    finally:
        database.remove()


def test_the_folder_of_a_server_on_sqlite_ends_a_standby(tmp_path: Path) -> None:
    other = FolderLock(tmp_path / "data", "pid 7")
    node = Node(tmp_path, "one", server_or_skip().new_database())
    assert node.ended() == 1
    assert "is in use by pid" in node.log.read_text()
    assert node.events == []
    other.release()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_standby_that_is_stopped_while_it_takes_over_ends_in_order(tmp_path: Path, number: signal.Signals) -> None:
    first, second = pair(tmp_path, server_or_skip().new_database())
    first.process.terminate()
    until(lambda: "stopped" in first.log.read_text(), "the end of the first")
    # It takes over within moments: before, while or after it is asked to end.
    second.process.send_signal(number)
    assert (first.ended(), second.ended()) == (0, 0)
    assert not any("Error" in line for line in second.log.read_text().splitlines())


def test_only_one_of_two_begins(tmp_path: Path) -> None:
    address = server_or_skip().new_database()
    nodes = [Node(tmp_path, name, address) for name in ("one", "two")]
    until(lambda: sorted(node.state for node in nodes) == ["ready", "standby"], "one owner and one standby")
    assert [node.stop() for node in nodes] == [0, 0]
