"""Refusals of CloudFormation.

Source: recorded answers; API reference, "Common Errors".
"""

from __future__ import annotations

from collections.abc import Iterable

from statewright.errors import ApiError


def invalid(text: str) -> ApiError:
    """The error for a request that makes no sense."""
    return ApiError("ValidationError", text)


def no_stack(name: str) -> ApiError:
    """The error of operations on a stack that does not exist."""
    return invalid(f"Stack [{name}] does not exist")


def no_such_stack(name: str) -> ApiError:
    """The error for a stack that is asked for and does not exist."""
    return invalid(f"Stack with id {name} does not exist")


def taken(name: str) -> ApiError:
    """The error for a name that another stack has."""
    return ApiError("AlreadyExistsException", f"Stack [{name}] already exists")


def no_change_set(name: str) -> ApiError:
    """The error for a change set that does not exist."""
    return ApiError("ChangeSetNotFound", f"ChangeSet [{name}] does not exist", status=404)


def capabilities_lacking(names: Iterable[str]) -> ApiError:
    """The error for a template that needs capabilities which the request does not name."""
    return ApiError("InsufficientCapabilitiesException", f"Requires capabilities : [{', '.join(names)}]")


def busy(arn: str, status: str) -> ApiError:
    """The error for a stack whose status does not allow a change."""
    return invalid(f"Stack:{arn} is in {status} state and can not be updated.")
