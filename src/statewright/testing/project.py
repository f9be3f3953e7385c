"""A project under test: deployed into the system of the test as `statewright deploy` deploys it onto a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from statewright.asl.findings import did_you_mean
from statewright.config import Config, read_config
from statewright.errors import ApiError
from statewright.payload import JsonMapping
from statewright.testing.bench import Bench
from statewright.testing.machine import Machine
from statewright.testing.mocking import MockBook
from statewright.testing.subject import Subject

if TYPE_CHECKING:
    from statewright.projects.deploy.calls import Answer
    from statewright.projects.deploy.deployment import Report

MACHINE = "AWS::StepFunctions::StateMachine"


class ProjectUnderTest(Mapping[str, Machine]):
    """The machines of a project, by their ids in it or by their names. `report` says what became of everything."""

    def __init__(self, report: Report, machines: dict[str, Machine]) -> None:
        self.report = report
        self._machines = machines

    def __getitem__(self, name: str) -> Machine:
        found = self._machines.get(name) or next((one for one in self._machines.values() if one.name == name), None)
        if found is None:
            known = [*self._machines, *(one.name for one in self._machines.values())]
            hint = did_you_mean(name, known) or f"there are {', '.join(self._machines) or 'none'}"
            raise LookupError(f"the project has no state machine '{name}': {hint}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._machines)

    def __len__(self) -> int:
        return len(self._machines)


def deployed(bench: Bench, place: Path, parameters: Mapping[str, str], stage: str | None) -> ProjectUnderTest:
    """Read a project and put it into the system. Raises: ProjectError; AssertionError with what failed."""
    # Imported here: few tests have a project, and all of them pay for what this module imports.
    from statewright.projects.deploy.calls import CallRefused
    from statewright.projects.deploy.deployment import Deployment
    from statewright.projects.deploy.record import Record
    from statewright.projects.found import find_project

    folder = place if place.is_dir() else place.parent
    settings = folder / "statewright.toml"
    config = read_config(settings) if settings.is_file() else Config()
    project = find_project(place, config, parameters=parameters, stage=stage)
    system = bench.system

    def call(service: str, operation: str, request: JsonMapping, /) -> Answer:
        try:
            answer: Answer = system.call(service, operation, {k: v for k, v in request.items() if v is not None})
        except ApiError as refused:
            raise CallRefused(refused.code, refused.message) from None
        return answer

    report = Deployment(call, system.config.account, system.config.region, Record(project.name)).run(project)
    if report.has_failed:
        bad = [one for one in report.results if one.outcome in ("failed", "skipped")]
        lines = [f"{one.noun} {one.name}: {one.message}" for one in bad]
        lines += [f"  {found.message} ({found.pointer})" for one in bad for found in one.diagnostics]
        raise AssertionError("the project cannot be deployed:\n" + "\n".join(lines))
    machines = {
        result.id: _machine(bench, result.known.ref, project.resources[result.id].definition)
        for result in report.results
        if result.type in (MACHINE, "AWS::Serverless::StateMachine") and result.known is not None
    }
    return ProjectUnderTest(report, machines)


def _machine(bench: Bench, arn: str, file: Path | None) -> Machine:
    from statewright.asl.compile import compile_definition

    shown = bench.system.call("stepfunctions", "DescribeStateMachine", {"stateMachineArn": arn})
    text = shown["definition"]
    value = json.loads(text)
    subject = Subject(
        shown["name"], text, value, compile_definition(value), MockBook(bench.book), kind=shown["type"], arn=arn,
        unmocked="runs", origin=str(file) if file is not None else None,
    )  # fmt: skip
    bench.add(subject)
    return Machine(bench, subject)
