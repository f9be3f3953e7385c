"""API load that remembers what was acknowledged: machines of every kind, and callers who never give up.

`Load.run` starts executions, stops them, answers their tokens and activities and redrives them, from several threads,
while somebody else kills the server. `Load.check` then asks the server for all that was promised.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.crash.invariants import check_history, every_execution, same_course, whole_history
from tests.crash.outside import Outside
from tests.crash.servers import Caller, NoAnswer, Refused, Servers
from tests.deadlines import PATIENCE_SECONDS, until

ROLE = "arn:aws:iam::000000000000:role/crash"
ARNS = "arn:aws:states:us-east-1:000000000000"
ACTIVITY = f"{ARNS}:activity:work"
STARTERS = 3
WORKERS = 2
POLL_SECONDS = 1.5
"""How long a worker waits for a task; one that leaves too early is handed a task that times out and is tried again."""
MOST_OPEN = 60
"""Executions that may wait at once: what a server must take up again at each of its starts."""

Definition = dict[str, Any]


def states(**named: Any) -> Definition:
    """A machine of states that follow one another."""
    names = list(named)
    following: list[dict[str, Any]] = [*({"Next": name} for name in names[1:]), {"End": True}]
    chained = {name: {**named[name], **after} for name, after in zip(names, following, strict=True)}
    return {"StartAt": names[0], "States": chained}


def call(url: str, path: str = "done", **fields: Any) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::http:invoke",
        "Parameters": {
            "ApiEndpoint": f"{url}/{path}",
            "Method": "POST",
            "InvocationConfig": {"ConnectionArn": "arn:aws:events:us-east-1:000000000000:connection/out/1"},
            "RequestBody": {"name.$": "$.name"},
        },
        "ResultSelector": {"done.$": "$.ResponseBody.done"},
        **fields,
    }


def child(pattern: str, **members: Any) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::states:startExecution.{pattern}",
        "Parameters": {"StateMachineArn": f"{ARNS}:stateMachine:hold", **members},
    }


def distributed(child_type: str, processor: Definition) -> Definition:
    config = {"Mode": "DISTRIBUTED", "ExecutionType": child_type}
    return {
        "Type": "Map",
        "ItemsPath": "$.items",
        "Label": "L",
        "ItemProcessor": {**processor, "ProcessorConfig": config},
    }


WAIT: Definition = {"Type": "Wait", "Seconds": 1}
PASS: Definition = {"Type": "Pass"}
NAME_ONLY: Definition = {"Type": "Pass", "Parameters": {"done.$": "$.name"}}
AGAIN = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 999, "BackoffRate": 1.0}]


def machines(url: str) -> dict[str, Definition]:
    """Definitions by kind. Each takes `{"name": N, "items": [...]}`."""
    chain = {f"P{number}": PASS for number in range(260)}
    return {
        "hold": states(A=PASS),
        "wait": states(A=PASS, B=WAIT, C=NAME_ONLY),
        "long": states(A={"Type": "Wait", "Seconds": 40_000}),
        "chain": states(**chain, Z=NAME_ONLY),
        "call": states(A=call(url)),
        "barred": states(A=WAIT, B=call(url, "barred")),
        "activity": states(
            A={"Type": "Task", "Resource": ACTIVITY, "HeartbeatSeconds": 4, "TimeoutSeconds": 8, "Retry": AGAIN}
        ),
        "token": states(
            A=child("waitForTaskToken", **{"Name.$": "$.name", "Input": {"token.$": "$$.Task.Token"}}), B=PASS
        ),
        "nested": states(
            A=child("sync:2", **{"Name.$": "$.name", "Input": {"name.$": "$.name"}}),
            B={"Type": "Pass", "Parameters": {"done.$": "$.Output.name"}},
        ),
        "parallel": {
            "StartAt": "X",
            "States": {
                "X": {
                    "Type": "Parallel",
                    "Branches": [states(A=WAIT, B=NAME_ONLY), states(C=call(url)), states(D=PASS, E=NAME_ONLY)],
                    "End": True,
                }
            },
        },
        "map": states(
            M={"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "ItemProcessor": states(A=call(url), B=PASS)}
        ),
        "standard": states(M=distributed("STANDARD", states(A=WAIT, B=NAME_ONLY))),
        "express": states(M=distributed("EXPRESS", states(A=call(url)))),
    }


STARTED = tuple(kind for kind in machines("") if kind not in ("hold",))


@dataclass
class Promise:
    """What an execution's callers were told."""

    kind: str
    name: str
    arn: str
    started: bool = False
    stopped: bool = False
    answer: Any = None
    """What was acknowledged for its token: `("ok", output)` or `("bad", error)`."""
    redriven: bool = False

    @property
    def input(self) -> str:
        return json.dumps({"name": self.name, "items": [{"name": f"{self.name}-{one}"} for one in range(3)]})

    @property
    def result(self) -> Any:
        """What it comes to when nothing happens to it."""
        items = [{"done": f"{self.name}-{one}"} for one in range(3)]
        mine = {"done": self.name}
        return {"parallel": [mine] * 3, "map": items, "standard": items, "express": items}.get(self.kind, mine)


@dataclass
class Load:
    """Callers of one server, and what they know."""

    servers: Servers
    outside: Outside
    random: Random
    promises: dict[str, Promise] = field(default_factory=dict)
    """By name."""
    undisturbed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    fast: list[str] = field(default_factory=list)
    """Names of EXPRESS executions whose start was acknowledged."""
    calls: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    problems: list[BaseException] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    """By token: what its worker says however often it is handed the task."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._settled = threading.Event()
        self._numbers = 0
        self._todo: dict[str, list[Promise]] = {"stop": [], "token": [], "redrive": [], "look": []}
        self._threads: list[threading.Thread] = []

    # ------------------------------------------------------------------ life

    def prepare(self) -> None:
        """Create the machines, and have each kind run once undisturbed."""
        with closing(self.servers.client()) as ask:
            ask("CreateActivity", name="work")
            for kind, definition in machines(self.outside.url).items():
                ask("CreateStateMachine", name=kind, definition=json.dumps(definition), roleArn=ROLE)
            fast = json.dumps(states(A=WAIT, B=call(self.outside.url)))
            ask("CreateStateMachine", name="fast", definition=fast, roleArn=ROLE, type="EXPRESS")
        self.go()
        with closing(self.caller()) as asking:
            for kind in STARTED:
                self.start(asking, self.promise(kind))
        self.rest()
        with closing(self.servers.client()) as ask:
            for promise in list(self.promises.values()):
                self.undisturbed[_course(promise)] = whole_history(ask, promise.arn)

    def go(self) -> None:
        """Let everybody but the starters work."""
        self._over.clear()
        self._settled.clear()
        jobs: list[Callable[[Asking], None]] = [self._stops, self._tokens, self._redrives, self._looks]
        self._threads = [self._thread(job) for job in [*jobs, *[self._works] * WORKERS]]

    def flood(self) -> None:
        """Let the starters work as well, until `rest`."""
        self._threads += [self._thread(self._starts) for _ in range(STARTERS)]

    def each_kind(self) -> None:
        """Let a starter start one execution of each kind."""

        def starts(ask: Asking) -> None:
            for kind in STARTED:
                self.start(ask, self.promise(kind))
            self._start_fast(ask)

        self._threads.append(self._thread(starts))

    def rest(self) -> None:
        """Start nothing more, and wait until every promise is kept or every caller has given up."""
        self._over.set()
        try:
            until(lambda: self.problems or not self.open, f"the end of some of {len(self.open)}: {self.open[:10]}")
        finally:
            self._settled.set()
            for thread in self._threads:
                thread.join(PATIENCE_SECONDS)
        if self.problems:
            raise self.problems[0]

    def _thread(self, job: Callable[[Asking], None]) -> threading.Thread:
        def work() -> None:
            with closing(self.caller()) as ask:
                try:
                    job(ask)
                except GivenUp:
                    return
                except BaseException as problem:
                    self.problems.append(problem)

        made = threading.Thread(target=work, daemon=True, name=job.__name__)
        made.start()
        return made

    def caller(self) -> Asking:
        return Asking(self)

    @property
    def settled(self) -> bool:
        return self._settled.is_set()

    @property
    def open(self) -> list[str]:
        """Names of executions that somebody still waits for."""
        with self._lock:
            return [promise.name for todo in self._todo.values() for promise in todo]

    def draw(self, kinds: tuple[str, ...]) -> str:
        with self._lock:
            return self.random.choice(kinds)

    def promise(self, kind: str) -> Promise:
        with self._lock:
            self._numbers += 1
            name = f"{kind}-{self._numbers}"
            made = self.promises[name] = Promise(kind, name, f"{ARNS}:execution:{kind}:{name}")
            return made

    def wants(self, what: str, promise: Promise) -> None:
        with self._lock:
            self._todo[what].append(promise)

    def each(self, what: str, job: Callable[[Promise], bool]) -> None:
        """Do a job for each promise that wants it, until it says that it is done, and until all is settled."""
        while not self.settled:
            with self._lock:
                todo = list(self._todo[what])
            for promise in todo:
                if job(promise):
                    with self._lock:
                        self._todo[what].remove(promise)
            self._settled.wait(0.03)

    # ------------------------------------------------------------------ callers

    def _starts(self, ask: Asking) -> None:
        while not self._over.is_set():
            if len(self.open) > MOST_OPEN:
                self._over.wait(0.02)
                continue
            kind = self.draw((*STARTED, "fast"))
            if kind == "fast":
                self._start_fast(ask)
            else:
                self.start(ask, self.promise(kind))

    def _start_fast(self, ask: Asking) -> None:
        with self._lock:
            self._numbers += 1
            name = f"fast-{self._numbers}"
        given = json.dumps({"name": name})
        ask.surely("StartExecution", stateMachineArn=f"{ARNS}:stateMachine:fast", name=name, input=given)
        self.fast.append(name)

    def start(self, ask: Asking, promise: Promise) -> None:
        machine = f"{ARNS}:stateMachine:{promise.kind}"
        try:
            made = ask.surely("StartExecution", stateMachineArn=machine, name=promise.name, input=promise.input)
            assert made["executionArn"] == promise.arn
        except Refused as refused:
            # It had begun, and ended, before an answer came through.
            refused.must_be("ExecutionAlreadyExists")
        promise.started = True
        then = {"long": "stop", "token": "token", "barred": "redrive"}.get(promise.kind, "look")
        self.wants(then, promise)

    def _stops(self, ask: Asking) -> None:
        def stop(promise: Promise) -> bool:
            ask.surely("StopExecution", executionArn=promise.arn, error="Stopped", cause=promise.name)
            promise.stopped = True
            return True

        self.each("stop", stop)

    def _tokens(self, ask: Asking) -> None:
        def answer(promise: Promise) -> bool:
            try:
                held = ask.surely("DescribeExecution", executionArn=f"{ARNS}:execution:hold:{promise.name}")
            except Refused:
                return False
            self._answer(ask, json.loads(held["input"])["token"], promise)
            self.wants("look", promise)
            return True

        self.each("token", answer)

    def _works(self, ask: Asking) -> None:
        with closing(Asking(self, POLL_SECONDS)) as poll:
            while not self.settled:
                task = poll.once("GetActivityTask", activityArn=ACTIVITY, workerName="w")
                if task and task.get("taskToken"):
                    self._answer(ask, task["taskToken"], self.promises[json.loads(task["input"])["name"]])

    def _answer(self, ask: Asking, token: str, promise: Promise) -> None:
        good = self.draw(("ok", "ok", "bad")) == "ok" and promise.name in self.promises
        with self._lock:
            good, value = self.answers.setdefault(token, (good, f"{promise.name} answered {len(self.answers)}"))
        try:
            if good:
                ask.surely("SendTaskSuccess", taskToken=token, output=json.dumps({"done": value}))
            else:
                ask.surely("SendTaskFailure", taskToken=token, error="Bad", cause=value)
        except Refused as refused:
            # An earlier sending had arrived, or the task had timed out.
            refused.must_be("TaskTimedOut")
        else:
            promise.answer = (good, value)

    def _redrives(self, ask: Asking) -> None:
        def redrive(promise: Promise) -> bool:
            shown = ask.surely("DescribeExecution", executionArn=promise.arn)
            if shown["status"] == "RUNNING":
                return False
            self.outside.allow(promise.name)
            if shown["status"] != "SUCCEEDED":
                try:
                    ask.surely("RedriveExecution", executionArn=promise.arn, clientToken=f"redrive-{promise.name}")
                    promise.redriven = True
                except Refused as refused:
                    # An earlier sending had arrived, and the execution is done.
                    refused.must_be("ExecutionNotRedrivable")
            self.wants("look", promise)
            return True

        self.each("redrive", redrive)

    def _looks(self, ask: Asking) -> None:
        def ended(promise: Promise) -> bool:
            status: str = ask.surely("DescribeExecution", executionArn=promise.arn)["status"]
            return status not in ("RUNNING", "PENDING_REDRIVE")

        self.each("look", ended)

    # ------------------------------------------------------------------ what was promised

    def check(self) -> None:
        """Ask the server for everything that was acknowledged, and for how it ended."""
        with closing(self.servers.client()) as ask:
            for promise in self.promises.values():
                self._check(ask, promise)
            for kind in STARTED:
                listed = {one["name"] for one in every_execution(ask, f"{ARNS}:stateMachine:{kind}")}
                asked = {promise.name for promise in self.promises.values() if promise.kind == kind}
                assert listed <= asked, f"nobody asked for {listed - asked}"
        lost = [name for name in self.fast if not self.outside.seen[name]]
        assert not lost, f"EXPRESS executions {lost} were acknowledged and never made their call"

    def _check(self, ask: Caller, promise: Promise) -> None:
        try:
            shown = ask("DescribeExecution", executionArn=promise.arn)
        except Refused:
            if promise.started:
                raise AssertionError(f"{promise} was acknowledged and is gone") from None
            return
        assert json.loads(shown["input"]) == json.loads(promise.input)
        self._check_end(promise, shown)
        events = whole_history(ask, promise.arn)
        check_history(events, shown["status"], promise.name)
        course = _course(promise, shown["status"])
        if course in self.undisturbed:
            same_course(events, self.undisturbed[course], promise.name)

    def _check_end(self, promise: Promise, shown: dict[str, Any]) -> None:
        status = shown["status"]
        if promise.kind == "long":
            assert status == "ABORTED", (promise, shown)
            assert (shown["error"], shown["cause"]) == ("Stopped", promise.name)
        elif promise.kind in ("activity", "token"):
            assert status in ("SUCCEEDED", "FAILED"), (promise, shown)
            told = (True, json.loads(shown["output"])["done"]) if status == "SUCCEEDED" else (False, shown.get("cause"))
            assert told in self.answers.values(), (promise, shown)
            if promise.answer is not None:
                assert promise.answer == told, f"an answer that was acknowledged is lost: {promise}, {shown}"
        else:
            assert status == "SUCCEEDED", (promise, shown)
            assert json.loads(shown["output"]) == promise.result, (promise, shown)
            if promise.kind == "barred":
                assert shown["redriveCount"] == 1, (promise, shown)


def _course(promise: Promise, status: str = "") -> str:
    """Executions of one course have the same events."""
    if promise.kind in ("activity", "token"):
        return f"{promise.kind} {status or ('SUCCEEDED' if promise.answer and promise.answer[0] else 'FAILED')}"
    return promise.kind


class GivenUp(Exception):
    """All is settled; nobody needs this answer."""


class Asking:
    """One thread's way to the server: asks again until it is answered."""

    def __init__(self, load: Load, seconds: float = PATIENCE_SECONDS) -> None:
        self._load = load
        self._caller = Caller(load.servers.port, seconds)

    def once(self, operation: str, **request: Any) -> Any:
        """The answer, or `None`. Raises: Refused."""
        self._load.calls[operation] += 1
        try:
            return self._caller(operation, **request)
        except NoAnswer:
            self._load.unanswered[operation] += 1
            time.sleep(0.01)
            return None

    def surely(self, operation: str, **request: Any) -> Any:
        """The answer, however often the server dies over it. Raises: Refused, GivenUp."""
        while (found := self.once(operation, **request)) is None:
            if self._load.settled:
                raise GivenUp
        return found

    def close(self) -> None:
        self._caller.close()
