"""A whole system in virtual time, in one process, for tests and simulations. Start reading at `system.py`.

Models of functions are loaded when they are asked for: most tests have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from statewright.virtual.system import NeverHappened, VirtualSystem

if TYPE_CHECKING:
    from statewright.functions.workers.models import Model, exponential, lognormal, normal, percentiles, uniform

__all__ = [
    "Model",
    "NeverHappened",
    "VirtualSystem",
    "exponential",
    "lognormal",
    "normal",
    "percentiles",
    "uniform",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from statewright.functions.workers import models

    return getattr(models, name)
