"""`statewright schedule ...`: the schedules of a server, their next fire times, and manual invocations.

Owns the commands. Calls and their errors are `client.py`'s, tables `table.py`'s; instants are computed here, by the
expressions of `events.expressions`, so that an expression can be looked at without any server.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import click

from statewright.cli.client import Answer, Server, command_words, server_options
from statewright.cli.output import OK, USAGE, Span, Stop, stderr, stdout
from statewright.cli.table import print_answer, print_rows

KEPT: Final = (
    "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate", "EndDate", "Description", "State", "KmsKeyArn",
    "Target", "FlexibleTimeWindow", "ActionAfterCompletion",
)  # fmt: skip
"""Members of a schedule that an update must repeat."""
COPY_SECONDS: Final = 3600
"""The lifetime of a copy that fires immediately: less than its rate, so that it fires once."""


@click.group(short_help="List, preview, run and pause schedules.")
def schedule() -> None:
    """Work with the schedules of a server.

    SCHEDULE is a name, or GROUP/NAME.

    \b
    Examples:
      statewright schedule list
      statewright schedule next nightly
      statewright schedule pause nightly
    """


@schedule.command("list", short_help="List schedules with their next fire time.")
@click.option("--group", metavar="NAME", help="Only schedules of this group.")
@server_options
def list_schedules(group: str | None, form: str, endpoint: str | None) -> None:
    """List schedules by group and name.

    \b
    Examples:
      statewright schedule list
      statewright schedule list --group billing -o json
    """
    with _scheduler(endpoint) as server:
        chosen: dict[str, Any] = {"GroupName": group} if group else {}
        listed = server.pages("list_schedules", "Schedules", **chosen)
        found = [_full(server, one["GroupName"], one["Name"]) for one in listed]
    titles = ("NAME", "EXPRESSION", "ZONE", "STATE", "NEXT", "TARGET")
    print_rows(
        form, "schedules", found, titles, _cells,
        if_none=f"There are no schedules. To create one: {command_words('aws scheduler create-schedule', endpoint)}",
    )  # fmt: skip


def _full(server: Server, group: str, name: str) -> dict[str, Any]:
    found = dict(server.call("get_schedule", GroupName=group, Name=name))
    found.pop("ResponseMetadata", None)
    coming = _upcoming(found, _now_ms(), 1) if found["State"] == "ENABLED" else []
    found["NextInstant"] = coming[0] if coming else None
    return found


def _cells(one: Answer) -> list[Span]:
    name = one["Name"] if one["GroupName"] == "default" else f"{one['GroupName']}/{one['Name']}"
    state: Span = (one["State"].lower(), "ok" if one["State"] == "ENABLED" else "idle")
    zone = one.get("ScheduleExpressionTimezone", "UTC")
    following = one["NextInstant"] or "-"
    return [name, one["ScheduleExpression"], zone, state, following, one["Target"]["Arn"].split(":", 5)[-1]]


@schedule.command("next", short_help="Print the next fire times of a schedule or expression.")
@click.argument("what", metavar="SCHEDULE|EXPRESSION")
@click.option("-n", "--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@click.option("--timezone", default="UTC", show_default=True, metavar="ZONE", help="The time zone of an expression.")
@click.option("--after", metavar="TIME", help="Start from this time (ISO 8601, by default UTC); default: now.")
@server_options
def next_(what: str, count: int, timezone: str, after: str | None, form: str, endpoint: str | None) -> None:
    """Print when a schedule fires next, without flexible windows; for an expression no server is asked.

    \b
    Examples:
      statewright schedule next nightly
      statewright schedule next 'cron(30 2 * * ? *)' --timezone Europe/Berlin --after 2026-03-28
    """
    from_ms = _now_ms() if after is None else _instant_ms(after)
    found: dict[str, Any] = {"ScheduleExpression": what, "ScheduleExpressionTimezone": timezone}
    if "(" not in what:
        with _scheduler(endpoint) as server:
            found = _full(server, *_named(what))
        if found["State"] != "ENABLED":
            stderr().line((f"{what} is disabled: it does not fire.", "idle"))
    coming = _upcoming(found, from_ms, count)
    if form == "json":
        stdout().json({"scheduleExpression": found["ScheduleExpression"], "instants": coming})
    for text in coming if form != "json" else ():
        if form == "jsonl":
            stdout().json({"instant": text}, compact=True)
        else:
            stdout().line(text)
    if not coming and form == "table":
        stderr().line(("It does not fire again.", "idle"))


def _upcoming(found: dict[str, Any], from_ms: int, count: int) -> list[str]:
    """The next instants of a schedule, as local times of its zone. Raises: Stop."""
    from statewright.events.expressions import At, ExpressionError, Rate, parse, upcoming, zone_named

    zone: tzinfo
    try:
        zone = zone_named(found.get("ScheduleExpressionTimezone") or "UTC")
        expression = parse(found["ScheduleExpression"], zone)
    except ExpressionError as problem:
        raise Stop(USAGE, f"{found['ScheduleExpression']}: {problem}.") from None
    start, end = found.get("StartDate"), found.get("EndDate")
    anchor_ms = from_ms
    if isinstance(expression, Rate):
        anchor_ms = start or found.get("CreationDate") or from_ms
    if start is not None and not isinstance(expression, At):
        from_ms = max(from_ms, start - 1)
    instants = upcoming(expression, from_ms, anchor_ms, count)
    if end is not None and not isinstance(expression, At):
        instants = [one for one in instants if one <= end]
    return [datetime.fromtimestamp(one // 1000, zone).isoformat() for one in instants]


@schedule.command(short_help="Invoke a schedule's target now.")
@click.argument("name", metavar="SCHEDULE")
@server_options
def run(name: str, form: str, endpoint: str | None) -> None:
    """Invoke the target of a schedule now, by a copy of the schedule that fires once and deletes itself.

    \b
    Examples:
      statewright schedule run nightly
    """
    group, own = _named(name)
    with _scheduler(endpoint) as server:
        found = server.call("get_schedule", GroupName=group, Name=own)
        copy = f"{own[:48]}-run-{_now_ms() % 10**10}"
        # A rate without a start fires immediately.
        server.call(
            "create_schedule", GroupName=group, Name=copy, ScheduleExpression="rate(1 day)",
            EndDate=time.time() + COPY_SECONDS, Target=found["Target"], FlexibleTimeWindow={"Mode": "OFF"},
            ActionAfterCompletion="DELETE",
        )  # fmt: skip
    print_answer(form, {"schedule": name, "target": found["Target"]["Arn"], "copy": copy})
    stderr().line(("✓ ", "ok"), f"{found['Target']['Arn']} is invoked, by {copy}")


@schedule.command(short_help="Pause a schedule.")
@click.argument("name", metavar="SCHEDULE")
@server_options
def pause(name: str, form: str, endpoint: str | None) -> int:
    """Disable a schedule. What would have fired meanwhile is not made up for.

    \b
    Examples:
      statewright schedule pause nightly
    """
    return _set_state(name, "DISABLED", form, endpoint)


@schedule.command(short_help="Resume a paused schedule.")
@click.argument("name", metavar="SCHEDULE")
@server_options
def resume(name: str, form: str, endpoint: str | None) -> int:
    """Enable a schedule; a rate continues in step.

    \b
    Examples:
      statewright schedule resume nightly
    """
    return _set_state(name, "ENABLED", form, endpoint)


def _set_state(name: str, state: str, form: str, endpoint: str | None) -> int:
    group, own = _named(name)
    with _scheduler(endpoint) as server:
        found = server.call("get_schedule", GroupName=group, Name=own)
        kept = {member: found[member] for member in KEPT if found.get(member) is not None}
        for member in {"StartDate", "EndDate"} & kept.keys():
            kept[member] /= 1000
        server.call("update_schedule", GroupName=group, Name=own, **{**kept, "State": state})
    print_answer(form, {"schedule": name, "state": state})
    stderr().line(("✓ ", "ok"), f"{name} is {state.lower()}")
    return OK


def _named(name: str) -> tuple[str, str]:
    group, slash, own = name.partition("/")
    return (group, own) if slash else ("default", name)


def _instant_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Stop(USAGE, f"{text} is not a time: write it like 2026-03-28T12:00:00.") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _scheduler(endpoint: str | None) -> Server:
    return Server(endpoint, service="scheduler")
