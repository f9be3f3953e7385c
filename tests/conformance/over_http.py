"""Runs the recordings of the real service against a server of our own over HTTP, and holds the reached scores.

    STATEWRIGHT_CASES=/path/to/conformance python -m tests.conformance.over_http      (or: make conformance)

The folder holds `cases/*.json` and `run.py`, which makes the calls and compares. Exit code 1 when a score is lower than
what was reached before; without the folder it says SKIPPED.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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
    """Start a server, run the recordings, compare the scores with `REACHED`."""
    folder = os.environ.get("STATEWRIGHT_CASES")
    if not folder or not Path(folder, "run.py").is_file():
        print("SKIPPED: STATEWRIGHT_CASES does not point at recordings of the service")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", f"{scratch}/data"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            endpoint = _endpoint(server)
            runner = [sys.executable, str(Path(folder, "run.py")), "--endpoint-url", endpoint, "--report", str(report)]
            runner += ["--lambda", "--with", ",".join(SERVED)]
            # Newer SDKs add the number of tries to every error text, which no recording has.
            subprocess.run([*runner, "--jobs", "2"], check=True, env={**os.environ, "AWS_RETRY_MODE": "legacy"})
        finally:
            server.terminate()
            server.wait()
        cases = json.loads(report.read_text())["cases"]
    return judge(cases, _described(Path(folder)))


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
