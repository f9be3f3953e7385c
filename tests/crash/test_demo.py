"""`make demo-crash` and `make demo-standby`, with fewer executions."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.postgres_server import server_or_skip

EXAMPLES = Path(__file__).parents[2] / "examples"


def smaller(name: str, each: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of a demonstration, with so many executions of each workflow."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = importlib.import_module(name)
    monkeypatch.setattr(made, "EACH", each)
    return made


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    return smaller("crash_demo", 3, monkeypatch)


@pytest.fixture
def standby_demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    return smaller("standby_demo", 4, monkeypatch)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_every_execution_ends_as_undisturbed(demo, capsys):
    assert demo.main() == 0
    assert "3 kills, 12 executions, nothing lost" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_execution_that_ends_otherwise_is_reported(demo, monkeypatch, capsys):
    good, bad = demo.End("SUCCEEDED", "{}", ()), demo.End("FAILED", "Why: because", ())
    monkeypatch.setattr(demo, "undisturbed", lambda _: {"reminders": good})
    monkeypatch.setattr(demo, "disturbed", lambda _: {"reminders": [good, bad]})
    assert demo.main() == 1
    assert "1 of 2 executions did not end as they would have" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_two_servers_of_which_the_one_at_work_is_killed_end_everything_as_undisturbed(standby_demo, capsys):
    server_or_skip()
    assert standby_demo.main() == 0
    said = capsys.readouterr().out
    assert said.count("took over: ready") == 2
    assert "executions       20 acknowledged of 20, 20 with the outcome of the undisturbed run" in said
    assert "messages         4 of 4 in the queue, 4 of them once" in said
    assert "2 kills, 20 executions, 0 lost, 0 messages twice" in said


@pytest.mark.parametrize(
    ("kept", "ends", "messages", "said"),
    [
        (4, "good", {"a": 1, "b": 1, "c": 1, "d": 1}, "✓ 2 kills, 4 executions, 0 lost, 0 messages twice"),
        (3, "good", {"a": 1, "b": 1, "c": 1}, "✗ 2 kills, 3 executions, 1 lost, 0 messages twice"),
        (4, "bad", {"a": 1, "b": 1, "c": 1, "d": 1}, "✗ 2 kills, 4 executions, 1 lost, 0 messages twice"),
        (4, "good", {"a": 1, "b": 1, "c": 1}, "✗ 2 kills, 4 executions, 1 lost, 0 messages twice"),
        (4, "good", {"a": 1, "b": 2, "c": 1, "d": 1}, "✗ 2 kills, 4 executions, 0 lost, 1 messages twice"),
    ],
    ids=["good", "an execution is missing", "another outcome", "a message is missing", "a message is there twice"],
)
def test_the_table_of_two_servers_shows_what_differs(
    standby_demo, monkeypatch, capsys, kept: int, ends: str, messages: dict[str, int], said: str
):
    good, bad = standby_demo.End("SUCCEEDED", "{}", ()), standby_demo.End("FAILED", "Why: because", ())
    monkeypatch.setattr(standby_demo, "ACTS", standby_demo.ACTS[:1])
    found = standby_demo.Found(
        {"invoices": [good] * (kept - 1) + [good if ends == "good" else bad]}, Counter(messages), [1, 2], ["3.1 s"]
    )
    assert standby_demo.show(found, {"invoices": good}, 1.0) == int(said.startswith("✗"))
    assert said in capsys.readouterr().out


class FakeNode:
    """A server that does not become what is waited for if it is the second one."""

    made: list[FakeNode]

    def __init__(self, folder: Path, name: str, address: str, data: Path) -> None:
        self.process = self
        self.is_ended = self.is_terminated = False
        self.made.append(self)

    def wait(self, state: str) -> None:
        assert len(self.made) == 1, f"the state {state}"

    def terminate(self) -> None:
        self.is_terminated = True

    def ended(self) -> None:
        self.is_ended = self.is_terminated


class FakeDatabase:
    def new_database(self) -> str:
        return ""


def test_servers_are_ended_if_the_second_one_does_not_start(standby_demo, monkeypatch):
    monkeypatch.setattr(FakeNode, "made", [], raising=False)
    monkeypatch.setattr(standby_demo, "Node", FakeNode)
    with pytest.raises(AssertionError, match="the state standby"), standby_demo.paired(FakeDatabase()):
        pass
    assert [node.is_ended for node in FakeNode.made] == [True, True]


def test_without_postgresql_the_demo_says_so(standby_demo, monkeypatch, capsys):
    monkeypatch.setenv("PG_BIN", "/nowhere")
    assert standby_demo.main() == 1
    assert "✗ PG_BIN=/nowhere has no initdb and postgres" in capsys.readouterr().out
