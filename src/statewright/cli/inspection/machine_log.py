"""`statewright machine logs`: the log of a state machine, its executions' history events as they were logged.

Owns which log group a machine writes to, and how a line of it is shown. Reading is `log_events.py`'s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.client import Answer, Server, machine_of
from statewright.cli.inspection.history_words import Words, event_spans
from statewright.cli.inspection.log_events import Group, asked_of, log_options, print_log
from statewright.cli.output import USAGE, Line, Span, Stop, said, stdout

if TYPE_CHECKING:
    from statewright.payload import JsonObject

TYPE_CELLS: Final = 24
STATE_CELLS: Final = 12
SHORT_ID: Final = 8
"""Characters of a generated name that are shown on a terminal; `--execution` takes them, too."""
_GENERATED: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_EXECUTIONS: Final = 10_000


@click.command(short_help="Print or follow a state machine's log.")
@click.argument("target", metavar="MACHINE")
@click.option(
    "--execution", metavar="EXECUTION", help="Only events of this execution; the beginning of its name will do."
)
@log_options
def logs(
    target: str, execution: str | None, pattern: str, lines: int | None, since: str | None, follows: bool, form: str,
    endpoint: str | None,
) -> int:  # fmt: skip
    """Print the end of the log group that a machine's loggingConfiguration names: the history events of its
    executions. Times are UTC. Of an EXPRESS machine, this is the only history.

    A PATTERN is one of CloudWatch Logs, over the JSON of an event: words, or { $.type = "*Failed" }.

    \b
    Examples:
      statewright machine logs order -f
      statewright machine logs order --since 1h --filter '{ $.type = "*Failed" }'
      statewright machine logs order --execution run-7 -o jsonl
    """
    asked = asked_of(follows, since, lines, pattern, form)
    with Server(endpoint) as server:
        arn = ":".join(server.machine_arn(target).split(":")[:7])
        group = _group_of(server.call("describe_state_machine", stateMachineArn=arn))
    belongs = _Belongs(machine_of(arn), execution)
    with Server(endpoint, service="logs") as server:
        found = Group(server, group, pattern, wanted=belongs)
        return print_log(
            found, asked, _History().lines, is_cut=True, if_none=lambda: f"Nothing has been logged to {group} yet."
        )


def _group_of(shown: Answer) -> str:
    logging = shown.get("loggingConfiguration", {})
    if logging.get("level", "OFF") == "OFF" or not logging.get("destinations"):
        raise Stop(
            USAGE,
            f"Logging is off for state machine {shown['name']}.",
            "give it a loggingConfiguration: level ALL, and a log group as destination",
        )
    arn: str = logging["destinations"][0]["cloudWatchLogsLogGroup"]["logGroupArn"]
    return arn.split(":log-group:", 1)[1].removesuffix(":*")


class _Belongs:
    """True for events of a machine, of one of its executions if one is named; machines may share a group."""

    def __init__(self, machine: str, execution: str | None) -> None:
        self._machine = machine
        self._execution = execution

    def __call__(self, one: Answer) -> bool:
        record = _record_of(one["message"])
        arn = str(record["execution_arn"]) if record is not None else ""
        parts = arn.split(":")
        if len(parts) < 8:
            return self._execution is None
        named = self._execution
        is_named = named is None or named == arn or ":".join(parts[7:]).startswith(named)
        return parts[6] == self._machine and is_named


def _record_of(text: str) -> JsonObject | None:
    """A logged history event; `None` for anything else that was put into the group."""
    from statewright.payload import parse_json

    try:
        found = parse_json(text)
    except ValueError:
        return None
    is_event = isinstance(found, dict) and all(isinstance(found.get(name), str) for name in ("execution_arn", "type"))
    return found if is_event else None


class _History:
    """Shows events line by line; remembers what the tasks of each execution call."""

    def __init__(self) -> None:
        self._is_short = stdout().is_terminal
        self._words: dict[str, Words] = {}

    def lines(self, text: str) -> list[Line]:
        """One line for an event; another message as it is."""
        record = _record_of(text)
        if record is None:
            return [(line.expandtabs(4),) for line in text.splitlines()]
        arn = str(record["execution_arn"])
        words = self._words.setdefault(arn, Words())
        if len(self._words) > MOST_EXECUTIONS:
            del self._words[next(iter(self._words))]
        details: dict[str, Any] = record.get("details") or {}
        number, previous = (int(record.get(name) or 0) for name in ("id", "previous_event_id"))
        state, call = words.note(number, previous, record["type"], details)
        kind, name, what = event_spans(record["type"], state, details, call)
        run = ":".join(arn.split(":")[7:])
        if self._is_short:
            run = _GENERATED.sub(lambda match: match[0][:SHORT_ID], run)
        return [((run, "accent"), "  ", *_padded(kind, TYPE_CELLS), *_padded(name, STATE_CELLS), what)]


def _padded(span: Span, cells: int) -> tuple[Span, Span]:
    return span, " " * (cells - len(said(span)) + 2)
