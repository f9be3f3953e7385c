"""Output of `statewright simulate`: outcomes, figures of functions, the bill, comparisons.

The document that is shown is `simulation/outcomes.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from statewright.cli.output import Printer, Span, Tone, duration_words
from statewright.cli.table import print_table
from statewright.cost.usage import ITEMS
from statewright.simulation.charts import number_words, time_words

_ICONS: Final = {"ok": "✓", "fail": "✗", "run": "◌", "wait": "◷", "caught": "↯", "idle": "○"}


def print_result(printer: Printer, document: Mapping[str, Any]) -> None:
    """Print one simulation."""
    lasted = duration_words(round(document["virtualSeconds"] * 1000))
    printer.line((document["name"], "strong"), f", {lasted} of virtual time, ended by {document['ended']}")
    rows: list[list[Span]] = []
    for row in document["outcomes"]:
        tone = cast(Tone, row["tone"])
        rows.append(
            [
                row["what"],
                (f"{_ICONS.get(tone, '○')} {row['outcome']}", tone),
                f"{row['count']:,}",
                (row["reason"], "idle"),
            ]
        )
    if rows:
        printer.line("")
        print_table(printer, ("OF", "OUTCOME", "COUNT", "REASON"), rows)
    else:
        printer.line("nothing was treated, and nothing is left")
    _functions(printer, document)
    _bill(printer, document["cost"])
    if document["notes"]:
        printer.line("")
    for note in document["notes"]:
        printer.wrapped(note, "    ", "idle", first="  · ")


def _functions(printer: Printer, document: Mapping[str, Any]) -> None:
    if not document["functions"]:
        return
    rows: list[list[Span]] = []
    for one in document["functions"]:
        at = one["limitReachedAtSeconds"]
        took = one["durationMs"].get("Average")
        rows.append(
            [
                (one["name"], "strong"), f"{one['invocations']:,}", f"{one['errors']:,}", f"{one['throttles']:,}",
                f"{one['mostAtOnce']:,} of {one['limit']:,}", "never" if at is None else time_words(at),
                "" if took is None else time_words(took / 1000),
            ]
        )  # fmt: skip
    printer.line("")
    print_table(printer, ("FUNCTION", "CALLS", "ERRORS", "THROTTLES", "AT ONCE", "LIMIT AFTER", "AVERAGE"), rows)


def _bill(printer: Printer, cost: Mapping[str, Any]) -> None:
    prices = cost["prices"]
    printer.line("")
    printer.line((f"at the service's prices of {prices['date']}, {prices['region']}", "strong"))
    rows: list[list[Span]] = []
    for line in cost["lines"]:
        usd = (
            "no price"
            if line["usd"] is None
            else f"{line['usd']:,.6f} USD" + (" a month" if line.get("monthly") else "")
        )
        rows.append([f"  {line['service']}", f"{number_words(line['quantity'])} {ITEMS[line['item']].words}", usd])
    monthly = f", and {cost['usdPerMonth']:,.2f} USD a month" if cost["usdPerMonth"] else ""
    rows.append([("  sum", "strong"), "", (f"{cost['usd']:,.6f} USD{monthly}", "strong")])
    print_table(printer, ("  SERVICE", "USED", "COST"), rows)
    for note in cost["notes"]:
        printer.wrapped(note, "    ", "idle", first="  · ")
    for text in cost["hints"]:
        printer.wrapped(text, "    ", "wait", first="  → ")


def print_comparison(printer: Printer, table: Mapping[str, Any]) -> None:
    """Print a row a run."""
    titles = ["RUN", *(column["title"].upper() for column in table["columns"])]
    print_table(printer, titles, [[(row["name"], "strong"), *row["cells"]] for row in table["rows"]])
    if table["notes"]:
        printer.line("")
    for note in table["notes"]:
        printer.wrapped(note, "    ", "idle", first="  · ")
