"""What tests of jobs share: definitions that run a shell command, and machines around them."""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import uuid4

from tests.deadlines import until
from tests.e2e.conftest import machine

QUEUE = "jobs"


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def task_definition(ecs: Any, *commands: list[str], **members: Any) -> str:
    """Register a task definition with a container for each command; returns its ARN."""
    containers = [
        {"name": f"c{number}", "image": "busybox", "command": command, **members.pop(f"c{number}", {})}
        for number, command in enumerate(commands)
    ]
    made = ecs.register_task_definition(family=f"f-{uuid4()}", containerDefinitions=containers, **members)
    arn: str = made["taskDefinition"]["taskDefinitionArn"]
    return arn


def run(ecs: Any, definition: str, **members: Any) -> str:
    arn: str = ecs.run_task(taskDefinition=definition, **members)["tasks"][0]["taskArn"]
    return arn


def task(ecs: Any, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = ecs.describe_tasks(tasks=[arn])["tasks"][0]
    return found


def stopped(ecs: Any, arn: str) -> dict[str, Any]:
    """A task once it has stopped."""

    def over() -> dict[str, Any] | None:
        shown = task(ecs, arn)
        return shown if shown["lastStatus"] == "STOPPED" else None

    found: dict[str, Any] = until(over, f"the end of {arn}")
    return found


def running(ecs: Any, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = until(
        lambda: shown if (shown := task(ecs, arn))["lastStatus"] == "RUNNING" else None, f"the start of {arn}"
    )
    return found


def sync_machine(sfn: Any, resource: str, parameters: dict[str, Any], **members: Any) -> str:
    return machine(
        sfn, {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Parameters": parameters, **members}
    )


def started(sfn: Any, arn: str) -> str:
    execution: str = sfn.start_execution(stateMachineArn=arn, input="{}")["executionArn"]
    return execution


def output(shown: dict[str, Any]) -> Any:
    return json.loads(shown["output"])
