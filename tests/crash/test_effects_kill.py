"""A server killed between the effects of tasks and the commits of their answers: every effect happens once.

The machine of the storm (`tests/storm`) acts on every service; its effects are counted, or refuse to be repeated.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from statewright.stores import fail_points
from tests.crash.servers import Servers
from tests.postgres_server import server_or_skip
from tests.storm.checks import Figures, check
from tests.storm.client import Client, NoAnswer
from tests.storm.load import Load
from tests.storm.machines import EFFECTS, STATES
from tests.thoroughness import THOROUGH, scaled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")

TASKS = sum(state["Type"] == "Task" for state in EFFECTS["States"].values())
PASSINGS = range(1, TASKS + 1) if THOROUGH else (1, 9)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Servers, Load]]:
    with Servers(tmp_path_factory.mktemp("effects")) as servers:
        made = Load((servers.port,), 1)
        servers.up()
        made.prepare()
        servers.kill()
        yield servers, made


@scaled
def test_an_effect_of_every_kind_happens_once(load: tuple[Servers, Load]) -> None:
    """One execution for each task, killed when the result of that task is there and its commit is not."""
    servers, caller = load
    for passing in PASSINGS:
        servers.start(f"{fail_points.RESULT}:{passing}")
        assert servers.wait_ready()
        name = caller.next_name("e")
        request = {
            "stateMachineArn": f"{STATES}:stateMachine:effects",
            "name": name,
            "input": json.dumps({"name": name}),
        }
        # The first result may be faster than the answer.
        with closing(Client(servers.port)) as client, suppress(NoAnswer):
            client.json("states", "StartExecution", **request)
        assert servers.wait_dead() == -signal.SIGKILL, f"the server has not passed the point {passing} times"
        servers.up()
        caller.notes.started = {name: "effects"}
        figures = Figures()
        check(caller, figures)
        assert figures.is_clean, (passing, figures)
        assert figures.executions == 1
        servers.kill()


@pytest.mark.slow
def test_a_storm_repeats_nothing(tmp_path: Path) -> None:
    from tests.storm.__main__ import storm
    from tests.storm.one_server import OneServer

    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    kills = int(os.environ.get("KILLS", "100"))
    print(f"SEED={seed}, data in {tmp_path}", flush=True)
    with Servers(tmp_path) as servers:
        figures = storm(OneServer(servers), seed, kills)
    assert figures.is_clean, figures


@pytest.mark.slow
def test_a_storm_on_a_server_and_its_standby_repeats_nothing(tmp_path: Path) -> None:
    from tests.storm.__main__ import storm
    from tests.storm.two_servers import TwoServers

    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    kills = int(os.environ.get("KILLS", "12"))
    print(f"SEED={seed}, data in {tmp_path}", flush=True)
    with TwoServers(tmp_path, server_or_skip().new_database(), random.Random(seed)) as target:
        # It ends after so many blows, however long they take on a slow machine.
        figures = storm(target, seed, kills, minutes=math.inf)
    assert figures.is_clean, figures
    for log in target.logs:
        assert "bug in Statewright" not in log.read_text(), log
