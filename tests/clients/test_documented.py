"""`docs/clients.md` lists each client with the version that the tests run."""

from __future__ import annotations

import re

from tests.clients.conftest import HERE

ROW = re.compile(r"^\| `(?P<name>[\w.-]+)`[^|]*\| (?P<version>[\w.-]+) \|", re.MULTILINE)


def test_the_versions_are_those_of_the_lock() -> None:
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (HERE / "requirements.lock").read_text(), re.MULTILINE))
    listed = {
        row["name"]: row["version"] for row in ROW.finditer((HERE.parents[1] / "docs" / "clients.md").read_text())
    }
    assert {name: listed[name] for name in listed if name in locked} == {
        name: locked[name] for name in listed if name in locked
    }
