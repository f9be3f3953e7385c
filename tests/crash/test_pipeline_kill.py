"""A queue, a mapping and a function: the server is killed in the middle, and no message is lost or left unprocessed."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.unit.functions.test_misbehaving_handlers import gone

MESSAGES = 600
KILLS = 3
NEVER = MESSAGES + 1
"""A number of processed messages that is not reached."""
VISIBILITY_SECONDS = 10
"""How long a message of a killed batch stays hidden, and the function may take for a batch."""

HANDLER = """
import json, os, time

def handler(event, context):
    done, hold = os.environ["DONE"], os.environ["HOLD"]
    with open(os.path.join(hold, "goal")) as file:
        goal = int(file.read())
    for record in event["Records"]:
        name = json.loads(record["body"])["file"]
        receives = record["attributes"]["ApproximateReceiveCount"]
        with open(os.path.join(done, name), "a") as file:
            file.write(receives + "\\n")
        while len(os.listdir(done)) >= goal:
            # In the middle of its batch, until the server is killed.
            open(os.path.join(hold, f"{os.getpid()}.pid"), "w").close()
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
        self.hold.mkdir()
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

    def hold_at(self, goal: int) -> None:
        """The batches that see `goal` processed messages stay where they are, until their server is killed."""
        (self.hold / "goal").write_text(str(goal))

    def killed(self, server: Server, next_goal: int) -> None:
        """Kill the server while at least one batch is under way."""
        until(lambda: any(self.hold.glob("*.pid")), "a batch under way")
        server.kill()
        pids = [int(path.stem) for path in self.hold.glob("*.pid")]
        until(lambda: all(gone(pid) for pid in pids), "the end of the workers")
        for path in self.hold.glob("*.pid"):
            path.unlink()
        self.hold_at(next_goal)


@pytest.mark.slow
def test_no_message_is_lost_and_none_left(tmp_path: Path) -> None:
    chance = random.Random(1)
    data = tmp_path / "data"
    server = Server(data)
    pipeline = Pipeline(server, tmp_path)
    # Somewhere in each third of the run.
    goals = [MESSAGES * number // KILLS + chance.randrange(10, MESSAGES // KILLS - 50) for number in range(KILLS)]
    pipeline.hold_at(goals[0])
    pipeline.send(server)
    for next_goal in [*goals[1:], NEVER]:
        pipeline.killed(server, next_goal)
        server = Server(data)
    until(lambda: pipeline.left(server) == 0, "an empty queue")
    receives = {path.name: [int(line) for line in path.read_text().split()] for path in pipeline.done.iterdir()}
    assert receives.keys() == {f"f{number}" for number in range(MESSAGES)}
    # What was done twice was received twice, and says so.
    assert all(sorted(seen) == seen and len(set(seen)) == len(seen) for seen in receives.values()), receives
    assert sum(seen[-1] > 1 for seen in receives.values()) >= KILLS, "each kill hit a batch under way"
    assert sum(len(seen) == 1 for seen in receives.values()) > MESSAGES // 2
    server.kill()
