"""The table of services says what this version has."""

from __future__ import annotations

from statewright.api import operations
from statewright.api.routing import PROTOCOLS
from statewright.assembly import OWN_SERVICES
from statewright.integrations.registry import _DURABLE
from tests.services_table import COMMAND, DOCUMENT, written


def test_the_table_is_what_would_be_written() -> None:
    assert DOCUMENT.read_text() == written(), f"docs/services.md is stale: run {COMMAND}"


def test_every_service_is_known_everywhere() -> None:
    operations.load()
    served = set(operations.services())
    assert served == set(PROTOCOLS)
    assert served - {"states", "statewright"} == set(OWN_SERVICES.values())
    assert set(OWN_SERVICES) - {"cloudwatchevents"} <= set(_DURABLE)
