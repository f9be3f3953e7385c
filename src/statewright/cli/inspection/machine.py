"""`statewright machine ...`: state machines of a server, listed, shown, compared, deleted.

Leaves their logs to `machine_log.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from statewright.cli.client import (
    Answer,
    ApiProblem,
    Server,
    describe_machine,
    machine_of,
    server_options,
    short_name,
)
from statewright.cli.inspection.machine_check import check
from statewright.cli.inspection.machine_log import logs
from statewright.cli.output import FAILED, NOT_FOUND, OK, USAGE, Refused, Span, Stop, count_words, reason_of, stdout
from statewright.cli.table import (
    dated,
    length_words,
    local_time,
    print_answer,
    print_facts,
    print_rows,
    print_table,
    status_span,
)

if TYPE_CHECKING:
    from statewright.asl.comparison import Difference

RECENT = 5


@click.group(short_help="List, show, compare, check and delete state machines, read their logs.")
def machine() -> None:
    """Work with the state machines of a server.

    MACHINE is a name, an ARN, NAME:VERSION or NAME:ALIAS.

    \b
    Examples:
      statewright machine list
      statewright machine show order
      statewright machine diff order 1 2
      statewright machine check order.asl.json
      statewright machine logs order -f
    """


@machine.command("list", short_help="List the state machines.")
@server_options
def list_machines(form: str, endpoint: str | None) -> None:
    """List the state machines by name.

    \b
    Examples:
      statewright machine list -o jsonl
    """
    with Server(endpoint) as server:
        found = server.machines()
    titles = ("NAME", "TYPE", "CREATED (UTC)")
    print_rows(
        form, "stateMachines", found, titles,
        lambda one: (one["name"], one["type"], local_time(one["creationDate"])),
    )  # fmt: skip


@machine.command(short_help="Show a state machine.")
@click.argument("target", metavar="MACHINE")
@click.option("--definition", "bare", is_flag=True, help="Print only the definition.")
@server_options
def show(target: str, bare: bool, form: str, endpoint: str | None) -> None:
    """Show a state machine: its revision, versions, aliases and latest executions.

    \b
    Examples:
      statewright machine show order
      statewright machine show order:2 --definition > order.asl.json
    """
    with Server(endpoint) as server:
        shown = describe_machine(server, server.machine_arn(target))
        if bare:
            stdout().json(_definition_of(shown))
            return
        arn = ":".join(shown["stateMachineArn"].split(":")[:7])
        versions = list(server.pages("list_state_machine_versions", "stateMachineVersions", stateMachineArn=arn))
        aliases = list(server.pages("list_state_machine_aliases", "stateMachineAliases", stateMachineArn=arn))
        executions: list[Answer] = []
        if shown["type"] == "STANDARD":
            executions += server.pages("list_executions", "executions", most=RECENT, stateMachineArn=arn)
    if form == "table":
        _print_machine(shown, versions, aliases, executions)
        return
    lists = {"versions": versions, "aliases": aliases, "executions": executions}
    document = {**dated(_without_definition(shown)), "definition": _definition_of(shown), **dated(lists)}
    stdout().json(document, compact=form == "jsonl")


def _print_machine(shown: Answer, versions: list[Answer], aliases: list[Answer], executions: list[Answer]) -> None:
    from statewright.asl.outline import nodes_by_name
    from statewright.clock import RealClock

    printer = stdout()
    states = len(nodes_by_name(_definition_of(shown)))
    facts: list[tuple[str, Span | None]] = [
        ("machine", (short_name(shown["stateMachineArn"]), "strong")),
        ("arn", shown["stateMachineArn"]),
        ("type", shown["type"]),
        ("status", status_span(shown.get("status", "ACTIVE"))),
        ("created", local_time(shown["creationDate"]) + " UTC"),
        ("revision", shown.get("revisionId")),
        ("about", shown.get("description") or _definition_of(shown).get("Comment")),
        ("states", str(states)),
        ("versions", ", ".join(_last(one["stateMachineVersionArn"]) for one in versions)),
        ("aliases", ", ".join(_last(one["stateMachineAliasArn"]) for one in aliases)),
    ]
    print_facts(printer, facts)
    if executions:
        printer.line()
        now_ms = RealClock().now_ms()
        rows = [
            (
                one["name"],
                status_span(one["status"]),
                local_time(one["startDate"]),
                length_words(one["startDate"], one.get("stopDate"), now_ms),
            )
            for one in executions
        ]
        print_table(printer, ("LATEST EXECUTIONS", "STATUS", "STARTED (UTC)", "DURATION"), rows)


@machine.command(short_help="List the versions of a state machine.")
@click.argument("target", metavar="MACHINE")
@server_options
def versions(target: str, form: str, endpoint: str | None) -> None:
    """List the versions of a state machine, newest first, and the aliases that route to them.

    \b
    Examples:
      statewright machine versions order
    """
    with Server(endpoint) as server:
        arn = server.machine_arn(target)
        found = list(server.pages("list_state_machine_versions", "stateMachineVersions", stateMachineArn=arn))
        routes = _routes(server, arn)
        for one in found:
            version = one["stateMachineVersionArn"]
            about = server.call("describe_state_machine", stateMachineArn=version, includedData="METADATA_ONLY")
            one["description"] = about.get("description", "")
            one["revisionId"] = about.get("revisionId", "")
            one["aliases"] = routes.get(version, {})
    titles = ("VERSION", "CREATED (UTC)", "ALIASES", "DESCRIPTION")
    print_rows(
        form, "stateMachineVersions", found, titles,
        lambda one: (
            _last(one["stateMachineVersionArn"]),
            local_time(one["creationDate"]),
            ", ".join(name if weight == 100 else f"{name} {weight}%" for name, weight in one["aliases"].items()),
            one["description"],
        ),
    )  # fmt: skip


def _routes(server: Server, machine: str) -> dict[str, dict[str, int]]:
    """By version ARN: the names of the aliases that route to it, and how much."""
    routes: dict[str, dict[str, int]] = {}
    for one in server.pages("list_state_machine_aliases", "stateMachineAliases", stateMachineArn=machine):
        alias = server.call("describe_state_machine_alias", stateMachineAliasArn=one["stateMachineAliasArn"])
        for route in alias["routingConfiguration"]:
            routes.setdefault(route["stateMachineVersionArn"], {})[alias["name"]] = route["weight"]
    return routes


@machine.command(short_help="Compare two versions, or a file with the server.")
@click.argument("target", metavar="MACHINE")
@click.argument("before", metavar="[BEFORE]", required=False)
@click.argument("after", metavar="[AFTER]", required=False)
@server_options
def diff(target: str, before: str | None, after: str | None, form: str, endpoint: str | None) -> int:
    """Compare two definitions of a state machine: which states differ, and how.

    BEFORE and AFTER are each a version (2), an alias, a FILE, execution:NAME for what an execution runs, or current,
    which is the default of both. With a FILE alone the machine is compared with the file.

    \b
    Examples:
      statewright machine diff order 1 2
      statewright machine diff order 2
      statewright machine diff order order.asl.json

    Exit code: 0 the same, 1 they differ.
    """
    from statewright.asl.comparison import compare

    sides = [side for side in (before, after) if side is not None]
    if not sides:
        raise Stop(USAGE, "The other side is missing.", f"statewright machine diff {target} 1, or a FILE")
    if len(sides) == 1:
        sides = ["current", sides[0]] if Path(sides[0]).is_file() else [sides[0], "current"]
    with Server(endpoint) as server:
        (old_name, old), (new_name, new) = (_side(server, target, side) for side in sides)
    difference = compare(old, new, old_name, new_name)
    if form == "table":
        _print_difference(difference)
    else:
        document = {
            "same": difference.same,
            "states": {"added": difference.added, "removed": difference.removed, "changed": difference.changed},
            "fields": difference.fields,
            "diff": "\n".join(difference.text),
        }
        stdout().json(document, compact=form == "jsonl")
    return OK if difference.same else FAILED


def _side(server: Server, target: str, side: str) -> tuple[str, Any]:
    """A definition to compare, and what to call it. Raises: Stop, Refused."""
    if Path(side).is_file():
        return side, _file_definition(Path(side))
    if side.startswith("execution:"):
        name = side.removeprefix("execution:")
        arn = server.execution_arn(name, target)
        found = server.call("describe_state_machine_for_execution", executionArn=arn)
        return short_name(arn), _definition_of(found)
    whole = server.machine_arn(target.partition(":")[0] if not target.startswith("arn:") else target)
    machine_arn = ":".join(whole.split(":")[:7])
    arn = machine_arn if side == "current" else f"{machine_arn}:{side}"
    try:
        shown = describe_machine(server, arn)
    except ApiProblem as problem:
        if side.endswith((".json", ".yaml", ".yml")):
            raise Stop(NOT_FOUND, f"There is no file '{side}'.") from None
        problem.hint = f"to see the versions: {server.words(f'machine versions {machine_of(machine_arn)}')}"
        raise
    return f"{machine_of(machine_arn)}:{side}", _definition_of(shown)


def _file_definition(path: Path) -> Any:
    from statewright.asl.loading import check_definition

    try:
        document, found = check_definition(path, lints=False)
    except OSError as problem:
        raise Stop(NOT_FOUND, f"{path}: {reason_of(problem)}") from None
    if document is None or not isinstance(document.value, dict):
        raise Refused(str(path), found)
    return document.value


def _print_difference(difference: Difference) -> None:
    printer = stdout()
    if difference.same:
        printer.line(("There are no differences.", "ok"))
        return
    for name, kind in difference.added.items():
        printer.line((f"+ {name}", "ok"), (f"  {kind}", "idle"))
    for name, kind in difference.removed.items():
        printer.line((f"- {name}", "fail"), (f"  {kind}", "idle"))
    for name, fields in difference.changed.items():
        printer.line((f"~ {name}", "wait"), (f"  {', '.join(fields)}", "idle"))
    if difference.fields:
        printer.line(("~ the machine itself", "wait"), (f"  {', '.join(difference.fields)}", "idle"))
    printer.line()
    for line in difference.text:
        if line.startswith(("---", "+++")):
            printer.line((line, "strong"))
        elif line.startswith("@@"):
            printer.line((line, "accent"))
        else:
            printer.line((line, "ok" if line.startswith("+") else "fail" if line.startswith("-") else ""))


@machine.command(short_help="Delete a state machine.")
@click.argument("target", metavar="MACHINE")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@server_options
def delete(target: str, yes: bool, form: str, endpoint: str | None) -> None:
    """Delete a state machine with its versions and aliases; one that still runs is deleted when it has stopped.

    \b
    Examples:
      statewright machine delete order --yes
    """
    with Server(endpoint) as server:
        arn = server.machine_arn(target)
        if len(arn.split(":")) > 7:
            raise Stop(USAGE, f"{target} names a version or an alias; name the machine")
        name = machine_of(arn)
        running: list[Answer] = []
        shown = server.call("describe_state_machine", stateMachineArn=arn, includedData="METADATA_ONLY")
        if shown["type"] == "STANDARD":
            running += server.pages(
                "list_executions", "executions", stateMachineArn=arn, statusFilter="RUNNING", most=1000
            )
        if not yes:
            if not sys.stdin.isatty():
                raise Stop(USAGE, f"Deleting {name} needs --yes when there is no terminal to confirm on.")
            also = f" while {count_words(len(running), 'execution')} of it still running" if running else ""
            click.confirm(f"Delete {name}{also}?", abort=True, err=True)
        server.call("delete_state_machine", stateMachineArn=arn)
    rest = f"; {count_words(len(running), 'execution')} of it still running" if running else ""
    print_answer(form, {"stateMachineArn": arn, "running": len(running)}, f"deleted {name}{rest}")


machine.add_command(logs)
machine.add_command(check)


def _definition_of(shown: Answer) -> Any:
    from statewright.payload import parse_json

    return parse_json(shown["definition"])


def _without_definition(shown: Answer) -> Answer:
    return {name: value for name, value in shown.items() if name != "definition"}


def _last(arn: str) -> str:
    return arn.rpartition(":")[2]
