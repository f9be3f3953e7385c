"""The house's shape, enforced: who may import whom, what the pure packages may use, and how long a module may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "statewright"

LAYERS = [
    ["errors", "payload", "clock", "chance", "limits", "arn", "config", "config_tables", "__init__"],
    ["query"],
    ["asl"],
    ["interpreter"],
    ["cost", "stores", "graph", "simulator", "metrics", "export"],
    ["engine"],
    ["queues", "objects", "tables"],
    ["functions", "jobs"],
    ["records"],
    ["events"],
    ["topics"],
    ["integrations"],
    ["api"],
    ["assembly"],
    ["virtual"],
    ["server"],
    ["projects"],
    ["simulation"],
    ["cli"],
    ["testing"],
]
"""Lowest first. A package imports from earlier lines only, never sideways."""

PURE = ("query", "asl", "interpreter")
BANNED_IN_PURE = {"time", "random", "asyncio", "threading", "logging", "secrets", "socket", "subprocess", "os"}
THIRD_PARTY_IN_PURE = {"query/jsonata": {"jsonatapy"}, "asl/yaml_reader.py": {"yaml"}, "asl/yaml_faults.py": {"yaml"}}
STANDARD_LIBRARY_ONLY = {"graph"}
TABLES = {"asl/fields.py"}
"""Modules that are tables rather than code: no limit on their length."""

LONGEST_MODULE = 600
LONGEST_FUNCTION = 60


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def layer_of(package: str) -> int:
    for number, names in enumerate(LAYERS):
        if package in names:
            return number
    raise AssertionError(f"package {package} stands in no layer: add it to LAYERS")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_go_downwards(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imported(path):
        if not module.startswith("statewright."):
            continue
        other = module.split(".")[1]
        if other == own:
            continue
        # Leaves may use each other; everything else looks strictly down.
        down = layer_of(other) < layer_of(own) or layer_of(other) == layer_of(own) == 0
        assert down, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize(
    "path", [p for p in modules() if p.relative_to(SOURCE).parts[0] in (*PURE, *STANDARD_LIBRARY_ONLY)], ids=name_of
)
def test_pure_packages_use_nothing_that_waits_talks_or_draws_lots(path: Path) -> None:
    name = name_of(path)
    allowed = {"statewright", *(t for prefix, ts in THIRD_PARTY_IN_PURE.items() if name.startswith(prefix) for t in ts)}
    import sys

    for module in imported(path):
        top = module.split(".")[0]
        if top in allowed:
            continue
        assert top in sys.stdlib_module_names, f"{name} imports {module}"
        assert top not in BANNED_IN_PURE, f"{name} imports {module}"
    text = path.read_text()
    assert ".now(" not in text, f"{name} asks for the time"
    assert "utcnow" not in text, f"{name} asks for the time"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_modules_and_functions_are_short(path: Path) -> None:
    text = path.read_text()
    if name_of(path) not in TABLES:
        assert text.count("\n") <= LONGEST_MODULE, f"{name_of(path)} is longer than {LONGEST_MODULE} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{name_of(path)}: {node.name} has {length} lines"


def test_no_catch_all_modules() -> None:
    banned = {"utils", "util", "common", "helpers", "base", "manager", "misc"}
    assert not [name_of(path) for path in modules() if path.stem in banned]


def test_every_module_says_what_it_owns() -> None:
    assert not [name_of(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text()))]


def test_no_deepcopy() -> None:
    assert not [name_of(path) for path in modules() if "deepcopy" in path.read_text()]
