"""The table of services says what this version has, and the list of services is all there is to know of them."""

from __future__ import annotations

from importlib import import_module

import pytest

from statewright.api import operations
from statewright.api.service import JSON, Service
from statewright.api.services import SERVICES
from statewright.api.wires import wire_of
from statewright.projects.deploy.kinds import Kind
from statewright.projects.deploy.registry import KNOWN
from tests.architecture.source import SOURCE
from tests.services_table import COMMAND, DOCUMENT, written

BY_NAME = pytest.mark.parametrize("service", SERVICES, ids=lambda one: one.name)


def test_the_table_is_what_would_be_written() -> None:
    assert DOCUMENT.read_text() == written(), f"docs/services.md is stale: run {COMMAND}"


def test_every_folder_is_a_service() -> None:
    found = {f"statewright.api.{path.parent.name}" for path in SOURCE.glob("api/*/service.py")}
    assert found == {one.package for one in SERVICES}, "a folder with a service stands in the list, and no other does"


@BY_NAME
def test_what_a_service_names_is_there(service: Service) -> None:
    operations.load_all()
    assert operations.registered(service.name)
    assert (DOCUMENT.parent / service.document).is_file()
    assert (service.target is not None) == (JSON in service.protocols)
    for protocol in service.protocols:
        assert callable(wire_of(service, protocol).read)


@BY_NAME
def test_operations_stand_in_the_folder_of_their_service(service: Service) -> None:
    operations.load_all()
    found = {one.__module__ for (name, _), one in operations._OPERATIONS.items() if name == service.name}
    assert found <= set(service.modules)


def test_every_module_that_deploys_is_named() -> None:
    for path in SOURCE.glob("projects/deploy/**/*.py"):
        if "\nKINDS: Final" in path.read_text():
            module = import_module(".".join(("statewright", *path.relative_to(SOURCE).with_suffix("").parts)))
            assert module.KINDS.items() <= KNOWN.items(), path
    assert all(isinstance(kind, Kind) for kind in KNOWN.values())


def test_names_are_taken_once() -> None:
    for names in (
        [one.name for one in SERVICES],
        [one.target for one in SERVICES if one.target is not None],
        [one.version for one in SERVICES if one.version is not None],
        [name for one in SERVICES for name in one.sdk_names],
        [name for one in SERVICES for name in one.task_names],
        [name for one in SERVICES for name in one.open_operations],
    ):
        assert len(names) == len(set(names)), names
