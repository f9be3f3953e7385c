"""`docs/functions.md` lists every operation of the service, as served or not, and the code agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from statewright.api.operations import registered
from statewright.api.shapes import operation_names

PAGE = Path(__file__).parents[3] / "docs" / "functions.md"


def listed(title: str) -> set[str]:
    paragraphs = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0].split("\n\n")
    return {
        name for text in paragraphs if re.match(r"\w+,\s", text.strip()) for name in re.findall(r"\w+", text)
    }  # fmt: skip


def test_every_operation_is_listed():
    served = set(registered("lambda"))
    assert listed("Served") == served
    assert listed("Not served") == operation_names("lambda") - served


@pytest.mark.parametrize("title", ["Served", "Not served"])
def test_the_lists_are_there(title):
    assert len(listed(title)) > 30
