"""Ids and draws come from `chance.py`, so that a virtual system's seed decides them; leases and keys are exempt."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "statewright"
DRAWS = {
    ("os", "urandom"), ("uuid", "uuid1"), ("uuid", "uuid4"), ("secrets", "token_hex"), ("secrets", "token_bytes"),
    ("secrets", "token_urlsafe"), ("random", "random"), ("random", "uniform"), ("random", "choice"),
    ("random", "randint"), ("random", "randbytes"),
}  # fmt: skip
EXEMPT = {
    "chance.py": "the one place",
    "functions/runtimes": "other processes",
    "cli": "outside of any system",
    "projects": "outside of any system",
    "stores/postgres_lease.py": "a lease",
    "records/sessions.py": "a key",
}


def draws_in(source: str) -> list[str]:
    """What in a module's text draws for itself, as `line: what`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.lineno}: {name.name}" for name in node.names if (node.module, name.name) in DRAWS]
        elif isinstance(node, ast.Attribute) and (ast.unparse(node.value), node.attr) in DRAWS:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_only_chance_draws():
    found = [
        f"{path.relative_to(SOURCE)}:{what}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not any(path.relative_to(SOURCE).is_relative_to(place) for place in EXEMPT)
        for what in draws_in(path.read_text())
    ]
    assert found == [], "use statewright.chance"


@pytest.mark.parametrize(
    "line",
    ["os.urandom(4)", "uuid.uuid4()", "from uuid import UUID, uuid4", "x = secrets.token_hex", "random.random()"],
)
def test_who_draws_is_found(line):
    assert len(draws_in(line)) == 1


def test_what_draws_nothing_is_left_alone():
    assert draws_in("chance.uuid4(); uuid.UUID(text); random.Random(3).random(); from uuid import UUID") == []
