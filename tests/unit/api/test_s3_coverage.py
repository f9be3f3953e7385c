"""`docs/objects.md` lists every operation of the service, as served or not, and the code agrees."""

from __future__ import annotations

import re
from pathlib import Path

from statewright.api.operations import registered
from statewright.api.shapes import operation_names

PAGE = Path(__file__).parents[3] / "docs" / "objects.md"


def listed(title: str) -> set[str]:
    section = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", section)) - {"NotImplemented"}


def test_every_operation_is_listed():
    served = set(registered("s3"))
    assert listed("Served") == served
    assert listed("Not served") == operation_names("s3") - served
