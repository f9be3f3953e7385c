"""Templates and systems for the tests of stacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from statewright.payload import Json
from statewright.virtual import VirtualSystem


def template(resources: Mapping[str, Json], **sections: Json) -> str:
    """A template of some resources."""
    return json.dumps({"Resources": resources, **sections})


def queue(**properties: Json) -> Json:
    """A queue."""
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


@contextmanager
def clouds() -> Iterator[tuple[VirtualSystem, Any]]:
    """A system in virtual time, and its client."""
    with VirtualSystem() as system:
        yield system, system.client("cloudformation")


def created(cloud: Any, name: str, body: str, **more: Any) -> str:
    """Create a stack, and wait for its end."""
    made: str = cloud.create_stack(StackName=name, TemplateBody=body, **more)["StackId"]
    return made


def status(cloud: Any, name: str) -> str:
    """The status of a stack."""
    found: str = cloud.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    return found


def told(cloud: Any, name: str) -> list[tuple[str, str, str]]:
    """The events of a stack, the oldest first: id, status, reason."""
    events = cloud.describe_stack_events(StackName=name)["StackEvents"][::-1]
    return [(one["LogicalResourceId"], one["ResourceStatus"], one.get("ResourceStatusReason", "")) for one in events]
