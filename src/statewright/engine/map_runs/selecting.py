"""The ItemSelector of a Map Run, evaluated in a heavy worker: the errand that `live.py` sends there."""

from __future__ import annotations

from functools import lru_cache

from statewright.asl.program import Program
from statewright.engine.machines.definitions import compiled
from statewright.interpreter.map_run.items import Selected, Selection, select


def select_items_of(definition: str, scope: int, selection: Selection) -> Selected:
    """Evaluate the ItemSelector of the distributed Map at `scope` of a definition."""
    selector = _program_of(definition).map_of(scope).item_selector
    assert selector is not None
    return select(selector, selection)


@lru_cache(maxsize=16)
def _program_of(definition: str) -> Program:
    return compiled(definition)
