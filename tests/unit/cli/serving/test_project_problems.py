from __future__ import annotations

from pathlib import Path

import pytest

from statewright.cli.serving.dev import Loader
from statewright.config import Config
from tests.unit.cli.serving.test_dev import PASS, Machines


@pytest.fixture
def loader(tmp_path: Path) -> Loader:
    made = Loader(tmp_path, Config(), frozenset())
    made.attach(Machines())
    return made


def shown(loader: Loader) -> list[tuple[str, int, bool]]:
    return [(one.file, one.line, one.stays) for one in loader.problems.board.problems]


def test_a_broken_file_is_a_problem_until_it_is_good(loader, tmp_path, capsys):
    path, other = tmp_path / "order.asl.json", tmp_path / "other.asl.json"
    path.write_text(PASS)
    other.write_text("{")
    loader.load_all()
    assert shown(loader) == [("other.asl.json", 1, False)]
    path.write_text(PASS.replace('"Pass"', '\n"Pas"'))
    loader.changed([path])
    assert sorted(shown(loader)) == [("order.asl.json", 2, True), ("other.asl.json", 1, False)]
    (problem,) = [one for one in loader.problems.board.problems if one.stays]
    assert problem.message.startswith("order: Value must be one of")
    version = loader.problems.board.version
    other.write_text("{ ")
    loader.changed([other])
    assert loader.problems.board.version == version
    path.write_text(PASS)
    loader.changed([path])
    assert shown(loader) == [("other.asl.json", 1, False)]
    other.unlink()
    loader.changed([other])
    assert shown(loader) == []


def test_settings_that_cannot_be_read_are_a_problem(loader, tmp_path, capsys):
    (tmp_path / "order.asl.json").write_text(PASS)
    loader.load_all()
    config = tmp_path / "statewright.toml"
    config.write_text("[queues\n")
    loader.changed([config])
    ((file, _, stays),) = shown(loader)
    assert (file, stays) == ("the project", True)
    config.write_text("")
    loader.changed([config])
    assert shown(loader) == []


def test_a_template_that_cannot_be_read_is_a_problem_in_its_line(tmp_path, capsys):
    template = tmp_path / "template.yaml"
    good = "Resources:\n  Orders:\n    Type: AWS::SQS::Queue\n"
    template.write_text(good)
    made = Loader(tmp_path, Config(), frozenset())
    made.attach(lambda _service, _operation, _members: {"QueueUrl": "http://q/0/orders", "Attributes": {}})
    made.load_all()
    template.write_text("Resources:\n  Orders: [\n")
    made.changed([template])
    assert shown(made), capsys.readouterr().out
    assert all(stays for _, _, stays in shown(made))
    template.write_text(good)
    made.changed([template])
    assert shown(made) == []
