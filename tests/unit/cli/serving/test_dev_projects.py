"""`statewright dev` of projects with more than machines and functions: what changes, what is bad, what goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.serving.dev import Loader
from statewright.config import Config
from statewright.projects.deploy.calls import CallRefused

TEMPLATE = """\
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Policy:
    Type: AWS::SQS::QueuePolicy
    Properties: {Queues: [!Ref Orders], PolicyDocument: {Statement: []}}
"""


class Queues:
    """A server that keeps queues."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, str]] = {}
        self.calls: list[str] = []

    def __call__(self, _service: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(operation)
        if operation == "CreateQueue":
            self.kept[request["QueueName"]] = dict(request["Attributes"])
            return {"QueueUrl": f"http://x/0/{request['QueueName']}"}
        name = request.get("QueueName") or request["QueueUrl"].rpartition("/")[2]
        if name not in self.kept:
            raise CallRefused("AWS.SimpleQueueService.NonExistentQueue", "")
        if operation == "SetQueueAttributes":
            self.kept[name].update(request["Attributes"])
        return {"QueueUrl": f"http://x/0/{name}", "Attributes": self.kept[name]}


@pytest.fixture
def queues() -> Queues:
    return Queues()


def loading(root: Path, queues: Queues, *, as_json: bool = False) -> Loader:
    made = Loader(root, Config(), frozenset(), as_json=as_json)
    made.attach(queues)
    made.load_all()
    return made


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_settings_are_part_of_the_project(tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str]):
    settings = tmp_path / "statewright.toml"
    settings.write_text("[queues.orders]\ndelay = 3\n")
    loader = loading(tmp_path, queues)
    assert said(capsys) == ["✓ orders  queue created from statewright.toml:1"]
    settings.write_text("[queues.orders]\ndelay = 4\n\n[queues.more]\n")
    loader.changed([settings])
    assert said(capsys) == [
        "✓ orders  queue updated from statewright.toml:1",
        "✓ more  queue created from statewright.toml:4",
    ]
    settings.write_text("[queues.orders]\ndelai = 4\n")
    loader.changed([settings])
    (line,) = said(capsys)
    assert line.startswith(f"✗ {settings}:2: queues.orders.delai is not a setting; did you mean delay?")
    assert line.endswith("; the last good project stays in use")
    settings.write_text("[queues.orders]\ndelay = 4\n")
    loader.changed([settings])
    assert said(capsys) == ["○ more  statewright.toml no longer has queues.more; the queue stays"]
    assert queues.kept["orders"]["DelaySeconds"] == "4"


def test_a_template_that_cannot_be_read_keeps_the_last_good_one(
    tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str]
):
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE)
    loader = loading(tmp_path, queues)
    (name,) = queues.kept
    assert said(capsys) == [
        f"✓ {name}  queue created from template.yaml:2",
        "✓ Policy  queue policy created from template.yaml:3",
    ]
    template.write_text(TEMPLATE + "  Bad: [")
    loader.changed([template])
    lines = said(capsys)
    assert "template.yaml:" in lines[0]
    assert "ERROR" in lines[0]
    assert lines[-1] == "✗ the project cannot be read; the last good one stays in use"
    template.write_text(TEMPLATE.replace("AWS::SQS::Queue}", "AWS::SQS::Queue, Properties: {DelaySeconds: 5}}"))
    queues.calls.clear()
    loader.changed([template])
    assert said(capsys) == [f"✓ {name}  queue updated from template.yaml:2"]
    assert queues.kept[name]["DelaySeconds"] == "5"


def test_only_what_is_concerned_is_looked_at(tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str]):
    settings = tmp_path / "statewright.toml"
    settings.write_text("[queues.orders]\n[queues.more]\n")
    loader = loading(tmp_path, queues)
    queues.calls.clear()
    settings.write_text("[queues.orders]\n[queues.more]\ndelay = 1\n")
    loader.changed([settings])
    assert queues.calls == ["GetQueueUrl", "GetQueueAttributes", "SetQueueAttributes"]
    said(capsys)


def test_what_happens_as_json(tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "template.yaml").write_text(TEMPLATE + "  Pool: {Type: AWS::Cognito::UserPool}\n")
    loader = loading(tmp_path, queues, as_json=True)
    (tmp_path / "template.yaml").write_text(TEMPLATE.partition("  Policy:")[0])
    loader.changed([tmp_path / "template.yaml"])
    events = [json.loads(line) for line in said(capsys)]
    assert [event["event"] for event in events] == ["loaded", "loaded", "leftOut", "finding", "gone", "gone"]
    assert (events[0]["type"], events[0]["file"]) == ("AWS::SQS::Queue", "template.yaml")
    assert events[3]["severity"] == "WARNING"


def test_files_are_named_as_seen_from_a_folder_that_was_named_relative_to_another(
    tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "template.yaml").write_text(TEMPLATE)
    monkeypatch.chdir(tmp_path)
    loading(Path("shop"), queues)
    assert said(capsys)[0].endswith("queue created from template.yaml:2")


def test_imports_that_cannot_be_found_are_warned_about(
    tmp_path: Path, queues: Queues, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "price.py").write_text("import nowhere\n\ndef handler(event, context): ...\n")
    loading(tmp_path, queues)
    assert any(
        line.startswith("functions/price.py:1 WARNING functions.price imports nowhere: not in the function's package")
        for line in said(capsys)
    )
