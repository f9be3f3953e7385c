"""The values of references to resources of stacks that exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from statewright.projects.deploy.calls import Answer
from statewright.projects.deploy.kinds import Known
from statewright.projects.deploy.registry import IGNORED
from statewright.stacks.records import Made


@dataclass(frozen=True, slots=True)
class References:
    """The values of references to the resources of a stack."""

    known: Mapping[str, Known]
    noted: frozenset[str]


def references_of(resources: Mapping[str, Made]) -> References:
    """The references of the resources that exist."""
    return References(
        {id_: known_of(one) for id_, one in resources.items()},
        frozenset(id_ for id_, one in resources.items() if one.lost or one.type in IGNORED),
    )


def known_of(one: Made) -> Known:
    """The form in which appliers know a resource that was made."""
    return Known(one.type, one.ref, one.attributes)


def no_call(service: str, operation: str, _request: Mapping[str, object]) -> Answer:
    """A `Call` for evaluation that asks no service."""
    raise AssertionError(f"{service} {operation} is called where nothing may be")
