"""Writes docs/row-formats.md from the formats in the code: `python -m tests.row_formats`, or `make tables`.

It also notes the fields of each new format in `tests/formats/fields.json`. What is noted there is never changed: rows
of that format lie in data folders. A test fails while a format's fields are not those that are noted.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import statewright
from statewright.engine.concurrency import semaphores
from statewright.engine.dispatch import CALL_VERSION, ScheduledCall
from statewright.engine.map_runs import requests
from statewright.formats import Compact, members_of
from statewright.interpreter import codec, state
from statewright.interpreter.map_run import codec as map_run_codec
from statewright.objects import records as objects
from statewright.stores.entries import EntryKind, MarkKind

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "row-formats.md"
FIELDS: Final = Path(__file__).parent / "formats" / "fields.json"
START, END = "<!-- formats: start -->\n", "<!-- formats: end -->\n"
COMMAND: Final = "make tables"
PACKAGES: Final = (
    "engine",
    "queues",
    "objects",
    "tables",
    "functions",
    "jobs",
    "records",
    "events",
    "topics",
    "log_filters",
    "alarms",
    "apis",
    "stacks",
)
"""Packages that store something."""


@dataclass(frozen=True, slots=True)
class Line:
    """A format: what it is called, where it is, its version, and the text of its fields."""

    name: str
    module: str
    version: int
    fields: str


def modules() -> Iterator[Any]:
    """The modules that may have formats."""
    for package in PACKAGES:
        whole = importlib.import_module(f"statewright.{package}")
        for found in pkgutil.walk_packages(whole.__path__, f"{whole.__name__}."):
            if "runtimes" not in found.name:
                yield importlib.import_module(found.name)


def slots_of(*types: type) -> str:
    """The fields of classes that are written by hand."""
    return "; ".join(f"{one.__name__}: {', '.join(one.__slots__)}" for one in types)  # type: ignore[attr-defined]


def by_hand() -> Iterator[Line]:
    """Compact bodies whose order of fields is written out in the code."""
    frames = slots_of(state.Identity, state.ExecutionState, state.Frame, state.Finished, state.OpenTask, state.Children)
    yield Line("the state of an execution", codec.__name__, codec.VERSION, frames)
    tables = vars(map_run_codec)
    listed = [tables[name] for name in ("_SETTINGS", "_SETTINGS_PAYLOADS", "_SETTINGS_VALUES", "_STATE", "_CHILD")]
    run = "; ".join(", ".join(names) for names in listed)
    yield Line("the state of a Map Run", map_run_codec.__name__, codec.VERSION, run)
    call = ", ".join(ScheduledCall.__slots__)
    yield Line("the call of a task", ScheduledCall.__module__, CALL_VERSION, call)
    request = ", ".join((*vars(requests)["_PLAIN"], *vars(requests)["_PAYLOADS"], "seed", "iterations"))
    yield Line("the request to a Map Run", requests.__name__, requests.VERSION, request)
    heads = "; ".join(members_of(one) for one in (objects.Bucket, objects.Settings, objects.Checksum))
    yield Line("heads of buckets and objects", objects.__name__, objects.FORMAT, heads)
    permit = "semaphore: name, key, limit; permit: execution_arn, state, call_key, asked_ms, granted_ms; spared by"
    yield Line(semaphores.PERMIT, semaphores.__name__, semaphores.PERMIT_FORMAT, permit)


def formats() -> list[Line]:
    """Every format of this version, by name."""
    found: dict[str, Line] = {line.name: line for line in by_hand()}
    for module in modules():
        text = inspect.getsource(module)
        for attribute, value in list(vars(module).items()):
            line: Line | None = None
            if isinstance(value, EntryKind):
                line = Line(value.name, value.of.__module__, value.format.version, value.members)
            elif isinstance(value, Compact):
                line = Line(value.name, value.of.__module__, value.version, members_of(value.of))
            elif isinstance(value, MarkKind) and f"{attribute}: Final = MarkKind(" in text:
                line = Line(value.name, module.__name__, 1, "")
            if line is not None:
                assert found.setdefault(line.name, line) == line, f"two formats are called {line.name}"
    return [found[name] for name in sorted(found)]


def noted() -> dict[str, dict[str, dict[str, str]]]:
    """The fields of each format that was published: by name and version, with the release that began to write it."""
    found: dict[str, dict[str, dict[str, str]]] = json.loads(FIELDS.read_text()) if FIELDS.exists() else {}
    return found


def note() -> None:
    """Note the formats that are new."""
    known = noted()
    for line in formats():
        of_name = known.setdefault(line.name, {})
        of_name.setdefault(str(line.version), {"since": statewright.__version__, "fields": line.fields})
    FIELDS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def written() -> str:
    """The document."""
    known = noted()
    rows = [
        f"| `{line.name}` | `{line.module.removeprefix('statewright.')}` | {line.version} "
        f"| {known.get(line.name, {}).get(str(line.version), {}).get('since', '')} |"
        for line in formats()
    ]
    table = ["| row | module | format | since |", "|---|---|---|---|", *rows, ""]
    before, _, rest = DOCUMENT.read_text().partition(START)
    return before + START + "\n".join(table) + END + rest.partition(END)[2]


if __name__ == "__main__":
    note()
    DOCUMENT.write_text(written())
