"""A short storm on the nodes of a cluster: what `make storm OPTIONS="--nodes 3"` does for longer."""

from __future__ import annotations

import math
import os
import random
import sys
from pathlib import Path

import pytest

from tests.postgres_server import server_or_skip
from tests.storm.__main__ import PROBES, storm
from tests.storm.nodes import Nodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there"),
]


def test_a_storm_on_three_nodes_breaks_no_promise(tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    kills = int(os.environ.get("KILLS", "10"))
    print(f"SEED={seed}, data in {tmp_path}", flush=True)
    with Nodes(tmp_path, server_or_skip().new_database(), random.Random(seed)) as target:
        # It ends after so many blows, however long they take on a slow machine.
        figures = storm(target, seed, kills, minutes=math.inf, probes=PROBES)
    assert figures.is_clean, figures
    for log in target.logs:
        assert "bug in Statewright" not in log.read_text(), log
