"""All that draws is scaled: fewer examples in the quick run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thoroughness import scaled


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # By their ids, without a look at twenty thousand paths.
    here = f"{Path(__file__).parent.relative_to(items[0].config.rootpath).as_posix()}/" if items else ""
    for item in items:
        if item.nodeid.startswith(here):
            item.add_marker(scaled)
