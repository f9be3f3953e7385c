"""Processes for container definitions: the command, its folder and its environment.

By default the command of the definition runs on this machine, or on a node of a Ray cluster; with an engine (docker,
podman) it runs in a container of its image. Keeps no state.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.config import Config
from statewright.credentials import JOB_SECONDS, Credentials, Issue, dummies, endpoint_variables
from statewright.jobs.processes import Made, ProcessRequest
from statewright.jobs.sizes import Sizes
from statewright.settings.server import RayNeeds

STOP_SECONDS: Final = 30
"""Source: ECS API reference, ContainerDefinition, stopTimeout; Batch ends its jobs as ECS does."""
_DEFAULT_ROLE: Final = "ecsInstanceRole"
"""Role of tasks and jobs that name none: that of the instances they run on, by its usual name.

Source: Batch user guide, "Amazon ECS instance role".
"""
_FROM_THE_HOST: Final = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "NODE_PATH", "TZ")


@dataclass(frozen=True, slots=True)
class Container:
    """A container to run: a definition with its overrides."""

    name: str
    image: str
    entry_point: Sequence[str] = ()
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = ""
    user: str = ""
    stop_seconds: float = STOP_SECONDS
    timeout_seconds: float | None = None
    role: str = ""
    """ARN of the role of the task or job, or its name."""
    sizes: Callable[[], Sizes] = Sizes
    """Reads what its definition says of CPUs, memory and GPUs. Raises: ValueError."""


class Machine:
    """Runs containers on this machine, in an engine on it, or on a Ray cluster.

    `endpoint` returns the server's address, `issue` issues credentials of the containers' roles.
    """

    def __init__(
        self, config: Config, endpoint: Callable[[], str], issue: Issue = dummies, *, is_on_ray: bool = False
    ) -> None:
        self._config = config
        self._endpoint = endpoint
        self._issue = issue
        self._is_on_ray = is_on_ray

    async def request(self, container: Container, id_: str, unique_name: str) -> Made:
        """A function that makes the request of a container from the container's own folder.

        `id_` is the id of the task or job, the name of its role's session.
        """
        role = container.role or _DEFAULT_ROLE
        if not role.startswith("arn:"):
            role = f"arn:aws:iam::{self._config.account}:role/{role}"
        variables = self._variables(await self._issue(role, id_, JOB_SECONDS))
        if self._is_on_ray:
            return lambda _work: self._on_ray(container, variables)
        if self._config.jobs.engine:
            return lambda work: self._in_engine(container, variables, unique_name, work)
        return lambda work: self._here(container, variables, work)

    def _here(self, container: Container, given: Mapping[str, str], work: Path) -> ProcessRequest:
        argv = _command(container, "name a command, or an engine in statewright.toml")
        folder = self._config.jobs.images.get(container.image) or container.working_directory
        variables = {name: os.environ[name] for name in _FROM_THE_HOST if name in os.environ}
        # Adds an interpreter with the server's packages, in case the machine has none of that name.
        variables["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{Path(sys.executable).parent}"
        variables["HOME"] = str(work)
        variables |= {**given, **container.environment}
        return ProcessRequest(
            argv,
            variables,
            str(Path(folder).resolve()) if folder and Path(folder).is_dir() else str(work),
            container.stop_seconds,
            container.timeout_seconds,
        )

    def _on_ray(self, container: Container, given: Mapping[str, str]) -> ProcessRequest:
        """The request for a Ray node, which adds its own PATH and locale, and a working folder."""
        argv = _command(container, "name a command, because Ray nodes run no images")
        ray = self._config.ray
        try:
            sizes = container.sizes()
        except ValueError as problem:
            raise OSError(f"the container {container.name} cannot be placed: {problem}") from None
        needs = RayNeeds(
            ray.needs.num_cpus if sizes.cpus is None else sizes.cpus,
            ray.needs.num_gpus if sizes.gpus is None else sizes.gpus,
            ray.needs.memory if sizes.memory_mib is None else sizes.memory_mib,
            ray.needs.resources,
        )
        folder = self._config.jobs.images.get(container.image)
        return ProcessRequest(
            argv,
            {**given, **container.environment},
            str(Path(folder).resolve()) if folder else container.working_directory,
            container.stop_seconds,
            container.timeout_seconds,
            needs=needs,
            cwd_of=container.image if folder else "",
        )

    def _in_engine(
        self, container: Container, given: Mapping[str, str], unique_name: str, work: Path
    ) -> ProcessRequest:
        engine = self._config.jobs.engine
        variables = {**given, **container.environment}
        # Values are passed in the environment of the engine's command, because every user can read its arguments.
        options = [part for name in variables for part in ("--env", name)]
        if container.working_directory:
            options += ["--workdir", container.working_directory]
        if container.user:
            options += ["--user", container.user]
        if container.entry_point:
            options += ["--entrypoint", container.entry_point[0]]
        return ProcessRequest(
            [engine, "run", "--rm", "--name", unique_name, "--network", "host", *options, container.image,
             *container.entry_point[1:], *container.command],
            {**os.environ, **variables},
            str(work),
            container.stop_seconds,
            container.timeout_seconds,
            [engine, "kill", unique_name],
        )  # fmt: skip

    def _variables(self, credentials: Credentials) -> dict[str, str]:
        return {
            **endpoint_variables(self._endpoint()),
            "AWS_REGION": self._config.region,
            "AWS_DEFAULT_REGION": self._config.region,
            **credentials.variables(),
        }


def _command(container: Container, advice: str) -> list[str]:
    """The command of a container. Raises: OSError."""
    argv = [*container.entry_point, *container.command]
    if not argv:
        raise OSError(
            f"the container {container.name} has neither command nor entryPoint, and what its image "
            f"{container.image} would run is unknown: {advice}"
        )
    return argv


def named_values(pairs: Sequence[Mapping[str, str]] | None) -> dict[str, str]:
    """Environment variables from the service's list of names and values."""
    return {pair["name"]: pair.get("value", "") for pair in pairs or () if pair.get("name")}
