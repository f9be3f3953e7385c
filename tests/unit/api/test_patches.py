"""Patch operations of API Gateway: values that stand for numbers and truth values, and those that do not."""

from __future__ import annotations

import pytest

from statewright.api.apigateway.patches import patched
from statewright.payload import Json


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [(5, "10", 10), (5, "-1", -1), (5, "--1", "--1"), (5, "²", "²"), (True, "False", False), ("a", "10", "10")],
)
def test_a_replaced_value_has_the_type_of_the_one_before(before: Json, given: str, after: Json) -> None:
    changed = patched({"member": before}, [{"op": "replace", "path": "/member", "value": given}], ("member",))
    assert changed == {"member": after}
