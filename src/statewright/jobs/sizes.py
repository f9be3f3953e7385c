"""CPUs, memory and GPUs that definitions of ECS and Batch ask for. On Ray they choose the node of a process.

Source: ECS API reference, ContainerDefinition, RegisterTaskDefinition; Batch API reference, ResourceRequirement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.payload import Json

UNITS: Final = 1024
"""CPU units of ECS in one CPU."""
_CPUS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*vcpu", re.IGNORECASE)
_GIB: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*gb", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sizes:
    """CPUs, MiB of memory, and GPUs; `None` where a definition says nothing."""

    cpus: float | None = None
    memory_mib: int | None = None
    gpus: float | None = None


def of_ecs(given: Mapping[str, Json], overrides: Mapping[str, Json], name: str) -> Sizes:
    """The sizes of one container of a task definition, with the overrides of the task. Raises: ValueError.

    What the task says as a whole is divided equally among the containers that say nothing.
    """
    containers = {one["name"]: dict(one) for one in given["containerDefinitions"]}
    for over in overrides.get("containerOverrides") or ():
        if over.get("name") in containers:
            containers[over["name"]] |= {key: value for key, value in over.items() if value is not None}
    cpus = {one: _number(container.get("cpu"), "cpu") / UNITS for one, container in containers.items()}
    memory = {
        one: _number(container.get("memoryReservation") or container.get("memory"), "memory")
        for one, container in containers.items()
    }
    all_cpus = _task_cpus(overrides.get("cpu") or given.get("cpu"))
    all_memory = _task_memory(overrides.get("memory") or given.get("memory"))
    own_cpus = cpus[name] or _share(all_cpus, cpus)
    own_memory = memory[name] or _share(all_memory, memory)
    return Sizes(
        own_cpus or None,
        round(own_memory) or None,
        _required(containers[name].get("resourceRequirements") or ()).get("GPU"),
    )


def of_batch(properties: Mapping[str, Json], overrides: Mapping[str, Json]) -> Sizes:
    """The sizes of a job from the properties of its container, and its overrides. Raises: ValueError."""
    required = _required(properties.get("resourceRequirements") or ())
    required |= _required(overrides.get("resourceRequirements") or ())
    cpus = required.get("VCPU") or _number(overrides.get("vcpus") or properties.get("vcpus"), "vcpus")
    memory = required.get("MEMORY") or _number(overrides.get("memory") or properties.get("memory"), "memory")
    return Sizes(cpus or None, round(memory) or None, required.get("GPU"))


def _share(whole: float, parts: Mapping[str, float]) -> float:
    """The rest for each container that says nothing."""
    silent = sum(1 for part in parts.values() if not part)
    return max(whole - sum(parts.values()), 0) / silent if silent else 0


def _task_cpus(value: Json) -> float:
    found = _CPUS.fullmatch(str(value or "").strip())
    return float(found[1]) if found else _number(value, "cpu") / UNITS


def _task_memory(value: Json) -> float:
    found = _GIB.fullmatch(str(value or "").strip())
    return float(found[1]) * 1024 if found else _number(value, "memory")


def _required(requirements: Sequence[Mapping[str, Json]]) -> dict[str, float]:
    return {one["type"]: _number(one.get("value"), str(one["type"])) for one in requirements}


def _number(value: Json, what: str) -> float:
    if value is None or value == "":
        return 0
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1
    if not 0 <= found < 1e9:
        raise ValueError(f"{what} is {str(value)[:100]}, which is no number of its kind")
    return found
