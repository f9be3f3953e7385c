"""Every type of resource that deployment knows, by its name in templates."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from statewright.api.services import SERVICES
from statewright.payload import Json
from statewright.projects.deploy.kinds import Kind, LeftOut, Site, Wanted

IGNORED: Final = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})
"""Types that ask for nothing; nothing is said of them."""

_KNOWN: Final[dict[str, Kind]] = {
    name: kind
    for service in SERVICES
    for module in service.deployed_by
    for name, kind in import_module(module).KINDS.items()
}


def _unknown(_site: Site, wanted: Wanted) -> Mapping[str, Json]:
    raise LeftOut(f"{wanted.resource.type} is not supported")


def kind_of(type: str) -> Kind:
    """The entry of a type; an unknown one is left out, with a made-up ARN for references to it."""
    known = _KNOWN.get(type)
    if known is not None:
        return known
    parts = type.split("::")
    service = parts[1].lower() if len(parts) > 1 else "custom"
    return Kind(parts[-1], _unknown, arn=f"{service}:{{region}}:{{account}}:{{name}}")


def is_known(type: str) -> bool:
    """True if deployment supports a type."""
    return type in _KNOWN or type in IGNORED
