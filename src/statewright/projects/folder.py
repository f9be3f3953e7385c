"""A folder of definitions: which machines it makes, and each of them as text for the API.

Owns names. Reading and validating a definition is `asl.loading`'s; where it is loaded into is the caller's business.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.asl.loading import DEFINITION_ENDINGS
from statewright.projects.finding import own_files

LONGEST_NAME: Final = 80
"""Source: API reference, CreateStateMachine, `name`."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The definitions below a folder. `clashes` are files whose name another one has already taken."""

    machines: dict[str, Path]
    clashes: dict[Path, Path]


def find_machines(folder: Path, exclude: Collection[str] = ()) -> Folder:
    """Every `*.asl.json`, `*.asl.yaml` and `*.asl.yml` below a folder, by the name of its machine."""
    machines: dict[str, Path] = {}
    clashes = {}
    for path in own_files(folder, DEFINITION_ENDINGS, exclude):
        first = machines.setdefault(machine_name(path), path)
        if first is not path:
            clashes[path] = first
    return Folder(machines, clashes)


def machine_name(path: Path) -> str:
    """The name of a file's machine: what stands before the ending, without what the service does not allow."""
    name = path.name
    for ending in DEFINITION_ENDINGS:
        name = name.removesuffix(ending)
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name)
    return kept[:LONGEST_NAME] or "StateMachine"
