"""Resources that are left out although others use them: the part of a project that will not work.

Owns which uses matter. Permissions, networks and keys change nothing here, so nothing is lost with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.projects.deploy.registry import is_made
from statewright.projects.evaluation import references
from statewright.projects.resources import Project, Resource

_IDLE_TYPES: Final = ("AWS::EC2::", "AWS::KMS::", "AWS::IAM::", "AWS::Lambda::Permission", "AWS::CloudWatch::")
_IDLE_MEMBERS: Final = frozenset(
    {
        "BucketEncryption", "ComputeResources", "KMSKeyArn", "KmsKeyArn", "KmsKeyId", "KmsMasterKeyId",
        "LoggingConfiguration", "SSESpecification", "Tags", "VpcConfig",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Need:
    """A resource that is left out, and the ids of those that use it."""

    id: str
    type: str
    by: tuple[str, ...]

    def __str__(self) -> str:
        users = self.by[0] if len(self.by) == 1 else f"{', '.join(self.by[:-1])} and {self.by[-1]}"
        return f"{self.id} ({self.type}) is left out, but {users} {'uses' if len(self.by) == 1 else 'use'} it"


def needs_of(project: Project, left_out: Iterable[str]) -> list[Need]:
    """The resources among those left out that resources which are made use, in the order of the project."""
    users: dict[str, list[str]] = {id_: [] for id_ in left_out if not _is_idle(project.resources.get(id_))}
    for resource in project.resources.values():
        if not is_made(resource.type) or resource.type.startswith(_IDLE_TYPES) or resource.type.endswith("Policy"):
            continue
        properties = resource.properties if isinstance(resource.properties, Mapping) else {}
        used = references({name: part for name, part in properties.items() if name not in _IDLE_MEMBERS})
        for name in used:
            if name in users and resource.id not in users:
                users[name].append(resource.id)
    return [Need(id_, project.resources[id_].type, tuple(found)) for id_, found in users.items() if found]


def _is_idle(resource: Resource | None) -> bool:
    return resource is None or resource.type.startswith(_IDLE_TYPES)
