"""When what is there is what is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.projects.deploy.kinds import CannotApply, Site, holds, lowered, number_of, typed
from statewright.projects.deploy.small import generated_text


@pytest.mark.parametrize(
    ("shown", "wanted", "same"),
    [
        ("60", 60, True),
        (60, "60", True),
        ("61", 60, False),
        ("true", True, True),
        (False, "true", False),
        (None, "", True),
        (None, [], True),
        (None, 0, False),
        ({"a": 1, "b": 2}, {"a": "1"}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1], False),
        ('{"a": 1}', {"a": 1}, True),
        ('{"a":1,"b":2}', '{"b": 2, "a": 1}', True),
        ('{"a":1}', '{"a":2}', False),
        ({"a": 1}, '{"a": 1}', True),
        ({"a": 1}, '{"a": 2}', False),
        ({"a": 1}, "text", False),
        ([1], {"a": 1}, False),
        ("1.0", "1", True),
        ("abc", "abd", False),
    ],
)
def test_holds(shown: Any, wanted: Any, same: bool):
    assert holds(shown, wanted) is same


def test_members_get_the_names_that_services_have():
    given = {"ContainerDefinitions": [{"Name": "A", "DockerLabels": {"Key": "V"}}], "Tags": {"Mine": "x"}}
    assert lowered(given) == {
        "containerDefinitions": [{"name": "A", "dockerLabels": {"Key": "V"}}], "tags": {"Mine": "x"},
    }  # fmt: skip


def test_texts_become_what_services_take():
    given = {"Size": "5", "On": "True", "Name": "5", "Inner": [{"Size": "6.0", "On": "no"}]}
    assert typed(given, numbers=("Size",), truths=("On",)) == {
        "Size": 5, "On": True, "Name": "5", "Inner": [{"Size": 6, "On": False}],
    }  # fmt: skip
    with pytest.raises(CannotApply, match="Size must be a number"):
        number_of("many", "Size")


@pytest.mark.parametrize(
    ("settings", "length", "alphabet"),
    [
        ({}, 32, None),
        ({"PasswordLength": 8, "ExcludePunctuation": True, "ExcludeLowercase": True, "ExcludeUppercase": True}, 8,
         set("0123456789")),
        ({"PasswordLength": "12", "ExcludeCharacters": "0123456789", "ExcludePunctuation": "true"}, 12,
         set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    ],
)  # fmt: skip
def test_generated_secrets(settings: dict[str, Any], length: int, alphabet: set[str] | None):
    made = generated_text(settings)
    assert len(made) == length
    assert alphabet is None or set(made) <= alphabet
    assert generated_text(settings) != made


def test_a_secret_within_a_template():
    made = generated_text({"SecretStringTemplate": '{"user": "me"}', "GenerateStringKey": "password"})
    assert made.startswith('{"user": "me", "password": "')
    with pytest.raises(CannotApply, match="SecretStringTemplate"):
        generated_text({"SecretStringTemplate": "[", "GenerateStringKey": "x"})


class Paths:
    """A server with one path of an API, on the second page; keeps the operations that change something."""

    def __init__(self) -> None:
        self.changes: list[str] = []

    def __call__(self, service: str, operation: str, request: Any) -> dict[str, Any]:
        if operation == "GetResources":
            path = {"id": "there", "parentId": "root", "pathPart": "orders"}
            return {"items": [path]} if request.get("position") else {"items": [{"id": "root"}], "position": "next"}
        self.changes.append(operation)
        return {"id": "new"}


@pytest.mark.parametrize(
    ("resumes", "part", "expected"), [(True, "orders", "there"), (True, "other", "new"), (False, "orders", "new")]
)
def test_a_creation_that_resumes_finds_what_it_has_made(resumes: bool, part: str, expected: str):
    server = Paths()
    site = Site(server, "000000000000", "us-east-1", Path(), resumes=resumes)
    made = site.create("apigateway", "CreateResource", restApiId="a", parentId="root", pathPart=part)
    assert made["id"] == expected
    assert site.created == (expected == "new") == bool(server.changes)
