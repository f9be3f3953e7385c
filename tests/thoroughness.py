"""How much a run of the tests does: `make test` a quick look at everything, `make test-all` all that there is.

Two markers say what the quick run leaves for the long one. A `slow` test takes long by its nature: a storm of kills, a
reference system in real time, hours of thousands in virtual time; the quick run leaves it out. A `scaled` one draws
examples or seeds: it is in both runs, and draws fewer of them in the quick one, as this module says.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "STATEWRIGHT_TEST_THOROUGH"
THOROUGH = os.environ.get(VARIABLE) == "1"
FEWEST = 10

scaled = pytest.mark.scaled
slow = pytest.mark.slow


def examples(many: int) -> int:
    """How many of so many examples or seeds this run draws: all, or a tenth of them."""
    return many if THOROUGH else min(many, max(many // 10, FEWEST))
