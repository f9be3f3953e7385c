"""A bill: usage at the prices of a table, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.cost.prices import PriceTable
from statewright.cost.usage import ITEMS, Usage
from statewright.payload import Json


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a bill. `usd` is `None` where the table has no price. `monthly` lines recur every month."""

    item: str
    quantity: float
    usd: float | None
    monthly: bool = False

    @property
    def service(self) -> str:
        """The service or resource that the line is for."""
        return ITEMS[self.item].service

    @property
    def words(self) -> str:
        """The item that is counted."""
        return ITEMS[self.item].words


@dataclass(frozen=True, slots=True)
class Bill:
    """Lines in the order of `ITEMS`, and notes about them. `usd` is their sum, without monthly ones."""

    table: PriceTable
    lines: list[Line]
    notes: list[str] = field(default_factory=list)

    @property
    def usd(self) -> float:
        """The cost of the work, paid once."""
        return sum(line.usd or 0.0 for line in self.lines if not line.monthly)

    @property
    def usd_a_month(self) -> float:
        """The monthly cost of storage afterwards."""
        return sum(line.usd or 0.0 for line in self.lines if line.monthly)

    def of(self, service: str) -> float:
        """The cost of one service, paid once."""
        return sum(line.usd or 0.0 for line in self.lines if line.service == service and not line.monthly)

    def document(self) -> dict[str, Json]:
        """The bill as JSON; amounts in USD."""
        return {
            "usd": round(self.usd, 9),
            "usdPerMonth": round(self.usd_a_month, 9),
            "prices": {"table": self.table.name, "region": self.table.region, "date": self.table.date},
            "lines": [
                {
                    "service": line.service,
                    "item": line.item,
                    "quantity": round(line.quantity, 6),
                    "usd": round(line.usd, 9) if line.usd is not None else None,
                    **({"monthly": True} if line.monthly else {}),
                }
                for line in self.lines
            ],
            "notes": list(self.notes),
        }


def bill(usage: Usage, table: PriceTable, *, free_tier: bool = False) -> Bill:
    """The bill of a usage. With `free_tier`, each account's free monthly amounts are deducted once."""
    lines, notes = [], list(usage.assumptions)
    for item in ITEMS:
        quantity = usage.quantities.get(item, 0)
        if not quantity:
            continue
        price = table.prices.get(item)
        if price is None:
            notes.append(f"{table.name} has no price for {ITEMS[item].words} of {ITEMS[item].service}: not in the sum")
            lines.append(Line(item, quantity, None))
            continue
        charged = max(0.0, quantity - price.free_per_month) if free_tier else quantity
        lines.append(Line(item, quantity, price.of(charged), price.monthly))
    return Bill(table, lines, notes)
