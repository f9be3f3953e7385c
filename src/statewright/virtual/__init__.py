"""A whole system in virtual time, in one process, for tests and simulations. Start reading at `system.py`."""

from statewright.functions.workers.models import Model, exponential, lognormal, normal, percentiles, uniform
from statewright.virtual.system import NeverHappened, VirtualSystem

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
