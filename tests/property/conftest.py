"""All that draws is scaled: fewer examples in the quick run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thoroughness import scaled


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(scaled)
