"""Executions whose tasks a node carries out itself: handlers, Maps, children. Handlers tell what they were called for.

Handlers may be called more than once, always with the same request id. They tell it to a listener of the storm's own.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.storm.client import ACCOUNT, REGION, Client
from tests.storm.invariants import Held, permits
from tests.storm.machines import ROLE, chained, task
from tests.storm.probes.asking import create, ends, machine_arn, not_as_wanted, start
from tests.storm.recording import Recorder

SPREAD, INNER, GUARDED = "spread", "inner", "guarded"
TELL, ALONE = "tell", "alone"
ITEMS: Final = (1, 2, 3, 4)
STARTERS: Final = 2
PAUSE_SECONDS: Final = 0.4
GUARDED_PAUSE_SECONDS: Final = 2.0
LONG_SECONDS: Final = 5.0
"""Of every fourth call of the function that is called alone: longer than a takeover takes."""
HANDLER: Final = """
import json, time, urllib.request

def told(at, event, context):
    document = json.dumps({"at": at, "for": event["for"], "id": context.aws_request_id}).encode()
    for seconds in (0.1, 0.5, 2, None):
        try:
            return urllib.request.urlopen("http://127.0.0.1:PORT/", document, timeout=30).read()
        except OSError:
            if seconds is None:
                raise
            time.sleep(seconds)

def handler(event, context):
    told("begin", event, context)
    time.sleep(event.get("seconds", 0))
    told("end", event, context)
    return {"for": event["for"]}
"""


def function_arn(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


def _handled(called: str, **more: Any) -> dict[str, Any]:
    """A task that calls a handler for `called`, which is the execution and what it is about."""
    payload = {"for.$": called, **more}
    return {"Type": "Task", "Resource": function_arn(TELL), "Parameters": payload, "ResultPath": None}


def _for(what: str) -> str:
    return f"States.Format('{{}} {what}', $.name)"


EACH: Final = "States.Format('{} item {}', $.name, $.item)"
WITH_NAME: Final = {"item.$": "$$.Map.Item.Value", "name.$": "$.name"}
SPREAD_MACHINE: Final = chained(
    First=_handled(_for("first"), seconds=0.2),
    Items={
        "Type": "Map",
        "ItemsPath": "$.items",
        "ItemSelector": WITH_NAME,
        "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, **chained(Item=_handled(EACH))},
        "ResultPath": "$.inline",
    },
    Nested=task(
        "states:startExecution.sync:2",
        StateMachineArn=machine_arn(INNER),
        Input={"name.$": "$.name"},
        ResultPath="$.nested",
        ResultSelector={"name.$": "$.Output.name"},
    ),
    Many={
        "Type": "Map",
        "Label": "Many",
        "ItemsPath": "$.items",
        "ItemSelector": WITH_NAME,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            **chained(Child={"Type": "Pass", "End": True}),
        },
        "ResultPath": "$.distributed",
    },
    Last=_handled(_for("last")),
)
CALLS: Final = ("first", *(f"item {item}" for item in ITEMS), "nested", "last")
"""What the handler is called for, by each execution."""
INNER_MACHINE: Final = chained(Wait={"Type": "Wait", "Seconds": 1}, Told=_handled(_for("nested")))
ALONE_AGAIN: Final = {
    # The second one is that of a handler which was ended with the lease.
    "ErrorEquals": ["Lambda.TooManyRequestsException", "Lambda.ServiceException"],
    "IntervalSeconds": 1,
    "MaxAttempts": 1_000,
    "BackoffRate": 1,
}
GUARDED_MACHINE: Final = chained(
    Alone={
        "Type": "Task",
        "Resource": function_arn(ALONE),
        "Parameters": {"for.$": "$.name", "seconds.$": "$.seconds"},
        "Retry": [ALONE_AGAIN],
    }
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a handler said: `begin` or `end` of a call, what it was called for, and its request id."""

    at: str
    called: str
    id: str
    instant: float


class Listener:
    """Takes what handlers say, on a port of its own, until the end of the process."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        told = self.told

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                one = json.loads(self.rfile.read(int(self.headers["content-length"])))
                told.append(Told(one["at"], one["for"], one["id"], time.monotonic()))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *given: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

        server = Server(("127.0.0.1", 0), Handler)
        self.port: int = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()


class Spread:
    """Starts, and what handlers were called for, among them a function that is meant to be called alone."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listener = Listener()
        self._numbers = itertools.count(1)
        self._started: dict[str, list[str]] = {SPREAD: [], GUARDED: []}
        """Names of this round."""

    def prepare(self, client: Client) -> None:
        create_function(client, TELL, self._listener.port)
        create(client, INNER, INNER_MACHINE)
        create(client, SPREAD, SPREAD_MACHINE)
        create_function(client, ALONE, self._listener.port)
        reservation = {"ReservedConcurrentExecutions": 1}
        client.rest("lambda", "PUT", f"/2017-10-31/functions/{ALONE}/concurrency", reservation)
        create(client, GUARDED, GUARDED_MACHINE)

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        machines = [*[SPREAD] * STARTERS, GUARDED]
        return [partial(self._start, machine) for machine in machines]

    def _start(self, machine: str, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            number = next(self._numbers)
            name = f"{machine}-{number}"
            given: dict[str, Any] = {"name": name, "items": ITEMS}
            if machine == GUARDED:
                given["seconds"] = 0.3 if number % 4 else LONG_SECONDS
            start(self._recorder, client, machine, name, given)
            self._started[machine].append(name)
            over.wait(PAUSE_SECONDS if machine == SPREAD else GUARDED_PAUSE_SECONDS)

    def check(self, client: Client) -> Iterator[str]:
        for machine, names in self._started.items():
            shown = ends(client, machine, names)
            yield from not_as_wanted(machine, names, shown)
            if machine == SPREAD:
                for name, one in shown.items():
                    if one["status"] == "SUCCEEDED" and json.loads(one["output"]) != output(name):
                        yield f"{machine}: the output of {name} is {one['output'][:300]}"
                yield from calls(names, self._listener.told)
            names.clear()
        alone = [one for one in self._listener.told if one.called.startswith(GUARDED)]
        yield from permits("calls of", running(alone), 1)


def create_function(client: Client, name: str, port: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", HANDLER.replace("PORT", str(port)))
    document = {
        "FunctionName": name,
        "Runtime": "python3.12",
        "Handler": "app.handler",
        "Role": ROLE,
        "Timeout": 60,
        "Code": {"ZipFile": base64.b64encode(packed.getvalue()).decode()},
    }
    client.rest("lambda", "POST", "/2015-03-31/functions", document)


def output(name: str) -> Any:
    """That of an execution of the machine."""
    items = [{"item": item, "name": name} for item in ITEMS]
    return {"name": name, "items": list(ITEMS), "inline": items, "nested": {"name": name}, "distributed": items}


def calls(names: Iterable[str], told: Sequence[Told]) -> Iterator[str]:
    """Each task has called its handler, under one request id, and to its end."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    ended: set[str] = set()
    for one in told:
        ids[one.called].add(one.id)
        if one.at == "end":
            ended.add(one.called)
    for name in names:
        for what in CALLS:
            called = f"{name} {what}"
            if called not in ended:
                yield f"{SPREAD}: no handler was called for {called}, or none to its end"
            elif len(ids[called]) > 1:
                yield f"{SPREAD}: a handler was called under {len(ids[called])} ids for {called}"


def running(told: Sequence[Told]) -> Iterator[Held]:
    """Calls of handlers, from their beginnings to their ends; those that died with their node have none."""
    begun: dict[tuple[str, str], float] = {}
    for one in told:
        if one.at == "begin":
            begun[one.called, one.id] = one.instant
        elif (one.called, one.id) in begun:
            yield Held(ALONE, one.called, begun.pop((one.called, one.id)), one.instant)
