"""Three nodes on one database, killed, frozen, drained and joined under load: any node answers, and nothing that was
acknowledged is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.clusters import Cluster
from tests.crash.pairs import Callers, check
from tests.postgres_server import server_or_skip

pytestmark = pytest.mark.slow


def test_killed_nodes_lose_nothing(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, server_or_skip().new_database())
    callers = Callers(cluster.begin("a", "b", "c"))
    callers.prepare()
    with callers:
        for number in range(2):
            callers.progress()
            worker = cluster.others()[0]
            worker.kill()
            callers.progress()
            home = cluster.home()
            home.kill()
            callers.progress()
            callers.nodes[:] = [node for node in callers.nodes if node not in (worker, home)]
            callers.nodes += [cluster.add(f"d{number}"), cluster.add(f"e{number}")]
            for node in callers.nodes[-2:]:
                node.wait("ready")
            cluster.settle()
            callers.progress()
    check(callers)
    assert set(cluster.stop()) == {0}


def test_a_frozen_home_loses_what_it_had_and_joins_again(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, server_or_skip().new_database())
    callers = Callers(cluster.begin("a", "b"))
    callers.prepare()
    with callers:
        callers.progress()
        frozen = cluster.home()
        other = next(node for node in callers.nodes if node is not frozen)
        frozen.freeze()
        callers.nodes[:] = [other]
        callers.progress()
        frozen.thaw()
        callers.nodes[:] = [frozen, other]
        cluster.settle()
        callers.progress()
    check(callers)
    assert set(cluster.stop()) == {0}


def test_nodes_join_and_leave_without_loss(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, server_or_skip().new_database())
    callers = Callers(cluster.begin("a"))
    callers.prepare()
    with callers:
        callers.progress()
        callers.nodes += cluster.begin("b", "c")
        callers.progress()
        home = cluster.home()
        callers.nodes.remove(home)
        assert home.stop() == 0
        cluster.settle()
        callers.progress()
        leaving = cluster.others()[0]
        callers.nodes.remove(leaving)
        assert leaving.stop() == 0
        cluster.settle()
        callers.progress()
    check(callers)
    assert set(cluster.stop()) == {0}
