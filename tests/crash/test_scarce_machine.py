"""A machine that has too little: disks that do not keep what they are given, no memory, no descriptors.

Limits are set on a running server from outside, and lifted again. Calls that cannot be kept are refused, executions
wait, and what was acknowledged is there afterwards, also after `kill -9`.
"""

from __future__ import annotations

import json
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.crash import faults
from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine
from tests.thoroughness import slow

pytestmark = [slow, pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others need Linux")]


class Scarce:
    """A server with some work, and what of it was acknowledged."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.server = Server(data)
        sqs, s3 = self.server.client("sqs"), self.server.client("s3")
        self.queue = sqs.create_queue(QueueName="q")["QueueUrl"]
        s3.create_bucket(Bucket="bucket")
        send = {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl": self.queue, "MessageBody.$": "$$.Execution.Name"},
            "ResultPath": None,
        }
        self.soon = machine(self.server.client(), {"Type": "Wait", "Seconds": 1}, send)
        self.waits = machine(self.server.client(), {"Type": "Wait", "Seconds": 3_600})
        self.started: set[str] = set()
        self.objects: set[str] = set()
        self.under_way = [self.start(self.soon, f"early-{number}") for number in range(5)]

    def start(self, arn: str, name: str, size: int = 0) -> str:
        text = json.dumps("x" * size)
        found = self.server.client().start_execution(stateMachineArn=arn, name=name, input=text)["executionArn"]
        self.started.add(found)
        return str(found)

    def put(self, key: str, size: int = 10) -> None:
        self.server.client("s3").put_object(Bucket="bucket", Key=key, Body=b"x" * size)
        self.objects.add(key)

    def send(self) -> None:
        self.server.client("sqs").send_message(QueueUrl=self.queue, MessageBody="direct")

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def lift(self, kind: int) -> None:
        """Set the soft limit of the server as high as it may be, or start another one if it ends; then it serves."""
        if self.server.process.poll() is None:
            faults.lift(self.pid, kind)

        def serves() -> bool:
            if self.server.process.poll() is not None:
                self.server = Server(self.data)
            try:
                self.start(self.waits, "after")
            except BotoCoreError:
                return False
            except ClientError as problem:
                # A server that lacked memory may answer this until it has ended.
                if problem.response["ResponseMetadata"]["HTTPStatusCode"] != 503:
                    raise
                return False
            return True

        until(serves, "the server to serve again")

    def ask(self, number: int) -> str:
        """Calls that need memory and descriptors; the code of a refusal, or nothing."""
        try:
            self.put(f"large-{number}", 5_000_000)
            self.start(self.waits, f"large-{number}", 250_000)
        except ClientError as problem:
            return str(problem.response["ResponseMetadata"]["HTTPStatusCode"])
        except BotoCoreError as problem:
            return type(problem).__name__
        return ""

    def check(self) -> None:
        """All that was acknowledged is there, before and after a kill; each task has sent its message once."""
        assert {ended(self.server.client(), one)["status"] for one in self.under_way} == {"SUCCEEDED"}
        self._check_kept()
        self.server.kill()
        self.server = Server(self.data)
        self._check_kept()
        sqs = self.server.client("sqs")
        found: list[str] = []
        while batch := sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages"):
            found += [one["Body"] for one in batch]
        assert sorted(one for one in found if one != "direct") == [f"early-{number}" for number in range(5)]
        assert self.server.stop() == 0

    def _check_kept(self) -> None:
        sfn, s3 = self.server.client(), self.server.client("s3")
        for one in self.started:
            assert sfn.describe_execution(executionArn=one)["status"] in ("RUNNING", "SUCCEEDED")
        for key in self.objects:
            assert set(s3.get_object(Bucket="bucket", Key=key)["Body"].read()) == {ord("x")}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    log = (tmp_path / "data.log").read_text()
    assert "bug in Statewright" not in log, log[-4_000:]


def refused(call: Callable[..., Any], *given: Any) -> str:
    """The text of a refusal that is the server's fault."""
    with pytest.raises(ClientError) as caught:
        call(*given)
    answer = caught.value.response
    assert answer["ResponseMetadata"]["HTTPStatusCode"] in (500, 503), answer
    return str(answer["Error"].get("Message"))


def test_a_disk_that_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        disk = faults.FailingDisk(folder)
    except faults.NoCompiler as problem:
        pytest.skip(str(problem))
    for name, value in disk.environment.items():
        monkeypatch.setenv(name, value)
    scarce = Scarce(folder / "data")
    for _ in range(3):
        disk.fail()
        for call in (lambda: scarce.start(scarce.waits, "late"), lambda: scarce.put("late"), scarce.send):
            assert "Statewright" not in refused(call)
        until(lambda: "does not answer" in scarce.server.log.read_text(), "the fault in the log")
        disk.recover()
        scarce.start(scarce.waits, f"after-{len(scarce.started)}")
        scarce.put(f"after-{len(scarce.objects)}")
    scarce.check()


def test_no_memory(folder: Path) -> None:
    scarce = Scarce(folder / "data")
    faults.leave_no_memory(scarce.pid)
    with ThreadPoolExecutor(20) as pool:
        said = Counter(pool.map(scarce.ask, range(60)))
    # Libraries in C may end the process instead.
    assert said["503"] or scarce.server.process.poll() is not None, said
    assert not said["500"], said
    scarce.lift(resource.RLIMIT_AS)
    scarce.check()


def test_no_descriptors(folder: Path) -> None:
    scarce = Scarce(folder / "data")
    faults.leave_no_descriptor(scarce.pid)
    said = Counter(map(scarce.ask, range(20)))
    assert said["503"], said
    assert not said["500"], said
    scarce.lift(resource.RLIMIT_NOFILE)
    scarce.put("after")
    scarce.check()
    assert "Traceback" not in (folder / "data.log").read_text()
