from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from statewright import server
from statewright.cli.serving import dev
from statewright.cli.serving.dev import Loader
from statewright.config import Config
from statewright.hosting.options import CannotServe, Ready
from statewright.projects.deploy.calls import CallRefused
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX

PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'


class Machines:
    """A server that keeps definitions."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def __call__(self, _service: str, operation: str, members: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "CreateStateMachine":
            arn = f"{PREFIX}:stateMachine:{members['name']}"
            self.kept[arn] = {**members, "stateMachineArn": arn}
            return {}
        arn = members["stateMachineArn"]
        if arn not in self.kept:
            raise CallRefused("StateMachineDoesNotExist", arn)
        if operation == "UpdateStateMachine":
            self.kept[arn]["definition"] = members["definition"]
        return self.kept[arn]

    def names(self) -> list[str]:
        return [arn.rpartition(":")[2] for arn in self.kept]


@pytest.fixture
def machines() -> Machines:
    return Machines()


@pytest.fixture
def loader(tmp_path: Path, machines: Machines, capsys: pytest.CaptureFixture[str]) -> Loader:
    made = Loader(tmp_path, Config(), frozenset({"fast"}))
    made.attach(machines)
    return made


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_folder_is_loaded_and_not_twice(loader, machines, tmp_path, capsys):
    (tmp_path / "fast.asl.json").write_text(PASS)
    (tmp_path / "slow.asl.yaml").write_text(PASS)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "slow.asl.json").write_text(PASS)
    loader.load_all()
    assert said(capsys) == [
        "✓ fast  created from fast.asl.json",
        "✓ slow  created from slow.asl.yaml",
        "✗ sub/slow.asl.json is left out: slow.asl.yaml has the same name",
    ]
    assert [one["type"] for one in machines.kept.values()] == ["EXPRESS", "STANDARD"]
    assert json.loads(machines.kept[f"{PREFIX}:stateMachine:slow"]["definition"]) == json.loads(PASS)
    loader.load_all()
    assert said(capsys)[:2] == ["✓ fast  unchanged from fast.asl.json", "✓ slow  unchanged from slow.asl.yaml"]


def test_a_bad_file_keeps_the_last_good_one(loader, machines, tmp_path, capsys):
    path = tmp_path / "order.asl.json"
    path.write_text("{")
    loader.load_all()
    assert said(capsys)[0] == "✗ order  order.asl.json: 1 error"
    path.write_text(PASS)
    loader.changed([path])
    assert said(capsys) == ["✓ order  created from order.asl.json"]
    path.write_text(PASS.replace("Pass", "Pas"))
    loader.changed([path])
    lines = said(capsys)
    assert lines[0].endswith("; the last good revision stays in use")
    assert f"{path}:1:" in lines[1]
    assert machines.kept[f"{PREFIX}:stateMachine:order"]["definition"] == PASS
    path.unlink()
    loader.changed([path])
    assert said(capsys)[0].endswith("is gone; the machine stays until: statewright machine delete order")


def test_the_type_of_a_machine_stays(loader, machines, tmp_path, capsys):
    (tmp_path / "fast.asl.json").write_text(PASS)
    loader.express = frozenset()
    loader.load_all()
    loader.express = frozenset({"fast"})
    loader.load_all()
    assert "cannot become EXPRESS: statewright machine delete fast" in " ".join(said(capsys)[1:])


def test_an_empty_folder(loader, capsys):
    loader.load_all()
    assert "There is no *.asl.json" in said(capsys)[0]


def test_the_command(statewright: Run, folder: Path, monkeypatch: pytest.MonkeyPatch):
    given: list[Any] = []
    monkeypatch.setattr("statewright.cli.serving.logs.configure", lambda _form, _level: None)
    monkeypatch.setattr(Loader, "start", lambda _self, endpoint: given.append(endpoint))

    def serve(options: Any, on_ready: Any) -> None:
        given.append(options)
        on_ready(Ready("http://127.0.0.1:9", "x", 1))

    monkeypatch.setattr(server, "serve", serve)
    assert statewright("dev").code == 0
    assert (given[0].data, given[1]) == (Path(dev.DATA_FOLDER), "http://127.0.0.1:9")

    def fail(_options: Any, _on_ready: Any) -> None:
        raise CannotServe("the port is taken")

    monkeypatch.setattr(server, "serve", fail)
    result = statewright("dev")
    assert (result.code, "the port is taken" in result.err) == (1, True)
    assert statewright("dev", "nowhere").code == 3
    assert "statewright dev ." in statewright("dev", "order.asl.json").err


def test_what_happens_as_json(machines, tmp_path, capsys):
    loader = Loader(tmp_path, Config(), frozenset(), as_json=True)
    loader.attach(machines)
    loader.load_all()
    (tmp_path / "order.asl.json").write_text(PASS)
    (tmp_path / "order.asl.yaml").write_text(PASS)
    (tmp_path / "bad.asl.json").write_text("{")
    loader.load_all()
    order = tmp_path / "order.asl.yaml"
    (tmp_path / "order.asl.json").unlink()
    order.unlink()
    loader.changed([tmp_path / "order.asl.json"])
    events = [json.loads(line) for line in said(capsys)]
    assert [event["event"] for event in events] == ["empty", "failed", "loaded", "leftOut", "gone"]
    failed, loaded, left, gone = events[1:]
    assert (failed["machine"], failed["stays"], failed["findings"][0]["code"]) == (
        "bad", False, "INVALID_JSON_DESCRIPTION",
    )  # fmt: skip
    assert (loaded["machine"], loaded["outcome"], loaded["type"]) == ("order", "created", "STANDARD")
    assert (left["file"], gone["machine"], gone["stays"]) == ("order.asl.yaml", "order", True)
