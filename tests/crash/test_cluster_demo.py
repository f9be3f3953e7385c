"""`make demo-cluster`, with fewer items, and what it says and does when something is wrong."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.postgres_server import server_or_skip

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the demonstration, with few executions."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = importlib.import_module("cluster_demo")
    monkeypatch.setattr(made, "EACH", 3)
    monkeypatch.setattr(made, "MAPS", 6)
    # The tests' own process answers SIGTERM as it always does.
    monkeypatch.setattr(made.signal, "signal", lambda *_: None)
    return made


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_nodes_that_are_killed_frozen_and_added_end_everything_as_undisturbed(demo, capsys):
    server_or_skip()
    assert demo.main(["--items", "120"]) == 0
    said = capsys.readouterr().out
    assert "executions       21 acknowledged of 21, 21 with the outcome of the undisturbed run" in said
    assert "items            120 of 120 succeeded\n" in said
    assert "messages         3 of 3 in the queue, 3 of them once" in said
    assert "1 node killed, 1 frozen, 1 added: 21 executions, 120 items, 0 lost, 0 messages twice" in said
    assert said.count("  node ") == 3


@pytest.mark.parametrize(
    ("items", "ends", "messages", "lost", "twice"),
    [
        ({"SUCCEEDED": 10}, "good", {"a": 1, "b": 1}, 0, 0),
        ({"SUCCEEDED": 9, "FAILED": 1}, "good", {"a": 1, "b": 1}, 1, 0),
        ({"SUCCEEDED": 8}, "good", {"a": 1, "b": 1}, 2, 0),
        ({"SUCCEEDED": 11}, "good", {"a": 1, "b": 1}, 1, 0),
        ({"SUCCEEDED": 10}, "bad", {"a": 1, "b": 1}, 1, 0),
        ({"SUCCEEDED": 10}, "good", {"a": 1}, 1, 0),
        ({"SUCCEEDED": 10}, "good", {"a": 1, "b": 2}, 0, 1),
    ],
    ids=[
        "good",
        "failed item",
        "missing items",
        "an item twice",
        "another outcome",
        "missing message",
        "a message twice",
    ],
)
def test_the_table_shows_what_differs(
    demo, monkeypatch, capsys, items: dict[str, int], ends: str, messages: dict[str, int], lost: int, twice: int
):
    good, bad = demo.End("SUCCEEDED", "{}", ()), demo.End("FAILED", "Why: because", ())
    monkeypatch.setattr(demo, "ACTS", demo.ACTS[:1])
    monkeypatch.setattr(demo, "EACH", 2)
    found = demo.Found(
        {"lists": [good] * 5 + [good if ends == "good" else bad], "invoices": [good] * 2}, Counter(messages), [1, 2, 1],
        Counter(items), {"a": 30, "b": 70}, (3.25, 0.5), 99, ["a killed"],
    )  # fmt: skip
    assert demo.show(found, {"lists": good, "invoices": good}, 10, 1.0) == int(lost + twice > 0)
    out = capsys.readouterr().out
    mark = "✗" if lost + twice else "✓"
    assert (
        f"{mark} 1 node killed, 1 frozen, 1 added: 8 executions, 10 items, {lost} lost, {twice} messages twice" in out
    )
    assert ("but: FAILED Why: because" in out) is (ends == "bad")
    assert ", 1 FAILED" in out or "FAILED" not in items
    assert "repeated tasks   1 of 3" in out
    assert "steps            a 30 (30 %) · b 70 (70 %)" in out


class FakeNode:
    def __init__(self) -> None:
        self.process = self
        self.did: list[str] = []

    def poll(self) -> int | None:
        return 0 if "end" in self.did else None

    def kill(self) -> None:
        self.did += ["kill", "end"]

    def terminate(self) -> None:
        self.did.append("terminate")

    def ended(self) -> None:
        self.did.append("end")


class FakeCluster:
    nodes: dict[str, FakeNode]

    def __init__(self, folder: Path, address: str, cells: int) -> None:
        self.folder = folder

    def begin(self, *names: str) -> list[FakeNode]:
        (self.folder / "data").mkdir()
        self.nodes = {name: FakeNode() for name in names}
        return list(self.nodes.values())


class FakeDatabase:
    def new_database(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("problem", "did"),
    [(None, ["terminate", "end"]), (KeyboardInterrupt(), ["kill", "end"])],
    ids=["at the end", "interrupted"],
)
def test_nodes_and_folders_are_gone_at_every_end(demo, monkeypatch, problem: BaseException | None, did: list[str]):
    monkeypatch.setattr(demo, "Cluster", FakeCluster)
    monkeypatch.setattr(demo, "running_server", lambda *_, **__: None)
    monkeypatch.setattr(demo, "prepare", lambda *_, **__: {})
    seen: list[Any] = []

    def use() -> None:
        with demo.clustered(FakeDatabase(), ()) as (cluster, _):
            seen.append(cluster)
            if problem is not None:
                raise problem

    if problem is None:
        use()
    else:
        with pytest.raises(type(problem)):
            use()
    assert [node.did for node in seen[0].nodes.values()] == [did] * 3
    assert not seen[0].folder.exists()


def test_the_steps_of_all_images_of_a_process_count(demo, monkeypatch):
    watching = importlib.import_module("watching")
    pages = iter(["5", "7", "3", None, "4"])
    found = {"/health": "ready", "/metrics": ""}

    def page(_: Any, path: str) -> str | None:
        if path == "/health":
            count = next(pages)
            found["/metrics"] = f'statewright_transitions{{region="us-east-1"}} {count}\n'
            return None if count is None else "ready"
        return found["/metrics"]

    monkeypatch.setattr(watching, "page", page)
    one = watching.Watched("a", FakeNode())
    steps = []
    for _ in range(5):
        one.look()
        steps.append((one.steps, one.is_ready))
    assert steps == [(5, True), (7, True), (10, True), (10, False), (11, True)]


def test_the_longest_gap_is_between_neighbours(demo):
    assert demo.longest_gap([4.0, 1.0, 1.5]) == 2.5
    assert demo.longest_gap([]) == 0.0


def test_without_postgresql_it_says_so(demo, monkeypatch, capsys):
    monkeypatch.setenv("PG_BIN", "/nowhere")
    assert demo.main([]) == 1
    assert "✗ PG_BIN=/nowhere has no initdb and postgres" in capsys.readouterr().out
