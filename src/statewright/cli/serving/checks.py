"""The result of one check of `statewright doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. A `problem` must be solved; a `note` is for information."""

    name: str
    status: Status
    message: str
    hint: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
