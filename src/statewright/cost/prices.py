"""Price tables: files with a date and sources, one for each time at which prices changed.

A table is JSON in `cost/prices/`, or a file of the user's in the same form: `region`, `currency`, `date`, `note`, and
by service a `source` and `prices` by item: `usd` for `per` units, `tiers` as pairs of an upper end in units and the
price of one unit up to there, `free_per_month`, `monthly` where the unit lasts a month.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from statewright.cost.usage import ITEMS
from statewright.payload import Json, JsonTextError, parse_json

FOLDER: Final = Path(__file__).parent / "prices"


class PriceTableError(Exception):
    """Raised for a price table that does not exist or is malformed; the text names the fault."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of an item. `tiers` are (upper end in units, USD for one unit); the last end is infinite."""

    usd: float
    per: float
    source: str
    tiers: tuple[tuple[float, float], ...] = ()
    free_per_month: float = 0
    monthly: bool = False

    def of(self, quantity: float) -> float:
        """USD for so many units."""
        if not self.tiers:
            return quantity / self.per * self.usd
        cost, begin = 0.0, 0.0
        for end, usd in self.tiers:
            cost += max(0.0, min(quantity, end) - begin) * usd
            begin = end
        return cost


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by item. `date` is the first day on which they apply, as YYYY-MM-DD."""

    name: str
    region: str
    date: str
    note: str
    prices: Mapping[str, Price]


def names() -> list[str]:
    """The tables included in the program, oldest first."""
    return sorted((path.stem for path in FOLDER.glob("*.json")), key=lambda name: name.rpartition("-1-")[2])


@cache
def load(name: str | None = None) -> PriceTable:
    """A table by its name or as a file of the user's; the newest without one.

    Raises: PriceTableError.
    """
    chosen = name if name is not None else names()[-1]
    path = FOLDER / f"{chosen}.json" if chosen in names() else Path(chosen)
    try:
        read = parse_json(path.read_text("utf-8"))
    except FileNotFoundError:
        known = ", ".join(names())
        raise PriceTableError(f"there is no price table '{chosen}'; there are {known}, or name a file") from None
    except (OSError, UnicodeDecodeError, JsonTextError) as problem:
        raise PriceTableError(f"the price table {path} cannot be read: {problem}") from None
    return _table(path.stem, read)


def _table(name: str, read: Json) -> PriceTable:
    try:
        prices = {
            item: _price(name, item, given, service["source"])
            for service in read["services"].values()
            for item, given in service["prices"].items()
        }
        return PriceTable(name, read["region"], read["date"], read.get("note", ""), prices)
    except (KeyError, TypeError, AttributeError) as problem:
        raise PriceTableError(f"the price table {name} is malformed: {problem!r}") from None


def _price(table: str, item: str, given: Json, source: str) -> Price:
    if item not in ITEMS:
        raise PriceTableError(f"the price table {table} has a price for '{item}'; items are {', '.join(ITEMS)}")
    usd, per = given["usd"], given["per"]
    tiers = tuple((float("inf") if end is None else float(end), float(each)) for end, each in given.get("tiers", ()))
    if not (isinstance(usd, int | float) and isinstance(per, int | float) and usd >= 0 and per > 0):
        raise PriceTableError(f"the price table {table} has no valid price for '{item}': {usd!r} for {per!r}")
    if tiers and tiers[-1][0] != float("inf"):
        raise PriceTableError(f"the tiers of '{item}' in the price table {table} end; the last one has no end: null")
    return Price(usd, per, source, tiers, given.get("free_per_month", 0), bool(given.get("monthly", False)))
