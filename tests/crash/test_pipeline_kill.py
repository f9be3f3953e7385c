"""A queue, a mapping and a function: the server is killed in the middle, and no message is lost or left unprocessed."""

from __future__ import annotations

import io
import random
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import Server

MESSAGES = 2_000
KILLS = 3
PATIENCE_SECONDS = 90

HANDLER = """
import json, os

def handler(event, context):
    for record in event["Records"]:
        name = json.loads(record["body"])["file"]
        receives = record["attributes"]["ApproximateReceiveCount"]
        with open(os.path.join(os.environ["DONE"], name), "a") as file:
            file.write(receives + "\\n")
"""


def zipped(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", text)
    return packed.getvalue()


class Pipeline:
    """What is deployed once, and looked at through whichever server runs."""

    def __init__(self, server: Server, done: Path) -> None:
        self.done = done
        sqs, functions = server.client("sqs"), server.client("lambda")
        self.url = sqs.create_queue(QueueName="files", Attributes={"VisibilityTimeout": "3"})["QueueUrl"]
        functions.create_function(
            FunctionName="work", Runtime="python3.12", Role="arn:aws:iam::000000000000:role/r", Handler="app.handler",
            Code={"ZipFile": zipped(HANDLER)}, Timeout=3, Environment={"Variables": {"DONE": str(done)}},
        )  # fmt: skip
        functions.create_event_source_mapping(
            FunctionName="work", EventSourceArn="arn:aws:sqs:us-east-1:000000000000:files", BatchSize=10,
            ScalingConfig={"MaximumConcurrency": 4},
        )  # fmt: skip

    def send(self, server: Server) -> None:
        sqs = server.client("sqs")
        for first in range(0, MESSAGES, 10):
            entries = [
                {"Id": str(number), "MessageBody": f'{{"file": "f{number}"}}'} for number in range(first, first + 10)
            ]
            assert len(sqs.send_message_batch(QueueUrl=self.url, Entries=entries)["Successful"]) == 10

    def left(self, server: Server) -> int:
        names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
        found = server.client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def finished(self) -> int:
        return sum(1 for _ in self.done.iterdir())


def wait(server: Server, seen) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not seen():
        assert time.monotonic() < deadline, "the pipeline stands still"
        assert server.process.poll() is None, server.log.read_text()[-2000:]


@pytest.mark.parametrize("seed", [1])
def test_no_message_is_lost_and_none_left(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    done = tmp_path / "done"
    done.mkdir()
    data = tmp_path / "data"
    server = Server(data)
    try:
        pipeline = Pipeline(server, done)
        pipeline.send(server)
        for number in range(KILLS):
            # Somewhere in the next third of the run.
            goal = MESSAGES * number // KILLS + chance.randrange(10, MESSAGES // KILLS - 10)
            wait(server, lambda goal=goal: pipeline.finished() >= goal)
            server.kill()
            server = Server(data)
        wait(server, lambda: pipeline.left(server) == 0)
        receives = {path.name: [int(line) for line in path.read_text().split()] for path in done.iterdir()}
        assert receives.keys() == {f"f{number}" for number in range(MESSAGES)}
        # What was done twice was received twice, and says so.
        repeated = Counter(len(seen) for seen in receives.values())
        assert all(sorted(seen) == seen and len(set(seen)) == len(seen) for seen in receives.values()), receives
        assert any(seen[-1] > 1 for seen in receives.values()), "no kill hit a batch under way"
        assert repeated[1] > MESSAGES // 2
        assert pipeline.left(server) == 0
    finally:
        server.kill()
