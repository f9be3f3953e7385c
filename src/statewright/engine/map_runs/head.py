"""What a Map Run is from its start on: the head of its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statewright.interpreter.map_run.state import child_machine_arn
from statewright.payload import Json, dump_row, parse_json


@dataclass(frozen=True, slots=True)
class RunHead:
    """What a run is from its start on: the head of its row."""

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
        return dump_row([1, *[getattr(self, name) for name in RunHead.__slots__]])

    @staticmethod
    def decode(body: bytes) -> RunHead:
        """Read a row's `head`."""
        return RunHead(*parse_json(body)[1:])

    @property
    def child_machine_arn(self) -> str:
        """What child executions give for their state machine."""
        return child_machine_arn(self.map_run_arn)
