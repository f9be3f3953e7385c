"""`statewright execution ...`, and `statewright run NAME`: executions of a server, listed, shown, followed, changed.

Owns the commands. Following one is `follow.py`'s, calls and names are `client.py`'s, tables `table.py`'s.
"""

from __future__ import annotations

from pathlib import Path

import click

from statewright.cli.client import Answer, Server, command_words, machine_of, server_options, short_name
from statewright.cli.costs import cost_of, cost_options, memory_of, wanted_table
from statewright.cli.inspection.execution_fork import fork
from statewright.cli.output import OK, USAGE, Span, Stop, stderr, stdout
from statewright.cli.table import dated, length_words, local_time, print_answer, print_rows, print_table, status_span

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE")
HELD_AT_ONCE = 50

machine_option = click.option("--machine", metavar="MACHINE", help="The state machine of the execution.")


@click.group(short_help="List, show, follow and change executions.")
def execution() -> None:
    """Work with the executions of a server.

    EXECUTION is an ARN, MACHINE:NAME, or the NAME alone.

    \b
    Examples:
      statewright execution list --machine order --status FAILED
      statewright execution show order:run-7
      statewright execution tail run-7
    """


@execution.command("list", short_help="List executions, newest first.")
@click.option("--machine", metavar="MACHINE", help="Only executions of this machine, NAME:VERSION or NAME:ALIAS.")
@click.option("--map-run", metavar="ARN", help="Only child executions of this Map Run.")
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only executions with this status.")
@click.option(
    "--limit", type=click.IntRange(1), default=HELD_AT_ONCE, show_default=True, help="Maximum number of executions."
)
@server_options
def list_executions(
    machine: str | None, map_run: str | None, status: str | None, limit: int, form: str, endpoint: str | None
) -> None:
    """List executions, newest first; those of all machines unless one is named.

    \b
    Examples:
      statewright execution list
      statewright execution list --machine order --status FAILED -o jsonl
    """
    from statewright.clock import RealClock

    if machine is not None and map_run is not None:
        raise Stop(USAGE, "--machine and --map-run are mutually exclusive")
    chosen = {"statusFilter": status} if status is not None else {}
    with Server(endpoint) as server:
        if map_run is not None:
            sources = [{"mapRunArn": map_run}]
        elif machine is not None:
            sources = [{"stateMachineArn": server.machine_arn(machine)}]
        else:
            # Executions of EXPRESS machines are in logs alone.
            sources = [
                {"stateMachineArn": one["stateMachineArn"]} for one in server.machines() if one["type"] == "STANDARD"
            ]
        found: list[Answer] = []
        for source in sources:
            found += server.pages("list_executions", "executions", most=limit, **source, **chosen)
    found.sort(key=lambda one: one["startDate"], reverse=True)
    now_ms = RealClock().now_ms()
    titles = ("NAME", "MACHINE", "STATUS", "STARTED (UTC)", "DURATION")
    print_rows(form, "executions", found[:limit], titles, lambda one: _cells(one, now_ms))
    if not found and form == "table":
        start = command_words("run MACHINE -i '{}'", endpoint)
        stderr().line((f"There are no executions. To start one: {start}", "idle"))


def _cells(one: Answer, now_ms: int) -> list[Span]:
    redrives = one.get("redriveCount", 0)
    status = status_span(one["status"])
    return [
        one["name"],
        machine_of(one["executionArn"]),
        status if not redrives else (f"{status[0]} (redrive {redrives})", status[1]),
        local_time(one["startDate"]),
        length_words(one["startDate"], one.get("stopDate"), now_ms),
    ]


@execution.command(short_help="Show an execution: what went in, what happened, what came out.")
@click.argument("target", metavar="EXECUTION")
@machine_option
@cost_options
@server_options
def show(target: str, machine: str | None, cost: bool, prices: str | None, form: str, endpoint: str | None) -> None:
    """Show an execution: what went in, the tree of its states, what came out.

    \b
    Examples:
      statewright execution show order:run-7
      statewright execution show order:run-7 --cost
      statewright execution show run-7 -o json | jq .states
    """
    from statewright.cli.inspection.follow import Following, named, print_execution
    from statewright.cli.run_report import summary

    table = wanted_table(cost, prices)
    with Server(endpoint) as server:
        following = Following(server, server.execution_arn(target, machine), quiet=True)
        following.poll()
        outcome = following.outcome()
        costs = cost_of(outcome, table, memory_of=memory_of(endpoint)) if table is not None else None
    if form == "table":
        print_execution(following)
        if costs is not None:
            stdout().line()
            costs.print(stdout())
    else:
        billed = {"cost": costs.document()} if costs is not None else {}
        stdout().json({**named(following.description), **summary(outcome), **billed}, compact=form == "jsonl")


@execution.command(short_help="Print an execution's history events.")
@click.argument("target", metavar="EXECUTION")
@machine_option
@click.option("--type", "types", multiple=True, metavar="TEXT", help="Only events whose type contains this text.")
@click.option("--reverse", is_flag=True, help="Newest first.")
@click.option("--no-data", is_flag=True, help="Leave out inputs and outputs.")
@server_options
def history(
    target: str, machine: str | None, types: tuple[str, ...], reverse: bool, no_data: bool, form: str,
    endpoint: str | None,
) -> None:  # fmt: skip
    """Print the history events of an execution; as JSON, in the shape that `run --history` writes.

    \b
    Examples:
      statewright execution history run-7 --type Failed
      statewright execution history run-7 -o json > history.json
    """
    with Server(endpoint) as server:
        arn = server.execution_arn(target, machine)
        choice = {"reverseOrder": reverse, "includeExecutionData": not no_data}
        found = list(server.pages("get_execution_history", "events", executionArn=arn, **choice))
    events = [one for one in found if not types or any(text.lower() in one["type"].lower() for text in types)]
    printer = stdout()
    if form == "table":
        from statewright.cli.inspection.history_words import of_history

        first_ms, named = min((one["timestamp"] for one in found), default=0), of_history(found)
        rows = [_event_cells(one, first_ms, named[one["id"]]) for one in events]
        print_table(printer, ("ID", "AFTER", "TIME", "TYPE", "STATE", "WHAT"), rows)
        return
    # As `run --history` writes it: epoch seconds.
    documents = [{**one, "timestamp": one["timestamp"] / 1000} for one in events]
    if form == "json":
        printer.json({"events": documents})
    for document in documents if form == "jsonl" else ():
        printer.json(document, compact=True)


def _event_cells(one: Answer, first_ms: int, named: tuple[str, str]) -> list[Span]:
    from statewright.cli.inspection.history_words import details_of, event_spans
    from statewright.cli.output import duration_words

    return [
        str(one["id"]),
        (str(one.get("previousEventId", 0) or ""), "idle"),
        (duration_words(one["timestamp"] - first_ms), "idle"),
        *event_spans(one["type"], named[0], details_of(one), named[1]),
    ]


@execution.command(short_help="Follow an execution to its end.")
@click.argument("target", metavar="EXECUTION")
@machine_option
@click.option("-q", "--quiet", is_flag=True, help="Print only the output and errors.")
@server_options
def tail(target: str, machine: str | None, quiet: bool, form: str, endpoint: str | None) -> int:
    """Follow an execution to its end, then print its output, as `statewright run` does.

    \b
    Examples:
      statewright execution tail run-7
      statewright execution tail run-7 -o jsonl

    Exit code: 0 it succeeded, 1 it failed, 5 it timed out, 130 interrupted; the execution continues then.
    """
    with Server(endpoint) as server:
        from statewright.cli.inspection.follow import follow_to_the_end

        return follow_to_the_end(server, server.execution_arn(target, machine), form, quiet=quiet)


@execution.command(short_help="Start an execution.")
@click.argument("target", metavar="MACHINE")
@click.option("-i", "--input", metavar="JSON|@FILE|-", help="The execution's input; {} without it.")
@click.option("--name", metavar="NAME", help="The execution's name; default: generated by the server.")
@click.option("-f", "--follow", "follows", is_flag=True, help="Follow it to its end.")
@server_options
def start(target: str, input: str | None, name: str | None, follows: bool, form: str, endpoint: str | None) -> int:
    """Start an execution of a machine, version or alias, and print its ARN.

    \b
    Examples:
      statewright execution start order -i '{"order": 7}' --name run-7
      statewright execution start order:prod -i @event.json --follow
    """
    with Server(endpoint) as server:
        started = start_execution(server, target, input, name)
        if follows:
            from statewright.cli.inspection.follow import follow_to_the_end

            return follow_to_the_end(server, started["executionArn"], form)
    print_answer(form, started, started["executionArn"])
    return OK


@execution.command(short_help="Stop executions.")
@click.argument("targets", metavar="EXECUTION...", nargs=-1, required=True)
@machine_option
@click.option("--error", metavar="NAME", help="The error to stop it with.")
@click.option("--cause", metavar="TEXT", help="Why.")
@server_options
def stop(
    targets: tuple[str, ...], machine: str | None, error: str | None, cause: str | None, form: str,
    endpoint: str | None,
) -> None:  # fmt: skip
    """Stop executions: they end as ABORTED.

    \b
    Examples:
      statewright execution stop run-7 --error Wrong --cause 'wrong input'
    """
    given = {name: value for name, value in (("error", error), ("cause", cause)) if value is not None}
    with Server(endpoint) as server:
        for arn in [server.execution_arn(target, machine) for target in targets]:
            answer = server.call("stop_execution", executionArn=arn, **given)
            print_answer(form, {"executionArn": arn, **answer}, f"stopped {short_name(arn)}")


@execution.command(short_help="Redrive failed executions.")
@click.argument("targets", metavar="EXECUTION...", nargs=-1, required=True)
@machine_option
@click.option("-f", "--follow", "follows", is_flag=True, help="Follow it to its end; for one execution.")
@server_options
def redrive(targets: tuple[str, ...], machine: str | None, follows: bool, form: str, endpoint: str | None) -> int:
    """Continue executions that failed, were stopped or timed out, from the states that did not succeed.

    \b
    Examples:
      statewright execution redrive run-7 --follow
    """
    if follows and len(targets) > 1:
        raise Stop(USAGE, "--follow takes a single execution")
    with Server(endpoint) as server:
        for arn in [server.execution_arn(target, machine) for target in targets]:
            answer = server.call("redrive_execution", executionArn=arn)
            if follows:
                from statewright.cli.inspection.follow import follow_to_the_end

                return follow_to_the_end(server, arn, form)
            print_answer(form, {"executionArn": arn, **answer}, f"redriven {short_name(arn)}")
    return OK


execution.add_command(fork)


# ------------------------------------------------------------------ starting and following


def start_execution(server: Server, target: str, input: str | None, name: str | None) -> Answer:
    """Start an execution of a machine by its name or ARN. Raises: Stop."""
    given = {"name": name} if name is not None else {}
    from statewright.cli.local.run_setup import input_text

    text = input_text(input)
    return server.call("start_execution", stateMachineArn=server.machine_arn(target), input=text, **given)


def run_machine(target: str, input: str | None, form: str, *, quiet: bool, endpoint: str | None = None) -> int:
    """`statewright run NAME`: one execution of a machine of the server, followed to its end; returns the exit code."""
    with Server(endpoint) as server:
        try:
            arn = server.machine_arn(target)
        except Stop as problem:
            problem.hint = _file_hint(target) or problem.hint
            raise
        found = server.call("describe_state_machine", stateMachineArn=_unqualified(arn), includedData="METADATA_ONLY")
        if found["type"] == "EXPRESS":
            return _run_express(server, arn, input, form, quiet=quiet)
        started = start_execution(server, arn, input, None)
        from statewright.cli.inspection.follow import follow_to_the_end

        return follow_to_the_end(server, started["executionArn"], form, quiet=quiet)


def _file_hint(target: str) -> str | None:
    from statewright.cli.local.run_setup import files_like

    near = files_like(Path(target))
    return f"to run the file: statewright run {near[0]}" if near else None


def _unqualified(arn: str) -> str:
    return ":".join(arn.split(":")[:7])


def _run_express(server: Server, arn: str, input: str | None, form: str, *, quiet: bool) -> int:
    """EXPRESS executions keep no history: they are run and answered in one call."""
    from statewright.cli.local.run_setup import input_text
    from statewright.cli.output import FAILED, TIMED_OUT, duration_words
    from statewright.payload import parse_json

    done = server.call("start_sync_execution", stateMachineArn=arn, input=input_text(input))
    status = done["status"]
    notes = stderr()
    if not quiet or status != "SUCCEEDED":
        took = duration_words(done["stopDate"] - done["startDate"])
        notes.line(status_span(status), (f" · {short_name(done['executionArn'])} · {took}", "idle"))
        for name in ("error", "cause"):
            if done.get(name):
                notes.wrapped(done[name], " " * 9, first=f"  {name:<5}  ")
        notes.flush()
    payloads = {name: parse_json(done[name]) for name in ("input", "output") if name in done}
    document = {**dated(done), **payloads}
    if form != "table":
        stdout().json(document, compact=form == "jsonl")
    elif "output" in document:
        stdout().json(document["output"])
    return OK if status == "SUCCEEDED" else TIMED_OUT if status == "TIMED_OUT" else FAILED
