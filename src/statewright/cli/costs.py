"""`--cost`: what a run would cost at the cloud service, as lines on the standard error or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from statewright.cli.output import USAGE, Printer, Stop
from statewright.cli.run_report import Outcome

if TYPE_CHECKING:
    from statewright.cost.bill import Bill, Line
    from statewright.cost.prices import PriceTable

Command = TypeVar("Command", bound=Callable[..., Any])


def cost_options(command: Command) -> Command:
    """`--cost` and `--prices`."""
    prices = click.option(
        "--prices", metavar="DATE|FILE", help="Prices for --cost: the name of a built-in table, or a file."
    )
    cost = click.option("--cost", is_flag=True, help="Estimate the cost in the cloud, line by line.")
    return cost(prices(command))


def wanted_table(cost: bool, prices: str | None) -> PriceTable | None:
    """The table of prices, `None` where no bill is wanted. Raises: Stop for one that does not exist."""
    from statewright.cost.prices import PriceTableError, load

    if not cost and prices is None:
        return None
    try:
        return load(prices)
    except PriceTableError as problem:
        raise Stop(USAGE, f"{problem}.") from None


def _unknown(_function: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a run, and advice that would lower it."""

    bill: Bill
    hints: list[str]

    def document(self) -> dict[str, Any]:
        """As JSON; amounts in USD."""
        return {**self.bill.document(), "hints": self.hints}

    def print(self, printer: Printer) -> None:
        """Print lines, their sum, what was assumed, and advice."""
        made = self.bill
        printer.line((f"at the service's prices of {made.table.date}, {made.table.region}", "strong"))
        width = max((len(_counted(line)) for line in made.lines), default=0)
        for line in made.lines:
            printer.line(f"  {line.service:<16}{_counted(line):<{width}}  {_usd(line):>16}")
        monthly = f", and {made.usd_a_month:,.6f} USD a month" if made.usd_a_month else ""
        printer.line((f"  {'sum':<16}{'':<{width}}  {made.usd:>12,.6f} USD{monthly}", "strong"))
        for note in made.notes:
            printer.wrapped(note, "    ", "idle", first="  · ")
        for text in self.hints:
            printer.wrapped(text, "    ", "wait", first="  → ")
        printer.flush()


def cost_of(
    outcome: Outcome, table: PriceTable, *, express: bool = False, memory_of: Callable[[str], int | None] = _unknown
) -> Costs:
    """The cost of a run. `memory_of` returns the memory of a function in MiB, by its name or ARN."""
    from statewright.cost.bill import bill
    from statewright.cost.execution_usage import execution_usage
    from statewright.cost.hints import hints

    usage = execution_usage(
        outcome.history, outcome.transitions, duration_ms=outcome.duration_ms, express=express, memory_of=memory_of
    )
    path, stays = [], dict[str, list[int]]()
    for visit in outcome.story.visits():
        path.append(visit.name)
        if visit.definition.type == "Wait" and visit.ended_ms is not None:
            stays.setdefault(visit.name, []).append(visit.ended_ms - visit.entered_ms)
    waits = {name: sum(times) / len(times) / 1000 for name, times in stays.items()}
    return Costs(bill(usage, table), hints(path, waits))


def memory_of(endpoint: str | None) -> Callable[[str], int | None]:
    """The memory of functions of a server, each asked for once."""
    from functools import cache

    from statewright.cli.client import ApiProblem, Server, Unreachable

    @cache
    def asked(function: str) -> int | None:
        try:
            with Server(endpoint, service="lambda") as server:
                return int(server.call("get_function_configuration", FunctionName=function)["MemorySize"])
        except (ApiProblem, Unreachable):
            return None

    return asked


def _counted(line: Line) -> str:
    shown = f"{line.quantity:,.0f}" if line.quantity == round(line.quantity) else f"{line.quantity:,.4f}"
    return f"{shown} {line.words}"


def _usd(line: Line) -> str:
    return "no price" if line.usd is None else f"{line.usd:,.6f} USD" + (" a month" if line.monthly else "")
