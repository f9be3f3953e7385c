"""Exported documents: names of authorizers' headers, and parameters that no document has a place for."""

from __future__ import annotations

import pytest

from statewright.apis.openapi.export import Exported, rest_document
from statewright.apis.records import AUTHORIZER, RESOURCE


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("method.request.header.X-Token", "X-Token"), ("method.request.header.Authorization", "Authorization"),
        ("method.request.header.A, method.request.querystring.b", "Unused"), ("context.identity.sourceIp", "Unused"),
    ],
)  # fmt: skip
def test_a_scheme_is_named_after_the_header_of_its_authorizer(source: str, name: str) -> None:
    authorizer = {"name": "door", "type": "REQUEST", "identitySource": source}
    given = Exported({"name": "t"}, {AUTHORIZER: {"a": authorizer}}, "host", "prod", frozenset())
    assert rest_document(given, is_swagger=True)["securityDefinitions"]["door"]["name"] == name


@pytest.mark.parametrize("is_swagger", [True, False])
def test_parameters_of_several_values_are_left_out(is_swagger: bool) -> None:
    parameters = {"method.request.querystring.a.b": True, "method.request.multivaluequerystring.c": False}
    methods = {"GET": {"httpMethod": "GET", "requestParameters": parameters}}
    snapshot = {RESOURCE: {"r": {"path": "/x", "methods": methods}}}
    document = rest_document(Exported({"name": "t"}, snapshot, "host", "prod", frozenset()), is_swagger=is_swagger)
    [shown] = document["paths"]["/x"]["get"]["parameters"]
    assert (shown["name"], shown["in"], shown["required"]) == ("a.b", "query", True)
