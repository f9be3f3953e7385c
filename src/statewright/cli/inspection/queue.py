"""`statewright queue ...`: the queues of a server, listed, inspected, filled and purged.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s. Looking into a queue without receiving
is our own addition to ReceiveMessage, asked for by a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from statewright.cli.client import LARGEST_PAGE, Answer, Server, command_words, server_options
from statewright.cli.inspection.messages import attributes_of, text_of
from statewright.cli.output import Span, count_words, stderr, stdout
from statewright.cli.table import local_time, print_answer, print_rows, status_span

if TYPE_CHECKING:
    from statewright.payload import Json, JsonObject


SHOWN_AT_ONCE: Final = 10
PEEK_HEADER: Final = "x-statewright-peek"
COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@click.group(short_help="List, inspect, fill and purge queues.")
def queue() -> None:
    """Work with the queues of a server.

    QUEUE is a name or a URL.

    \b
    Examples:
      statewright queue list
      statewright queue peek orders
      statewright queue redrive orders-dead
    """


@queue.command("list", short_help="List queues with their message counts.")
@click.option("--prefix", default="", metavar="TEXT", help="Only queues whose name starts with this.")
@server_options
def list_queues(prefix: str, form: str, endpoint: str | None) -> None:
    """List queues by name: messages that are visible, in flight and delayed, and where dead letters go.

    \b
    Examples:
      statewright queue list
      statewright queue list --prefix order -o json
    """
    with _sqs(endpoint) as server:
        found = []
        for url in server.pages("list_queues", "QueueUrls", QueueNamePrefix=prefix, MaxResults=LARGEST_PAGE):
            shown = server.call("get_queue_attributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
            found.append({"name": _name_of(url), "queueUrl": url, "attributes": shown})
    titles = ("NAME", "VISIBLE", "IN FLIGHT", "DELAYED", "DEAD LETTERS TO")
    create = command_words("aws sqs create-queue --queue-name NAME", endpoint)
    print_rows(form, "queues", found, titles, _cells, if_none=f"There are no queues. To create one: {create}")


def _cells(one: Answer) -> list[Span]:
    import json

    attributes = one["attributes"]
    policy = json.loads(attributes.get("RedrivePolicy", "{}"))
    target = policy.get("deadLetterTargetArn", "").rpartition(":")[2]
    after = f" after {policy['maxReceiveCount']}" if target else ""
    return [one["name"], *(attributes[name] for name in COUNTS), (f"{target}{after}", "idle")]


@queue.command(short_help="Look at messages without receiving them.")
@click.argument("target", metavar="QUEUE")
@click.option("--limit", type=click.IntRange(1, 1000), default=SHOWN_AT_ONCE, show_default=True, help="How many.")
@server_options
def peek(target: str, limit: int, form: str, endpoint: str | None) -> None:
    """Look at a queue's messages, oldest first, whether visible or not, without changing anything.

    \b
    Examples:
      statewright queue peek orders
      statewright queue peek orders-dead --limit 100 -o jsonl
    """
    with _sqs(endpoint, headers={PEEK_HEADER: "true"}) as server:
        answer = server.call(
            "receive_message",
            QueueUrl=_url_of(server, target),
            MaxNumberOfMessages=limit,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
    _print_messages(answer.get("Messages", []), form)


@queue.command(short_help="Send a message.")
@click.argument("target", metavar="QUEUE")
@click.argument("body", metavar="TEXT|@FILE|-")
@click.option("--delay", type=click.IntRange(0), metavar="SECONDS", help="Delay its first delivery.")
@click.option("--group", metavar="ID", help="Its message group.")
@click.option("--dedup", metavar="ID", help="Its deduplication id.")
@click.option("--attribute", "pairs", multiple=True, metavar="NAME=TEXT", help="A message attribute; repeatable.")
@server_options
def send(
    target: str, body: str, delay: int | None, group: str | None, dedup: str | None, pairs: tuple[str, ...], form: str,
    endpoint: str | None,
) -> None:  # fmt: skip
    """Send a message and print its id.

    \b
    Examples:
      statewright queue send orders '{"order": 7}'
      statewright queue send orders.fifo @order.json --group customer-1 --dedup order-7
    """
    attributes = attributes_of(pairs)
    members = _given(MessageBody=text_of(body), DelaySeconds=delay, MessageGroupId=group, MessageDeduplicationId=dedup)
    with _sqs(endpoint) as server:
        sent = server.call("send_message", QueueUrl=_url_of(server, target), **members, **attributes)
    print_answer(form, sent, sent["MessageId"])


@queue.command(short_help="Receive messages.")
@click.argument("target", metavar="QUEUE")
@click.option("--limit", type=click.IntRange(1, 10), default=1, show_default=True, help="Maximum number of messages.")
@click.option("--wait", type=click.IntRange(0, 20), metavar="SECONDS", help="How long to wait for the first message.")
@click.option(
    "--visibility",
    type=click.IntRange(0, 43_200),
    metavar="SECONDS",
    help="How long to hide them from other consumers.",
)
@click.option("--delete", "deletes", is_flag=True, help="Delete each message once it is printed.")
@server_options
def receive(
    target: str, limit: int, wait: int | None, visibility: int | None, deletes: bool, form: str, endpoint: str | None
) -> None:
    """Receive messages. They come back when their visibility timeout is over, unless deleted.

    \b
    Examples:
      statewright queue receive orders --wait 20
      statewright queue receive orders --limit 10 --delete -o jsonl
    """
    members = _given(MaxNumberOfMessages=limit, WaitTimeSeconds=wait, VisibilityTimeout=visibility)
    every = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
    with _sqs(endpoint) as server:
        url = _url_of(server, target)
        found = server.call("receive_message", QueueUrl=url, **members, **every).get("Messages", [])
        _print_messages(found, form)
        stdout().flush()
        for message in found if deletes else ():
            server.call("delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@queue.command(short_help="Move dead letters back to their source queues.")
@click.argument("target", metavar="QUEUE")
@click.option("--to", "destination", metavar="QUEUE", help="Move them to this queue instead of their source queues.")
@click.option("--rate", type=click.IntRange(1, 500), metavar="N", help="Maximum messages per second.")
@click.option("--status", "only_status", is_flag=True, help="Only show the latest moves of the queue.")
@server_options
def redrive(
    target: str, destination: str | None, rate: int | None, only_status: bool, form: str, endpoint: str | None
) -> None:
    """Start to move the messages of a dead-letter queue, and print the move's handle.

    \b
    Examples:
      statewright queue redrive orders-dead
      statewright queue redrive orders-dead --status
    """
    with _sqs(endpoint) as server:
        source = _arn_of(server, target)
        if not only_status:
            to = _arn_of(server, destination) if destination is not None else None
            members = _given(DestinationArn=to, MaxNumberOfMessagesPerSecond=rate)
            started = server.call("start_message_move_task", SourceArn=source, **members)
            print_answer(form, started, started["TaskHandle"])
            return
        found = server.call("list_message_move_tasks", SourceArn=source, MaxResults=10).get("Results", [])
    titles = ("STARTED (UTC)", "STATUS", "MOVED", "OF", "TO", "WHY")
    print_rows(form, "moves", found, titles, _move_cells)


def _move_cells(one: Answer) -> list[Span]:
    return [
        local_time(one["StartedTimestamp"]),
        status_span(one["Status"]),
        str(one["ApproximateNumberOfMessagesMoved"]),
        str(one.get("ApproximateNumberOfMessagesToMove", "")),
        one.get("DestinationArn", "").rpartition(":")[2] or "their own queues",
        one.get("FailureReason", ""),
    ]


@queue.command(short_help="Delete every message of a queue.")
@click.argument("target", metavar="QUEUE")
@server_options
def purge(target: str, form: str, endpoint: str | None) -> None:
    """Delete every message of a queue, those in flight too. The queue stays.

    \b
    Examples:
      statewright queue purge orders-dead
    """
    with _sqs(endpoint) as server:
        url = _url_of(server, target)
        server.call("purge_queue", QueueUrl=url)
    print_answer(form, {"queueUrl": url}, f"purged {_name_of(url)}")


# ------------------------------------------------------------------ queues and texts


def _sqs(endpoint: str | None, headers: dict[str, str] | None = None) -> Server:
    return Server(endpoint, service="sqs", headers=headers)


def _given(**members: Json) -> JsonObject:
    return {name: value for name, value in members.items() if value is not None}


def _url_of(server: Server, target: str) -> str:
    if "/" in target:
        return target
    url: str = server.call("get_queue_url", QueueName=target)["QueueUrl"]
    return url


def _arn_of(server: Server, target: str) -> str:
    if target.startswith("arn:"):
        return target
    url = _url_of(server, target)
    arn: str = server.call("get_queue_attributes", QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return arn


def _name_of(url: str) -> str:
    return url.rpartition("/")[2]


def _print_messages(found: list[Answer], form: str) -> None:
    printable = [_printable(message) for message in found]
    titles = ("MESSAGE", "SENT (UTC)", "RECEIVED", "GROUP", "BODY")
    if found or form != "table":
        print_rows(form, "messages", printable, titles, _message_cells)
    if form == "table":
        stderr().line((count_words(len(found), "message"), "idle"))


def _printable(message: Answer) -> Answer:
    """A message without bytes: values of binary attributes as base64, as on the wire."""
    import base64

    attributes = {
        name: {key: base64.b64encode(item).decode() if isinstance(item, bytes) else item for key, item in value.items()}
        for name, value in message.get("MessageAttributes", {}).items()
    }
    return {**message, "MessageAttributes": attributes} if attributes else message


def _message_cells(message: Answer) -> list[Span]:
    attributes = message.get("Attributes", {})
    return [
        message["MessageId"],
        (local_time(int(attributes["SentTimestamp"])), "idle"),
        attributes.get("ApproximateReceiveCount", "0"),
        attributes.get("MessageGroupId", ""),
        message["Body"],
    ]
