"""A queue, a mapping and a function: the server is killed in the middle, and no message is lost or left unprocessed."""

from __future__ import annotations

import io
import random
import shutil
import zipfile
from functools import partial
from pathlib import Path

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.unit.functions.test_misbehaving_handlers import gone

MESSAGES = 600
KILLS = 3
VISIBILITY_SECONDS = 10
"""How long a message of a killed batch stays hidden, and the function may take for a batch."""

HANDLER = """
import json, os, time

def handler(event, context):
    hold = os.environ["HOLD"]
    for record in event["Records"]:
        name = json.loads(record["body"])["file"]
        receives = record["attributes"]["ApproximateReceiveCount"]
        with open(os.path.join(os.environ["DONE"], name), "a") as file:
            file.write(receives + "\\n")
        while os.path.exists(hold):
            # In the middle of its batch, until the server is killed.
            open(os.path.join(hold, str(os.getpid())), "w").close()
            time.sleep(0.02)
"""


def zipped(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", text)
    return packed.getvalue()


class Pipeline:
    """What is deployed once, and looked at through whichever server runs."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.done, self.hold = folder / "done", folder / "hold"
        self.done.mkdir()
        sqs, functions = server.client("sqs"), server.client("lambda")
        self.url = sqs.create_queue(QueueName="files", Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)})[
            "QueueUrl"
        ]
        functions.create_function(
            FunctionName="work", Runtime="python3.12", Role="arn:aws:iam::000000000000:role/r", Handler="app.handler",
            Code={"ZipFile": zipped(HANDLER)}, Timeout=VISIBILITY_SECONDS,
            Environment={"Variables": {"DONE": str(self.done), "HOLD": str(self.hold)}},
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

    def has_finished(self, count: int) -> bool:
        return sum(1 for _ in self.done.iterdir()) >= count

    def killed(self, server: Server) -> None:
        """Kill the server while at least one batch is under way."""
        self.hold.mkdir()
        until(lambda: any(self.hold.iterdir()), "a batch under way")
        server.kill()
        pids = [int(path.name) for path in self.hold.iterdir()]
        until(lambda: all(gone(pid) for pid in pids), "the end of the workers")
        shutil.rmtree(self.hold)


@pytest.mark.slow
def test_no_message_is_lost_and_none_left(tmp_path: Path) -> None:
    chance = random.Random(1)
    data = tmp_path / "data"
    server = Server(data)
    pipeline = Pipeline(server, tmp_path)
    pipeline.send(server)
    for number in range(KILLS):
        # Somewhere in the next third of the run.
        goal = MESSAGES * number // KILLS + chance.randrange(10, MESSAGES // KILLS - 50)
        until(partial(pipeline.has_finished, goal), f"{goal} messages")
        pipeline.killed(server)
        server = Server(data)
    until(lambda: pipeline.left(server) == 0, "an empty queue")
    receives = {path.name: [int(line) for line in path.read_text().split()] for path in pipeline.done.iterdir()}
    assert receives.keys() == {f"f{number}" for number in range(MESSAGES)}
    # What was done twice was received twice, and says so.
    assert all(sorted(seen) == seen and len(set(seen)) == len(seen) for seen in receives.values()), receives
    assert sum(seen[-1] > 1 for seen in receives.values()) >= KILLS, "each kill hit a batch under way"
    assert sum(len(seen) == 1 for seen in receives.values()) > MESSAGES // 2
    server.kill()
