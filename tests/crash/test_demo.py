"""`make demo-crash`, with fewer executions."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = importlib.import_module("crash_demo")
    monkeypatch.setattr(made, "EACH", 3)
    return made


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_every_execution_ends_as_undisturbed(demo, capsys):
    assert demo.main() == 0
    assert "3 kills, 12 executions, nothing lost" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_execution_that_ends_otherwise_is_told(demo, monkeypatch, capsys):
    good, bad = demo.End("SUCCEEDED", "{}", ()), demo.End("FAILED", "Why: because", ())
    monkeypatch.setattr(demo, "undisturbed", lambda _: {"reminders": good})
    monkeypatch.setattr(demo, "disturbed", lambda _: {"reminders": [good, bad]})
    assert demo.main() == 1
    assert "1 of 2 executions did not end as they would have" in capsys.readouterr().out
