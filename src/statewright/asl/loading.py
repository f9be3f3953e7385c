"""Loads definitions from files: finds, reads, validates and compiles them.

Owns the search for definition files, and the refusal to run a placeholder of a template tool that has not been filled
in. The only module of the package that reads files. Leaves parsing to `reader.py`, checks to `validate.py` and
compiling to `compile.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.asl.findings import has_placeholder
from statewright.asl.program import MachineType, Program
from statewright.asl.reader import read_document
from statewright.asl.text.document import Document, ReadError
from statewright.asl.text.document import Path as Place
from statewright.asl.validate import validate
from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json

UNFILLED: Final = "PLACEHOLDER_NOT_FILLED"

DEFINITION_ENDINGS: Final = (".asl.json", ".asl.yaml", ".asl.yml")
NOT_OURS: Final = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "cdk.out"})
"""Folders of others: installed packages, caches, output of builds."""

_MAY_BE_UNFILLED: Final = frozenset(
    {
        "Arguments", "Assign", "BatchInput", "Cause", "Comment", "Condition", "Credentials", "Error", "ItemSelector",
        "Items", "Label", "Output", "Parameters", "ProcessorConfig", "Resource", "Result", "ResultSelector",
        "StringEquals", "StringMatches", "Version",
    }
)  # fmt: skip
"""Fields in which a placeholder does not prevent a run: it is text like any other, and mocks may be selected by
state."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A definition that can run. `diagnostics` are its warnings."""

    document: Document
    diagnostics: list[Diagnostic]
    program: Program


def files_below(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Every file below a folder with one of the endings, in order; hidden and installed folders are left out."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_OURS)
        found += [Path(place, name) for name in sorted(names) if name.endswith(endings)]
    return found


def check_definition(
    path: Path, *, machine_type: MachineType = "STANDARD", lints: bool = True
) -> tuple[Document | None, list[Diagnostic]]:
    """Read and validate a file; there is no document when its text cannot be read as JSON or YAML.

    Raises: OSError when there is no such file, or it may not be read.
    """
    return check_text(path.read_bytes(), str(path), machine_type=machine_type, lints=lints)


def check_text(
    text: str | bytes, name: str, *, machine_type: MachineType = "STANDARD", lints: bool = True
) -> tuple[Document | None, list[Diagnostic]]:
    """Like `check_definition`, for a text instead of a file; the ending of `name` tells JSON from YAML."""
    try:
        document = read_document(text, name=name)
    except ReadError as problem:
        return None, problem.diagnostics
    return document, validate(document, machine_type=machine_type, lints=lints)


def load_program(path: Path, *, machine_type: MachineType = "STANDARD", lints: bool = True) -> Loaded:
    """Read, validate and compile a definition.

    Raises:
        DefinitionError: every ERROR that was found.
        OSError: there is no such file, or it may not be read.
    """
    document, diagnostics = check_definition(path, machine_type=machine_type, lints=lints)
    return compile_checked(document, diagnostics)


def compile_checked(document: Document | None, diagnostics: list[Diagnostic]) -> Loaded:
    """Compile the result of `check_definition`. Raises: DefinitionError with every ERROR."""
    errors = [found for found in diagnostics if found.severity == "ERROR"]
    if document is None or errors:
        raise DefinitionError(errors)
    unfilled = list(_unfilled(document))
    if unfilled:
        raise DefinitionError(unfilled)
    # Imported here, because it loads the expression engines, which checking and drawing do not need.
    from statewright.asl.compile import compile_definition

    return Loaded(document, diagnostics, compile_definition(document.value))


def _unfilled(document: Document) -> Iterator[Diagnostic]:
    bare = set(document.placeholders)
    pending: list[tuple[Json, Place]] = [(document.value, ())]
    while pending:
        value, path = pending.pop()
        if isinstance(value, dict):
            names_states = path[-1:] == ("States",)
            inner = [
                (member, (*path, key)) for key, member in value.items() if names_states or key not in _MAY_BE_UNFILLED
            ]
            pending.extend(reversed(inner))
        elif isinstance(value, list):
            pending.extend((item, (*path, index)) for index, item in reversed(list(enumerate(value))))
        elif path not in bare and has_placeholder(value):
            yield _placeholder(document, value, path)
    for path in document.placeholders:
        yield _placeholder(document, _at(document.value, path), path)


def _placeholder(document: Document, value: Json, path: Place) -> Diagnostic:
    line, column = document.position(path)
    message = f"{value} has not been filled in, so this cannot run"
    return Diagnostic(UNFILLED, message, path, "ERROR", line, column, "fill in the value, or run the rendered file")


def _at(value: Json, path: Place) -> Json:
    for step in path:
        value = value[step]
    return value
