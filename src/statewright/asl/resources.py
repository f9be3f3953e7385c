"""The target that a Task's `Resource` names: a function, an activity, or a service integration with its pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["lambda", "activity", "task"]
Pattern = Literal["request", "sync", "waitForTaskToken"]

OWN_TASKS: Final = "statewright"
"""The `resource_type` of Statewright's own tasks."""

_INTEGRATION = re.compile(
    r"arn:[^:]*:states:[^:]*:[^:]*:(?P<service>aws-sdk:[^:.]+|[^:.]+):(?P<action>[^:.]+)"
    r"(?:\.(?P<suffix>sync:2|sync|waitForTaskToken))?"
)
_ACTIVITY = re.compile(r"arn:[^:]*:states:[^:]*:[^:]*:activity:.+")


@dataclass(frozen=True, slots=True)
class Resource:
    """A parsed `Resource`.

    `kind` decides the family of history events. `resource_type` and `action` are what those events show:
    `sqs` and `sendMessage.waitForTaskToken`. For functions and activities both are the ARN's.
    """

    arn: str
    kind: Kind
    resource_type: str
    action: str
    pattern: Pattern

    @property
    def short_name(self) -> str:
        """Its name in messages and mocks: `sqs:sendMessage`, `lambda:Charge`, `activity:Approve`."""
        if self.kind == "lambda":
            return "lambda:" + (self.arn.rsplit(":function:", 1)[-1] if ":function:" in self.arn else self.arn)
        if self.kind == "activity":
            return "activity:" + self.arn.rsplit(":activity:", 1)[-1]
        return f"{self.resource_type}:{self.action}"

    @property
    def waits_for_token(self) -> bool:
        """True if the answer comes later, with a task token."""
        return self.pattern == "waitForTaskToken"


def parse_resource(arn: str) -> Resource:
    """Read a `Resource`. A text of no known form counts as a function, as placeholders of templates do."""
    if _ACTIVITY.fullmatch(arn):
        return Resource(arn, "activity", "activity", arn, "waitForTaskToken")
    match = _INTEGRATION.fullmatch(arn)
    if match is None:
        return Resource(arn, "lambda", "lambda", arn, "request")
    suffix = match["suffix"]
    action = match["action"] + (f".{suffix}" if suffix else "")
    pattern: Pattern = "request" if suffix is None else "waitForTaskToken" if suffix == "waitForTaskToken" else "sync"
    return Resource(arn, "task", match["service"], action, pattern)
