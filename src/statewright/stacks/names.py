"""Physical names of resources that their template does not name.

Source: recorded: `Stack-LogicalId-RANDOM`, buckets in lower case, parameters `CFN-LogicalId-RANDOM`.
"""

from __future__ import annotations

import re
from typing import Final

from statewright import chance

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MIXED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LOWER: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_SUFFIX: Final = 12
MOST_NAME: Final = 128
"""Characters of a stack's name."""
_IN_LOWER: Final = frozenset({"AWS::S3::Bucket"})
_IN_UPPER: Final = frozenset(
    {"AWS::CloudFormation::Stack", "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Kinesis::Stream"}
)


def physical_name(stack: str, id: str, kind: str, longest: int) -> str:
    """A new name for a resource."""
    if kind == "AWS::SSM::Parameter":
        return f"CFN-{id}-{_random(_MIXED)}"
    letters = _LOWER if kind in _IN_LOWER else _UPPER if kind in _IN_UPPER else _MIXED
    name, random = f"{stack}-{id}", _random(letters)
    room = longest - _SUFFIX - 1
    if len(name) > room:
        # Both parts keep a beginning: the id says more than the rest of a long stack's name.
        owner = stack[: max(room - len(id) - 1, room // 2)]
        name = f"{owner}-{id}"[:room].rstrip("-")
    if kind in _IN_LOWER:
        name = re.sub(r"[^a-z0-9-]", "-", name.lower())
    return f"{name}-{random}"


def _random(letters: str) -> str:
    return "".join(letters[chance.random_bits(32) % len(letters)] for _ in range(_SUFFIX))
