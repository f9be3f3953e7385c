"""A distributed Map over the lines of one object: items per second, CPU per item, and memory.

python bench/items.py [--lines 100000] [--format JSONL|CSV] [--children EXPRESS|STANDARD]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import boto3
from botocore.config import Config
from served import Served

ROLE = "arn:aws:iam::000000000000:role/bench"


def machine(form: str, children: str, lines: int) -> dict[str, Any]:
    config: dict[str, Any] = {"InputType": form, "MaxItems": lines}
    if form == "CSV":
        config["CSVHeaderLocation"] = "FIRST_ROW"
    step = {
        "Type": "Map",
        "ItemReader": {
            "Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": config,
            "Parameters": {"Bucket": "bench", "Key": "items"},
        },
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": children},
            "StartAt": "P", "States": {"P": {"Type": "Pass", "Result": 1, "End": True}},
        },
        "ResultWriter": {
            "Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "bench", "Prefix": "out"},
            "WriterConfig": {"Transformation": "COMPACT", "OutputType": "JSONL"},
        },
        "End": True,
    }  # fmt: skip
    return {"StartAt": "M", "States": {"M": step}}


def content(form: str, lines: int) -> bytes:
    if form == "CSV":
        rows = (f"{number},item {number},{number * 7 % 1000}\n" for number in range(lines))
        return ("id,name,price\n" + "".join(rows)).encode()
    return b"".join(
        json.dumps({"id": number, "name": f"item {number}", "price": number * 7 % 1000}).encode() + b"\n"
        for number in range(lines)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--format", choices=["JSONL", "CSV"], default="JSONL")
    parser.add_argument("--children", choices=["EXPRESS", "STANDARD"], default="EXPRESS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder) / "data", "--limits", "open")
        server.start()
        try:
            run(server, options.format, options.children, options.lines)
        finally:
            server.stop()


def client(server: Served, service: str) -> Any:
    return boto3.client(
        service, endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id="x",
        aws_secret_access_key="x", config=Config(s3={"addressing_style": "path"}),
    )  # fmt: skip


def run(server: Served, form: str, children: str, lines: int) -> None:
    s3, states = client(server, "s3"), client(server, "stepfunctions")
    s3.create_bucket(Bucket="bench")
    s3.put_object(Bucket="bench", Key="items", Body=content(form, lines))
    definition = json.dumps(machine(form, children, lines))
    arn = states.create_state_machine(name="bench", definition=definition, roleArn=ROLE)["stateMachineArn"]
    before, started, most = server.cpu_seconds(), time.monotonic(), 0.0
    execution = states.start_execution(stateMachineArn=arn)["executionArn"]
    while (seen := states.describe_execution(executionArn=execution))["status"] == "RUNNING":
        most = max(most, server.memory_mib())
        time.sleep(0.2)
    took, cpu = time.monotonic() - started, server.cpu_seconds() - before
    assert seen["status"] == "SUCCEEDED", seen
    print(
        f"{form} {children}: {lines:,} lines, {lines / took:,.0f} items/s, {cpu / lines * 1e6:.0f} us CPU an item, "
        f"at most {most:.0f} MiB"
    )


if __name__ == "__main__":
    main()
