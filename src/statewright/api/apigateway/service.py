"""API Gateway: REST APIs."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, REST, Service

SERVICE: Final = Service(
    name="apigateway",
    title="API Gateway (REST APIs)",
    document="apis.md",
    package=__package__,
    regions=APART,
    operations=(
        "rest_apis",
        "imports",
        "exports",
        "methods",
        "authorizers",
        "stages",
        "models",
        "keys",
        "plans",
        "account",
    ),
    protocols=(REST,),
    wires="statewright.api.apigatewayv2.wires",
    body_bytes=8 << 20,
    sdk_names=("apigateway",),
)
