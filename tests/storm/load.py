"""The load of the storm: callers that note what was acknowledged, while servers die under them.

Each caller is a thread with a connection of its own. What was acknowledged must hold afterwards; what was not may have
happened once or not at all, because no caller sends the same request twice, except for starts, which have names.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from tests.deadlines import PATIENCE_SECONDS, until
from tests.storm.client import Client, NoAnswer, Refused
from tests.storm.machines import (
    BUCKET,
    MACHINES,
    QUEUES,
    ROLE,
    STATES,
    TABLE,
    TOPIC,
    queue_arn,
    url,
)
from tests.storm.recording import Recorder

MOST_OPEN: Final = 30
KEYS: Final = 20
STARTERS: Final = 2
WRONG_CLOCK_SECONDS: Final = 20
"""By how much the clock of a server may be wrong: little enough for signatures."""
ENOUGH_ANSWERS: Final = 20
"""So many calls that are answered end a stall."""
IMPATIENT_SECONDS: Final = 1.5
ANY, OTHERS = "any", "others"
SCHEDULED_AHEAD_SECONDS: Final = WRONG_CLOCK_SECONDS + 5


@dataclass(slots=True)
class Put:
    """A put of an object: what was put, when that began, and whether it was acknowledged."""

    body: str
    begun: float
    is_done: bool = False


@dataclass
class Notes:
    """What one round has done and what was acknowledged."""

    started: dict[str, str] = field(default_factory=dict)
    """Machines of acknowledged executions, by name."""
    answered: dict[str, str] = field(default_factory=dict)
    """Acknowledged answers of tokens, by the execution's name."""
    tried_answers: dict[str, set[str]] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    tried_sends: set[str] = field(default_factory=set)
    received: Counter[str] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)
    added: int = 0
    tried_adds: int = 0
    objects: dict[str, list[Put]] = field(default_factory=dict)
    """Bodies put under each key, in order, with whether that was acknowledged."""
    scheduled: set[str] = field(default_factory=set)
    express: set[str] = field(default_factory=set)
    """Acknowledged starts of EXPRESS executions, by the name in their input."""
    calls: int = 0
    unanswered: int = 0


def machine_of(name: str) -> str:
    """The machine of an execution."""
    return "effects" if name.startswith("e-") else "token"


def execution_arn(name: str) -> str:
    """That of an execution of the load, by its name."""
    return f"{STATES}:execution:{machine_of(name)}:{name}"


class Probe(Protocol):
    """Callers of a kind of their own, and a check of what was recorded of them, round after round."""

    def prepare(self, client: Client) -> None:
        """Make what the callers work on."""

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        """What the callers do until the round is over; each runs in a thread with a client of its own."""

    def check(self, client: Client) -> Iterable[str]:
        """What does not hold, once a round is at rest."""


class Load:
    """The callers of one storm; a round goes from `go` to `rest`."""

    def __init__(
        self,
        ports: Sequence[int],
        seed: int,
        seconds: float = 30,
        *,
        probes: Sequence[Callable[[Recorder], Probe]] = (),
        is_scattered: bool = False,
    ) -> None:
        """`ports` are those of all servers, of which one takes calls; after `seconds`, callers give up on an answer.

        With `is_scattered` all of them take calls, and each call goes to a random one; every other caller gives up
        after `IMPATIENT_SECONDS`, so that a server that is frozen does not hold all of them.
        """
        self.ports = ports
        recorders = [Recorder(self.count) for _ in probes]
        self.probes = [(made(recorder), recorder) for made, recorder in zip(probes, recorders, strict=True)]
        self.notes = Notes()
        self.problems: list[BaseException] = []
        self.number = 0
        self.added_before = 0
        """Additions of earlier rounds."""
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._waiting: set[str] = set()
        self._seconds = seconds
        self.is_scattered = is_scattered
        self._made = 0
        self._answers = 0
        self._answered_at: dict[str, float] = {}
        self._longest_seconds: dict[str, float] = {}

    def client(self, seconds: float) -> Client:
        """A client of all servers, for one thread."""
        self._made += 1
        chance = random.Random(self._chance.random()) if self.is_scattered else None
        return Client(*self.ports, seconds=seconds, chance=chance)

    def prepare(self) -> None:
        """Make what the load works on; a server must be up."""
        client = self.client(PATIENCE_SECONDS)
        for queue in QUEUES:
            client.json("sqs", "CreateQueue", QueueName=queue, Attributes={"VisibilityTimeout": "5"})
        client.query("sns", "CreateTopic", Name="news")
        for queue in ("effects", "copies"):
            attributes = {"Attributes.entry.1.key": "RawMessageDelivery", "Attributes.entry.1.value": "true"}
            client.query("sns", "Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint=queue_arn(queue), **attributes)
        client.json(
            "dynamodb", "CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )  # fmt: skip
        client.json("events", "PutRule", Name="storm", EventPattern=json.dumps({"source": ["storm"]}))
        client.json("events", "PutTargets", Rule="storm", Targets=[{"Id": "1", "Arn": queue_arn("events")}])
        client.send("s3", "PUT", f"/{BUCKET}")
        for name, definition in MACHINES.items():
            kind = "EXPRESS" if name == "express" else "STANDARD"
            text = json.dumps(definition)
            client.json("states", "CreateStateMachine", name=name, definition=text, roleArn=ROLE, type=kind)
        for probe, _ in self.probes:
            probe.prepare(client)
        client.close()

    def go(self) -> None:
        """Begin a round."""
        self.notes = Notes()
        for _, recorder in self.probes:
            recorder.answered = 0
        self._over.clear()
        # The checks of the last round are no stall.
        self._answered_at = {}
        jobs = [*[self._starts] * STARTERS, self._tokens, self._sends, self._receives, self._adds, self._puts]
        self._threads = [self._thread(job) for job in (*jobs, self._schedules, self._expresses)]
        self._threads += [self._thread(partial(job, self._over)) for probe, _ in self.probes for job in probe.jobs]

    def rest(self) -> None:
        """End the round: nothing new begins, and starts under way are repeated until they are acknowledged."""
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            if thread.is_alive():
                raise AssertionError(f"{thread.name} does not end")
        if self.problems:
            raise self.problems[0]

    def begin_stall(self) -> None:
        """Something happens to the servers now."""
        with self._lock:
            self._longest_seconds = {}

    def end_stall(self, of: str = ANY) -> float:
        """Wait until calls are answered again; the longest time without an answer since `begin_stall`, in seconds.

        Of `ANY` call, or of `OTHERS` than those of Step Functions.
        """
        wanted = self._answers + ENOUGH_ANSWERS
        until(lambda: self.problems or self._answers >= wanted, "answers of calls")
        if self.problems:
            raise self.problems[0]
        with self._lock:
            return self._longest_seconds.get(of, 0.0)

    def count(self, service: str, is_answered: bool) -> None:
        """Note that a call has ended."""
        with self._lock:
            self.notes.calls += 1
            if not is_answered:
                self.notes.unanswered += 1
                return
            self._answers += 1
            now = time.monotonic()
            for of in (ANY,) if service == "states" else (ANY, OTHERS):
                silent = now - self._answered_at.get(of, now)
                self._longest_seconds[of] = max(self._longest_seconds.get(of, 0.0), silent)
                self._answered_at[of] = now

    # ------------------------------------------------------------------ callers

    def _thread(self, job: Callable[[Client], None]) -> threading.Thread:
        impatient = self.is_scattered and self._made % 2
        client = self.client(IMPATIENT_SECONDS if impatient else self._seconds)

        def work() -> None:
            try:
                job(client)
            except BaseException as problem:
                self.problems.append(problem)
            finally:
                client.close()

        made = threading.Thread(target=work, name=str(job), daemon=True)
        made.start()
        return made

    def next_name(self, kind: str) -> str:
        with self._lock:
            self.number += 1
            return f"{kind}-{self.number}"

    def _once(self, call: Callable[..., Any], service: str, *args: Any, **kwargs: Any) -> Any:
        """The answer of `call(service, ...)`, or `None` if there is none. Raises: Refused."""
        try:
            found = call(service, *args, **kwargs)
        except NoAnswer:
            self.count(service, False)
            time.sleep(0.02)
            return None
        self.count(service, True)
        return found

    def _starts(self, client: Client) -> None:
        while not self._over.is_set():
            if len(self._waiting) > MOST_OPEN:
                self._look(client)
                continue
            with self._lock:
                machine = self._chance.choice(("effects", "effects", "token"))
            self.start(client, self.next_name("e" if machine == "effects" else "t"))

    def start(self, client: Client, name: str) -> None:
        """Start the execution of a name, which begins with its machine's letter, until that is acknowledged."""
        machine = machine_of(name)
        text = json.dumps({"name": name})
        request = {"stateMachineArn": f"{STATES}:stateMachine:{machine}", "name": name, "input": text}
        acknowledged = None
        while acknowledged is None:
            try:
                acknowledged = self._once(client.json, "states", "StartExecution", **request)
            except Refused as refused:
                if refused.code != "ExecutionAlreadyExists":
                    raise
                # The first one had arrived, and the execution has ended.
                acknowledged = {}
        self.notes.started[name] = machine
        with self._lock:
            self._waiting.add(name)

    def _look(self, client: Client) -> None:
        """Find executions that have ended, so that a bounded number is open."""
        for name in list(self._waiting):
            shown = self._once(client.json, "states", "DescribeExecution", executionArn=execution_arn(name))
            if shown is not None and shown["status"] != "RUNNING":
                with self._lock:
                    self._waiting.discard(name)
        self._over.wait(0.05)

    def describe(self, client: Client, name: str) -> Any:
        return client.json("states", "DescribeExecution", executionArn=execution_arn(name))

    def _tokens(self, client: Client) -> None:
        while not self._over.is_set():
            for message in self.receive(client, "tokens"):
                self.answer(client, message)

    def answer(self, client: Client, message: Any) -> None:
        """Answer the token in a message, and delete the message."""
        asked = json.loads(message["Body"])
        answer = self.next_name("answer")
        self.notes.tried_answers.setdefault(asked["name"], set()).add(answer)
        try:
            output = json.dumps({"answer": answer})
            told = self._once(client.json, "states", "SendTaskSuccess", taskToken=asked["token"], output=output)
        except Refused as refused:
            if refused.code not in ("TaskTimedOut", "TaskDoesNotExist"):
                raise
            # An earlier answer had arrived.
            self.notes.tried_answers[asked["name"]].discard(answer)
            told = {}
        else:
            if told is None:
                return
            self.notes.answered[asked["name"]] = answer
        self._delete(client, "tokens", message)

    def receive(self, client: Client, queue: str, wait: int = 0) -> list[Any]:
        """Some messages of a queue; none also where there is no answer."""
        found = self._once(
            client.json, "sqs", "ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10, WaitTimeSeconds=wait
        )
        messages = (found or {}).get("Messages", [])
        if not messages:
            self._over.wait(0.05)
        return list(messages)

    def _delete(self, client: Client, queue: str, message: Any) -> bool:
        handle = message["ReceiptHandle"]
        done = self._once(client.json, "sqs", "DeleteMessage", QueueUrl=url(queue), ReceiptHandle=handle)
        return done is not None

    def _sends(self, client: Client) -> None:
        while not self._over.is_set():
            body = self.next_name("direct")
            self.notes.tried_sends.add(body)
            if self._once(client.json, "sqs", "SendMessage", QueueUrl=url("direct"), MessageBody=body):
                self.notes.sent.add(body)
            self._over.wait(0.02)

    def _receives(self, client: Client) -> None:
        while not self._over.is_set():
            for message in self.receive(client, "direct"):
                self.notes.received[message["MessageId"] + " " + message["Body"]] += 1
                if self._delete(client, "direct", message):
                    self.notes.deleted.add(message["Body"])

    def _adds(self, client: Client) -> None:
        while not self._over.is_set():
            self.notes.tried_adds += 1
            done = self._once(
                client.json,
                    "dynamodb", "UpdateItem", TableName=TABLE, Key={"id": {"S": "direct"}},
                    UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}},
            )  # fmt: skip
            self.notes.added += done is not None
            self._over.wait(0.02)

    def _puts(self, client: Client) -> None:
        while not self._over.is_set():
            with self._lock:
                name = f"direct-{self._chance.randrange(KEYS)}"
            body = self.next_name("body")
            puts = self.notes.objects.setdefault(name, [])
            puts.append(Put(body, time.monotonic()))
            done = self._once(client.send, "s3", "PUT", f"/{BUCKET}/{name}", body.encode())
            if done is not None:
                puts[-1].is_done = True
            self._over.wait(0.03)

    def _schedules(self, client: Client) -> None:
        while not self._over.is_set():
            name = self.next_name("s")
            instant = int(time.time()) + SCHEDULED_AHEAD_SECONDS
            at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(instant))
            document = {
                "ScheduleExpression": f"at({at})",
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "Target": {"Arn": queue_arn("fired"), "RoleArn": ROLE, "Input": name},
                "ActionAfterCompletion": "DELETE",
            }
            made = self._once(client.rest, "scheduler", "POST", f"/schedules/{name}", document)
            # One that the server took after its instant never fires. Its clock may be ahead.
            if made is not None and time.time() < instant - WRONG_CLOCK_SECONDS:
                self.notes.scheduled.add(name)
            self._over.wait(0.2)

    def _expresses(self, client: Client) -> None:
        while not self._over.is_set():
            name = self.next_name("x")
            arn = f"{STATES}:stateMachine:express"
            text = json.dumps({"name": name})
            if self._once(client.json, "states", "StartExecution", stateMachineArn=arn, input=text) is not None:
                self.notes.express.add(name)
            self._over.wait(0.05)
