"""Policy documents: what is one."""

from __future__ import annotations

import json

import pytest

from statewright.errors import ApiError
from statewright.records.documents import check_permissions, check_trust

STATEMENT = {"Effect": "Allow", "Action": "*"}
ON = {**STATEMENT, "Resource": "*"}
BY = {**STATEMENT, "Principal": "*"}


def text(*statements: object, **more: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements), **more})


def test_valid_policies() -> None:
    check_permissions(text(ON, {**ON, "Effect": "Deny"}))
    check_permissions(json.dumps({"Statement": ON}))
    check_trust(text(BY))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "invalid Json"),
        ("[1]", "Syntax errors"),
        ("{}", "Syntax errors"),
        (text(), "Syntax errors"),
        (text(1), "Syntax errors"),
        (text({**ON, "Effect": "Maybe"}), "Syntax errors"),
        (text(ON, Version="2020-01-01"), "valid version"),
        (text(BY), "should not specify a principal"),
        (text({"Effect": "Allow", "Resource": "*"}), "must contain actions"),
        (text(STATEMENT), "must contain resources"),
    ],
)
def test_invalid_policies(document: str, said: str) -> None:
    with pytest.raises(ApiError, match=said) as caught:
        check_permissions(document)
    assert caught.value.code == "MalformedPolicyDocument"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (text(ON), "prohibited field Resource"),
        (text(STATEMENT), "required field Principal"),
        (text({"Effect": "Allow", "Principal": "*"}), "required field Action"),
    ],
)
def test_invalid_trust_policies(document: str, said: str) -> None:
    with pytest.raises(ApiError, match=said):
        check_trust(document)
