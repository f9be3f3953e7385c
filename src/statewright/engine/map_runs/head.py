"""The head of a Map Run's row: its constant part, fixed at its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.formats import Compact
from statewright.interpreter.map_run.state import child_machine_arn
from statewright.payload import Json, parse_json


@dataclass(frozen=True, slots=True)
class RunHead:
    """The constant part of a Map Run, fixed at its start."""

    map_run_arn: str
    parent: int
    parent_arn: str
    machine_id: int
    revision_id: str
    scope: int
    child_type: str
    role_arn: str
    reader: Json
    reader_config: Json
    iterations: Sequence[int]
    attempt: int
    state: str

    def encode(self) -> bytes:
        """The row's `head`."""
        return RUN_HEAD.write(self)

    @staticmethod
    def decode(body: bytes) -> RunHead:
        """Read a row's `head`. Raises: Unreadable."""
        return RUN_HEAD.read(body)

    @property
    def child_machine_arn(self) -> str:
        """The state machine that child executions name."""
        return child_machine_arn(self.map_run_arn)


RUN_HEAD: Final[Compact[RunHead]] = Compact("the head of a Map Run", RunHead, parse=parse_json)
