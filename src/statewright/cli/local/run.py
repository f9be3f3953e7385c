"""`statewright run`: one execution of a definition, in virtual time or in real time, shown live.

Owns the command and what it prints. What runs is chosen in `run_setup.py`, run and shown in `watch.py`, the result
worded in `run_report.py`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

import click

from statewright.cli.client import endpoint_option
from statewright.cli.costs import Costs, cost_of, cost_options, wanted_table
from statewright.cli.extensions import extensions_option
from statewright.cli.local.validate import type_option
from statewright.cli.output import (
    NOT_FOUND,
    USAGE,
    Printer,
    Stop,
    stderr,
    stdout,
)
from statewright.cli.output_files import write_output
from statewright.cli.run_report import Outcome

OF_FILES: Final = {
    "case": "--case", "mock": "--mock", "machine": "--machine", "limits": "--limits", "seed": "--seed",
    "start": "--start", "max_virtual_time": "--max-virtual-time", "history_file": "--history",
    "machine_type": "--type", "cost": "--cost", "prices": "--prices",
}  # fmt: skip
"""Options that only a run of a file has, by their parameters."""


@click.command(short_help="Run a definition and print its output.")
@click.argument("file", metavar="FILE[#CASE]|MACHINE")
@click.option("-i", "--input", metavar="JSON|@FILE|-", help="The execution's input; {} unless a case has one.")
@click.option("--case", metavar="NAME", help="A case of FILE's .cases.yaml, or of --mock's MockConfigFile.json.")
@click.option("--mock", metavar="FILE", help="Results of tasks: a file of mocks, or a MockConfigFile.json.")
@click.option("--machine", metavar="NAME", help="The state machine in the MockConfigFile.json.")
@type_option
@click.option("--real-time", is_flag=True, help="Run in real time instead of virtual time.")
@click.option("--limits", type=click.Choice(["aws", "open"]), help="The service's limits (default), or none of them.")
@click.option("--seed", metavar="TEXT", help="Seed for random numbers, ids and jitter.")
@click.option("--start", metavar="INSTANT", help="When the execution starts: 2026-01-01T00:00:00Z.")
@click.option("--max-virtual-time", metavar="TIME", help="Stop waiting after this time: 2h, 7d.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    help="table: the output alone. json: one document about the run. jsonl: event by event, then that document.",
)
@click.option("--history", "history_file", metavar="FILE|-", help="Write the history, as GetExecutionHistory shows it.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the output and errors.")
@cost_options
@extensions_option
@endpoint_option
@click.pass_context
def run(
    context: click.Context,
    file: str,
    input: str | None,
    case: str | None,
    mock: str | None,
    machine: str | None,
    machine_type: Literal["STANDARD", "EXPRESS"],
    real_time: bool,
    limits: str | None,
    seed: str | None,
    start: str | None,
    max_virtual_time: str | None,
    form: str,
    history_file: str | None,
    quiet: bool,
    cost: bool,
    prices: str | None,
    endpoint: str | None,
) -> int:
    """Run one execution of a definition on this machine; or, by NAME, of a state machine of the server.

    The time of a FILE is virtual unless --real-time is given: waits, retries and timeouts take no time at all. What
    happens is shown on the standard error; the standard output gets the execution's output alone. FILE may be - for
    the standard input.

    \b
    Examples:
      statewright run order.asl.json -i '{"order": 7}' --mock mocks.yaml
      statewright run order.asl.json -i @event.json -o json | jq .states
      statewright run order.asl.json --case 'declined twice'
      statewright run order.asl.json#Happy --mock MockConfigFile.json
      statewright run order -i '{"order": 7}'
      yq -o json . order.yaml | statewright run -

    Exit code: 0 succeeded, 1 failed, 2 usage, 3 not found, 4 server unreachable, 5 timed out, 130 interrupted.
    """
    from statewright.cli.local.run_setup import Wishes, names_machine, prepare
    from statewright.cli.local.watch import Watch

    if names_machine(file):
        from statewright.cli.inspection.execution import run_machine

        refuse_for_machines(context, file)
        return run_machine(file, input, form, quiet=quiet, endpoint=endpoint)
    from statewright.engine.heavy.forked_trial import fence_expressions

    fence_expressions()
    if form != "table" and history_file == "-":
        raise Stop(USAGE, f"--history - and -o {form} both write to standard output")
    table = wanted_table(cost, prices)
    setup = prepare(Wishes(file, input, case, mock, machine, limits, start, machine_type))
    watch = Watch(setup, real_time=real_time, quiet=quiet, stream_events=form == "jsonl")
    outcome = watch.run(_seed_bytes(seed), _duration(max_virtual_time))
    watch.report(outcome)
    bill = cost_of(outcome, table, express=machine_type == "EXPRESS") if table is not None else None
    _print_all(outcome, form, history_file, bill)
    return outcome.exit_code


def refuse_for_machines(context: click.Context, target: str) -> None:
    """Refuse options that a server cannot follow. Raises: Stop."""
    from statewright.cli.local.run_setup import files_like

    given = [name for name in OF_FILES if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if given:
        near = files_like(Path(target))
        if near:
            raise Stop(NOT_FOUND, f"There is no file '{target}'.", f"did you mean {near[0]}?")
        raise Stop(
            USAGE,
            f"There is no file '{target}', and {OF_FILES[given[0]]} is for files: "
            "a machine of a server runs as the server does.",
        )


def _print_all(outcome: Outcome, form: str, history_file: str | None, bill: Costs | None) -> None:
    if bill is not None and form == "table":
        bill.print(stderr())
    if history_file != "-":
        _print_result(outcome, form, bill)
    if history_file is not None:
        _write_history(outcome, history_file)


def _print_result(outcome: Outcome, form: str, bill: Costs | None) -> None:
    from statewright.cli.run_report import summary

    printer: Printer = stdout()
    if form == "table":
        if outcome.state.output is not None:
            printer.json(outcome.state.output.value)
    else:
        costs = {"cost": bill.document()} if bill is not None else {}
        printer.json(summary(outcome) | costs, compact=form == "jsonl")


def _write_history(outcome: Outcome, target: str) -> None:
    from statewright.cli.output import json_text
    from statewright.cli.run_report import history_document

    document = {"events": [history_document(event) for event in outcome.history]}
    if target == "-":
        stdout().json(document)
        return
    write_output(target, json_text(document) + "\n")


def _seed_bytes(seed: str | None) -> bytes | None:
    return None if seed is None else hashlib.blake2b(seed.encode("utf-8", "surrogateescape"), digest_size=32).digest()


def _duration(text: str | None) -> int | None:
    if text is None:
        return None
    from statewright.instants import parse_duration_ms

    try:
        return parse_duration_ms(text)
    except ValueError as problem:
        raise Stop(USAGE, f"--max-virtual-time: {problem}") from None
