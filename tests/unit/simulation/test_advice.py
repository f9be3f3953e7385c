"""Advice of a simulation on its costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from statewright.cost.prices import load
from statewright.simulation.outcomes import _batch_hints
from statewright.simulation.report_html import _facts


@pytest.mark.parametrize(("messages", "saved"), [(2_000, ""), (13_000, ""), (20_000, "0.01"), (2_000_000, "1.44")])
def test_batches_are_advised_where_they_save_a_cent(messages: int, saved: str):
    parts: Any = SimpleNamespace(table=load(None))
    mapping = {"queue": "orders", "batchSize": 1, "done": messages, "failed": 0}
    found = _batch_hints(parts, [mapping])
    assert [f"{saved} USD less" in text for text in found] == ([True] if saved else [])


@pytest.mark.parametrize(("usd", "shown"), [(0.0, "0.00 USD"), (0.0042, "0.004200 USD"), (1_234.5, "1,234.50 USD")])
def test_a_cost_below_a_cent_has_its_digits(usd: float, shown: str):
    cost = {"usd": usd, "prices": {"date": "2026-01-01"}}
    assert f"<b>{shown}</b>" in _facts({"virtualSeconds": 1, "ended": "it was: done", "functions": [], "cost": cost})
