"""What a task costs that acts on a service of the same server: CPU time of the server for each, on SQLite.

python bench/own_tasks.py [--rounds 8] [--against OTHER/.venv/bin/statewright]

Executions of ten such tasks in a row, 16 at a time, on a server with one queue and one table. With `--against`, a
server of another checkout does the same in turn. The least of all rounds counts; the ratio to the other server is
printed of these, and as the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bench import Client
from served import ROLE, Served

EXECUTIONS = 256
AT_ONCE = 16
TASKS = 10
ITEM = {"TableName": "tasks", "Key": {"name": {"S": "a"}}}
CALLS: dict[str, dict[str, Any]] = {
    "sqs:sendMessage": {"MessageBody": {"text": "x" * 100}},
    "dynamodb:updateItem": {
        **ITEM,
        "UpdateExpression": "ADD many :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    },
    "dynamodb:getItem": ITEM,
}
"""The last one writes nothing, and is there for comparison."""


def machine_of(action: str, parameters: dict[str, Any]) -> str:
    """The definition of a machine that makes a call, several times in a row."""
    names = [f"Call{number}" for number in range(TASKS)]
    states: dict[str, Any] = {}
    for name, following in zip(names, [*names[1:], None], strict=True):
        task = {"Type": "Task", "Resource": f"arn:aws:states:::{action}", "Parameters": parameters, "ResultPath": None}
        states[name] = {**task, **({"Next": following} if following else {"End": True})}
    return json.dumps({"StartAt": names[0], "States": states})


class Side:
    """One server, and its best rounds."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._client.JSON_SERVICES["dynamodb"] = ("DynamoDB_20120810", "application/x-amz-json-1.0")
        self.machines: dict[str, str] = {}
        self.rounds: dict[str, list[float]] = {action: [] for action in CALLS}
        """CPU microseconds of a task, in each round of an action."""

    async def prepare(self) -> None:
        """Make the queue, the table and the machines."""
        keys: dict[str, Any] = {
            "TableName": "tasks",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
        }
        await self._client.call("dynamodb", "CreateTable", keys)
        url = (await self._client.call("sqs", "CreateQueue", {"QueueName": "tasks"}))["QueueUrl"]
        for action, parameters in CALLS.items():
            given = {"QueueUrl": url, **parameters} if action.startswith("sqs") else parameters
            made = {"name": action.replace(":", "-"), "definition": machine_of(action, given), "roleArn": ROLE}
            answer = await self._client.call("states", "CreateStateMachine", made)
            self.machines[action] = answer["stateMachineArn"]

    async def round(self, action: str, server: Served) -> None:
        """Run the executions of an action on the server of the client."""
        before = server.cpu_seconds()
        running = {"stateMachineArn": self.machines[action], "statusFilter": "RUNNING", "maxResults": 1}
        for _ in range(EXECUTIONS // AT_ONCE):
            start = {"stateMachineArn": self.machines[action], "input": "{}"}
            await asyncio.gather(*(self._client.call("states", "StartExecution", start) for _ in range(AT_ONCE)))
            while (await self._client.call("states", "ListExecutions", running))["executions"]:
                await asyncio.sleep(0.05)
        took_us = (server.cpu_seconds() - before) / (EXECUTIONS * TASKS) * 1e6
        self.rounds[action].append(took_us)


async def compare(servers: list[Served], rounds: int) -> None:
    """Run all rounds in turn, and print the table."""
    sides = [Side(Client(server.endpoint, sign=True, timeout=600)) for server in servers]
    for side in sides:
        await side.prepare()
    for _ in range(rounds):
        for action in CALLS:
            for side, server in zip(sides, servers, strict=True):
                await side.round(action, server)
    for action in CALLS:
        ours, *others = [side.rounds[action] for side in sides]
        print(f"{action:22} {min(ours):6.0f} us", end="")
        for other in others:
            ratio = statistics.median(one / same for one, same in zip(ours, other, strict=True))
            print(f" {min(other):6.0f} us {min(ours) / min(other):6.3f} {ratio:6.3f}", end="")
        print()


def main() -> None:
    """Start the servers, measure, and stop them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--against", help="the statewright command of another checkout")
    given = parser.parse_args()
    commands = [str(Path(sys.executable).with_name("statewright")), *([given.against] if given.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        servers = [
            Served(Path(folder) / f"data{number}", "--log-level", "warning", command=command)
            for number, command in enumerate(commands)
        ]
        try:
            for server in servers:
                server.start()
            asyncio.run(compare(servers, given.rounds))
        finally:
            for server in servers:
                if server.process is not None:
                    server.stop()


if __name__ == "__main__":
    main()
