"""The models of services by the names that requests are signed for.

Owns the names; reading is `service_models.py`'s.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from statewright.api.services import SERVICES
from statewright.integrations.endpoints.service_models import Model, model_of

_FOLDERS: Final = {"email": "ses", **{one.name: one.client for one in SERVICES if one.client is not None}}
"""botocore's name of a service, by signing name, if the two differ."""


@cache
def load_model(service: str) -> Model | None:
    """The newest model of a service, by signing name or botocore's own; `None` for a service that botocore lacks."""
    return model_of(_FOLDERS.get(service, service))
