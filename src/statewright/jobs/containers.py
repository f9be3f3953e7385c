"""Processes for container definitions: the command, its folder and its environment.

By default the command of the definition runs on this machine; with an engine (docker, podman) it runs in a container
of its image. Keeps no state.
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
from statewright.jobs.processes import ProcessRequest

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


class Machine:
    """Runs containers on this machine, or in an engine on it.

    `endpoint` returns the server's address, `issue` issues credentials of the containers' roles.
    """

    def __init__(self, config: Config, endpoint: Callable[[], str], issue: Issue = dummies) -> None:
        self._config = config
        self._endpoint = endpoint
        self._issue = issue

    async def request(self, container: Container, id_: str, unique_name: str) -> Callable[[Path], ProcessRequest]:
        """A function that makes the request of a container from the container's own folder.

        `id_` is the id of the task or job, the name of its role's session.
        """
        role = container.role or _DEFAULT_ROLE
        if not role.startswith("arn:"):
            role = f"arn:aws:iam::{self._config.account}:role/{role}"
        variables = self._variables(await self._issue(role, id_, JOB_SECONDS))
        if self._config.jobs.engine:
            return lambda work: self._in_engine(container, variables, unique_name, work)
        return lambda work: self._here(container, variables, work)

    def _here(self, container: Container, given: Mapping[str, str], work: Path) -> ProcessRequest:
        argv = [*container.entry_point, *container.command]
        if not argv:
            raise OSError(
                f"the container {container.name} has neither command nor entryPoint, and what its image "
                f"{container.image} would run is unknown: name a command, or an engine in statewright.toml"
            )
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


def named_values(pairs: Sequence[Mapping[str, str]] | None) -> dict[str, str]:
    """Environment variables from the service's list of names and values."""
    return {pair["name"]: pair.get("value", "") for pair in pairs or () if pair.get("name")}
