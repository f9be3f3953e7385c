"""`statewright execution fork`: a new execution that starts at a state which an earlier one reached."""

from __future__ import annotations

from typing import Any, Final

import click

from statewright.cli.client import OWN_SERVICE, ApiProblem, Server, server_options, short_name
from statewright.cli.output import OK, USAGE, Stop, count_words, stderr
from statewright.cli.table import print_answer

MOST_STATES: Final = 12


@click.command(short_help="Start a new execution at a state that an earlier one reached.")
@click.argument("target", metavar="EXECUTION")
@click.option("--at", "state", required=True, metavar="STATE", help="The state to start at.")
@click.option("-i", "--input", metavar="JSON|@FILE|-", help="The state's input; default: the input it had then.")
@click.option("--var", "variables", multiple=True, metavar="NAME=JSON", help="Override a variable; repeatable.")
@click.option("--visit", type=click.IntRange(1), metavar="N", help="Which visit of the state; default: the last one.")
@click.option("--machine", metavar="MACHINE", help="The state machine of the execution.")
@click.option("--to", "other", metavar="MACHINE", help="Machine to run instead of its own revision; also NAME:VERSION.")
@click.option("--name", metavar="TEXT", help="The new execution's name.")
@click.option("-f", "--follow", "follows", is_flag=True, help="Follow the new execution to its end.")
@server_options
def fork(
    target: str, state: str, input: str | None, variables: tuple[str, ...], visit: int | None, machine: str | None,
    other: str | None, name: str | None, follows: bool, form: str, endpoint: str | None,
) -> int:  # fmt: skip
    """Start a new execution at a state that an earlier one reached, with the input and the variables of that moment.

    The old execution stays as it is: to continue that one, redrive it. What tasks did from that state on they do once
    more, which is said before.

    \b
    Examples:
      statewright execution fork run-7 --at Charge
      statewright execution fork order:run-7 --at Charge -i '{"amount": 5}' --var 'retries=0' --follow
      statewright execution fork run-7 --at Ship --to order:4
    """
    from statewright.cli.inspection.follow import follow_to_the_end
    from statewright.cli.local.run_setup import input_text

    with Server(endpoint) as server:
        arn = server.execution_arn(target, machine)
        wish: dict[str, Any] = {"executionArn": arn, "stateName": state}
        if input is not None:
            wish["input"] = input_text(input)
        if variables:
            wish["variables"] = _variables_text(variables)
        if other is not None:
            wish["stateMachineArn"] = server.machine_arn(other)
        wish |= {key: value for key, value in (("visit", visit), ("name", name)) if value is not None}
        if form == "table":
            _say_what_repeats(server, arn, state, visit)
        with Server(endpoint, service=OWN_SERVICE) as own:
            try:
                answer = own.call("fork_execution", **wish)
            except ApiProblem as problem:
                problem.hint = _states_hint(server, wish) or problem.hint
                raise
        if follows:
            return follow_to_the_end(server, answer["executionArn"], form)
    print_answer(
        form, answer, ("✓ ", "ok"), f"{short_name(answer['executionArn'])} starts at {state}, as {short_name(arn)} did"
    )
    return OK


def _states_hint(server: Server, wish: dict[str, Any]) -> str | None:
    """A state of the machine that was probably meant, if the one that was asked for is none of it."""
    from statewright.asl.findings import did_you_mean
    from statewright.payload import parse_json

    try:
        other = wish.get("stateMachineArn")
        shown = (
            server.call("describe_state_machine", stateMachineArn=other)
            if other is not None
            else server.call("describe_state_machine_for_execution", executionArn=wish["executionArn"])
        )
    except ApiProblem:
        return None
    states = list(parse_json(shown["definition"])["States"])
    if wish["stateName"] in states:
        return None
    return did_you_mean(wish["stateName"], states) or f"its states are {', '.join(states[:MOST_STATES])}"


def _variables_text(given: tuple[str, ...]) -> str:
    from statewright.payload import JsonTextError, dump_json, parse_json

    found: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise Stop(USAGE, f"--var {one}: write it as NAME=JSON")
        try:
            found[name] = parse_json(text)
        except JsonTextError:
            raise Stop(
                USAGE, f"--var {name}: '{text}' is not JSON.", f"a string needs quotes: --var '{name}=\"...\"'"
            ) from None
    return dump_json(found)


def _say_what_repeats(server: Server, arn: str, state: str, visit: int | None) -> None:
    """Name the tasks that the earlier execution ran from that state on."""
    entered, began, tasks = 0, False, dict[str, None]()
    for event in server.pages("get_execution_history", "events", executionArn=arn, includeExecutionData=False):
        details = event.get("stateEnteredEventDetails")
        if details is None:
            continue
        if details["name"] == state:
            entered += 1
            began = visit is None or entered >= visit
            if began and visit is None:
                tasks.clear()
        if began and event["type"] == "TaskStateEntered":
            tasks[details["name"]] = None
    if tasks:
        shown = ", ".join(list(tasks)[:8]) + (" ..." if len(tasks) > 8 else "")
        whose = "its" if len(tasks) == 1 else "their"
        stderr().line((f"{count_words(len(tasks), 'task')} may repeat {whose} effects: {shown}", "wait"))
