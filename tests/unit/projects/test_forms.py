"""Every project in the forms that SAM CLI, CDK and Serverless produce: `deploy --dry-run` has no error and no crash."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.commands import run_command
from statewright.cli.serving import server_calls
from statewright.config import Config, read_config
from statewright.errors import ApiError
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.deployment import Deployment
from statewright.projects.deploy.record import Record
from statewright.projects.found import find_project
from statewright.virtual.system import VirtualSystem
from tests.unit.projects.forms import FORMS


def written(folder: Path, name: str) -> Path:
    """The folder of a project with its files; a zip is made of the file that its text names."""
    root = folder / name
    for path, text in FORMS[name].items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("zip:"):
            with zipfile.ZipFile(place, "w") as archive:
                archive.write(root / text.removeprefix("zip:"), text.removeprefix("zip:"))
        else:
            place.write_text(text)
    return root


LISTING = (
    "DescribeClusters", "DescribeComputeEnvironments", "DescribeJobDefinitions", "DescribeJobQueues",
    "DescribeLogGroups",
)  # fmt: skip


class Nothing:
    """A server on which nothing exists, and which nothing may change."""

    def __init__(self, *_settings: object) -> None:
        pass

    def __call__(self, service: str, operation: str, _request: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "GetCallerIdentity":
            return {"Account": "000000000000"}
        assert operation.startswith(("Get", "List", "Describe", "Scan")), f"{service} {operation} in a dry run"
        if operation in LISTING:
            return {}
        raise CallRefused("ResourceNotFoundException", "there is nothing")

    def close(self) -> None:
        """Nothing is open."""


def test_there_are_forty() -> None:
    assert len(FORMS) >= 40


@pytest.mark.parametrize("name", FORMS)
def test_a_dry_run_has_no_errors(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server_calls, "ServerCalls", Nothing)
    code = run_command(["deploy", str(written(tmp_path, name)), "--dry-run", "-o", "json"])
    shown = json.loads(capsys.readouterr().out)
    assert [one for one in shown["findings"] if one["severity"] == "ERROR"] == []
    assert [one for one in shown["resources"] if one["outcome"] not in ("created", "noted")] == []
    assert code == 0
    assert any(one["outcome"] == "created" for one in shown["resources"])


@pytest.mark.parametrize("name", FORMS)
def test_it_is_deployed(name: str, tmp_path: Path) -> None:
    """A system in virtual time takes each project, and a second deployment changes nothing."""
    root = written(tmp_path, name)
    settings = root / "statewright.toml"
    config = read_config(settings) if settings.is_file() else Config()
    with VirtualSystem(config=config) as system:

        def call(service: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
            try:
                given = {key: value for key, value in request.items() if value is not None}
                answer: dict[str, Any] = system.call(service, operation, given)
            except ApiError as refused:
                raise CallRefused(refused.code, refused.message) from None
            return answer

        project = find_project(root, config)
        record = Record(project.name)
        for allowed in (("created", "noted"), ("unchanged", "noted")):
            report = Deployment(call, config.account, config.region, record).run(project)
            other = [one for one in report.results if one.outcome not in allowed]
            assert [f"{one.id}: {one.message or one.outcome}" for one in other] == []
