"""`statewright table ...`: the tables of a server, listed and scanned, and their items.

Owns the commands. Calls and their errors are `client.py`'s; tables on the terminal are `table.py`'s. For more
there is the AWS CLI: `statewright aws dynamodb`.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.client import Answer, Server, command_words, server_options
from statewright.cli.output import NOT_FOUND, USAGE, Span, Stop, count_words, stderr, stdout
from statewright.cli.table import print_rows, status_span

if TYPE_CHECKING:
    from statewright.payload import Json


SHOWN_AT_ONCE: Final = 20


@click.group("table", short_help="List tables and read their items.")
def table() -> None:
    """Work with the tables of a server.

    \b
    Examples:
      statewright table list
      statewright table scan orders --limit 100
      statewright table get orders customer=ada order=7
      statewright table execute "SELECT * FROM orders WHERE customer = 'ada'"
    """


@table.command("list", short_help="List tables with their keys and sizes.")
@server_options
def list_tables(form: str, endpoint: str | None) -> None:
    """List tables by name: items, bytes, key and indexes.

    \b
    Examples:
      statewright table list
      statewright table list -o json
    """
    with Server(endpoint, service="dynamodb") as server:
        names = server.pages("list_tables", "TableNames")
        found = [server.call("describe_table", TableName=name)["Table"] for name in names]
    titles = ("NAME", "STATUS", "ITEMS", "BYTES", "KEY", "INDEXES")
    print_rows(
        form, "tables", found, titles, _table_cells,
        if_none=f"There are no tables. To create one: {command_words('aws dynamodb create-table ...', endpoint)}",
    )  # fmt: skip


def _table_cells(one: Answer) -> list[Span]:
    indexes = [*one.get("LocalSecondaryIndexes", ()), *one.get("GlobalSecondaryIndexes", ())]
    return [
        one["TableName"],
        status_span(one["TableStatus"]),
        str(one["ItemCount"]),
        str(one["TableSizeBytes"]),
        ", ".join(_key_names(one)),
        (", ".join(index["IndexName"] for index in indexes), "idle"),
    ]


@table.command(short_help="Print the items of a table.")
@click.argument("name", metavar="TABLE")
@click.option("--limit", type=click.IntRange(1), default=SHOWN_AT_ONCE, show_default=True, help="How many.")
@click.option("--index", metavar="NAME", help="Read this index instead of the table.")
@server_options
def scan(name: str, limit: int, index: str | None, form: str, endpoint: str | None) -> None:
    """Print the items of a table, in no order.

    \b
    Examples:
      statewright table scan orders
      statewright table scan orders --limit 1000 -o jsonl
    """
    members: dict[str, Any] = {"TableName": name, **({"IndexName": index} if index else {})}
    items: list[Answer] = []
    with Server(endpoint, service="dynamodb") as server:
        keys = _key_names(server.call("describe_table", TableName=name)["Table"])
        while len(items) < limit:
            page = server.call("scan", **members, Limit=limit - len(items))
            items += page["Items"]
            if not page.get("LastEvaluatedKey"):
                break
            members["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    titles = (*keys, "ITEM")
    print_rows(form, "items", [_on_the_wire(item) for item in items], titles, lambda one: _cells(one, keys))
    if form == "table":
        stderr().line((count_words(len(items), "item"), "idle"))


def _cells(item: Answer, keys: list[str]) -> list[Span]:
    rest = {name: _plain(value) for name, value in item.items() if name not in keys}
    return [*(str(_plain(item[name])) for name in keys), json.dumps(rest, ensure_ascii=False)]


@table.command(short_help="Show one item.")
@click.argument("name", metavar="TABLE")
@click.argument("pairs", metavar="ATTRIBUTE=VALUE...", nargs=-1, required=True)
@server_options
def get(name: str, pairs: tuple[str, ...], form: str, endpoint: str | None) -> None:
    """Show an item by its key; the table knows which attributes are numbers.

    \b
    Examples:
      statewright table get orders customer=ada order=7
      statewright table get orders customer=ada order=7 -o json
    """
    given: dict[str, str] = {}
    for pair in pairs:
        attribute, separator, value = pair.partition("=")
        if not separator:
            raise Stop(USAGE, f"{pair}: write ATTRIBUTE=VALUE")
        given[attribute] = value
    with Server(endpoint, service="dynamodb") as server:
        shown = server.call("describe_table", TableName=name)["Table"]
        types = {one["AttributeName"]: one["AttributeType"] for one in shown["AttributeDefinitions"]}
        keys = _key_names(shown)
        if set(given) != set(keys):
            raise Stop(USAGE, f"the key of table {name} is {' and '.join(keys)}: give a value for each")
        key = {attribute: {types[attribute]: _bytes_or_text(types[attribute], given[attribute])} for attribute in keys}
        item = server.call("get_item", TableName=name, Key=key, ConsistentRead=True).get("Item")
    if item is None:
        raise Stop(NOT_FOUND, f"table {name} has no item {' '.join(pairs)}")
    if form == "table":
        stdout().json({attribute: _plain(value) for attribute, value in _on_the_wire(item).items()})
    else:
        stdout().json(_on_the_wire(item), compact=form == "jsonl")


@table.command(short_help="Execute a PartiQL statement.")
@click.argument("statement")
@click.option("--limit", type=click.IntRange(1), default=SHOWN_AT_ONCE, show_default=True, help="How many items.")
@server_options
def execute(statement: str, limit: int, form: str, endpoint: str | None) -> None:
    """Execute a PartiQL statement on one table, and print the items that it returns.

    \b
    Examples:
      statewright table execute "SELECT * FROM orders WHERE customer = 'ada' AND \\"order\\" > 3"
      statewright table execute "UPDATE orders SET paid = true WHERE customer = 'ada' AND \\"order\\" = 7"
    """
    items: list[Answer] = []
    members: dict[str, Any] = {}
    with Server(endpoint, service="dynamodb") as server:
        while len(items) < limit:
            page = server.call("execute_statement", Statement=statement, Limit=limit - len(items), **members)
            items += page["Items"]
            if not page.get("NextToken"):
                break
            members["NextToken"] = page["NextToken"]
    print_rows(form, "items", [_on_the_wire(item) for item in items], ("ITEM",), lambda one: _cells(one, []))
    if form == "table":
        stderr().line((count_words(len(items), "item"), "idle"))


def _bytes_or_text(kind: str, text: str) -> str | bytes:
    return text.encode() if kind == "B" else text


def _key_names(shown: Answer) -> list[str]:
    return [one["AttributeName"] for one in shown["KeySchema"]]


def _on_the_wire(value: Json) -> Json:
    """An answer with bytes as base64 text, as on the wire."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _on_the_wire(member) for name, member in value.items()}
    return [_on_the_wire(element) for element in value] if isinstance(value, list) else value


def _plain(value: Answer) -> Any:
    """A value without DynamoDB's types; a number that would lose digits in JSON stays a string."""
    ((kind, content),) = value.items()
    if kind == "N":
        return _number(content)
    if kind == "NS":
        return [_number(text) for text in content]
    if kind == "NULL":
        return None
    if kind == "L":
        return [_plain(element) for element in content]
    if kind == "M":
        return {name: _plain(member) for name, member in content.items()}
    return content


def _number(text: str) -> int | float | str:
    if "." not in text:
        return int(text)
    return float(text) if len(text) <= 15 else text
