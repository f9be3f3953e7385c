"""`statewright machine check`: the last executions of a machine replayed on another definition, before it is deployed.

Histories are read from the server, and replayed here: nothing is called, started or stored. Any server of the API will
do. What a replay is, and when one cannot be judged, is in `simulator.judging`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.client import (
    OWN_SERVICE,
    Answer,
    ApiProblem,
    Server,
    Unreachable,
    describe_machine,
    machine_of,
    server_options,
)
from statewright.cli.output import (
    FAILED,
    NOT_FOUND,
    OK,
    USAGE,
    Refused,
    Span,
    Stop,
    Tone,
    count_words,
    reason_of,
    stderr,
    stdout,
)
from statewright.cli.table import dated, print_table, status_span

if TYPE_CHECKING:
    from statewright.limits import Limits
    from statewright.simulator.judging import Judgement, Machine

MOST: Final = 1_000
_FILES: Final = (".json", ".yaml", ".yml")


@click.command(short_help="Replay the last executions on a definition.")
@click.argument("target", metavar="FILE|MACHINE")
@click.option("--against-last", "last", type=click.IntRange(1, MOST), default=100, metavar="N",
              help="How many executions to replay; default: 100.")  # fmt: skip
@click.option("--machine", "name", metavar="MACHINE", help="Whose executions; default: the file's name.")
@click.option("--all", "shows_all", is_flag=True, help="List the executions that stay the same, too.")
@server_options
def check(target: str, last: int, name: str | None, shows_all: bool, form: str, endpoint: str | None) -> int:
    """Replay the last executions of a state machine on another definition, and list those that would change: another
    path, another end, another output, other arguments of a task.

    The definition is a FILE, or a version of the machine (NAME:VERSION). Tasks answer as they were recorded, in virtual
    time; nothing is called, and nothing is stored. Executions that cannot be judged are listed with the reason, and
    never count as unchanged: those that run, that were redriven or forked, and those that do not reach their recorded
    end on their own definition.

    \b
    Examples:
      statewright machine check order.asl.json
      statewright machine check order.asl.json --machine order --against-last 20
      statewright machine check order:4 -o json

    Exit code: 0 none changes, 1 some change or none could be judged, 2 usage, 3 not found, 4 unreachable.
    """
    with Server(endpoint) as server:
        arn, other = _other(server, target, name)
        found = _Found()
        judged = _judged(server, arn, other, last, _limits(server))
        if form == "jsonl":
            for one in judged:
                found.note(one)
                stdout().json(one, compact=True)
        else:
            for one in judged:
                found.note(one)
    counts = found.counts
    if form == "json":
        stdout().json({"stateMachineArn": arn, **counts, "executions": found.rows})
    elif form == "table":
        _print(found, machine_of(arn), shows_all=shows_all)
    return FAILED if counts["changed"] or (found.rows and not counts["same"]) else OK


@dataclass(slots=True)
class _Found:
    """The verdicts so far."""

    rows: list[Answer] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"same": 0, "changed": 0, "unjudged": 0})

    def note(self, row: Answer) -> None:
        self.rows.append(row)
        self.counts[row["verdict"]] += 1


# ------------------------------------------------------------------ the definition


def _other(server: Server, target: str, name: str | None) -> tuple[str, Machine]:
    """The ARN of the machine whose executions are replayed, and the definition that they are replayed on."""
    from statewright.errors import DefinitionError

    if Path(target).is_file():
        arn = server.machine_arn(name if name is not None else Path(target).name.partition(".")[0])
        other = _of_file(Path(target))
    elif target.endswith(_FILES):
        raise Stop(NOT_FOUND, f"There is no file '{target}'.")
    else:
        shown = describe_machine(server, server.machine_arn(target))
        arn = server.machine_arn(name) if name is not None else shown["stateMachineArn"]
        try:
            other = _machine(shown["definition"])
        except DefinitionError as problem:
            raise Refused(target, problem.diagnostics) from None
    arn = ":".join(arn.split(":")[:7])
    shown = server.call("describe_state_machine", stateMachineArn=arn, includedData="METADATA_ONLY")
    if shown["type"] != "STANDARD":
        raise Stop(USAGE, f"{machine_of(arn)} is EXPRESS: its executions keep no history that could be replayed.")
    return arn, other


def _of_file(path: Path) -> Machine:
    from statewright.asl.loading import check_definition, compile_checked
    from statewright.errors import DefinitionError
    from statewright.simulator.judging import Machine

    try:
        document, found = check_definition(path, lints=False)
        program = compile_checked(document, found).program
    except OSError as problem:
        raise Stop(NOT_FOUND, f"{path}: {reason_of(problem)}") from None
    except DefinitionError as problem:
        raise Refused(str(path), problem.diagnostics or found) from None
    assert document is not None
    return Machine(document.value, program)


def _machine(definition: str) -> Machine:
    """A definition of the server. Raises: DefinitionError, if it is one that Statewright does not accept."""
    from statewright.asl.loading import check_text, compile_checked
    from statewright.simulator.judging import Machine

    loaded = compile_checked(*check_text(definition, "definition.json", lints=False))
    return Machine(loaded.document.value, loaded.program)


# ------------------------------------------------------------------ executions


def _judged(server: Server, arn: str, other: Machine, last: int, limits: Limits) -> Iterator[Answer]:
    """The verdict of each execution, newest first."""
    from statewright.errors import DefinitionError

    own: dict[str, Machine] = {}
    for shown in server.pages("list_executions", "executions", most=last, stateMachineArn=arn):
        row: Answer = {
            "executionArn": shown["executionArn"],
            "name": shown["name"],
            "status": shown["status"],
            **dated({"startDate": shown["startDate"]}),
        }
        try:
            judged = _judge(server, shown, other, own, limits)
            yield row | _document(judged)
        except (ApiProblem, DefinitionError, ValueError) as problem:
            # One whose history is gone, or that a server of another kind ran, is no reason to leave out the others.
            yield row | {"verdict": "unjudged", "reason": _why_not(problem), "changes": []}


def _why_not(problem: Exception) -> str:
    from statewright.errors import DefinitionError

    if isinstance(problem, ApiProblem):
        return problem.message
    if isinstance(problem, DefinitionError):
        found = problem.diagnostics
        return f"Statewright finds errors in its definition: {found[0].message if found else problem}"
    return f"Its history cannot be read: {problem}"


def _limits(server: Server) -> Limits:
    """The limits that the executions were run under: the server's own, or the service's if it tells none."""
    from statewright.limits import AWS

    try:
        with Server(server.named_endpoint, service=OWN_SERVICE) as own:
            found = own.call("describe_limits")
    except (ApiProblem, Unreachable):
        # A server of another kind, or an older one.
        return AWS
    known = {one.name for one in fields(AWS)}
    changed: dict[str, Any] = {"profile": found["profile"], **found["limits"], **dict.fromkeys(found["lifted"])}
    return replace(AWS, **{name: value for name, value in changed.items() if name in known})


def _judge(server: Server, shown: Answer, other: Machine, own: dict[str, Machine], limits: Limits) -> Judgement:
    from statewright.interpreter.state import Identity
    from statewright.simulator.judging import judge
    from statewright.simulator.recorded import events_of

    arn = shown["executionArn"]
    definition = server.call("describe_state_machine_for_execution", executionArn=arn)
    text = definition["definition"]
    if text not in own:
        own[text] = _machine(text)
    machine_arn = definition["stateMachineArn"]
    identity = Identity(
        arn, shown["name"], machine_arn, machine_of(machine_arn), definition.get("roleArn", ""), arn.split(":")[3]
    )
    events = list(server.pages("get_execution_history", "events", executionArn=arn))
    return judge(events_of(events), own[text], other, identity, limits=limits)


def _document(judged: Judgement) -> Answer:
    return {
        "verdict": judged.verdict,
        "reason": judged.reason,
        "changes": [
            {"kind": change.kind, "state": change.state, "words": change.words, **_values(change.difference)}
            for change in judged.changes
        ],
    }


def _values(difference: Any) -> Answer:
    from statewright.simulator.differences import ABSENT

    if difference is None:
        return {}
    sides = {"recorded": difference.wanted, "now": difference.got}
    return {"at": difference.where, **{name: side for name, side in sides.items() if side is not ABSENT}}


# ------------------------------------------------------------------ the table


def _print(found: _Found, name: str, *, shows_all: bool) -> None:
    printer = stdout()
    counts = found.counts
    if not found.rows:
        printer.line(f"{name} has no executions.")
        return
    shown = [row for row in found.rows if shows_all or row["verdict"] != "same"]
    if shown:
        words: dict[str, Span] = {
            "changed": ("changes", "caught"),
            "unjudged": ("not judged", "wait"),
            "same": ("same", "ok"),
        }
        rows: list[tuple[Span, ...]] = [
            (row["name"], status_span(row["status"]), words[row["verdict"]], row["reason"] or _first_words(row))
            for row in shown
        ]
        print_table(printer, ("EXECUTION", "RECORDED", "NOW", "FIRST CHANGE, OR WHY NOT"), rows)
        printer.line()
    tone: Tone = "caught" if counts["changed"] else "ok"
    changes = "change" if counts["changed"] != 1 else "changes"
    printer.line(
        f"{count_words(len(found.rows), 'execution')} replayed: ", (f"{counts['changed']} {changes}", tone),
        f", {counts['same']} the same", (f", {counts['unjudged']} not judged" if counts["unjudged"] else "", "wait"),
    )  # fmt: skip
    if counts["unjudged"] and not counts["same"] and not counts["changed"]:
        stderr().line(("None could be judged, so nothing is known about this definition.", "wait"))


def _first_words(row: Answer) -> str:
    first = row["changes"][0] if row["changes"] else None
    return first["words"] if first is not None else ""
