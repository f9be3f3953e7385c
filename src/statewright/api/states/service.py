"""Step Functions: state machines, executions, activities and Map Runs."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, JSON, Service

SERVICE: Final = Service(
    name="states",
    title="Step Functions",
    document="server.md",
    package=__package__,
    regions=APART,
    operations=(
        "machines",
        "versions",
        "aliases",
        "tags",
        "validation",
        "executions",
        "tasks",
        "activities",
        "map_runs",
        "trials",
    ),
    protocols=(JSON,),
    target="AWSStepFunctions",
    client="stepfunctions",
    task_names=("states",),
    sdk_names=("sfn",),
)
