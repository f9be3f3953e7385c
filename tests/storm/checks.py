"""The checks of the storm, once a round is at rest: what was acknowledged holds, and nothing has happened twice."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.deadlines import PATIENCE_SECONDS, happens
from tests.storm.client import Client, Refused
from tests.storm.load import Load, Notes, Probe, execution_arn
from tests.storm.machines import BUCKET, COUNTED, EFFECTS, STATES, TABLE, url
from tests.storm.recording import Recorder

ENDS: Final = {
    "ExecutionSucceeded": "SUCCEEDED",
    "ExecutionFailed": "FAILED",
    "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}
REFUSALS: Final = (
    "ConditionalCheckFailed",
    "ConflictException",
    "ResourceNotFound",
    "PreconditionFailed",
    "NoSuchKey",
    "ExecutionAlreadyExists",
    "TaskTimedOut",
    "Status Code: 412",
)
"""In the names or causes of errors that tasks of `effects` have when they are repeated."""
EFFECTS_EACH: Final = len(EFFECTS["States"]) - 1 + 1
"""One for each task, and a second message of the batch; the last state is no task."""
LATE_SECONDS: Final = 30
"""For this long a node may still carry out a call whose caller has given up: longer than it waits for an owner."""


@dataclass
class Figures:
    """What a storm has found; the first six must stay at zero."""

    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """What the probes have found."""
    executions: int = 0
    effects: int = 0
    calls: int = 0
    unanswered: int = 0
    stalls_seconds: list[float] = field(default_factory=list)
    """How long no call was answered, each time that another server took over."""
    home_stalls_seconds: list[float] = field(default_factory=list)
    """The same without the calls of Step Functions, which any node of a cluster answers."""

    @property
    def found(self) -> tuple[list[str], ...]:
        """All that is wrong, by kind."""
        return (self.lost, self.stuck, self.gaps, self.repeated, self.failed, self.broken)

    @property
    def is_clean(self) -> bool:
        """True if nothing is wrong."""
        return not any(self.found)

    def line(self) -> str:
        """The figures as one line."""
        stalls = "".join(
            f", {len(those)} {what} (p50 {statistics.median(those):.1f} s, max {max(those):.1f} s)"
            for what, those in (("stalls", self.stalls_seconds), ("stalls of the home", self.home_stalls_seconds))
            if those
        )
        return (
            f"executions {self.executions}, effects {self.effects}, calls {self.calls} ({self.unanswered} unanswered)"
            f"{stalls}: lost {len(self.lost)}, stuck {len(self.stuck)}, gaps {len(self.gaps)}, "
            f"repeated {len(self.repeated)}, failed {len(self.failed)}, broken {len(self.broken)}"
        )


def check(load: Load, figures: Figures) -> None:
    """Wait until everything has ended, and add what is found to the figures; a server must be up, and stay up."""
    client = load.client(PATIENCE_SECONDS)
    notes = load.notes
    figures.calls += notes.calls
    figures.unanswered += notes.unanswered
    ends = _ends(client, load, figures)
    figures.executions += len(ends)
    for name, shown in ends.items():
        _check_end(load, name, shown, figures)
        _check_history(client, shown, figures)
    # One that has failed is found above, and has not come to what follows.
    effects = [name for name, shown in ends.items() if name.startswith("e-") and shown["status"] == "SUCCEEDED"]
    figures.effects += EFFECTS_EACH * len(effects)
    _check_messages(client, effects, notes, figures)
    _check_events(client, effects, figures)
    _check_items(client, effects, load, figures)
    _check_children(client, effects, figures)
    _check_express(client, effects, load, figures)
    _check_direct(client, load, figures)
    _check_objects(client, load, figures)
    _check_fired(client, load, figures)
    for probe, recorder in load.probes:
        figures.broken += without_an_answer(probe, recorder)
        figures.broken += probe.check(client)
    client.close()


def without_an_answer(probe: Probe, recorder: Recorder) -> list[str]:
    """A sentence if the callers of a probe had no answer in this round: its check would be of nothing."""
    return [] if recorder.answered else [f"{type(probe).__name__}: no call was answered in this round"]


def _ends(client: Client, load: Load, figures: Figures) -> dict[str, Any]:
    """The description of every execution that was acknowledged, once it has ended."""
    ends: dict[str, Any] = {}
    waiting = set(load.notes.started)

    def all_have_ended() -> bool:
        for name in sorted(waiting):
            try:
                shown = load.describe(client, name)
            except Refused:
                figures.lost.append(f"execution {name}")
                waiting.discard(name)
                continue
            if shown["status"] != "RUNNING":
                ends[name] = shown
                waiting.discard(name)
        if waiting:
            for message in load.receive(client, "tokens"):
                load.answer(client, message)
        return not waiting

    happens(all_have_ended)
    figures.stuck += [f"{name}: {_last_event(client, name)}" for name in sorted(waiting)]
    return ends


def _last_event(client: Client, name: str) -> str:
    asked = {"executionArn": execution_arn(name), "maxResults": 1, "reverseOrder": True}
    events = client.json("states", "GetExecutionHistory", **asked)["events"]
    return f"its last event is {events[:1]}"


def _check_end(load: Load, name: str, shown: Any, figures: Figures) -> None:
    if shown["status"] != "SUCCEEDED":
        error = shown.get("error", "")
        told = f"{name} {shown['status']}: {error} {shown.get('cause', '')[:200]}"
        (figures.repeated if any(one in told for one in REFUSALS) else figures.failed).append(told)
        return
    output = json.loads(shown["output"])
    if name.startswith("e-"):
        if output != {"name": name, "added": "1"}:
            figures.repeated.append(f"{name} has {output}")
        return
    answer = output.get("answer")
    acknowledged = load.notes.answered.get(name)
    if acknowledged is not None and acknowledged != answer:
        figures.lost.append(f"{name}: {acknowledged} was acknowledged, and {answer} is there")
    elif answer not in load.notes.tried_answers.get(name, ()):
        figures.lost.append(f"{name}: {answer} was never sent")


def _check_history(client: Client, shown: Any, figures: Figures) -> None:
    events: list[Any] = []
    token: dict[str, str] = {}
    while True:
        asked = {"executionArn": shown["executionArn"], "maxResults": 1000, **token}
        page = client.json("states", "GetExecutionHistory", **asked)
        events += page["events"]
        if "nextToken" not in page:
            break
        token = {"nextToken": page["nextToken"]}
    types = [event["type"] for event in events]
    right = (
        [event["id"] for event in events] == list(range(1, len(events) + 1))
        and types[0] == "ExecutionStarted"
        and types.count("ExecutionStarted") == 1
        and sum(kind in ENDS for kind in types) == 1
        and ENDS.get(types[-1]) == shown["status"]
        and types.count("TaskScheduled") >= types.count("TaskSucceeded")
    )
    if not right:
        figures.gaps.append(f"{shown['name']}: {types}")


# ------------------------------------------------------------------ effects


def drained(client: Client, queue: str, quiet_seconds: float = 7) -> Iterator[tuple[str, str]]:
    """Every message of a queue, by id and body, until it has been empty for longer than a message is hidden."""
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < quiet_seconds:
        got = client.json("sqs", "ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10)
        messages = got.get("Messages", [])
        if not messages:
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            counts = client.json("sqs", "GetQueueAttributes", QueueUrl=url(queue), AttributeNames=names)["Attributes"]
            if all(count == "0" for count in counts.values()):
                return
            time.sleep(0.1)
            continue
        quiet_since = time.monotonic()
        yield from ((message["MessageId"], message["Body"]) for message in messages)
        entries = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]} for number, message in enumerate(messages)
        ]
        client.json("sqs", "DeleteMessageBatch", QueueUrl=url(queue), Entries=entries)


def _check_messages(client: Client, effects: list[str], notes: Notes, figures: Figures) -> None:
    for queue, kinds in COUNTED.items():
        found = Counter(body for _, body in drained(client, queue))
        for name in effects:
            for kind in kinds:
                many = found.pop(f"{kind} {name}", 0)
                if many == 0:
                    figures.lost.append(f"{queue}: {kind} {name}")
                elif many > 1:
                    figures.repeated.append(f"{queue}: {many} times {kind} {name}")
        asked = {name for name in notes.started if name not in effects}
        figures.repeated += [
            f"{queue}: {body}, for which no execution asked" for body in found if body.rpartition(" ")[2] not in asked
        ]


def _check_events(client: Client, effects: list[str], figures: Figures) -> None:
    """A target may get an event more than once; each execution puts one event."""
    ids: defaultdict[str, set[str]] = defaultdict(set)

    def all_came() -> bool:
        for _, body in drained(client, "events"):
            event = json.loads(body)
            ids[event["detail"]["name"]].add(event["id"])
        return all(ids[name] for name in effects)

    happens(all_came)
    for name in effects:
        if not ids[name]:
            figures.lost.append(f"event of {name}")
        elif len(ids[name]) > 1:
            figures.repeated.append(f"{len(ids[name])} events of {name}")


def _check_items(client: Client, effects: list[str], load: Load, figures: Figures) -> None:
    for name in effects:
        for kind in ("add", "transact"):
            many = _number(client, f"{kind}-{name}")
            if many == 0:
                figures.lost.append(f"{kind} of {name}")
            elif many > 1:
                figures.repeated.append(f"{many} times {kind} of {name}")
    there = _number(client, "direct")
    before = load.added_before
    notes = load.notes
    if there - before < notes.added:
        figures.lost.append(f"{notes.added - (there - before)} of {notes.added} additions")
    if there - before > notes.tried_adds:
        figures.repeated.append(f"{there - before} additions of {notes.tried_adds}")
    load.added_before = there


def _number(client: Client, name: str) -> int:
    found = client.json("dynamodb", "GetItem", TableName=TABLE, Key={"id": {"S": name}}, ConsistentRead=True)
    return int(found["Item"]["n"]["N"]) if "Item" in found else 0


def _check_children(client: Client, effects: list[str], figures: Figures) -> None:
    """Each execution starts three children: one without a name, one with, and one that answers its token."""
    found: Counter[str] = Counter()
    for machine in ("leaf", "answers"):
        for shown in _executions(client, machine):
            given = json.loads(shown["input"])
            if given["name"] not in effects:
                continue
            found[f"{given['kind']} {given['name']}"] += 1
            if shown["status"] == "FAILED":
                figures.repeated.append(f"{given['kind']} of {given['name']}: {shown.get('error')}")
    for name in effects:
        for kind in ("child", "named", "answers"):
            many = found[f"{kind} {name}"]
            if many == 0:
                figures.lost.append(f"{kind} of {name}")
            elif many > 1:
                figures.repeated.append(f"{many} times {kind} of {name}")


def _executions(client: Client, machine: str) -> Iterator[Any]:
    """The description of every execution of a machine."""
    arn = f"{STATES}:stateMachine:{machine}"
    token: dict[str, str] = {}
    while True:
        page = client.json("states", "ListExecutions", stateMachineArn=arn, maxResults=1000, **token)
        for one in page["executions"]:
            yield client.json("states", "DescribeExecution", executionArn=one["executionArn"])
        if "nextToken" not in page:
            return
        token = {"nextToken": page["nextToken"]}


def _check_express(client: Client, effects: list[str], load: Load, figures: Figures) -> None:
    """Each start makes one EXPRESS execution, which runs at least once."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    wanted = {*effects, *load.notes.express}

    def all_ran() -> bool:
        for _, body in drained(client, "express"):
            told = json.loads(body)
            ids[told["name"]].add(told["execution"])
        return wanted <= set(ids)

    happens(all_ran)
    figures.lost += [f"EXPRESS execution of {name}" for name in sorted(wanted - set(ids))]
    figures.repeated += [f"{len(found)} EXPRESS executions of {name}" for name, found in ids.items() if len(found) > 1]


# ------------------------------------------------------------------ calls from outside


def _check_direct(client: Client, load: Load, figures: Figures) -> None:
    notes = load.notes
    left = list(drained(client, "direct"))
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for key in notes.received:
        number, _, body = key.partition(" ")
        ids[body].add(number)
    for number, body in left:
        ids[body].add(number)
        if body in notes.deleted:
            figures.lost.append(f"the deletion of {body}")
    figures.lost += [f"message {body}" for body in notes.sent if not ids[body]]
    figures.repeated += [f"message {body}: {len(found)} ids" for body, found in ids.items() if len(found) > 1]


def _check_objects(client: Client, load: Load, figures: Figures) -> None:
    for name, puts in load.notes.objects.items():
        last = max((place for place, put in enumerate(puts) if put.is_done), default=-1)
        possible = {put.body for put in puts[max(last, 0) :]}
        if last >= 0 and load.is_scattered:
            # The caller has given up before its node has; the next call went to another node, and was faster.
            possible |= {
                put.body for put in puts[:last] if not put.is_done and puts[last].begun - put.begun < LATE_SECONDS
            }
        try:
            body = client.send("s3", "GET", f"/{BUCKET}/{name}").decode()
        except Refused:
            body = ""
        if last >= 0 and body not in possible:
            figures.lost.append(f"object {name}: {body} instead of {sorted(possible)}")


def _check_fired(client: Client, load: Load, figures: Figures) -> None:
    fired: set[str] = set()

    def all_fired() -> bool:
        fired.update(body for _, body in drained(client, "fired", quiet_seconds=1))
        return load.notes.scheduled <= fired

    happens(all_fired)
    figures.lost += [f"schedule {name}" for name in sorted(load.notes.scheduled - fired)]
