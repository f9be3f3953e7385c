"""The parts of the engine that a Map Run works with. A leaf."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from statewright.engine.executions.names import ExecutionNames
from statewright.engine.express.runs import ExpressRuns
from statewright.engine.heavy.steps import HeavySteps
from statewright.engine.machines.programs import RetryingPrograms
from statewright.engine.map_runs.data import MapRunData
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard


@dataclass(frozen=True, slots=True)
class Site:
    """The surroundings of a Map Run: its shard, and the parts of the engine that run its children.

    `deleting` are the machines whose executions cannot be redriven.
    """

    shard: Shard
    runner: Runner
    names: ExecutionNames
    programs: RetryingPrograms
    express: ExpressRuns
    data: MapRunData
    deleting: Container[int]
    heavy: HeavySteps
