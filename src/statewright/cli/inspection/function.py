"""`statewright function ...`: the functions of a server, listed, invoked, their logs and their concurrency.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s. Logs are files of the server's data
folder, so they are read where the server runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from statewright.cli.client import Answer, Server, endpoint_option, server_options
from statewright.cli.output import FAILED, NOT_FOUND, OK, Span, Stop, stderr, stdout
from statewright.cli.table import local_time, print_facts, print_rows

DATA_FOLDER: Final = ".statewright"
LOGS: Final = "functions/logs"


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
        if_none="There are no functions. To create one, use any AWS SDK, or: statewright aws lambda",
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
@click.option("-i", "--input", metavar="JSON", help="The event: JSON, @FILE, or - for the standard input.")
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


@function.command(short_help="Print a function's log.")
@click.argument("name", metavar="FUNCTION")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The server's data folder.")
@click.option("-n", "--lines", type=click.IntRange(1), default=100, show_default=True, help="Maximum number of lines.")
@click.option("--request", metavar="ID", help="Only lines of this invocation.")
def logs(name: str, data: str, lines: int, request: str | None) -> None:
    """Print the end of a function's log, from the server's data folder.

    \b
    Examples:
      statewright function logs price
      statewright function logs price -n 20 --data ./data
    """
    folder = Path(data) / LOGS
    bare = name.split(":")[6] if name.startswith("arn:") and name.count(":") >= 6 else name.partition(":")[0]
    files = [path for path in (folder / f"{bare}.log.1", folder / f"{bare}.log") if path.is_file()]
    if not files:
        raise Stop(NOT_FOUND, f"There is no log of '{bare}' in {folder}.", "name the server's data folder: --data DIR")
    found = []
    for path in files:
        found += path.read_text("utf-8", errors="replace").split("\n")[:-1]
    kept = list(_of_request(found, request) if request else found)[-lines:]
    printer = stdout()
    for line in kept:
        at, _, rest = line.partition("\t")
        text = rest.partition("\t")[2].replace("\r", "\n").expandtabs(4)
        printer.line((local_time(int(at)) if at.isdigit() else "", "idle"), "  ", text)


def _of_request(found: list[str], request: str) -> Iterator[str]:
    """The lines from an invocation's START to its REPORT, in its stream."""
    stream = None
    for line in found:
        _, name, text = [*line.split("\t", 2), "", ""][:3]
        if text.startswith(f"START RequestId: {request}"):
            stream = name
        if name == stream:
            yield line
        if text.startswith(f"REPORT RequestId: {request}"):
            stream = None


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
