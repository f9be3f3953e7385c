"""What the pytest plugin costs: its start, and tests of the example workflows, in CPU and in real time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples" / "testing"
ROUNDS = 20
TEN: dict[str, Any] = {
    "StartAt": "S0",
    "States": {
        **{
            f"S{i}": {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "Parameters": {},
                "Next": f"S{i + 1}",
            }
            for i in range(9)
        },
        "S9": {"Type": "Succeed"},
    },
}


FIRST = """
import sys, time
from statewright.testing import Sfn
sfn = Sfn()
sfn.load({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}}, name="one").run({}).assert_succeeded()
print(time.process_time(), len(sys.modules))
sfn.close()
"""


def first_run() -> None:
    """Measure a process from its start to the end of the first execution, with compiled modules."""
    runs = [subprocess.run([sys.executable, "-c", FIRST], capture_output=True, check=True).stdout for _ in range(8)]
    cpu, modules = min(tuple(map(float, run.split())) for run in runs[1:])
    print(f"import and first run of one state: {1000 * cpu:.0f} ms CPU, {modules:.0f} modules")


def main() -> None:
    """Measure and print."""
    first_run()
    code = "import pytest, time; b = time.time(); import statewright.testing.plugin; print(time.time() - b)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in "123"]
    print(f"what every start of pytest imports: {1000 * min(times):.0f} ms")
    from statewright.testing import Sfn

    def ten() -> None:
        sfn = Sfn()
        machine = sfn.load(TEN)
        machine.mock(resource="lambda:*").returns({})
        machine.run().assert_succeeded()
        sfn.close()

    def trip() -> None:
        sfn = Sfn(EXAMPLES)
        machine = sfn.load("trip.asl.yaml")
        machine.mock("*").returns_payload({"reference": "r"})
        machine.run({"trip": 1}).assert_succeeded()
        sfn.close()

    def purchase() -> None:
        sfn = Sfn(EXAMPLES)
        machine = sfn.load("purchase.asl.json")
        machine.run({"amount": 900}).assert_failed("Refused")
        sfn.close()

    def sales() -> None:
        sfn = Sfn(EXAMPLES)
        sfn.client("s3").create_bucket(Bucket="sales")
        for number in range(10):
            sfn.client("s3").put_object(Bucket="sales", Key=f"day/{number}", Body=b"")
        machine = sfn.load("sales-import.asl.yaml")
        machine.mock("*").returns_payload({"rows": 1})
        machine.mock("Report").returns({})
        machine.run({"bucket": "sales", "day": "day"}).assert_succeeded()
        sfn.close()

    for test in (ten, trip, purchase, sales):
        measure(test)


def measure(test: Callable[[], None]) -> None:
    """Print what one test costs, once everything is loaded."""
    test()
    cpu, best = time.process_time(), 1e9
    for _ in range(ROUNDS):
        began = time.perf_counter()
        test()
        best = min(best, time.perf_counter() - began)
    cpu = (time.process_time() - cpu) / ROUNDS
    print(f"{test.__name__}: {1000 * cpu:.1f} ms of CPU, best {1000 * best:.1f} ms")


if __name__ == "__main__":
    main()
