"""Which guard a route or a method has: what does not fit stays closed."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.apis.authorizers.guards import Guards, closed
from statewright.apis.authorizers.issuers import Issuers
from statewright.apis.authorizers.jwt_authorizers import CognitoGuard, JwtGuard
from statewright.apis.authorizers.lambda_authorizers import LambdaGuard
from statewright.apis.authorizers.results import Results
from statewright.apis.authorizers.signatures import SignatureGuard
from tests.unit.apis.authorizers.signing import ISSUER
from tests.unit.apis.authorizers.test_issuers import Moved, Web

HTTP: dict[str, dict[str, Any]] = {
    "asked": {"AuthorizerType": "REQUEST", "IdentitySource": ["$request.header.A"]},
    "tokens": {
        "AuthorizerType": "JWT", "IdentitySource": ["$request.header.A"],
        "JwtConfiguration": {"Issuer": ISSUER, "Audience": ["shop"]},
    },
}  # fmt: skip
REST: dict[str, dict[str, Any]] = {
    "token": {"type": "TOKEN", "identitySource": "method.request.header.A"},
    "asked": {"type": "REQUEST", "authorizerResultTtlInSeconds": 0},
    "pool": {"type": "COGNITO_USER_POOLS", "identitySource": "method.request.header.A", "providerARNs": ["arn:x"]},
}


def guards() -> Guards:
    clock: Any = Moved()
    unused: Any = None
    return Guards(unused, Results(clock), clock, Issuers({}, clock, Web().fetch), unused)


@pytest.mark.parametrize(
    ("kind", "authorizer", "expected"),
    [
        (None, None, None), ("NONE", "asked", None), ("CUSTOM", "asked", LambdaGuard), ("JWT", "tokens", JwtGuard),
        ("AWS_IAM", None, SignatureGuard), ("CUSTOM", "tokens", closed), ("JWT", "asked", closed),
        ("CUSTOM", "gone", closed), ("JWT", None, closed), ("OTHER", "asked", closed),
    ],
)  # fmt: skip
def test_routes(kind, authorizer, expected):
    found = guards().of_route({"AuthorizationType": kind, "AuthorizerId": authorizer}, {"authorizer": HTTP})
    assert found is expected or type(found) is expected


@pytest.mark.parametrize(
    ("kind", "authorizer", "expected"),
    [
        (None, None, None), ("NONE", "token", None), ("CUSTOM", "token", LambdaGuard), ("CUSTOM", "asked", LambdaGuard),
        ("COGNITO_USER_POOLS", "pool", CognitoGuard), ("AWS_IAM", None, SignatureGuard), ("CUSTOM", "pool", closed),
        ("COGNITO_USER_POOLS", "token", closed), ("CUSTOM", None, closed), ("JWT", "token", closed),
    ],
)  # fmt: skip
def test_methods(kind, authorizer, expected):
    found = guards().of_method({"authorizationType": kind, "authorizerId": authorizer}, {"authorizer": REST})
    assert found is expected or type(found) is expected
