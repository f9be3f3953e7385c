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

REACHED = {"outcome": 98.5, "types": 97.0, "history": 93.0}
"""Least percentages, counted without `choice_operators` (which must be complete) and weak `api_map_run` cases."""


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
            # Newer SDKs add the number of tries to every error text, which no recording has.
            subprocess.run([*runner, "--jobs", "2"], check=True, env={**os.environ, "AWS_RETRY_MODE": "legacy"})
        finally:
            server.terminate()
            server.wait()
        cases = json.loads(report.read_text())["cases"]
    return judge(cases, _weak(Path(folder)))


def judge(cases: list[dict[str, Any]], weak: set[str]) -> int:
    """Print the scores; 1 when one is too low."""
    operators = [case for case in cases if case["category"] == "choice_operators"]
    counted = [case for case in cases if case["category"] != "choice_operators" and case["id"] not in weak]
    failed = not all(case["outcome"] for case in operators)
    print(f"choice_operators {sum(case['outcome'] for case in operators)}/{len(operators)}")
    for name, least in REACHED.items():
        known = [case[name] for case in counted if case[name] is not None]
        share = 100 * sum(known) / len(known)
        failed |= share < least
        print(f"{name.upper():8} {sum(known)}/{len(known)}  {share:.1f} %  (at least {least} %)")
    return int(failed)


def _weak(folder: Path) -> set[str]:
    text = Path(folder, "cases", "api_map_run.json").read_text()
    return {case["id"] for case in json.loads(text) if case.get("weak")}


def _endpoint(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        match = re.search(r"ready on (http://\S+)", line)
        if match:
            return match[1]
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
