"""`statewright simulate`: a whole system under its load in virtual time, and its outcomes.

Owns the command and its options. Scenarios, runs and their documents are `simulation/`'s, what is printed is
`simulate_report.py`'s.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.output import FAILED, NOT_FOUND, OK, TIMED_OUT, USAGE, Refused, Stop, stderr, stdout
from statewright.cli.output_files import write_output

if TYPE_CHECKING:
    from statewright.simulation.grid import Variant
    from statewright.simulation.run import Progress

BAR: Final = 24
LINES_MS: Final = 300
"""Between two lines of progress."""


@click.command(short_help="Put a whole system under load in virtual time.")
@click.argument("scenario", metavar="SCENARIO.yaml", type=click.Path(path_type=Path))
@click.option("--seed", type=int, metavar="N", help="Seed for arrivals, models, ids and faults.")
@click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Override a value, by its path in the file.")
@click.option("--grid", "axes", metavar="KEY=a,b,c", multiple=True, help="Run every combination, and compare.")
@click.option("--variants", is_flag=True, help="Run the variants that the scenario names, and compare.")
@click.option("--load", metavar="RATE", help="Override the rate of the first arrival: 100/s, 10/min.")
@click.option("--for", "lasting", metavar="TIME", help="How long the load lasts: 1h.")
@click.option("--prices", metavar="TABLE", help="Price table: the name of a built-in one, or a file.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page with charts.")
@click.option(
    "-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="json: one document."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@click.option("--progress", "as_lines", is_flag=True, help="Print progress as JSON lines, also without a terminal.")
def simulate(
    scenario: Path,
    seed: int | None,
    changes: tuple[str, ...],
    axes: tuple[str, ...],
    variants: bool,
    load: str | None,
    lasting: str | None,
    prices: str | None,
    html_file: str | None,
    form: str,
    quiet: bool,
    as_lines: bool,
) -> int:
    """Run a scenario: machines, functions or models of them, queues, mappings and what arrives, in virtual time.

    The real services run, not a model of them; hours pass in seconds. The same scenario and seed give the same bytes.
    Keys of --set and --grid are places in the file: functions.work.duration, mappings.0.batchSize.

    \b
    Examples:
      statewright simulate burst.yaml --html burst.html
      statewright simulate burst.yaml --set queues.jobs.maxReceiveCount=2
      statewright simulate burst.yaml --grid 'functions.work.duration=30s,60s,120s'
      statewright simulate order.yaml --load 100/s --for 1h -o json

    Exit code: 0 the simulation came to rest, 1 it is stuck or the scenario is refused, 2 usage, 3 not found, 5 given up
    at its `until` or `maximumEvents`, 130 interrupted.
    """
    from statewright.errors import DefinitionError
    from statewright.simulation import grid

    if not scenario.is_file():
        raise Stop(NOT_FOUND, f"There is no file '{scenario}'.", _near(scenario))
    if html_file is not None and not Path(html_file).resolve().parent.is_dir():
        raise Stop(NOT_FOUND, f"There is no folder for '{html_file}'.")
    if axes and variants:
        raise Stop(USAGE, "--grid and --variants are mutually exclusive.")
    show = _Show(quiet=quiet, as_lines=as_lines)
    try:
        common = _common(changes, seed, load, lasting, prices)
        chosen = _variants(scenario, axes, variants, common)
        compared = chosen is not None
        chosen = chosen if chosen is not None else [grid.Variant("", common)]
        documents = grid.compare(scenario, chosen, show.progress)
    except DefinitionError as problem:
        show.end()
        if all(one.path is None and one.message.startswith("--") for one in problem.diagnostics):
            raise Stop(USAGE, problem.diagnostics[0].message + ".") from None
        raise Refused(str(scenario), problem.diagnostics) from None
    show.end(documents)
    _write(documents, html_file, form, compared=compared)
    return _code(documents)


def _common(
    changes: Sequence[str], seed: int | None, load: str | None, lasting: str | None, prices: str | None
) -> dict[str, Any]:
    """The values that the options change, by their places."""
    from statewright.simulation.grid import read_change
    from statewright.simulation.scenario import LOAD

    found = dict(read_change(one) for one in changes)
    if seed is not None:
        found["seed"] = seed
    if prices is not None:
        found["prices"] = prices
    if lasting is not None and load is None:
        raise Stop(USAGE, "--for is how long --load lasts: give both.")
    if load is not None:
        found[LOAD] = (load, lasting or "1m")
    return found


def _variants(scenario: Path, axes: Sequence[str], variants: bool, common: Mapping[str, Any]) -> list[Variant] | None:
    from statewright.simulation import grid
    from statewright.simulation.scenario import read_scenario

    if axes:
        return grid.grid_of([grid.read_axis(one) for one in axes], common)
    if not variants:
        return None
    found = grid.variants_of(read_scenario(scenario, common), common)
    if not found:
        raise Stop(USAGE, f"{scenario} names no variants.", "or give --grid KEY=a,b,c")
    return found


def _write(documents: list[dict[str, Any]], html_file: str | None, form: str, *, compared: bool) -> None:
    from statewright.cli.local.simulate_report import print_comparison, print_result
    from statewright.simulation import grid
    from statewright.simulation.report_html import comparison_page, result_page

    table = grid.table_of(documents) if compared else None
    if form == "json":
        stdout().json({"runs": documents} if table is not None else documents[0])
    elif table is not None:
        print_comparison(stdout(), table)
    else:
        print_result(stdout(), documents[0])
    if html_file is not None:
        page = comparison_page(documents[0]["name"], table) if table is not None else result_page(documents[0])
        write_output(html_file, page)
        stderr().line((f"wrote {html_file}", "idle"))


def _code(documents: Sequence[Mapping[str, Any]]) -> int:
    ends = {document["ended"].partition(":")[0] for document in documents}
    if "stuck" in ends:
        return FAILED
    return TIMED_OUT if ends & {"until", "maximumEvents"} else OK


def _near(path: Path) -> str | None:
    from statewright.asl.findings import closest

    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    near = closest(path.name, names)
    return f"did you mean {near}?" if near else None


class _Show:
    """How far it is, on the standard error: virtual and real time. Real time is nowhere else."""

    def __init__(self, *, quiet: bool, as_lines: bool) -> None:
        from statewright.clock import RealClock

        self._printer = stderr()
        self._clock = RealClock()
        self._began_ms = self._clock.now_ms()
        self._quiet = quiet
        self._as_lines = as_lines
        self._shown_ms = 0
        self._is_open = False

    def progress(self, name: str, now: Progress) -> None:
        """One line that is written over and over; on a terminal alone."""
        real_ms = self._clock.now_ms() - self._began_ms
        if self._as_lines:
            if real_ms - self._shown_ms >= LINES_MS:
                self._shown_ms = real_ms
                self._line(name, now)
            return
        if self._quiet or not self._printer.is_terminal or real_ms - self._shown_ms < 100:
            return
        from statewright.cli.output import duration_words

        self._shown_ms = real_ms
        share = now.share
        bar = ("#" * round(share * BAR)).ljust(BAR, ".")
        words = f"[{bar}] {duration_words(now.elapsed_ms // 1000 * 1000)} virtual, {real_ms / 1000:.1f} s real"
        words += f", {now.sent:,} arrived, {now.open:,} running" + (f"  {name}" if name else "")
        self._printer.plain("\r" + self._printer.shown(words)[: self._printer.width - 1] + "\x1b[K")
        self._printer.flush()
        self._is_open = True

    def _line(self, name: str, now: Progress) -> None:
        """Progress for a program that reads it."""
        from statewright.payload import dump_json

        line = {"run": name, "elapsedMs": now.elapsed_ms, "arrived": now.sent, "open": now.open, "share": now.share}
        self._printer.plain(dump_json(line) + "\n")
        self._printer.flush()

    def end(self, documents: Sequence[Mapping[str, Any]] = ()) -> None:
        """Clear the line, and say what it took."""
        if self._is_open:
            self._printer.plain("\r\x1b[K")
        if self._quiet or not documents:
            return
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(one.ru_utime + one.ru_stime for one in used)
        real = (self._clock.now_ms() - self._began_ms) / 1000
        virtual = sum(document["virtualSeconds"] for document in documents)
        self._printer.line((f"{virtual:,.0f} s of virtual time in {real:.1f} s, {cpu:.1f} s of CPU", "idle"))
