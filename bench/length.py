"""What a transition costs in executions of different lengths: a counting loop of so many turns, limits lifted.

python bench/length.py [TURNS ...]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import boto3
from served import Served

ROLE = "arn:aws:iam::000000000000:role/bench"
TURNS = [1_000, 10_000, 100_000]


def loop(turns: int) -> str:
    """Two states a turn."""
    more = {"Variable": "$.n", "NumericLessThan": turns, "Next": "Add"}
    states = {
        "Add": {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "More?"},
        "More?": {"Type": "Choice", "Choices": [more], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    return json.dumps({"StartAt": "Add", "States": states})


def main() -> None:
    lengths = [int(text) for text in sys.argv[1:]] or TURNS
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder) / "data", "--limits", "open")
        server.start()
        try:
            states = boto3.client(
                "stepfunctions", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id="x",
                aws_secret_access_key="x",
            )  # fmt: skip
            for number, turns in enumerate([lengths[0], *lengths]):
                machine = states.create_state_machine(name=f"m{number}", definition=loop(turns), roleArn=ROLE)
                before, began = server.cpu_seconds(), time.monotonic()
                run = states.start_execution(stateMachineArn=machine["stateMachineArn"], input='{"n": 0}')
                while states.describe_execution(executionArn=run["executionArn"])["status"] == "RUNNING":
                    time.sleep(0.02)
                transitions = 2 * turns + 1
                cpu, took = server.cpu_seconds() - before, time.monotonic() - began
                if number:
                    # The first one only warms the server up.
                    print(
                        f"{transitions:>9,} transitions: {cpu / transitions * 1e6:.1f} us CPU each, "
                        f"{transitions / took:,.0f}/s, {server.memory_mib():.0f} MiB"
                    )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
