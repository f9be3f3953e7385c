"""Comparisons: one scenario with several sets of values, a row for each.

Owns the values of a grid and the columns of the table. Running is `run.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import yaml

from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json, JsonObject
from statewright.simulation.charts import time_words
from statewright.simulation.reader import INVALID_VALUE
from statewright.simulation.run import Progress, simulate
from statewright.simulation.scenario import Scenario, read_scenario

MOST_RUNS: Final = 200


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: its name, and the values that it changes."""

    name: str
    changes: Mapping[str, Json]


def read_change(text: str, option: str = "--set") -> tuple[str, Json]:
    """`KEY=VALUE`, the value as YAML. Raises: DefinitionError."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise _bad(f"{option} {text}: write it as KEY=VALUE, such as functions.work.duration=60s")
    return key.strip(), _value(value)


def read_axis(text: str) -> tuple[str, list[Json]]:
    """`KEY=a,b,c`. Raises: DefinitionError."""
    key, separator, values = text.partition("=")
    if not separator or not key.strip() or not values.strip():
        raise _bad(f"--grid {text}: write it as KEY=a,b,c, such as mappings.0.batchSize=1,5,10")
    return key.strip(), [_value(one) for one in values.split(",")]


def _value(text: str) -> Json:
    try:
        found: Json = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return found if isinstance(found, str | int | float | bool | list | dict | None) else text


def grid_of(axes: Sequence[tuple[str, list[Json]]], common: Mapping[str, Json]) -> list[Variant]:
    """Every combination of the axes' values. Raises: DefinitionError for too many."""
    count = 1
    for _, values in axes:
        count *= len(values)
    if count > MOST_RUNS:
        raise _bad(f"--grid: {count} runs are more than {MOST_RUNS}")
    found = []
    for chosen in product(*(values for _, values in axes)):
        pairs = [(key, value) for (key, _), value in zip(axes, chosen, strict=True)]
        name = ", ".join(f"{key.rsplit('.', 1)[-1]} {_shown(value)}" for key, value in pairs)
        found.append(Variant(name, {**common, **dict(pairs)}))
    return found


def variants_of(scenario: Scenario, common: Mapping[str, Json]) -> list[Variant]:
    """The variants that a scenario names."""
    return [Variant(name, {**common, **changes}) for name, changes in scenario.variants.items()]


def compare(
    path: Path, variants: Iterable[Variant], tell: Callable[[str, Progress], None] = lambda _name, _progress: None
) -> list[JsonObject]:
    """Run each of some variants; the documents in their order. All are read before the first is run.

    Raises: DefinitionError.
    """
    read = [(one, read_scenario(path, one.changes)) for one in variants]
    found = []
    for one, scenario in read:

        def told(progress: Progress, name: str = one.name) -> None:
            tell(name, progress)

        document = simulate(scenario, told)
        document["variant"] = {"name": one.name, "changes": dict(one.changes)}
        found.append(document)
    return found


def table_of(documents: Sequence[JsonObject]) -> JsonObject:
    """The comparison: columns with titles, rows of texts, and what is assumed in any of them."""
    columns = [column for column in _COLUMNS if any(column[1](one) for one in documents)]
    rows = [
        {
            "name": one["variant"]["name"],
            "cells": [words(read(one)) for _, read, words in columns],
            "values": {title: read(one) for title, read, _ in columns},
        }
        for one in documents
    ]
    notes = dict.fromkeys(note for one in documents for note in one["notes"])
    return {"columns": [{"title": title} for title, _, _ in columns], "rows": rows, "notes": list(notes)}


def _total(key: str, part: str) -> Callable[[JsonObject], Json]:
    return lambda document: sum(one[key] for one in document[part])


def _dead(document: dict[str, Any]) -> Any:
    return sum(one["left"] for one in document["queues"] if one["deadLettersOf"])


def _most(document: dict[str, Any]) -> Any:
    return max((one["mostAtOnce"] for one in document["functions"]), default=0)


def _reached(document: dict[str, Any]) -> Any:
    found = [one["limitReachedAtSeconds"] for one in document["functions"] if one["limitReachedAtSeconds"] is not None]
    return min(found, default=0)


def _not_succeeded(document: dict[str, Any]) -> Any:
    return sum(one["failed"] + one["timedOut"] + one["aborted"] for one in document["executions"])


def _refused(document: dict[str, Any]) -> Any:
    return sum(one["count"] for one in document["calls"]["refused"])


def _transitions(document: dict[str, Any]) -> Any:
    return sum(line["quantity"] for line in document["cost"]["lines"] if line["item"] == "states.transitions")


def _count(value: float) -> str:
    return f"{value:,.0f}"


_COLUMNS: Final[tuple[tuple[str, Callable[[JsonObject], Json], Callable[[float], str]], ...]] = (
    ("over after", lambda document: document["virtualSeconds"], time_words),
    ("most at once", _most, _count),
    ("limit reached", _reached, lambda value: time_words(value) if value else "never"),
    ("done", _total("done", "mappings"), _count),
    ("throttles", _total("throttles", "functions"), _count),
    ("never run", _total("pulledNeverRun", "mappings"), _count),
    ("failed", _total("failed", "mappings"), _count),
    ("dead", _dead, _count),
    ("succeeded", _total("succeeded", "executions"), _count),
    ("not succeeded", _not_succeeded, _count),
    ("transitions", _transitions, _count),
    ("refused calls", _refused, _count),
    ("USD", lambda document: document["cost"]["usd"], lambda value: f"{value:,.2f}"),
)
"""Title, number, and how it is said; a column in which all is nothing is left out."""


def _shown(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)


def _bad(text: str) -> DefinitionError:
    return DefinitionError([Diagnostic(INVALID_VALUE, text)])
