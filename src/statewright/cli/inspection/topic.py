"""`statewright topic ...`: the topics of a server and their subscriptions, listed, and messages published.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s.
"""

from __future__ import annotations

import click

from statewright.cli.client import Answer, Server, command_words, server_options
from statewright.cli.inspection.messages import attributes_of, text_of
from statewright.cli.output import NOT_FOUND, Span, Stop
from statewright.cli.table import print_answer, print_rows


@click.group(short_help="List topics and subscriptions, publish messages.")
def topic() -> None:
    """Work with the topics of a server.

    TOPIC is a name or an ARN.

    \b
    Examples:
      statewright topic list
      statewright topic subscriptions orders
      statewright topic publish orders '{"order": 7}'
    """


@topic.command("list", short_help="List topics with their subscriptions.")
@server_options
def list_topics(form: str, endpoint: str | None) -> None:
    """List topics by name: how many subscriptions are confirmed and pending.

    \b
    Examples:
      statewright topic list
      statewright topic list -o json
    """
    with _sns(endpoint) as server:
        found = []
        for one in server.pages("list_topics", "Topics"):
            shown = server.call("get_topic_attributes", TopicArn=one["TopicArn"])["Attributes"]
            found.append({"name": _name_of(one["TopicArn"]), "topicArn": one["TopicArn"], "attributes": shown})
    print_rows(
        form, "topics", found, ("NAME", "CONFIRMED", "PENDING", "KIND"), _topic_cells,
        if_none=f"There are no topics. To create one: {command_words('aws sns create-topic --name NAME', endpoint)}",
    )  # fmt: skip


def _topic_cells(one: Answer) -> list[Span]:
    attributes = one["attributes"]
    kind = "fifo" if attributes.get("FifoTopic") == "true" else "standard"
    return [one["name"], attributes["SubscriptionsConfirmed"], attributes["SubscriptionsPending"], (kind, "idle")]


@topic.command(short_help="List subscriptions.")
@click.argument("target", metavar="[TOPIC]", required=False)
@server_options
def subscriptions(target: str | None, form: str, endpoint: str | None) -> None:
    """List the subscriptions of a topic, or all of them, oldest first.

    \b
    Examples:
      statewright topic subscriptions orders
      statewright topic subscriptions -o jsonl
    """
    with _sns(endpoint) as server:
        if target is None:
            found = list(server.pages("list_subscriptions", "Subscriptions"))
        else:
            arn = _arn_of(server, target)
            found = list(server.pages("list_subscriptions_by_topic", "Subscriptions", TopicArn=arn))
    print_rows(form, "subscriptions", found, ("TOPIC", "STATE", "PROTOCOL", "ENDPOINT"), _subscription_cells)


def _subscription_cells(one: Answer) -> list[Span]:
    is_pending = one["SubscriptionArn"] == "PendingConfirmation"
    state: Span = ("pending", "idle") if is_pending else ("confirmed", "ok")
    return [_name_of(one["TopicArn"]), state, one["Protocol"], one["Endpoint"]]


@topic.command(short_help="Publish a message.")
@click.argument("target", metavar="TOPIC")
@click.argument("message", metavar="TEXT|@FILE|-")
@click.option("--subject", metavar="TEXT", help="Its subject.")
@click.option("--group", metavar="ID", help="Its message group.")
@click.option("--dedup", metavar="ID", help="Its deduplication id.")
@click.option("--attribute", "pairs", multiple=True, metavar="NAME=TEXT", help="A message attribute; repeatable.")
@server_options
def publish(
    target: str, message: str, subject: str | None, group: str | None, dedup: str | None, pairs: tuple[str, ...],
    form: str, endpoint: str | None,
) -> None:  # fmt: skip
    """Publish a message and print its id.

    \b
    Examples:
      statewright topic publish orders '{"order": 7}' --attribute kind=order
      statewright topic publish orders.fifo @order.json --group customer-1 --dedup order-7
    """
    given = {"Subject": subject, "MessageGroupId": group, "MessageDeduplicationId": dedup}
    members = {name: value for name, value in given.items() if value is not None} | attributes_of(pairs)
    text = text_of(message)
    with _sns(endpoint) as server:
        sent = server.call("publish", TopicArn=_arn_of(server, target), Message=text, **members)
    print_answer(form, sent, sent["MessageId"])


# ------------------------------------------------------------------ below


def _sns(endpoint: str | None) -> Server:
    return Server(endpoint, service="sns")


def _name_of(arn: str) -> str:
    return arn.rpartition(":")[2]


def _arn_of(server: Server, target: str) -> str:
    if target.startswith("arn:"):
        return target
    from statewright.asl.findings import did_you_mean

    arns = {_name_of(one["TopicArn"]): str(one["TopicArn"]) for one in server.pages("list_topics", "Topics")}
    if target in arns:
        return arns[target]
    hint = did_you_mean(target, arns) or f"to see what there is: {server.words('topic list')}"
    raise Stop(NOT_FOUND, f"There is no topic {target}.", hint)
