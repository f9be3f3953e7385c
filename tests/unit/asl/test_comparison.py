"""What counts as a change of a state between two definitions."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.comparison import compare


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (1, True, ["Result"]),
        (0, False, ["Result"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        ([1], [True], ["Result"]),
    ],
)
def test_values_are_compared_as_json_has_them(before, after, changed):
    def definition(result: Any) -> Any:
        return {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": result, "End": True}}}

    found = compare(definition(before), definition(after), "before", "after")
    assert (found.changed.get("A"), found.same) == (changed, changed is None)
