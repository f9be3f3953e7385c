"""`statewright limit ...`: semaphores and machines with limits, listed and shown; permits released by force.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s.
"""

from __future__ import annotations

from typing import Any

import click

from statewright.cli.client import (
    OWN_SERVICE,
    Answer,
    Server,
    machine_of,
    server_options,
    short_name,
)
from statewright.cli.output import NOT_FOUND, Printer, Span, Stop, stderr, stdout
from statewright.cli.table import dated, print_answer, print_rows, print_table

name_argument = click.argument("name", metavar="SEMAPHORE")
key_option = click.option("--key", default="", metavar="TEXT", help="The key of the semaphore.")


@click.group(short_help="Show semaphores and machines with limits.")
def limit() -> None:
    """Work with the limits of a server: semaphores, and how many executions of a machine may run.

    A semaphore exists while an execution holds or waits for one of its permits.

    \b
    Examples:
      statewright limit list
      statewright limit show door
      statewright limit release door 7124 --reason "its worker is gone"
    """


@limit.command("list", short_help="List semaphores, and machines with limits.")
@server_options
def list_limits(form: str, endpoint: str | None) -> None:
    """List semaphores with holders and waiters, and machines with how many of their executions run and wait.

    \b
    Examples:
      statewright limit list
      statewright limit list -o json | jq .semaphores
    """
    with Server(endpoint, service=OWN_SERVICE) as server:
        found = server.call("list_limits")
    if form == "table":
        _print_limits(stdout(), found)
        if not found["semaphores"] and not found["stateMachines"]:
            stderr().line(("There are no limits. See docs/limits.md for semaphores and machines with limits.", "idle"))
    elif form == "json":
        stdout().json(found)
    else:
        for one in (*found["semaphores"], *found["stateMachines"]):
            stdout().json(one, compact=True)


def _print_limits(printer: Printer, found: Answer) -> None:
    semaphores, machines = found["semaphores"], found["stateMachines"]
    if semaphores:
        rows: list[list[Span]] = [
            [one["name"], one["key"], f"{one['held']:,} of {one['limit']:,}", f"{one['waiting']:,}"]
            for one in semaphores
        ]
        print_table(printer, ("SEMAPHORE", "KEY", "HELD", "WAITING"), rows)
    if semaphores and machines:
        printer.line()
    if machines:
        rows = [[machine_of(one["stateMachineArn"]), *_machine_cells(one)] for one in machines]
        print_table(printer, ("MACHINE", "RUNNING", "QUEUED", "STARTS"), rows)


def _machine_cells(one: dict[str, Any]) -> list[Span]:
    most, rate = one.get("maxConcurrentExecutions"), one.get("maxStartsPerSecond")
    running = f"{one['running']:,}" + (f" of {most:,}" if most is not None else "")
    return [running, f"{one['queued']:,}", f"{rate:g} a second" if rate is not None else ""]


@limit.command(short_help="Show the holders and waiters of a semaphore.")
@name_argument
@key_option
@server_options
def show(name: str, key: str, form: str, endpoint: str | None) -> None:
    """Show who holds permits of a semaphore and since when, and who waits, in order.

    \b
    Examples:
      statewright limit show door
      statewright limit show account --key 4711 -o json
    """
    from statewright.clock import RealClock

    with Server(endpoint, service=OWN_SERVICE) as server:
        found = server.call("describe_semaphore", name=name, key=key)
    if form == "json":
        stdout().json(dated(found))
        return
    now_ms = RealClock().now_ms()
    titles = ("PERMIT", "EXECUTION", "STATE", "", "FOR")
    people = [*found["holders"], *found["waiters"]]
    print_rows(form, "people", people, titles, lambda one: _permit_cells(one, now_ms))


def _permit_cells(one: dict[str, Any], now_ms: int) -> list[Span]:
    from statewright.cli.output import duration_words

    granted = one.get("grantedDate")
    since = granted if granted is not None else one["askedDate"]
    what: Span = ("holds", "run") if granted is not None else ("waits", "wait")
    whose = short_name(one["executionArn"])
    return [one["permit"], whose, one["state"], what, duration_words(max(0, now_ms - since) // 1000 * 1000)]


@limit.command(short_help="Take a permit from its holder.")
@name_argument
@click.argument("permit", metavar="PERMIT|EXECUTION")
@key_option
@click.option("--reason", required=True, metavar="TEXT", help="The reason, for the log.")
@server_options
def release(name: str, permit: str, key: str, reason: str, form: str, endpoint: str | None) -> None:
    """Take a permit from its holder, so that the next waiter gets it. The execution that held it continues.

    PERMIT is the number that show has, or the execution that holds it.

    \b
    Examples:
      statewright limit release door 7124 --reason "its worker is gone"
      statewright limit release door order:run-7 --reason "its worker is gone"
    """
    with Server(endpoint, service=OWN_SERVICE) as server:
        number = permit if permit.isdigit() else _permit_of(server, name, key, permit)
        taken = server.call("release_permit", name=name, key=key, permit=number, reason=reason)
    answer = {"name": name, "key": key, "permit": number, **taken}
    print_answer(form, answer, ("✓ ", "ok"), f"{name} taken from {short_name(taken['executionArn'])}")


def _permit_of(server: Server, name: str, key: str, execution: str) -> str:
    for one in server.call("describe_semaphore", name=name, key=key)["holders"]:
        arn = one["executionArn"]
        if execution in (arn, short_name(arn), arn.rpartition(":")[2]):
            return str(one["permit"])
    hint = f"to see who does: {server.words(f'limit show {name}')}"
    raise Stop(NOT_FOUND, f"The execution '{execution}' holds no permit of '{name}'.", hint)
