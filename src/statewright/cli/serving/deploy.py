"""`statewright deploy [DIR|FILE]`: the resources of a project on a running server.

Owns the command: where the project and the server are, what is said, the exit code. The work is `projects.deploy`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from statewright.cli.client import chosen_region, endpoint_of, endpoint_option
from statewright.cli.extensions import extensions_option
from statewright.cli.output import FAILED, NOT_FOUND, OK, USAGE, Printer, Stop, count_words, stdout
from statewright.cli.serving.project_lines import ProjectLines

if TYPE_CHECKING:
    from statewright.config import Config
    from statewright.functions.node_sdk import NodeSdk
    from statewright.projects.deploy.calls import Call
    from statewright.projects.deploy.deployment import Report, Result
    from statewright.projects.resources import Project, Stacks

SETTINGS_FILE: Final = "statewright.toml"
_WORDS: Final = ("created", "updated", "replaced", "removed", "unchanged", "noted", "gone", "failed", "skipped")
_KINDS: Final = (
    "a project is a template.yaml with Resources, the output of cdk synth, a serverless.yml, or *.asl.json, "
    "functions/NAME.py and tables of statewright.toml"
)
_SHOWN_AS: Final = {"noted": "left out", "gone": "no longer in the project"}


@click.command(short_help="Deploy a project to a running server.")
@click.argument("place", metavar="[DIR|FILE]", default=".")
@endpoint_option
@click.option("--dry-run", "is_dry", is_flag=True, help="Print what would be done, without doing it.")
@click.option("--prune", is_flag=True, help="Remove deployed resources that are no longer in the project.")
@click.option("--take-over", "takes_over", is_flag=True, help="Also change machines of other projects.")
@click.option("--strict", "is_strict", is_flag=True, help="Refuse a project with resources that would be left out.")
@click.option("--stage", metavar="NAME", help="The stage, for projects that have stages.")
@click.option("--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
@extensions_option
def deploy(
    place: str, endpoint: str | None, is_dry: bool, prune: bool, takes_over: bool, is_strict: bool,
    stage: str | None, parameters: tuple[str, ...], form: str,
) -> int:  # fmt: skip
    """Create the resources of a project on a server: a SAM template, a CDK app's output, a serverless.yml, or a plain
    folder of *.asl.json, functions/NAME.py and statewright.toml.

    Existing resources are changed or left as they are: a second deployment changes nothing. A machine gets a new
    revision; running executions keep theirs. A machine of another project is refused without --take-over.
    Failures are reported with their place, resources that depend on them are skipped, and the exit code is 1.

    \b
    Examples:
      statewright deploy
      statewright deploy template.yaml --parameter Stage=dev --dry-run
      statewright deploy shop --prune
    """
    from statewright.asl.loading import DEFINITION_ENDINGS

    path = Path(place)
    if not path.exists():
        raise Stop(NOT_FOUND, f"There is no file or folder '{path}'.")
    if path.is_file() and path.name.endswith(DEFINITION_ENDINGS):
        whole = f"deploy the folder that it is in: statewright deploy {path.parent}"
        raise Stop(USAGE, f"'{path}' is a state machine's definition, not a project.", whole)
    config = _config_of(path)
    config = replace(config, region=chosen_region() or config.region)
    order = _Order(path, endpoint, parameters_of(parameters), stage, is_dry, prune, takes_over)
    if is_strict:
        _refuse_losses(order, config)
    done = [_deployed_in(order, config, "own", form)]
    # A CDK application may have stacks for other regions.
    done += [_deployed_in(order, replace(config, region=other), "named", form) for other in done[0].project.regions]
    if not any(one.report.results or one.project.resources or one.has_failed for one in done):
        raise Stop(NOT_FOUND, f"There is nothing to deploy in '{path}'.", _KINDS)
    if form == "json":
        shown = {**done[0].document, "dryRun": is_dry}
        stdout().json(shown | ({"regions": {one.region: one.document for one in done[1:]}} if done[1:] else {}))
    return FAILED if any(one.has_failed for one in done) else OK


@dataclass(frozen=True, slots=True)
class _Order:
    """The request of the command line, the same for every region."""

    path: Path
    endpoint: str | None
    parameters: dict[str, str]
    stage: str | None
    is_dry: bool
    prune: bool
    takes_over: bool


@dataclass(frozen=True, slots=True)
class _Done:
    """The result of a deployment to one region."""

    region: str
    project: Project
    report: Report
    document: dict[str, object]
    has_failed: bool


def _refuse_losses(order: _Order, config: Config) -> None:
    """Refuse a project with resources, in any region, that would be left out. Raises: Stop."""
    from statewright.projects.supported import left_out

    lost = left_out(_project(order, config, "all").resources.values())
    if lost:
        names = ", ".join(f"{one.id} ({one.type})" for one in lost)
        raise Stop(FAILED, f"Nothing was deployed: these resources would be left out: {names}.")


def _deployed_in(order: _Order, config: Config, stacks: Stacks, form: str) -> _Done:
    """Deploy a project's stacks of one region, and print what was done. Raises: Stop."""
    from statewright.cli.serving.server_calls import ServerCalls

    calls = ServerCalls(order.endpoint, _identity(config))
    printer = stdout()
    try:
        config = _as_server(calls, config)
        project = _project(order, config, stacks)
        lines = ProjectLines(project.root, stdout, would=order.is_dry)
        is_shown = form == "table" and bool(project.resources or not project.regions)
        if is_shown:
            _announce(printer, lines, project, order.is_dry, config.region if stacks == "named" else "")
        tell = lines.result if form == "table" else _silent
        report = _deployed(calls, config, project, order, _flushing(printer, tell))
    finally:
        calls.close()
    has_failed = report.has_failed or any(one.severity == "ERROR" for one in project.findings)
    if is_shown and (report.results or project.resources or has_failed):
        _conclude(printer, project, report, has_failed=has_failed)
    return _Done(config.region, project, report, _document(lines, project, report), has_failed)


def _silent(_result: Result) -> None:
    """JSON is printed at the end."""


def _flushing(printer: Printer, tell: Callable[[Result], None]) -> Callable[[Result], None]:
    def told(result: Result) -> None:
        tell(result)
        printer.flush()

    return told


def _config_of(path: Path) -> Config:
    from statewright.cli.serving.serve import config_of

    folder = path if path.is_dir() else path.parent
    own = folder / SETTINGS_FILE
    return config_of(str(own) if own.is_file() else None, None)


def _identity(config: Config) -> tuple[str, str, str]:
    """Key, secret and region of the calls of a deployment: its resources have this region in their ARNs."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    key, secret = config.signer(key) or (key, secret)
    return (key, secret, config.region) if key and secret else ("test", "test", config.region)


def _as_server(calls: Call, config: Config) -> Config:
    """The settings with the account that the server says it is."""
    from statewright.projects.deploy.calls import CallRefused

    try:
        account = calls("sts", "GetCallerIdentity", {}).get("Account")
    except CallRefused:
        return config
    return replace(config, account=account) if account else config


def parameters_of(given: tuple[str, ...]) -> dict[str, str]:
    """Parameters of the command line, each `KEY=VALUE`. Raises: Stop."""
    found = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise Stop(USAGE, f"--parameter takes KEY=VALUE, not '{one}'.")
        found[key] = value
    return found


def _project(order: _Order, config: Config, stacks: Stacks) -> Project:
    from statewright.projects.found import find_project
    from statewright.projects.imports.findings import with_missing_imports
    from statewright.projects.resources import ProjectError

    try:
        project = find_project(order.path, config, parameters=order.parameters, stage=order.stage, stacks=stacks)
        return with_missing_imports(project, config.account, _node_sdk(project.root, config))
    except ProjectError as problem:
        raise Stop(FAILED, str(problem)) from None


def _node_sdk(root: Path, config: Config) -> NodeSdk | None:
    """The SDK for JavaScript of the server, as far as its data folder is where it is by default."""
    from statewright.functions.node_sdk import DEFAULT_DATA, node_sdk

    places = [place for place in (Path(DEFAULT_DATA), root / DEFAULT_DATA) if place.is_dir()]
    found = [node_sdk(config, place) for place in places or ([Path()] if config.functions.node_modules else [])]
    return next((sdk for sdk in found if sdk.versions()), found[0] if found else None)


def _deployed(calls: Call, config: Config, project: Project, order: _Order, tell: Callable[[Result], None]) -> Report:
    from statewright.cli.client import ApiProblem
    from statewright.projects.deploy.calls import CallRefused
    from statewright.projects.deploy.deployment import Deployment
    from statewright.projects.deploy.record import OtherProjects, read_record, write_record

    try:
        record = read_record(calls, project.name, config.region)
        before = record.text()
        deployment = Deployment(
            calls, config.account, config.region, record, is_dry=order.is_dry, takes_over=order.takes_over,
            endpoint=endpoint_of(order.endpoint)[0],
            others=OtherProjects(calls, project.name, config.region), tell=tell,
        )  # fmt: skip
        try:
            return deployment.run(project, prune=order.prune)
        finally:
            if not order.is_dry and record.text() != before:
                write_record(calls, record, config.region)
    except CallRefused as refused:
        raise Stop(FAILED, str(refused), ApiProblem(refused.code, refused.message).hint) from None


def _announce(printer: Printer, lines: ProjectLines, project: Project, is_dry: bool, region: str) -> None:
    count = count_words(len(project.resources), "resource")
    kind = "folder" if project.kind == "folder" else project.kind
    place = f" for {region}" if region else ""
    printer.line(
        (project.name, "strong"), f"  {kind}, {count}{place}", ("  nothing was changed" if is_dry else "", "idle")
    )
    for one in project.findings:
        lines.finding(one)
    printer.flush()


def _document(lines: ProjectLines, project: Project, report: Report) -> dict[str, object]:
    return {
        "project": project.name,
        "kind": project.kind,
        "resources": [lines.as_json(one) for one in report.results],
        "findings": [lines.finding_json(one) for one in project.findings],
        "outputs": report.outputs,
        "needed": [{"id": one.id, "type": one.type, "by": list(one.by)} for one in report.needs],
    }


def _conclude(printer: Printer, project: Project, report: Report, *, has_failed: bool) -> None:
    errors = sum(one.severity == "ERROR" for one in project.findings)
    counts = [count_words(errors, "error")] if errors else []
    counts += [f"{report.count(word)} {_SHOWN_AS.get(word, word)}" for word in _WORDS if report.count(word)]
    for name, value in report.outputs.items():
        printer.line((name, "strong"), f" = {value}")
    for need in report.needs:
        printer.folded([("WARNING", "wait"), f" {need}"], " " * 4)
    printer.line(("✗ " if has_failed else "✓ ", "fail" if has_failed else "ok"), " · ".join(counts) or "nothing to do")
