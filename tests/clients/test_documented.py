"""`docs/clients.md` lists each client with the version that the tests run."""

from __future__ import annotations

import re

from tests.clients.conftest import HERE

ROW = re.compile(r"^\| `(?P<name>[\w.-]+)`[^|]*\| (?P<version>[\w.-]+) \|", re.MULTILINE)


def test_the_versions_are_those_of_the_lock() -> None:
    document = (HERE.parents[1] / "docs" / "clients.md").read_text()
    asked = re.findall(r"^[\w.-]+", (HERE / "requirements.in").read_text(), re.MULTILINE)
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (HERE / "requirements.lock").read_text(), re.MULTILINE))
    listed = {row["name"]: row["version"] for row in ROW.finditer(document) if row["name"] in locked}
    assert listed == {name: locked[name] for name in listed}
    assert [name for name in asked if name not in document.lower()] == []
