"""The functions of a project: what `functions/` folders hold, and each of them as a package for the API.

A folder called `functions`, anywhere in the project, holds functions as files `NAME.py` and as folders `NAME/`; other
modules in it can be imported by all of them. Owns names, what a handler is, and packages that are the same bytes for
the same files. Code is read, never run.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import os
import re
import sys
import zipfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.projects.finding import own_files

FOLDER: Final = "functions"
HANDLERS: Final = ("handler", "lambda_handler")
"""Possible names of the handler in a module, first choice first."""
MODULES: Final = ("lambda_function", "handler", "app", "main", "index")
"""Modules that may hold a folder's handler, after the one with the folder's name."""
LONGEST_NAME: Final = 64
"""Source: Lambda API reference, CreateFunction, `FunctionName`."""
RUNTIME: Final = "python{}.{}".format(*sys.version_info)
"""Functions of a project run on the Python that serves it, with the packages that it has."""
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_SEEMS_A_HANDLER: Final = re.compile(r"^(?:(?:async\s+)?def\s+)?((?:lambda_)?handler)\s*[(=]", re.MULTILINE)


class CodeError(Exception):
    """Code that no worker could load. `line` counts from 1; 0 where it is no matter of a line."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function of a project: `path` is its file or folder, `module` where its handler is.

    `files` are the files of its package by their names in there.
    """

    name: str
    path: Path
    module: Path
    files: dict[str, Path]


@dataclass(frozen=True, slots=True)
class FunctionFolder:
    """The functions of a project. `clashes` are those whose name is already in use."""

    functions: dict[str, FunctionSource] = field(default_factory=dict)
    clashes: dict[Path, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Package:
    """A zip for the API, and the `Handler` to give with it."""

    zip: bytes
    handler: str

    @property
    def sha256(self) -> str:
        """The `CodeSha256` that the API shows for it."""
        return base64.b64encode(hashlib.sha256(self.zip).digest()).decode()


def function_files(root: Path, exclude: Collection[str] = ()) -> list[Path]:
    """Every file that is part of some function of a project."""
    return [
        path for path in own_files(root, ("",), exclude) if _functions_part(root, path) is not None and _is_source(path)
    ]


def find_functions(root: Path, exclude: Collection[str] = ()) -> FunctionFolder:
    """Every function below a project's folder, by name."""
    folders: dict[Path, list[Path]] = {}
    for path in function_files(root, exclude):
        place = _functions_part(root, path)
        assert place is not None
        folders.setdefault(place, []).append(path)
    found = FunctionFolder()
    for place, paths in folders.items():
        for source in _functions_of(place, paths):
            first = found.functions.setdefault(source.name, source)
            if first is not source:
                found.clashes[source.path] = first.path
    return found


def pack(source: FunctionSource) -> Package:
    """The package of a function, the same bytes for the same files.

    Raises:
        CodeError: a module is not Python, or the handler is gone.
        OSError: a file cannot be read.
    """
    contents = {name: path.read_bytes() for name, path in sorted(source.files.items())}
    for name, content in contents.items():
        # Deeper folders belong to installed packages.
        if name.endswith(".py") and "/" not in name:
            _check(source.files[name], content)
    handler = _handler_of(source.module)
    if handler is None:
        raise CodeError(source.module, 0, f"it defines none of {' and '.join(HANDLERS)}")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, _DATE)
            executable = os.access(source.files[name], os.X_OK)
            entry.external_attr = (0o755 if executable else 0o644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return Package(made.getvalue(), f"{source.module.stem}.{handler}")


def _functions_part(root: Path, path: Path) -> Path | None:
    """The outermost folder called `functions` that a file lies in."""
    parts = path.relative_to(root).parts[:-1]
    if root.name == FOLDER:
        return root
    return root.joinpath(*parts[: parts.index(FOLDER) + 1]) if FOLDER in parts else None


def _is_source(path: Path) -> bool:
    return not path.name.startswith(".") and path.suffix != ".pyc"


def _functions_of(place: Path, paths: list[Path]) -> Iterable[FunctionSource]:
    """The functions of one folder; what is none of them goes into the package of each."""
    alone: list[Path] = []
    folders: dict[Path, list[Path]] = {}
    shared: list[Path] = []
    for path in paths:
        parts = path.relative_to(place).parts
        if len(parts) > 1:
            folders.setdefault(place / parts[0], []).append(path)
        elif path.suffix == ".py" and not path.name.startswith("_") and _handler_of(path) is not None:
            alone.append(path)
        elif path.suffix == ".py":
            shared.append(path)
    whole: list[tuple[Path, Path]] = []
    for folder, inside in folders.items():
        module = _module_of(folder)
        if module is None:
            shared += inside
        else:
            whole.append((folder, module))
    common = {str(path.relative_to(place)): path for path in shared}
    for path in alone:
        yield FunctionSource(_name_of(path.stem), path, path, {**common, path.name: path})
    for folder, module in whole:
        own = {str(path.relative_to(folder)): path for path in folders[folder]}
        yield FunctionSource(_name_of(folder.name), folder, module, {**common, **own})


def _module_of(folder: Path) -> Path | None:
    """The module of a folder that has its handler."""
    for stem in (folder.name, *MODULES):
        path = folder / f"{stem}.py"
        if path.is_file() and _handler_of(path) is not None:
            return path
    return None


def _handler_of(path: Path) -> str | None:
    """The name of a module's handler; of a module that does not parse at present, its probable name."""
    try:
        text = path.read_bytes()
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        try:
            found = _SEEMS_A_HANDLER.search(path.read_text("utf-8", "replace"))
        except OSError:
            return None
        return found[1] if found else None
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return next((name for name in HANDLERS if name in names), None)


def _check(path: Path, content: bytes) -> None:
    try:
        compile(content, str(path), "exec", dont_inherit=True)
    except SyntaxError as problem:
        raise CodeError(path, problem.lineno or 0, problem.msg) from None
    except ValueError as problem:
        raise CodeError(path, 0, str(problem)) from None


def _name_of(stem: str) -> str:
    """A function's name: that of its file, without what the service does not allow."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in stem)
    return kept[:LONGEST_NAME]
