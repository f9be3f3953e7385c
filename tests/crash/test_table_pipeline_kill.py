"""Files over a queue with their status in a table: the server is killed in each part of a run, and all agrees after."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError

from statewright.stores import fail_points
from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, entered, history, system

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")

FILES = 180
BROKEN = {7, 77, 177}
RECEIVES = 5
"""More than a file can be received because of the kills, so that only broken ones die."""
VISIBILITY_SECONDS = 6
"""Far more than a batch takes."""


class Run:
    """One run of the pipeline over several servers."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.made = system(Server(data), "file-pipeline")

    def deploy(self) -> None:
        made = self.made
        self.files, self.table = made.bucket("files"), made.table("status", "run_id", "file")
        self.dead_url, self.dead_arn = made.queue("dead", VisibilityTimeout=str(VISIBILITY_SECONDS))
        self.url, self.arn = made.queue(
            "queue", VisibilityTimeout=str(VISIBILITY_SECONDS),
            RedrivePolicy={"deadLetterTargetArn": self.dead_arn, "maxReceiveCount": RECEIVES},
        )  # fmt: skip
        for name in ("enqueue-files", "treat-file", "mark-failed", "count-final-files", "summarise"):
            made.function(
                name,
                variables={"QUEUE_URL": self.url, "STATUS_TABLE": self.table},
                Timeout=VISIBILITY_SECONDS if name in ("treat-file", "mark-failed") else 30,
            )
        self.map("treat-file", self.arn)
        self.machine = made.machine(seconds=1)

        def put(number: int) -> None:
            value = "broken" if number in BROKEN else str(number)
            body = f"name,value\nfirst,{value}\nsecond,1\n"
            made.client("s3").put_object(Bucket=self.files, Key=self.key(number), Body=body)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put, range(FILES)))

    @staticmethod
    def key(number: int) -> str:
        return f"in/{number:03}.csv"

    def uri(self, number: int) -> str:
        return f"s3://{self.files}/{self.key(number)}"

    def map(self, function: str, queue_arn: str) -> None:
        self.made.client("lambda").create_event_source_mapping(
            EventSourceArn=queue_arn, FunctionName=self.made.named(function), BatchSize=5,
            FunctionResponseTypes=["ReportBatchItemFailures"], ScalingConfig={"MaximumConcurrency": 3},
        )  # fmt: skip

    def killed(self) -> None:
        """Kill the server, if it still lives, and start the next one."""
        self.made.server.kill()
        self.made = replace(self.made, server=Server(self.data), _clients={})

    def statuses(self) -> dict[str, str]:
        return {item["file"]["S"]: item["status"]["S"] for item in self.made.items(self.table, "run_id", "run")}

    def final(self) -> int:
        return sum(status != "NotProcessed" for status in self.statuses().values())

    def queued(self) -> int:
        return sum(self.made.counts(self.url).values())

    def dead(self) -> list[str]:
        """The files in the dead-letter queue; each of its messages is there again after a moment."""
        found: list[str] = []
        while (
            messages := self.made.client("sqs")
            .receive_message(QueueUrl=self.dead_url, MaxNumberOfMessages=10, VisibilityTimeout=3)
            .get("Messages")
        ):
            found += [json.loads(message["Body"])["file"] for message in messages]
        return found

    def finish(self, execution: str) -> None:
        """Let the run end undisturbed, and ask for all that must hold."""
        until(lambda: self.queued() == 0, "an empty queue")
        broken = {self.uri(number) for number in BROKEN}
        good = {self.uri(number) for number in range(FILES)} - broken
        # Before anybody has told of the dead ones: statuses and dead letters are two halves of the same files.
        statuses = self.statuses()
        assert {file for file, status in statuses.items() if status == "done"} == good
        assert {file for file, status in statuses.items() if status == "NotProcessed"} == broken
        assert set(self.dead()) == broken
        sfn = self.made.client("stepfunctions")
        assert sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
        self.map("mark-failed", self.dead_arn)
        self.killed()
        sfn = self.made.client("stepfunctions")
        shown = ended(sfn, execution)
        assert shown["status"] == "SUCCEEDED", shown
        assert json.loads(shown["output"]) == {
            "run_id": "run", "done": FILES - len(BROKEN), "error": len(BROKEN), "open": 0,
        }  # fmt: skip
        assert Counter(self.statuses().values()) == {"done": FILES - len(BROKEN), "error": len(BROKEN)}
        until(lambda: sum(self.made.counts(self.dead_url).values()) == 0, "an empty dead-letter queue")
        states = entered(history(sfn, execution))
        assert (states[0], states[-1], states.count("Enqueue Files")) == ("Enqueue Files", "Summarise", 1)


@contextmanager
def deployed(data: Path) -> Iterator[Run]:
    run = Run(data)
    try:
        run.deploy()
        yield run
    finally:
        run.made.server.kill()


def alive_until(run: Run, seen: Callable[[], Any], what: str) -> bool:
    """Wait for something of a server that may die meanwhile; false if it did."""

    def over() -> Any:
        try:
            return seen() or "dead" * (run.made.server.process.poll() is not None)
        except Exception:
            # A server that is just dying cuts its connections first.
            return "dead" * (run.made.server.process.wait(PATIENCE_SECONDS) is not None)

    found: Any = until(over, what)
    return bool(found != "dead")


def final_files(run: Run, goal: int) -> bool:
    return run.final() >= goal


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_kills_while_files_are_written_down_and_treated(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with deployed(tmp_path / "data") as run:
        execution = run.made.start(run.machine, {"prefix": f"s3://{run.files}/in/"}, name="run")
        written = chance.randrange(1, FILES)
        until(lambda: len(run.statuses()) >= written, "files written down")
        run.killed()
        for number in range(2):
            goal = FILES * number // 3 + chance.randrange(5, FILES // 3)
            until(partial(final_files, run, goal), f"{goal} final files")
            run.killed()
        run.finish(execution)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "passings"),
    [
        (fail_points.BEFORE_COMMIT, (5, 40)),
        (fail_points.AFTER_COMMIT, (4, 30)),
        (fail_points.BEFORE_DISPATCH, (1, 2)),
    ],
)
def test_kills_at_fail_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, passings: tuple[int, ...]
) -> None:
    with deployed(tmp_path / "data") as run:
        execution = run.made.start(run.machine, {"prefix": f"s3://{run.files}/in/"}, name="run")
        deaths = 0
        for passing in passings:
            # The next server dies of itself: in its start, in the run's first commits, or later.
            monkeypatch.setenv(fail_points.VARIABLE, f"{point}:{passing}")
            try:
                run.killed()
            except AssertionError:
                deaths += 1
            else:
                deaths += not alive_until(run, lambda: run.final() >= FILES - len(BROKEN), f"death at {point}")
        monkeypatch.delenv(fail_points.VARIABLE)
        run.killed()
        assert deaths
        run.finish(execution)


# ---------------------------------------------------------------------- transactions

OTHER_DEATHS = [
    *((fail_points.AFTER_COMMIT, passing) for passing in (1, 3)),
    *((fail_points.BEFORE_COMMIT, passing) for passing in (1, 3, 5)),
]


@pytest.mark.parametrize(
    ("point", "passing"),
    [(fail_points.AFTER_COMMIT, 5), *OTHER_DEATHS],
)
@pytest.mark.slow
def test_a_transaction_is_there_whole_or_not_at_all(tmp_path, monkeypatch, point, passing):
    """Two tables and twenty items change together: moves of one unit from one account to another keep the sum."""
    data = tmp_path / "data"
    made = system(Server(data))
    accounts, ledger = made.table("accounts", "id"), made.table("ledger", "id")
    tables = made.client("dynamodb")
    for number in range(20):
        tables.put_item(TableName=accounts, Item={"id": {"S": str(number)}, "units": {"N": "100"}})
    made.server.kill()
    monkeypatch.setenv(fail_points.VARIABLE, f"{point}:{passing}")
    acknowledged: list[str] = []
    try:
        # A server may die of the very commits of its start.
        made = replace(made, server=Server(data), _clients={})
    except AssertionError:
        assert passing < 3
    else:
        with pytest.raises(BotoCoreError):
            move_until_it_dies(made, accounts, ledger, acknowledged)
        made.server.kill()
    monkeypatch.delenv(fail_points.VARIABLE)
    made = replace(made, server=Server(data), _clients={})
    try:
        tables = made.client("dynamodb")
        units = [int(item["units"]["N"]) for item in tables.scan(TableName=accounts)["Items"]]
        noted = {item["id"]["S"] for item in tables.scan(TableName=ledger)["Items"]}
        assert set(acknowledged) <= noted <= {*acknowledged, str(len(acknowledged))}
        assert sorted(units) == [100 - len(noted)] * 10 + [100 + len(noted)] * 10
    finally:
        made.server.kill()


def move_until_it_dies(made: System, accounts: str, ledger: str, acknowledged: list[str]) -> None:
    for turn in map(str, range(50)):
        made.client("dynamodb").transact_write_items(TransactItems=moves(accounts, ledger, turn))
        acknowledged.append(turn)


def moves(accounts: str, ledger: str, turn: str) -> list[dict[str, Any]]:
    """Ten units from even accounts to odd ones, and a line in the ledger."""
    updates = [
        {"Update": {
            "TableName": accounts, "Key": {"id": {"S": str(number)}}, "UpdateExpression": "ADD units :n",
            "ExpressionAttributeValues": {":n": {"N": "1" if number % 2 else "-1"}},
        }}
        for number in range(20)
    ]  # fmt: skip
    return [*updates, {"Put": {"TableName": ledger, "Item": {"id": {"S": turn}}}}]
