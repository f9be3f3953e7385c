"""`statewright function ...`: the functions of a server, listed, invoked, their logs and their concurrency.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s. Logs are read by `log_events.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from statewright.cli.client import Answer, Server, command_words, endpoint_option, server_options
from statewright.cli.inspection.log_events import Group, asked_of, log_options, print_events, print_log
from statewright.cli.output import FAILED, NOT_FOUND, OK, USAGE, Line, Span, Stop, stderr, stdout
from statewright.cli.table import print_facts, print_rows

OF_FUNCTIONS: Final = "/aws/lambda/"
"""The log group of a function, before its name."""


@click.group(short_help="List and invoke functions, read their logs.")
def function() -> None:
    """Work with the functions of a server.

    FUNCTION is a name, NAME:VERSION, NAME:ALIAS, or an ARN.

    \b
    Examples:
      statewright function list
      statewright function invoke price -i '{"item": 7}'
      statewright function logs price
    """


@function.command("list", short_help="List functions.")
@server_options
def list_functions(form: str, endpoint: str | None) -> None:
    """List functions by name.

    \b
    Examples:
      statewright function list
      statewright function list -o jsonl
    """
    with _lambda(endpoint) as server:
        found = list(server.pages("list_functions", "Functions"))
    titles = ("NAME", "RUNTIME", "HANDLER", "MEMORY", "TIMEOUT", "CODE")
    print_rows(
        form, "functions", found, titles, _cells,
        if_none=f"There are no functions. To create one, use any AWS SDK, or: {command_words('aws lambda', endpoint)}",
    )  # fmt: skip


def _cells(one: Answer) -> list[Span]:
    return [
        one["FunctionName"],
        one.get("Runtime", ""),
        one.get("Handler", ""),
        f"{one['MemorySize']} MB",
        f"{one['Timeout']} s",
        f"{one['CodeSize']:,} B" if one["CodeSize"] else "folder",
    ]


@function.command(short_help="Run a function and print its result.")
@click.argument("target", metavar="FUNCTION")
@click.option("-i", "--input", metavar="JSON|@FILE|-", help="The event; default: {}.")
@click.option("--event", is_flag=True, help="Invoke it asynchronously; the server retries failures.")
@click.option("--log", is_flag=True, help="Also print the end of its log.")
@endpoint_option
def invoke(target: str, input: str | None, event: bool, log: bool, endpoint: str | None) -> int:
    """Run a function and print what it returns; a function that fails ends with exit code 1.

    \b
    Examples:
      statewright function invoke price -i '{"item": 7}'
      statewright function invoke price:live -i @event.json --log
    """
    import base64

    from statewright.cli.local.run_setup import input_text
    from statewright.payload import parse_json

    payload = input_text(input).encode()
    with _lambda(endpoint) as server:
        answer = server.call(
            "invoke",
            FunctionName=target,
            Payload=payload,
            InvocationType="Event" if event else "RequestResponse",
            LogType="Tail" if log and not event else "None",
        )
        body = answer["Payload"].read() if "Payload" in answer else b""
    if "LogResult" in answer:
        for line in base64.b64decode(answer["LogResult"]).decode(errors="replace").expandtabs(4).splitlines():
            stderr().line((line, "idle"))
    if event:
        stderr().line(("✓ ", "ok"), "accepted")
        return OK
    try:
        stdout().json(parse_json(body.decode()))
    except ValueError:
        stdout().line(body.decode(errors="replace"))
    return FAILED if answer.get("FunctionError") else OK


@function.command(short_help="Print or follow a function's log.")
@click.argument("target", metavar="FUNCTION")
@click.option("--request", metavar="ID", help="Only the output of this invocation.")
@log_options
def logs(
    target: str, request: str | None, pattern: str, lines: int | None, since: str | None, follows: bool, form: str,
    endpoint: str | None,
) -> int:  # fmt: skip
    """Print the end of a function's log. Times are UTC.

    A PATTERN is one of CloudWatch Logs: words that a line has (error), quoted phrases, -words that it does not have,
    ?one ?of ?several, or members of JSON ({ $.level = "ERROR" }).

    \b
    Examples:
      statewright function logs price
      statewright function logs price -f --filter '?ERROR ?Traceback'
      statewright function logs price --since 10m -o jsonl
    """
    asked = asked_of(follows, since, lines, pattern, form)
    bare = target.split(":")[6] if target.startswith("arn:") and target.count(":") >= 6 else target.partition(":")[0]
    with Server(endpoint, service="logs") as server:
        group = Group(server, f"{OF_FUNCTIONS}{bare}", pattern)
        if request is None:
            return print_log(group, asked, message_lines, if_none=lambda: _no_log(bare, endpoint))
        if follows or pattern or since is not None:
            raise Stop(USAGE, "--request prints one invocation; leave out --follow, --filter and --since.")
        return print_events(_of_request(server, group.name, request), asked, message_lines)


def _no_log(name: str, endpoint: str | None) -> str:
    """Says that a function has no log yet. Raises: Stop if there is no function of that name."""
    with _lambda(endpoint) as server:
        server.call("get_function_configuration", FunctionName=name)
    return f"{name} has no log yet: it has not run."


def message_lines(text: str) -> list[Line]:
    """The lines of a message; workers write the line ends of a traceback as carriage returns."""
    return [(line.expandtabs(4),) for line in text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")]


def _of_request(server: Server, group: str, request: str) -> Iterator[Answer]:
    """The events from an invocation's START to its REPORT, in its stream. Raises: Stop."""
    begun = f"START RequestId: {request}"
    phrase = request.replace('"', "")
    first = next(iter(Group(server, group, f'"START RequestId: {phrase}"').events()), None)
    if first is None:
        raise Stop(NOT_FOUND, f"The log has no invocation {request}.")
    reached = False
    for one in Group(server, group, streams=(first["logStreamName"],)).events(first["timestamp"]):
        reached = reached or one["message"].startswith(begun)
        if reached:
            yield one
        if one["message"].startswith(f"REPORT RequestId: {request}"):
            return


@function.command(short_help="Show or set a function's reserved concurrency.")
@click.argument("target", metavar="FUNCTION")
@click.option("--reserve", type=click.IntRange(0), metavar="N", help="At most N at a time; 0 refuses every call.")
@click.option("--release", is_flag=True, help="Remove the reservation.")
@server_options
def concurrency(target: str, reserve: int | None, release: bool, form: str, endpoint: str | None) -> None:
    """Show a function's reserved concurrency and what is left for the others; set it or remove it.

    \b
    Examples:
      statewright function concurrency price
      statewright function concurrency price --reserve 5
    """
    with _lambda(endpoint) as server:
        if release:
            server.call("delete_function_concurrency", FunctionName=target)
        elif reserve is not None:
            server.call("put_function_concurrency", FunctionName=target, ReservedConcurrentExecutions=reserve)
        reserved = server.call("get_function_concurrency", FunctionName=target).get("ReservedConcurrentExecutions")
        limits = server.call("get_account_settings")["AccountLimit"]
    account, unreserved = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    if form == "table":
        print_facts(
            stdout(),
            [
                ("reserved", "none" if reserved is None else str(reserved)),
                ("unreserved", f"{unreserved} of {account}"),
            ],
        )
    else:
        document = {"function": target, "reserved": reserved, "unreserved": unreserved, "account": account}
        stdout().json(document, compact=form == "jsonl")


def _lambda(endpoint: str | None) -> Server:
    return Server(endpoint, service="lambda")
