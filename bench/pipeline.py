"""What a file costs in the whole file pipeline: bucket, table, queue, mapping, worker function, and the machine around.

    python bench/pipeline.py [--files 2000] [--at-once 8] [--batch 10]

The functions are those of `examples/file-pipeline`, the server is one of its own. Rates are of this machine at this
hour; compare the CPU per file, of the server and of the functions' processes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "file-pipeline"
ROLE = "arn:aws:iam::000000000000:role/bench"
RUNTIME = "python{}.{}".format(*sys.version_info)
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, with those of its children that have ended and were waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def children_of(pid: int) -> list[int]:
    """The processes below one."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *children_of(child)]
    return found


def put_files(port: int, files: int) -> None:
    def put(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(first, files, 4):
            connection.request("PUT", f"/files/in/{number:06}.csv", f"name,value\na,{number}\nb,1\n")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(4)))


def deploy(client: Any, at_once: int, batch: int) -> str:
    """Make everything but the files; returns the machine's ARN."""
    client("s3").create_bucket(Bucket="files")
    keys = {"run_id": "HASH", "file": "RANGE"}
    client("dynamodb").create_table(
        TableName="file-status", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
    )  # fmt: skip
    url = client("sqs").create_queue(QueueName="files", Attributes={"VisibilityTimeout": "60"})["QueueUrl"]
    for path in (FOLDER / "functions").glob("*.py"):
        package = BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.write(path, path.name)
        client("lambda").create_function(
            FunctionName=path.stem, Runtime=RUNTIME, Role=ROLE, Handler=f"{path.stem}.handler", Timeout=60,
            Code={"ZipFile": package.getvalue()}, Environment={"Variables": {"QUEUE_URL": url}},
        )  # fmt: skip
    client("lambda").create_event_source_mapping(
        EventSourceArn="arn:aws:sqs:us-east-1:000000000000:files", FunctionName="treat-file", BatchSize=batch,
        FunctionResponseTypes=["ReportBatchItemFailures"], ScalingConfig={"MaximumConcurrency": at_once},
    )  # fmt: skip
    definition = json.loads((FOLDER / "file-pipeline.asl.json").read_text())
    definition["States"]["Wait For Workers"]["Seconds"] = 1
    made = client("stepfunctions").create_state_machine(
        name="pipeline", definition=json.dumps(definition), roleArn=ROLE
    )
    return str(made["stateMachineArn"])


def run(pid: int, endpoint: str, given: argparse.Namespace) -> None:
    clients: dict[str, Any] = {}

    def client(service: str) -> Any:
        if service not in clients:
            clients[service] = boto3.client(
                service, endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="x",
                aws_secret_access_key="x", config=Config(retries={"total_max_attempts": 1}),
            )  # fmt: skip
        return clients[service]

    machine = deploy(client, given.at_once, given.batch)
    put_files(int(endpoint.rpartition(":")[2]), given.files)
    own, others, began = cpu_of(pid), sum(map(cpu_of, children_of(pid))), time.perf_counter()
    execution = client("stepfunctions").start_execution(
        stateMachineArn=machine, name="run", input='{"prefix": "s3://files/in/"}'
    )["executionArn"]
    while (shown := client("stepfunctions").describe_execution(executionArn=execution))["status"] == "RUNNING":
        time.sleep(0.2)
    took = time.perf_counter() - began
    own, others = cpu_of(pid) - own, sum(map(cpu_of, children_of(pid))) - others
    assert shown["status"] == "SUCCEEDED", shown
    assert json.loads(shown["output"])["done"] == given.files, shown
    each = 1e6 / given.files
    print(
        f"{given.files} files in {took:.1f} s, {given.files / took:.0f}/s; CPU of a file: server {own * each:.0f} us, "
        f"functions {others * each:.0f} us"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--batch", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                run(server.pid, server.stdout.readline().split()[4], given)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
