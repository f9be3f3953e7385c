"""Ids and draws come from `chance.py`, so that a virtual system's seed decides them; leases and keys are exempt."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from tests.architecture.source import broken, modules

DRAWS = {
    ("os", "urandom"), ("uuid", "uuid1"), ("uuid", "uuid4"), ("secrets", "token_hex"), ("secrets", "token_bytes"),
    ("secrets", "token_urlsafe"), ("random", "random"), ("random", "uniform"), ("random", "choice"),
    ("random", "randint"), ("random", "randbytes"),
}  # fmt: skip
NAMES = {name for _, name in DRAWS}
EXEMPT = {
    "chance.py": "the one place",
    "functions/runtimes": "other processes",
    "cli": "outside of any system",
    "projects": "outside of any system",
    "stores/postgres/lease.py": "a lease",
    "records/sessions.py": "a key",
}


def draws_in(nodes: Iterable[ast.AST]) -> list[str]:
    """What in a module draws for itself, as `line: what`."""
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.lineno}: {name.name}" for name in node.names if (node.module, name.name) in DRAWS]
        elif isinstance(node, ast.Attribute) and node.attr in NAMES and (ast.unparse(node.value), node.attr) in DRAWS:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_only_chance_draws():
    bound = [m for m in modules() if not any(PurePosixPath(m.name).is_relative_to(place) for place in EXEMPT)]
    assert broken(lambda module: draws_in(module.nodes), bound) == [], "use statewright.chance"


@pytest.mark.parametrize(
    "line",
    ["os.urandom(4)", "uuid.uuid4()", "from uuid import UUID, uuid4", "x = secrets.token_hex", "random.random()"],
)
def test_who_draws_is_found(line):
    assert len(draws_in(ast.walk(ast.parse(line)))) == 1


def test_what_draws_nothing_is_left_alone():
    line = "chance.uuid4(); uuid.UUID(text); random.Random(3).random(); from uuid import UUID"
    assert draws_in(ast.walk(ast.parse(line))) == []
