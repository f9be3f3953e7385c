"""What single items, queries and a storm of conditional updates cost: a server of its own, clients without an SDK.

    python bench/tables.py [--seconds 5] [--connections 16] [--only "PutItem, one"] [--source ../other/src]

Rates are of this machine at this hour; compare the CPU microseconds of the server per request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HEAD = (
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{}\r\n"
)


class Connection:
    """One keep-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def call(self, operation: str, **request: Any) -> tuple[int, bytes]:
        """Status and body."""
        body = json.dumps(request).encode()
        self._writer.write(f"{HEAD.format(operation)}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        return int(head[9:12]), await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def measure(name: str, pid: int, connections: list[Connection], seconds: float, call: Any) -> None:
    """Call for some seconds on every connection, and print what it took."""
    begin, cpu, done, times = time.perf_counter(), cpu_of(pid), 0, []

    async def work(number: int, connection: Connection) -> None:
        nonlocal done
        turn = 0
        while time.perf_counter() - begin < seconds:
            started = time.perf_counter()
            await call(connection, number, turn)
            times.append(time.perf_counter() - started)
            done += 1
            turn += 1

    await asyncio.gather(*(work(number, connection) for number, connection in enumerate(connections)))
    took, used = time.perf_counter() - begin, cpu_of(pid) - cpu
    times.sort()
    middle, late = times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000
    print(f"{name:32} {done / took:8.0f}/s  {used / done * 1e6:6.0f} us CPU  p50 {middle:6.2f} ms  p99 {late:6.2f} ms")


async def run(pid: int, port: int, seconds: float, many: int, only: str) -> None:
    connections = [await Connection.open(port) for _ in range(many)]
    one = connections[:1]
    keys = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
    types = [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"}]

    async def create(name: str, *attributes: str, **more: Any) -> None:
        defined = [*types, *({"AttributeName": one, "AttributeType": "S"} for one in attributes)]
        status, body = await one[0].call(
            "CreateTable", TableName=name, KeySchema=keys, AttributeDefinitions=defined, BillingMode="PAY_PER_REQUEST",
            **more,
        )  # fmt: skip
        assert status == 200, body

    await create("bench")
    if only.lower() in "putitem with a stream":
        await create("streamed", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    if only.lower() in "putitem with an index":
        by_status = {
            "IndexName": "by-status",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
        await create("indexed", "status", GlobalSecondaryIndexes=[by_status])

    def put_into(table: str) -> Any:
        async def put(connection: Connection, number: int, turn: int) -> None:
            item = {
                "p": {"S": f"p{number}"}, "s": {"N": str(turn)}, "status": {"S": "NotProcessed"}, "x": {"S": "x" * 200},
            }  # fmt: skip
            status, body = await connection.call("PutItem", TableName=table, Item=item)
            assert status == 200, body

        return put

    put = put_into("bench")

    async def get(connection: Connection, number: int, turn: int) -> None:
        key = {"p": {"S": f"p{number}"}, "s": {"N": str(turn % 100)}}
        status, body = await connection.call("GetItem", TableName="bench", Key=key)
        assert status == 200, body
        assert b"NotProcessed" in body

    async def update(connection: Connection, number: int, turn: int) -> None:
        key = {"p": {"S": f"p{number}"}, "s": {"N": str(turn % 100)}}
        await connection.call(
            "UpdateItem",
            TableName="bench",
            Key=key,
            UpdateExpression="SET #s = :d",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":d": {"S": "NotProcessed"}},
        )

    async def query(connection: Connection, number: int, _turn: int) -> None:
        status, body = await connection.call(
            "Query",
            TableName="bench",
            KeyConditionExpression="p = :p AND s < :n",
            ExpressionAttributeValues={":p": {"S": f"p{number}"}, ":n": {"N": "100"}},
        )
        assert status == 200, body
        assert b'"Count":100' in body

    passed = 0

    async def storm(connection: Connection, _number: int, _turn: int) -> None:
        nonlocal passed
        status, _ = await connection.call(
            "UpdateItem",
            TableName="bench",
            Key={"p": {"S": "hot"}, "s": {"N": "0"}},
            UpdateExpression="ADD n :one",
            ConditionExpression="attribute_not_exists(n) OR n >= :zero",
            ExpressionAttributeValues={":one": {"N": "1"}, ":zero": {"N": "0"}},
        )
        passed += status == 200

    for number, connection in enumerate(connections):
        for turn in range(100):
            await put(connection, number, turn)
    rows = (
        ("PutItem, one connection", one, put),
        (f"PutItem, {many} connections", connections, put),
        ("PutItem with a stream, one", one, put_into("streamed")),
        (f"PutItem with a stream, {many}", connections, put_into("streamed")),
        ("PutItem with an index, one", one, put_into("indexed")),
        (f"PutItem with an index, {many}", connections, put_into("indexed")),
        ("GetItem, one connection", one, get),
        (f"GetItem, {many} connections", connections, get),
        (f"UpdateItem, {many} connections", connections, update),
        ("Query of 100, one connection", one, query),
        (f"conditional updates of one, {many}", connections, storm),
    )
    for name, used, call in rows:
        if only.lower() in name.lower():
            await measure(name, pid, used, seconds, call)
    if not passed:
        return
    _, body = await one[0].call("GetItem", TableName="bench", Key={"p": {"S": "hot"}, "s": {"N": "0"}})
    assert json.loads(body)["Item"]["n"]["N"] == str(passed), (body, passed)
    for connection in connections:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--store", default="sqlite")
    parser.add_argument("--source", help="the sources of another checkout, whose server is measured")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", folder]
        if given.store != "sqlite":
            command += ["--store", given.store]
        environment = {**os.environ, "PYTHONPATH": given.source} if given.source else None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().split()[4].rpartition(":")[2])
            try:
                asyncio.run(run(server.pid, port, given.seconds, given.connections, given.only))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
