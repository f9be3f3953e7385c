"""Ids and draws come from `chance.py`, so that a virtual system's seed decides them: only it imports what draws."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from tests.architecture.source import Module, broken, modules

SOURCES_OF_CHANCE = {"random", "secrets", "uuid"}
OF_THE_SYSTEM = {"urandom", "getrandom"}
ALLOWED = {
    "chance.py": "the one place",
    "functions/runtimes": "other processes, which seed what handlers draw",
}


def draws_in(nodes: Iterable[ast.AST]) -> list[str]:
    """What in a module can draw without `chance`, as `line: what`."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: {name.name}" for name in node.names if name.name in SOURCES_OF_CHANCE]
        elif isinstance(node, ast.ImportFrom):
            names = {name.name for name in node.names}
            if node.module in SOURCES_OF_CHANCE or (node.module == "os" and names & OF_THE_SYSTEM):
                found.append(f"{node.lineno}: {node.module}")
        elif isinstance(node, ast.Attribute) and node.attr in OF_THE_SYSTEM:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def allowed(module: Module) -> set[str]:
    return {place for place in ALLOWED if PurePosixPath(module.name).is_relative_to(place)}


def test_only_chance_draws():
    bound = [module for module in modules() if not allowed(module)]
    assert broken(lambda module: draws_in(module.nodes), bound) == [], "use statewright.chance"


def test_what_is_allowed_is_needed():
    assert {place for module in modules() if draws_in(module.nodes) for place in allowed(module)} == set(ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        "os.urandom(4)", "from os import urandom", "import uuid", "from uuid import UUID", "import secrets, json",
        "import random as chance", "from random import Random",
    ],
)  # fmt: skip
def test_who_draws_is_found(line):
    assert len(draws_in(ast.walk(ast.parse(line)))) == 1


def test_what_draws_nothing_is_left_alone():
    line = "from statewright import chance; chance.uuid4(); from x.secrets import y; a.random()"
    assert draws_in(ast.walk(ast.parse(line))) == []
