"""Activities and synchronous EXPRESS executions: long polls, tokens and connections at any node.

A worker gets a task, sends a heartbeat, and answers it, each call at another node. A task whose token was lost with an
answer, or that no worker answers, is offered again once its heartbeat is missing.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.storm.client import ACCOUNT, REGION, Client
from tests.storm.invariants import winners
from tests.storm.machines import chained
from tests.storm.probes.asking import create, ends, machine_arn, not_as_wanted, start
from tests.storm.recording import Recorder

ACTIVITY: Final = f"arn:aws:states:{REGION}:{ACCOUNT}:activity:work"
ACTIVE, ECHO = "active", "echo"
WORKERS: Final = 2
PAUSE_SECONDS: Final = 0.5
GET, ANSWER, SYNC = "get", "answer", "sync"
LATE: Final = ("TaskTimedOut", "TaskDoesNotExist")
AGAIN: Final = {
    "ErrorEquals": ["States.Timeout", "States.HeartbeatTimeout"],
    "IntervalSeconds": 1,
    "MaxAttempts": 1_000,
    "BackoffRate": 1,
}
WORK: Final = chained(Work={"Type": "Task", "Resource": ACTIVITY, "HeartbeatSeconds": 5, "Retry": [AGAIN]})


class Activities:
    """Starts, workers and synchronous calls."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._numbers = itertools.count(1)
        self._started: list[str] = []
        """Names of this round."""

    def prepare(self, client: Client) -> None:
        client.json("states", "CreateActivity", name="work")
        create(client, ACTIVE, WORK)
        create(client, ECHO, chained(Echo={"Type": "Pass"}), type="EXPRESS")

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        return [self._start, self._call, *[self._work] * WORKERS]

    def _start(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            name = f"a-{next(self._numbers)}"
            start(self._recorder, client, ACTIVE, name, {"name": name})
            self._started.append(name)
            over.wait(PAUSE_SECONDS)

    def _call(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            number = next(self._numbers)
            self._recorder.make(
                SYNC, {"number": number}, [], client.json, "states", "StartSyncExecution",
                stateMachineArn=machine_arn(ECHO), input=json.dumps({"number": number}),
            )  # fmt: skip
            over.wait(PAUSE_SECONDS)

    def _work(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            self._work_once(client)

    def _work_apart(self, over: threading.Event, client: Client) -> None:
        """Work with a client that nobody else has: its last poll may go on for a while."""
        try:
            self._work(over, client)
        finally:
            client.close()

    def _work_once(self, client: Client) -> None:
        found = self._recorder.make(
            GET, {}, [], client.json, "states", "GetActivityTask", activityArn=ACTIVITY, workerName="storm"
        )
        token = found.answer.get("taskToken") if found.is_answered else None
        if token is None:
            return
        name = json.loads(found.answer["input"])["name"]
        self._recorder.make("beat", {}, LATE, client.json, "states", "SendTaskHeartbeat", taskToken=token)
        answer = f"answer {next(self._numbers)}"
        self._recorder.make(
            ANSWER, {"name": name, "by": answer}, LATE, client.json, "states", "SendTaskSuccess",
            taskToken=token, output=json.dumps(answer),
        )  # fmt: skip

    def check(self, client: Client) -> Iterator[str]:
        over = threading.Event()
        # Those that wait for a worker still need one; it has a client of its own for its long polls.
        worker = threading.Thread(target=self._work_apart, args=(over, client.another()), daemon=True)
        worker.start()
        shown = ends(client, ACTIVE, self._started)
        over.set()
        yield from not_as_wanted(ACTIVE, self._started, shown)
        there = {name: [json.loads(one["output"])] for name, one in shown.items() if "output" in one}
        answers = [call for call in self._recorder.take(ANSWER) if call.about["name"] in there]
        yield from winners("the answer of", answers, there, may_be_late=True)
        for call in self._recorder.take(SYNC):
            if call.is_answered and json.loads(call.answer.get("output", "{}")) != call.about:
                yield f"the synchronous execution of {call.about} was answered {call.answer}"
        self._started.clear()
