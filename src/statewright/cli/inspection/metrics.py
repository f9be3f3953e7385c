"""`statewright metrics [NAME...]`: the metrics of a server, listed or shown over time.

Owns the command, the choice of metrics by name and dimension, and the small curve. Calls and their errors are
`client.py`'s, tables `table.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from statewright.cli.client import Answer, Server, server_options
from statewright.cli.output import NOT_FOUND, USAGE, Span, Stop, count_words, stderr, stdout
from statewright.cli.table import print_rows, print_table

PERIODS_MS: Final = (1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 3_600_000, 86_400_000)
MOST_ROWS: Final = 60
"""Points that are shown unless a period is given."""
HOUR_MS: Final = 3_600_000
MOST_ASKED: Final = 1_400
"""Points of one question; the service answers 1,440."""
_PLAIN: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")
_BARS: Final = "▁▂▃▄▅▆▇█"
_ASCII_BARS: Final = "_.:-=+*#"
_LEVELS: Final = ("Approximate", "Concurrent", "Open", "Claimed", "Unreserved")
"""Prefixes of metrics that measure a level, such as a queue's length; their sum has no meaning."""
Wanted = list[tuple[str, str]]


@click.command(short_help="List metrics, or show some over time.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--namespace", metavar="TEXT", help="Only this namespace, such as AWS/SQS.")
@click.option("--machine", "machines", metavar="MACHINE", multiple=True, help="Only metrics of this state machine.")
@click.option("--function", "functions", metavar="FUNCTION", multiple=True, help="Only metrics of this function.")
@click.option("--queue", "queues", metavar="QUEUE", multiple=True, help="Only metrics of this queue.")
@click.option("--mapping", "mappings", metavar="UUID", multiple=True, help="Only metrics of this event source mapping.")
@click.option(
    "--dimension", "dimensions", metavar="NAME=VALUE", multiple=True, help="Only metrics with this dimension."
)
@click.option("--since", default="1h", show_default=True, metavar="TIME", help="How far back to look, such as 15m.")
@click.option("--period", metavar="TIME", help="Length of one point, such as 1s, 10s, 1m; default: chosen to fit.")
@click.option("--statistic", metavar="NAME", help="Sum, Average, Minimum, Maximum, SampleCount, p99 ...")
@server_options
def metrics(
    names: tuple[str, ...],
    namespace: str | None,
    machines: tuple[str, ...],
    functions: tuple[str, ...],
    queues: tuple[str, ...],
    mappings: tuple[str, ...],
    dimensions: tuple[str, ...],
    since: str,
    period: str | None,
    statistic: str | None,
    form: str,
    endpoint: str | None,
) -> None:
    """List the metrics of a server, or show those of these names over time.

    Without --statistic, levels (such as the depth of a queue) are shown by their maximum, times by their average, and
    all else by its sum.

    \b
    Examples:
      statewright metrics --queue orders
      statewright metrics ApproximateNumberOfMessagesVisible --queue orders --since 15m
      statewright metrics Duration --function resize --statistic p99 --period 1m -o json
    """
    wanted = [
        *(("FunctionName", name) for name in functions),
        *(("QueueName", name) for name in queues),
        *(("EventSourceMappingUUID", uuid) for uuid in mappings),
        *map(_pair, dimensions),
    ]
    since_ms, period_ms = _length(since, "--since"), _length(period, "--period") if period else None
    if machines:
        with Server(endpoint) as server:
            wanted += [("StateMachineArn", server.machine_arn(name)) for name in machines]
    with Server(endpoint, service="cloudwatch") as server:
        found = _found(server, namespace, names, wanted)
        if not names:
            _print_list(found, form)
            return
        missing = [name for name in names if all(one["MetricName"] != name for one in found)]
        if missing:
            raise _no_metric(server, missing[0])
        shown = [_read(server, one, since_ms, period_ms, statistic) for one in found]
    _print_curves(shown, form)


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise Stop(USAGE, f"--dimension {text}: write it as NAME=VALUE.")
    return name, value


def _length(text: str, option: str) -> int:
    from statewright.instants import parse_duration_ms

    try:
        found = parse_duration_ms(text)
    except ValueError as problem:
        raise Stop(USAGE, f"{option}: {problem}.") from None
    if found < 1000:
        raise Stop(USAGE, f"{option}: '{text}' is less than a second.")
    return found


def _found(server: Server, namespace: str | None, names: Sequence[str], wanted: Wanted) -> list[Answer]:
    """Metrics with any of the values of each dimension, by namespace and name."""
    chosen: dict[str, Any] = {"Namespace": namespace} if namespace else {}
    every = server.pages("list_metrics", "Metrics", **chosen)
    found = [one for one in every if _fits(one, names, wanted)]
    # By name and dimensions: those without any, which are for everything together, first.
    return sorted(found, key=lambda one: (one["Namespace"], one["MetricName"], _said(one)))


def _fits(one: Answer, names: Sequence[str], wanted: Wanted) -> bool:
    has = {dimension["Name"]: dimension["Value"] for dimension in one["Dimensions"]}
    asked: dict[str, set[str]] = {}
    for name, value in wanted:
        asked.setdefault(name, set()).add(value)
    return (not names or one["MetricName"] in names) and all(has.get(name) in values for name, values in asked.items())


def _said(one: Answer) -> str:
    return ", ".join(f"{dimension['Name']}={dimension['Value']}" for dimension in one["Dimensions"])


def _print_list(found: list[Answer], form: str) -> None:
    def cells(one: Answer) -> list[Span]:
        return [one["Namespace"], (one["MetricName"], "strong"), (_said(one), "idle")]

    print_rows(form, "metrics", found, ("NAMESPACE", "METRIC", "DIMENSIONS"), cells)
    if not found and form == "table":
        stderr().line(("There are no such metrics: nothing of that kind has happened yet.", "idle"))


def _no_metric(server: Server, name: str) -> Stop:
    from statewright.asl.findings import closest

    known = sorted({one["MetricName"] for one in _found(server, None, (), [])})
    close = closest(name, known)
    is_near = close is not None and close != name
    hint = f"did you mean {close}?" if is_near else f"to see them: {server.words('metrics')}"
    return Stop(NOT_FOUND, f"There is no metric '{name}' with these dimensions.", hint)


# ------------------------------------------------------------------ one metric


def _read(server: Server, one: Answer, since_ms: int, period_ms: int | None, statistic: str | None) -> dict[str, Any]:
    """A metric with its points, oldest first; instants are epoch milliseconds."""
    name = statistic or _usual(one["MetricName"])
    period_ms = period_ms or _period(since_ms)
    from time import time

    now_ms = int(time() * 1000)
    kind = "Statistics" if name in _PLAIN else "ExtendedStatistics"
    found: list[Answer] = []
    begin, end = now_ms - since_ms, now_ms + 1000
    while begin < end:
        until = min(begin + MOST_ASKED * period_ms, end)
        times = {"StartTime": begin / 1000, "EndTime": until / 1000, "Period": period_ms // 1000}
        found += server.call("get_metric_statistics", **one, **times, **{kind: [name]})["Datapoints"]
        begin = until
    # A period that two questions touch is answered twice, the second time up to its end.
    points = sorted({point["Timestamp"]: point for point in found}.values(), key=lambda point: int(point["Timestamp"]))
    values = [
        (point["Timestamp"], (point if name in _PLAIN else point["ExtendedStatistics"]).get(name)) for point in points
    ]
    return {
        **one,
        "statistic": name,
        "period": period_ms // 1000,
        "unit": points[0].get("Unit", "None") if points else "None",
        "points": [(at, value) for at, value in values if value is not None],
        "start": (now_ms - since_ms) // period_ms * period_ms,
        "end": now_ms,
    }


def _usual(name: str) -> str:
    if name.startswith(_LEVELS):
        return "Maximum"
    return "Average" if name.endswith(("Time", "Duration", "Age", "Size", "Memory")) else "Sum"


def _period(since_ms: int) -> int:
    """The shortest period that yields about sixty points or fewer; points of seconds are kept for an hour."""
    allowed = [one for one in PERIODS_MS if one >= 60_000 or since_ms <= HOUR_MS]
    return next((one for one in allowed if since_ms / one <= MOST_ROWS), PERIODS_MS[-1])


def _print_curves(shown: Sequence[dict[str, Any]], form: str) -> None:
    printer = stdout()
    if form != "table":
        said = [
            {
                **{name: value for name, value in one.items() if name not in ("points", "start", "end")},
                "points": [{"timestamp": _instant(at), "value": value} for at, value in one["points"]],
            }
            for one in shown
        ]
        if form == "json":
            printer.json({"metrics": said})
        for one in said if form == "jsonl" else ():
            printer.json(one, compact=True)
        return
    for number, one in enumerate(shown):
        if number:
            printer.line("")
        unit = "" if one["unit"] in ("Count", "None") else f" in {one['unit'].lower()}"
        printer.line(
            (one["MetricName"], "strong"), " ", (_said(one), "idle"),
            (f"  {one['statistic']} of {_words(one['period'])}{unit}", "idle"),
        )  # fmt: skip
        if not one["points"]:
            printer.line(("  no data in this period", "idle"))
            continue
        if printer.is_terminal:
            printer.cropped([["  ", (curve(one, printer.encodes_all, printer.width - 4), "accent")]])
        rows = [(f"  {_instant(at)}", f"{value:,.10g}") for at, value in one["points"]]
        print_table(printer, ("  TIME", one["statistic"].upper()), rows)
        printer.line((f"  {count_words(len(rows), 'point')}", "idle"))


def curve(one: dict[str, Any], encodes_all: bool, width: int) -> str:
    """A line of bars from nothing to the greatest value, the latest at the right; a blank where there is no point."""
    bars = _BARS if encodes_all else _ASCII_BARS
    step = one["period"] * 1000
    first = min((at for at, _ in one["points"]), default=one["start"])
    by_place = {(at - first) // step: value for at, value in one["points"]}
    most = max(by_place.values(), default=0) or 1
    cells = [_bar(by_place.get(place), most, bars) for place in range(max(by_place, default=-1) + 1)]
    return "".join(cells[-width:])


def _bar(value: float | None, most: float, bars: str) -> str:
    if value is None:
        return " "
    return bars[min(max(int(value / most * len(bars)), 0), len(bars) - 1)]


def _words(seconds: int) -> str:
    from statewright.cli.output import duration_words

    return duration_words(seconds * 1000)


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
