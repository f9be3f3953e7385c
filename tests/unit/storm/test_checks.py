"""What the storm takes for a lost object, and what for a late one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.storm.checks import LATE_SECONDS, Figures, _check_objects
from tests.storm.load import Load, Put


@pytest.mark.parametrize(
    ("there", "is_scattered", "is_fine"),
    [
        ("last", True, True),
        ("after", True, True),
        ("late", True, True),
        ("late", False, False),
        ("too late", True, False),
        ("replaced", True, False),
        ("never put", True, False),
    ],
)
def test_what_an_object_may_hold(there: str, is_scattered: bool, is_fine: bool) -> None:
    puts = [
        Put("too late", 0),
        Put("replaced", LATE_SECONDS, is_done=True),
        Put("late", LATE_SECONDS),
        Put("last", LATE_SECONDS + 1, is_done=True),
        Put("after", LATE_SECONDS + 2),
    ]
    load = SimpleNamespace(notes=SimpleNamespace(objects={"o": puts}), is_scattered=is_scattered)
    client = SimpleNamespace(send=lambda *_: there.encode())
    figures = Figures()
    _check_objects(cast("Any", client), cast("Load", load), figures)
    assert (figures.lost == []) is is_fine
