"""The house's shape, enforced: who may import whom, what the pure packages may use, and how long a module may be."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from tests.architecture.source import Module, broken, modules

LAYERS = [
    [
        "errors",
        "payload",
        "at_work",
        "background",
        "clock",
        "virtual_clock",
        "chance",
        "limits",
        "arn",
        "tags",
        "instants",
        "pages",
        "config",
        "settings",
        "credentials",
        "formats",
        "lease_end",
        "files",
        "__init__",
    ],
    ["query"],
    ["asl"],
    ["interpreter"],
    ["cost", "stores", "graph", "export"],
    ["metrics"],
    ["engine"],
    ["queues", "objects", "tables"],
    ["functions"],
    ["jobs"],
    ["records"],
    ["events"],
    ["topics", "alarms", "log_filters"],
    ["integrations"],
    ["log_export"],
    ["apis"],
    ["projects"],
    ["stacks"],
    ["api"],
    ["regions"],
    ["assembly"],
    ["virtual"],
    ["stopping"],
    ["simulator"],
    ["console"],
    ["hosting"],
    ["server"],
    ["simulation"],
    ["cli"],
    ["testing"],
]
"""Lowest first. A package imports from earlier lines only, never sideways."""

PURE = ("query", "asl", "interpreter")
BANNED_IN_PURE = {"time", "random", "asyncio", "threading", "logging", "secrets", "socket", "subprocess", "os"}
ALLOWED_IN_PURE = {
    "query/jsonata": {"jsonatapy"},
    "query/jsonata/loading.py": {"threading"},
    "asl/text/yaml_reader.py": {"yaml"},
    "asl/text/yaml_faults.py": {"yaml"},
    "asl/loading.py": {"os"},
}
STANDARD_LIBRARY_ONLY = {"graph"}
TABLES = {"asl/checks/fields.py"}
"""Modules that are tables rather than code: no limit on their length."""

LONGEST_MODULE = 600
LONGEST_FUNCTION = 60
CATCH_ALL_NAMES = {"utils", "util", "common", "helpers", "base", "manager", "misc"}


def layer_of(package: str) -> int:
    for number, names in enumerate(LAYERS):
        if package in names:
            return number
    raise AssertionError(f"package {package} stands in no layer: add it to LAYERS")


def upward_imports(module: Module) -> Iterator[str]:
    for name in module.imports:
        if name.startswith("."):
            yield f"the relative import {name}"
        if not name.startswith("statewright."):
            continue
        own, other = module.package, name.split(".")[1]
        # Leaves may use each other; everything else looks strictly down.
        if other != own and not (layer_of(other) < layer_of(own) or layer_of(other) == layer_of(own) == 0):
            yield f"imports {name}"


def impurities(module: Module) -> Iterator[str]:
    extra = (allowed for start, allowed in ALLOWED_IN_PURE.items() if module.name.startswith(start))
    allowed = {"statewright"}.union(*extra)
    for name in module.imports:
        top = name.partition(".")[0]
        if top not in allowed and (top not in sys.stdlib_module_names or top in BANNED_IN_PURE):
            yield f"imports {name}"
    if ".now(" in module.text or "utcnow" in module.text:
        yield "asks for the time"


def what_is_too_long(module: Module) -> Iterator[str]:
    if module.name not in TABLES and module.text.count("\n") > LONGEST_MODULE:
        yield f"is longer than {LONGEST_MODULE} lines"
    for node in module.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{node.name} has {length} lines"


def test_imports_go_downwards() -> None:
    assert broken(upward_imports) == []


def test_pure_packages_use_nothing_that_waits_talks_or_draws_lots() -> None:
    pure = [module for module in modules() if module.package in (*PURE, *STANDARD_LIBRARY_ONLY)]
    assert len(pure) > 50
    assert broken(impurities, pure) == []


def test_modules_and_functions_are_short() -> None:
    assert broken(what_is_too_long) == []


def test_no_catch_all_modules() -> None:
    assert [module.name for module in modules() if module.path.stem in CATCH_ALL_NAMES] == []


def test_every_module_says_what_it_owns() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []


def test_no_deepcopy() -> None:
    assert [module.name for module in modules() if "deepcopy" in module.text] == []


def test_the_rules_see_what_breaks_them() -> None:
    text = "import time\nfrom statewright.cli.main import main\nfrom . import frames\nnow = datetime.now()\n"
    text += "def long():\n" + "    pass\n" * LONGEST_FUNCTION
    bad = Module(modules()[0].path, "query/bad.py", text, ast.parse(text))
    assert list(upward_imports(bad)) == ["imports statewright.cli.main", "the relative import ."]
    assert {"imports time", "asks for the time"} <= set(impurities(bad))
    assert list(what_is_too_long(bad)) == [f"long has {LONGEST_FUNCTION + 1} lines"]
