"""Changes of APIs: every operation of API Gateway that writes waits for the others of its API."""

from __future__ import annotations

import pytest

from statewright.api.apigatewayv2.changes import api_in
from statewright.api.operations import find, registered

READERS = ("Export", "Flush", "Get", "Reset", "Test")


@pytest.mark.parametrize("service", ["apigateway", "apigatewayv2"])
def test_operations_that_write_are_registered_as_changes(service: str) -> None:
    writers = [name for name in registered(service) if not name.startswith(READERS)]
    assert len(writers) > 10
    assert [name for name in writers if not hasattr(find(service, name), "__wrapped__")] == []


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        ({"restApiId": "a"}, "a"), ({"ApiId": "a"}, "a"), ({"resourceArn": "arn:aws:apigateway:r::/restapis/a"}, "a"),
        ({"ResourceArn": "arn:aws:apigateway:r::/apis/a/stages/s"}, "a"), ({"apiKey": "k"}, ""),
    ],
)  # fmt: skip
def test_changes_of_an_api_have_one_lock_however_they_name_it(request_: dict[str, str], key: str) -> None:
    assert api_in(request_) == key
