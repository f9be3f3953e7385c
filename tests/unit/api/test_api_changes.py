"""Changes of APIs: every operation of API Gateway that writes waits for the others of its API."""

from __future__ import annotations

import pytest

from statewright.api.operations import find, registered

READERS = ("Export", "Flush", "Get", "Reset", "Test")


@pytest.mark.parametrize("service", ["apigateway", "apigatewayv2"])
def test_operations_that_write_are_registered_as_changes(service: str) -> None:
    writers = [name for name in registered(service) if not name.startswith(READERS)]
    assert len(writers) > 10
    assert [name for name in writers if not hasattr(find(service, name), "__wrapped__")] == []
