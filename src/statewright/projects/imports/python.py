"""Imports of Python handlers: those that Python makes when it loads the handler's module.

1. The handler's module is read with `ast`, and every module of the function itself that it imports. Installed packages
   (those with a `.dist-info` beside them) are not followed.
2. An import counts if it stands at the top of a module, in a class, or under an `if`. One in a function is made later,
   one in a `try` may fail, one under `TYPE_CHECKING` is not made.
3. A package is found in the standard library, the function's package, its layers, or among those installed beside
   Statewright, on whose Python handlers run. A function that changes `sys.path` looks elsewhere: nothing is said.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from statewright.projects.imports.code import MOST_FILES, Code, Gathering, Missing, read_text

SDK: Final = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3", "six")
"""Packages that the cloud's Python runtimes bring. Source: developer guide, "Runtime-included SDK versions"."""
_ENDINGS: Final = (".py", *EXTENSION_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Import:
    """One import: `module` as it is written, `names` taken from it, `level` dots in front."""

    module: str
    names: tuple[str, ...]
    level: int
    line: int


def imports_of(text: str) -> list[Import]:
    """The imports that loading a module makes. Raises: SyntaxError, ValueError."""
    return list(_imports(ast.parse(text).body))


def _imports(body: list[ast.stmt]) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), 0, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node.module or "", tuple(alias.name for alias in node.names), node.level, node.lineno)
        elif isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from _imports(node.body)
            yield from _imports(node.orelse)
        elif isinstance(node, (ast.ClassDef, ast.With)):
            yield from _imports(node.body)


def missing_in_python(code: Code) -> list[Missing]:
    """Packages that loading the handler's module would not find."""
    gathering = Gathering()
    installed = _installed(code)
    queue = [code.entry.replace(".", "/")]
    seen: set[str] = set()
    while queue and len(seen) < MOST_FILES:
        name = queue.pop()
        path = code.file(f"{name}.py") or code.file(f"{name}/__init__.py")
        text = code.text if code.text is not None and name == code.entry else read_text(path) if path else None
        if name in seen or text is None:
            continue
        seen.add(name)
        if "sys.path" in text:
            return []
        try:
            found = imports_of(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        is_package = path is not None and path.name == "__init__.py"
        for one in found:
            if one.level:
                queue += _relative(name, one, is_package)
                continue
            top = one.module.partition(".")[0]
            if top not in installed and _is_own(code, top):
                queue += _modules(one.module, one.names)
            elif not _is_found(code, top):
                gathering.add(path, one.line, top, *_words(code, name, top))
    return gathering.missing()


def _modules(module: str, names: tuple[str, ...]) -> list[str]:
    """Files that an import may load: the module, its packages, and modules that are taken from it."""
    parts = module.split(".")
    paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return [*paths, *(f"{paths[-1]}/{name}" for name in names if name != "*")]


def _relative(importer: str, one: Import, is_package: bool) -> list[str]:
    parts = importer.split("/")
    base = parts[: len(parts) - one.level + is_package]
    module = ".".join([*base, *([one.module] if one.module else [])])
    return _modules(module, one.names) if module else list(one.names)


def _is_own(code: Code, top: str) -> bool:
    return code.has(top) or any(code.file(f"{top}{ending}") is not None for ending in _ENDINGS)


def _installed(code: Code) -> frozenset[str]:
    """The names of packages that pip put into the function's package."""
    found: set[str] = set()
    for name in code.names():
        record = code.file(f"{name}/RECORD") if name.endswith(".dist-info") else None
        for line in (read_text(record) or "").splitlines() if record is not None else ():
            first = line.partition(",")[0].partition("/")[0]
            found.add(first.partition(".")[0])
    return frozenset(found)


def _is_found(code: Code, top: str) -> bool:
    if not top or top in sys.stdlib_module_names or top == "__main__" or _is_own(code, top):
        return True
    if any(_holds(place, top) for layer in code.layers for place in _places(layer)):
        return True
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _places(layer: Path) -> Iterator[Path]:
    """Folders of packages in a layer. Source: developer guide, "Packaging your layer content"."""
    yield layer / "python"
    yield from layer.glob("python/lib/python3.*/site-packages")


def _holds(place: Path, top: str) -> bool:
    return (place / top).is_dir() or any((place / f"{top}{ending}").is_file() for ending in _ENDINGS)


def _words(code: Code, importer: str, top: str) -> tuple[str, str]:
    """The reason why a package is not found, and a remedy."""
    beside = importer.rpartition("/")[0]
    if beside and (code.has(f"{beside}/{top}.py") or code.has(f"{beside}/{top}")):
        why = "it lies beside the module, while handlers look in the root of their code"
        return why, f"from {beside.replace('/', '.')} import {top}"
    if top in SDK:
        return "part of what the cloud's runtimes bring, and not installed for this Python", f"pip install {top}"
    why = "not in the function's package or layers, nor installed beside Statewright"
    if code.text is not None or code.files is not None:
        return why, f"pip install {top}"
    listed = code.file("requirements.txt") is not None
    return why, f"pip install {f'-r {code.shown}/requirements.txt' if listed else top} -t {code.shown}"
