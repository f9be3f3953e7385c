"""`statewright map-run ...`: Map Runs of a server, with the outcomes of their items."""

from __future__ import annotations

import click

from statewright.cli.client import Answer, Server, server_options, short_name
from statewright.cli.output import NOT_FOUND, Printer, Span, Stop, stdout
from statewright.cli.table import dated, length_words, local_time, print_answer, print_facts, print_table, status_span

COUNTS = (
    "total", "pending", "running", "succeeded", "failed", "timedOut", "aborted", "resultsWritten",
    "failuresNotRedrivable", "pendingRedrive",
)  # fmt: skip


@click.group("map-run", short_help="Show and redrive Map Runs.")
def map_run() -> None:
    """Work with the Map Runs of a server: those that distributed Maps have started.

    \b
    Examples:
      statewright map-run show order:run-7
      statewright map-run redrive ARN
    """


@map_run.command(short_help="Show a Map Run, or those of an execution.")
@click.argument("target", metavar="ARN|EXECUTION")
@click.option("--machine", metavar="MACHINE", help="The state machine of the execution.")
@server_options
def show(target: str, machine: str | None, form: str, endpoint: str | None) -> None:
    """Show a Map Run, or all Map Runs of an execution: counts by status, tolerance, concurrency.

    \b
    Examples:
      statewright map-run show order:run-7
      statewright map-run show order:run-7 -o json | jq '.mapRuns[].itemCounts'
    """
    with Server(endpoint) as server:
        if ":mapRun:" in target:
            arns = [target]
        else:
            execution = server.execution_arn(target, machine)
            listed = server.pages("list_map_runs", "mapRuns", executionArn=execution)
            arns = [one["mapRunArn"] for one in listed]
            if not arns:
                raise Stop(NOT_FOUND, f"The execution {short_name(execution)} has no Map Run.")
        found = [server.call("describe_map_run", mapRunArn=arn) for arn in arns]
    printer = stdout()
    if form == "json":
        printer.json({"mapRuns": dated(found)})
        return
    for number, one in enumerate(found):
        if form == "jsonl":
            printer.json(dated(one), compact=True)
        else:
            if number:
                printer.line()
            _print_map_run(printer, one)


def _print_map_run(printer: Printer, shown: Answer) -> None:
    from statewright.clock import RealClock

    length = length_words(shown["startDate"], shown.get("stopDate"), RealClock().now_ms())
    tolerated = f"{shown['toleratedFailureCount']:,} items or {shown['toleratedFailurePercentage']:g} %"
    facts: list[tuple[str, Span | None]] = [
        ("map run", (short_name(shown["mapRunArn"]), "strong")),
        ("arn", shown["mapRunArn"]),
        ("execution", short_name(shown["executionArn"])),
        ("status", status_span(shown["status"])),
        ("started", local_time(shown["startDate"]) + " UTC"),
        ("took" if shown.get("stopDate") else "runs for", length),
        ("concurrency", f"{shown['maxConcurrency']:,}" if shown["maxConcurrency"] else "unlimited"),
        ("tolerates", tolerated),
        ("redrives", str(shown["redriveCount"]) if shown.get("redriveCount") else None),
    ]
    print_facts(printer, facts)
    printer.line()
    rows = [
        (_words(name), f"{_count(shown, 'itemCounts', name):,}", f"{_count(shown, 'executionCounts', name):,}")
        for name in COUNTS
        if name == "total" or _count(shown, "itemCounts", name) or _count(shown, "executionCounts", name)
    ]
    print_table(printer, ("", "ITEMS", "EXECUTIONS"), rows)


def _count(shown: Answer, kind: str, name: str) -> int:
    return int(shown[kind].get(name, 0))


def _words(name: str) -> str:
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)


@map_run.command(short_help="Redrive a Map Run's execution.")
@click.argument("target", metavar="ARN|EXECUTION")
@click.option("--machine", metavar="MACHINE", help="The state machine of the execution.")
@server_options
def redrive(target: str, machine: str | None, form: str, endpoint: str | None) -> None:
    """Redrive a Map Run: its execution continues, and with it the children that did not succeed.

    \b
    Examples:
      statewright map-run redrive order:run-7
    """

    with Server(endpoint) as server:
        if ":mapRun:" in target:
            arn = server.call("describe_map_run", mapRunArn=target)["executionArn"]
        else:
            arn = server.execution_arn(target, machine)
        answer = server.call("redrive_execution", executionArn=arn)
    print_answer(form, {"executionArn": arn, **answer}, f"redriven {short_name(arn)}")
