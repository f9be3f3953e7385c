"""Senders and receivers of a FIFO queue and of a standard one, at any node.

A send to the FIFO queue is repeated under its deduplication id until it is acknowledged, at another node each time, and
sometimes once more; a send to the standard queue is never repeated. Receives wait a second (long polls).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.deadlines import happens
from tests.storm.client import Client
from tests.storm.invariants import Message, Traffic, messages, order
from tests.storm.machines import url
from tests.storm.recording import Call, Recorder

FIFO: Final = "ordered.fifo"
STANDARD: Final = "plain"
GROUPS: Final = ("g", "h")
RECEIVERS: Final = 2
HIDDEN_SECONDS: Final = 5
PAUSE_SECONDS: Final = 0.1
AGAIN: Final = 0.1
"""The part of messages that is sent once more after it was acknowledged."""
KEPT: Final = 0.02
"""The part of messages that is not deleted when it comes, and comes again."""
OLD_HANDLES: Final = ("InvalidParameterValueException", "ReceiptHandleIsInvalid")
"""A receive after that of the handle has the message now, or it is gone."""


@dataclass(frozen=True, slots=True)
class Received(Message):
    """A message with the handle to delete it by."""

    handle: str


class Messages:
    """The traffic of both queues, recorded over all rounds."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sequence: dict[str, list[str]] = {group: [] for group in GROUPS}
        self._sent = 0

    def prepare(self, client: Client) -> None:
        hidden = {"VisibilityTimeout": str(HIDDEN_SECONDS)}
        client.json("sqs", "CreateQueue", QueueName=STANDARD, Attributes=hidden)
        client.json("sqs", "CreateQueue", QueueName=FIFO, Attributes={**hidden, "FifoQueue": "true"})

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        receivers = [partial(self._receive, queue) for queue in (FIFO, STANDARD) for _ in range(RECEIVERS)]
        return [*(partial(self._send_in_order, group) for group in GROUPS), self._send, *receivers]

    def _send_in_order(self, group: str, over: threading.Event, client: Client) -> None:
        chance = random.Random(group)
        sequence = self._sequence[group]
        while not over.is_set():
            body = f"{group}-{len(sequence)}"
            sequence.append(body)
            again = chance.random() < AGAIN
            more = {"MessageGroupId": group, "MessageDeduplicationId": body}
            while not self._sent_once(client, FIFO, body, **more).is_answered or again:
                # Also once the round is over: what comes next must come behind it.
                again = False
            over.wait(PAUSE_SECONDS)

    def _send(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            self._sent += 1
            self._sent_once(client, STANDARD, f"plain-{self._sent}")
            over.wait(PAUSE_SECONDS)

    def _sent_once(self, client: Client, queue: str, body: str, **more: str) -> Call:
        return self._recorder.make(
            f"send {queue}", {"body": body}, [], client.json, "sqs", "SendMessage",
            QueueUrl=url(queue), MessageBody=body, **more,
        )  # fmt: skip

    def _receive(self, queue: str, over: threading.Event, client: Client) -> None:
        chance = random.Random(queue)
        while not over.is_set():
            got = self._received(client, queue, wait=1)
            for message in got.answer or ():
                if chance.random() >= KEPT:
                    self._delete(client, queue, message, got.begin)

    def _received(self, client: Client, queue: str, wait: int) -> Call:
        def receive(service: str) -> Sequence[Received]:
            answer = client.json(
                service, "ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10, WaitTimeSeconds=wait
            )
            found = answer.get("Messages", [])
            return [Received(one["MessageId"], one["Body"], one["ReceiptHandle"]) for one in found]

        return self._recorder.make(f"receive {queue}", {}, [], receive, "sqs")

    def _delete(self, client: Client, queue: str, message: Received, since: float) -> None:
        self._recorder.make(
            f"delete {queue}", {"body": message.body, "since": since}, OLD_HANDLES, client.json, "sqs", "DeleteMessage",
            QueueUrl=url(queue), ReceiptHandle=message.handle,
        )  # fmt: skip

    # ------------------------------------------------------------------ the check

    def check(self, client: Client) -> Iterator[str]:
        for queue in (FIFO, STANDARD):
            yield from self._drain(client, queue)
            kinds = (self._recorder.calls(f"{what} {queue}") for what in ("send", "receive", "delete"))
            traffic = Traffic(*kinds)
            yield from messages(queue, traffic, HIDDEN_SECONDS, refuses_old_handles=queue == FIFO)
            if queue == FIFO:
                yield from order(queue, traffic, self._sequence)

    def _drain(self, client: Client, queue: str) -> Iterator[str]:
        """Receive and delete all that is there, also what is hidden for now."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts: dict[str, Any] = {}

        def is_empty() -> bool:
            got = self._received(client, queue, wait=0)
            for message in got.answer or ():
                self._delete(client, queue, message, got.begin)
            answer = client.json("sqs", "GetQueueAttributes", QueueUrl=url(queue), AttributeNames=names)
            counts.update(answer["Attributes"])
            return all(count == "0" for count in counts.values())

        if not happens(is_empty):
            yield f"{queue}: it does not become empty: {counts}"
