"""Services that moto does not play, because their resources are Statewright's own.

moto keeps resources of its own, which this server knows nothing of: a stack that moto "created" runs nowhere, and
nothing comes out of the stream of a table that moto does not have. A refusal is better than such a success. An endpoint
in `statewright.toml` still serves them.
"""

from __future__ import annotations

from typing import Final

_DEPLOY: Final = "Deploy templates with `statewright deploy FILE`"
_ASK_EACH: Final = "Ask each service for its resources and their tags"

_INSTEAD: Final = {
    "application-autoscaling": "Leave it out: tables and functions have no capacity here that could be scaled",
    "config": _ASK_EACH,
    "resource-explorer-2": _ASK_EACH,
    "resource-groups": _ASK_EACH,
    "resourcegroupstaggingapi": _ASK_EACH,
    "serverlessrepo": _DEPLOY,
    "servicecatalog": _DEPLOY,
    "tagging": _ASK_EACH,
}
"""An alternative for each service, by signing name or botocore's name."""


def refusal_text(service: str) -> str | None:
    """Why a service is not emulated by moto and what to do instead; `None` for a service that may be."""
    instead = _INSTEAD.get(service)
    if instead is None:
        return None
    return (
        f"Statewright has no {service} yet, and moto's knows nothing of this server's resources. {instead}; or name an "
        f'endpoint in statewright.toml: [endpoints] {service} = "http://127.0.0.1:8000".'
    )
