"""Policies that are stored without effect: the list is complete, and each kind is warned of once."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from statewright.api import operations, unenforced
from statewright.api.services import SERVICES
from statewright.api.unenforced import UNENFORCED, Unenforced, warning

NAMES = re.compile(r"(Put|Add|Attach|Set|Create|Update)\w*(Policy|Permission|Acl|Boundary)")
OTHERS = {
    # Refuse what they could not enforce.
    ("s3", "PutBucketAcl"), ("s3", "PutObjectAcl"), ("sns", "PutDataProtectionPolicy"),
    # No permissions: how long log events are kept.
    ("logs", "PutRetentionPolicy"),
    # No permissions: how long images are kept, of which there are none; which updates a stack may make.
    ("ecr", "PutLifecyclePolicy"), ("cloudformation", "SetStackPolicy"),
}  # fmt: skip


def test_every_operation_that_stores_a_policy_is_listed() -> None:
    served = {(one.name, name) for one in SERVICES for name in operations.registered(one.name)}
    found = {(service, name) for service, name in served if NAMES.match(name)}
    assert found - OTHERS <= set(UNENFORCED), "list it in api/unenforced.py, or here if it stores no policy"
    assert set(UNENFORCED) <= served


def test_the_document_names_every_kind() -> None:
    text = " ".join((Path(__file__).parents[3] / "docs" / "security.md").read_text().split())
    assert [one.kind for one in UNENFORCED.values() if one.kind not in text] == []


def test_one_warning_for_each_kind(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(unenforced, "_warned", set())
    nothing: Any = None

    async def stores(_app: Any, _call: Any, request: Any) -> Any:
        if request.get("fails"):
            raise ValueError("refused")
        return "stored"

    async def story() -> None:
        queue = warning(stores, UNENFORCED["sqs", "CreateQueue"])
        assert await queue(nothing, nothing, {"Attributes": {"DelaySeconds": "1"}}) == "stored"
        with pytest.raises(ValueError, match="refused"):
            await queue(nothing, nothing, {"Attributes": {"Policy": "{}"}, "fails": True})
        assert caplog.records == []
        for _ in range(3):
            await queue(nothing, nothing, {"Attributes": {"Policy": "{}"}})
            await warning(stores, Unenforced("rules of the house"))(nothing, nothing, {})

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == [
        "queue policies are stored but never enforced", "rules of the house are stored but never enforced",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "stores", "other"),
    [
        ("CreateRestApi", {"policy": "{}"}, {"name": "a"}),
        ("UpdateRestApi", {"patchOperations": [{"op": "replace", "path": "/policy", "value": "{}"}]},
         {"patchOperations": [{"op": "replace", "path": "/name", "value": "a"}]}),
        ("ImportRestApi", {"body": b'{"x-amazon-apigateway-policy": {}}'}, {"body": b"{}"}),
    ],
)  # fmt: skip
def test_policies_of_apis_are_found_where_requests_have_them(operation: str, stores: Any, other: Any) -> None:
    found = UNENFORCED["apigateway", operation].stores
    assert (found(stores), found(other)) == (True, False)
