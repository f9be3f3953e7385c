"""Runs the recordings of the real service against a server of our own over HTTP, and holds the reached scores.

    STATEWRIGHT_CASES=/path/to/conformance python -m tests.conformance.over_http      (or: make conformance)
    ... python -m tests.conformance.over_http --nodes 3 --seed 7                      (or: make conformance NODES=3)

With `--nodes` the server is a cluster of so many nodes on one PostgreSQL, and each request goes to a node that is drawn
at random: the same scores must be reached.

The folder holds `cases/*.json` and `run.py`, which makes the calls and compares. Exit code 1 when a score is lower than
what was reached before; without the folder it says SKIPPED.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.crash.clusters import Cluster
from tests.postgres_server import shared_server
from tests.random_front import RandomFront

REACHED = {
    "alone": {"outcome": 98.5, "types": 97.0, "history": 97.5},
    "with other services": {"outcome": 94.5, "types": 92.0, "history": 92.5},
}
"""Least percentages, counted without `choice_operators` (which must be complete) and weak `api_map_run` cases.

Cases that need functions, queues or another service of the server are judged apart from those that do not.
"""

SERVED = ("sqs", "s3", "dynamodb", "sns", "events", "logs", "cloudformation")
"""Services besides functions that cases may need."""


def main() -> int:
    """Start a server or a cluster, run the recordings, compare the scores with `REACHED`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=0, help="run a cluster of so many nodes, not one server")
    parser.add_argument("--seed", type=int, default=0, help="which nodes are drawn")
    parser.add_argument("--report", type=Path, help="keep what was found about each case in this file")
    arguments = parser.parse_args()
    folder = os.environ.get("STATEWRIGHT_CASES")
    if not folder or not Path(folder, "run.py").is_file():
        print("SKIPPED: STATEWRIGHT_CASES does not point at recordings of the service")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        report = arguments.report or Path(scratch, "report.json")
        place = Path(scratch)
        with _cluster(place, arguments.nodes, arguments.seed) if arguments.nodes else _server(place) as endpoint:
            runner = [sys.executable, str(Path(folder, "run.py")), "--endpoint-url", endpoint, "--report", str(report)]
            runner += ["--lambda", "--with", ",".join(SERVED)]
            # Newer SDKs add the number of tries to every error text, which no recording has.
            subprocess.run([*runner, "--jobs", "2"], check=True, env={**os.environ, "AWS_RETRY_MODE": "legacy"})
        cases = json.loads(report.read_text())["cases"]
    return judge(cases, _described(Path(folder)))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """The address of one server."""
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield _endpoint(server)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _cluster(folder: Path, count: int, seed: int) -> Iterator[str]:
    """The address of the front of a cluster."""
    names = [f"n{number}" for number in range(1, count + 1)]
    cluster = Cluster(folder, shared_server().new_database())
    try:
        nodes = {node.port: name for name, node in zip(names, cluster.begin(*names), strict=True)}
        front = RandomFront(list(nodes), seed)
        try:
            yield front.url
        finally:
            front.close()
            taken = " · ".join(f"{name} {front.taken[port]:,}" for port, name in nodes.items())
            print(f"requests to nodes drawn at random, by seed {seed}: {taken}")
    finally:
        cluster.stop()


def judge(cases: list[dict[str, Any]], described: dict[str, dict[str, Any]]) -> int:
    """Print the scores; 1 when one is too low."""
    operators = [case for case in cases if case["category"] == "choice_operators"]
    failed = not all(case["outcome"] for case in operators)
    print(f"choice_operators {sum(case['outcome'] for case in operators)}/{len(operators)}")
    counted = [
        case
        for case in cases
        if case["category"] != "choice_operators" and not (_of(case, described).get("weak") and _is_map_run(case))
    ]
    for group, least_of in REACHED.items():
        print(f"{group}:")
        members = [case for case in counted if bool(_of(case, described).get("needs")) == (group != "alone")]
        for name, least in least_of.items():
            known = [case[name] for case in members if case[name] is not None]
            share = 100 * sum(known) / len(known)
            failed |= share < least
            print(f"  {name.upper():8} {sum(known)}/{len(known)}  {share:.1f} %  (at least {least} %)")
    return int(failed)


def _is_map_run(case: dict[str, Any]) -> bool:
    return bool(case["category"] == "api_map_run")


def _of(case: dict[str, Any], described: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return described[case["id"]]


def _described(folder: Path) -> dict[str, dict[str, Any]]:
    """Every case by its id."""
    found: dict[str, dict[str, Any]] = {}
    for path in folder.glob("cases/*.json"):
        found.update((case["id"], case) for case in json.loads(path.read_text()))
    return found


def _endpoint(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        match = re.search(r"ready on (http://\S+)", line)
        if match:
            return match[1]
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
