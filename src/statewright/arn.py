"""ARNs of Step Functions: parsing, building, and the service's errors for invalid ones.

Source: service API reference and authorisation reference; error texts observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

from statewright.errors import ApiError

MACHINE: Final = "stateMachine"
EXECUTION: Final = "execution"
EXPRESS: Final = "express"
MAP_RUN: Final = "mapRun"
ACTIVITY: Final = "activity"

_PARTS: Final = {MACHINE: (1, 2), EXECUTION: (2, 2), EXPRESS: (3, 3), MAP_RUN: (2, 2), ACTIVITY: (1, 1)}
"""Least and most colon-separated parts that follow each resource type."""


@dataclass(frozen=True, slots=True)
class StatesArn:
    """An ARN in its parts.

    `name` is the state machine's or activity's name; `label` follows it for a distributed Map's child machine,
    executions and Map Runs. `rest` is what follows: a machine's version or alias, an execution's name, a Map Run's id.
    `run` is the last part of an EXPRESS execution's ARN.
    """

    region: str
    account: str
    kind: str
    name: str
    label: str | None = None
    rest: str | None = None
    run: str | None = None
    partition: str = "aws"

    def __str__(self) -> str:
        first = self.name if self.label is None else f"{self.name}/{self.label}"
        tail = [part for part in (first, self.rest, self.run) if part is not None]
        return f"arn:{self.partition}:states:{self.region}:{self.account}:{self.kind}:{':'.join(tail)}"

    @property
    def is_version(self) -> bool:
        """True if a machine's ARN names a version, which is a whole number."""
        return self.rest is not None and self.rest.isascii() and self.rest.isdigit()

    @property
    def machine(self) -> str:
        """ARN of the machine itself, without version, alias, label or execution."""
        return f"arn:{self.partition}:states:{self.region}:{self.account}:stateMachine:{self.name}"


def parse_arn(text: str, *kinds: str) -> StatesArn:
    """Parse an ARN; it must be of one of `kinds`, of any kind if there are none.

    Raises: ApiError (`InvalidArn`).
    """
    parts = text.split(":")
    if len(parts) < 7 or parts[0] != "arn" or parts[2] != "states" or not parts[1].startswith("aws"):
        _refuse(f"Invalid ARN prefix: {text}")
    kind, following = parts[5], parts[6:]
    least, most = _PARTS.get(kind, (0, 0))
    if not most or (kinds and kind not in kinds):
        _refuse(f"Resource type not valid in this context: {kind}")
    if not least <= len(following) <= most or not all(following):
        _refuse(f"Invalid ARN prefix: {text}")
    name, slash, label = following[0].partition("/")
    if not name or (slash and not label) or (slash and kind == ACTIVITY):
        _refuse(f"Invalid ARN prefix: {text}")
    return StatesArn(
        parts[3],
        parts[4],
        kind,
        name,
        label if slash else None,
        following[1] if len(following) > 1 else None,
        following[2] if len(following) > 2 else None,
        parts[1],
    )


def machine_arn(region: str, account: str, name: str, qualifier: str | int | None = None) -> str:
    """ARN of a state machine, or of its version or alias."""
    tail = "" if qualifier is None else f":{qualifier}"
    return f"arn:aws:states:{region}:{account}:stateMachine:{name}{tail}"


def activity_arn(region: str, account: str, name: str) -> str:
    """ARN of an activity."""
    return f"arn:aws:states:{region}:{account}:activity:{name}"


def execution_arn(machine: str, name: str) -> str:
    """ARN of a STANDARD execution of a machine, which is named by its unqualified (or labelled) ARN."""
    return f"{machine.replace(':stateMachine:', ':execution:', 1)}:{name}"


def express_arn(machine: str, name: str, run: str) -> str:
    """ARN of an EXPRESS execution; `run` is a random part of its own."""
    return f"{machine.replace(':stateMachine:', ':express:', 1)}:{name}:{run}"


def _refuse(reason: str) -> NoReturn:
    raise ApiError("InvalidArn", f"Invalid Arn: '{reason}'")
