"""What a demonstration runs and shows: a system under way, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from serving import why


@dataclass
class Result:
    """What became of one system: whether all is as it should be, and what to say of it."""

    title: str
    good: bool = False
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    left_out: str = ""
    """Why it did not run; it needs something that this machine does not have."""


@dataclass
class Started:
    """What runs, and how far it is: called once in a while, it looks, and ends with a result."""

    look: Callable[[], str]
    result: Callable[[], Result]
    over: Callable[[], bool]


def unless(good: bool, *executions: dict[str, Any]) -> list[str]:
    """What to say of executions when not all is good: a line for each, with its status, error and cause."""
    return [] if good else [f"{execution['name']}: {why(execution)}" for execution in executions]
