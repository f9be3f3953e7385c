"""The database of a server and its standby is killed under load, and its replica is promoted.

With synchronous replication, nothing that was acknowledged is lost, and executions continue. Both servers name both
databases in one address.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.crash.pairs import Callers, Node, check, pair
from tests.deadlines import until
from tests.postgres_server import server_or_skip
from tests.storm.replicated import Replicated

pytestmark = pytest.mark.slow


def roles(nodes: tuple[Node, Node]) -> list[str]:
    return sorted(node.health()[1] for node in nodes)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGQUIT], ids=["kill -9", "pg_ctl stop -m immediate"])
def test_a_synchronous_replica_that_is_promoted_has_every_acknowledged_call(
    tmp_path: Path, how: signal.Signals
) -> None:
    server_or_skip()
    databases = Replicated()
    try:
        nodes = pair(tmp_path, databases.new_database())
        callers = Callers(list(nodes))
        callers.prepare()
        with callers:
            for _ in range(2):
                # The second time, the former primary is the replica.
                callers.progress()
                databases.stop(how)
                # Commits wait for a replica of the new primary.
                databases.start()
                callers.progress()
                until(lambda: roles(nodes) == ["ready", "standby"], "an owner and a standby on the new primary")
        check(callers)
        assert [node.stop() for node in nodes] == [0, 0]
    finally:
        databases.remove()


def test_the_owner_and_its_database_die_together(tmp_path: Path) -> None:
    """As the machine does that has both."""
    server_or_skip()
    databases = Replicated()
    try:
        owner, other = pair(tmp_path, databases.new_database())
        callers = Callers([owner, other])
        callers.prepare()
        with callers:
            callers.progress()
            owner.kill()
            databases.stop(signal.SIGKILL)
            databases.start()
            other.wait("ready", 2)
            callers.progress()
        check(callers)
        assert other.stop() == 0
    finally:
        databases.remove()


def test_an_asynchronous_replica_may_lack_acknowledged_calls(tmp_path: Path) -> None:
    """What synchronous replication is for, and the proof that the tests above would see a loss."""
    server_or_skip()
    databases = Replicated(is_synchronous=False)
    try:
        node = Node(tmp_path, "one", databases.new_database())
        node.wait("ready")
        callers = Callers([node])
        callers.prepare()
        databases.hold_replica()
        callers.call("AWSStepFunctions.StartExecution", stateMachineArn=callers.machine, name="last", input="{}")
        databases.stop(signal.SIGKILL)
        listed = until(
            lambda: callers.call("AWSStepFunctions.ListExecutions", stateMachineArn=callers.machine), "an answer"
        )
        assert listed["executions"] == []
        assert node.stop() == 0
    finally:
        databases.remove()
