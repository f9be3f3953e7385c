"""A project in any of the supported formats: which file describes it, and which reader that needs.

Owns the choice of the reader: `stacks.py` (CloudFormation and SAM), `cdk.py` or `serverless/`. Which file describes a
project is `finding.py`'s; plain folders, and the settings of `statewright.toml`, are `found.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from statewright.payload import Json
from statewright.projects import cdk
from statewright.projects.cloudformation import Identity, Stack, home_of, stack_name
from statewright.projects.evaluation import text_of
from statewright.projects.finding import SERVERLESS, TEMPLATES, project_file
from statewright.projects.ordering import arrange
from statewright.projects.resources import Place, Project, ProjectError, Stacks
from statewright.projects.sam.config import read_samconfig
from statewright.projects.serverless import sections as serverless
from statewright.projects.sources import Sources, meant
from statewright.projects.stacks import Setting, read_stack
from statewright.projects.supported import tell_unsupported

_NONE: Mapping[str, str] = {}


def read_project(
    folder_or_file: Path,
    *,
    account: str,
    region: str,
    parameters: Mapping[str, str] = _NONE,
    stage: str | None = None,
    name: str = "",
    stacks: Stacks = "all",
) -> Project:
    """Read the project of a folder, or the one that a file describes.

    A folder's project is the first that exists: a template with resources, the output of a CDK application, a
    `serverless.yml`, a packaged template. `parameters` replace those of the file; `stage` is for kinds of files that
    know stages, and names the environment of a `samconfig.toml`; `name` replaces the name that the files give. `stacks`
    are those of a CDK application that are read. The problems of the project are in its findings.

    Raises: ProjectError when there is nothing to read.
    """
    path = folder_or_file.resolve()
    if not path.exists():
        raise ProjectError(f"there is no {folder_or_file}")
    found = project_file(path)
    if found is None:
        raise ProjectError(
            f"{folder_or_file} holds no project: no {TEMPLATES[0]} with Resources, no cdk.out, no {SERVERLESS[0]}"
        )
    kind, file = found
    if kind == "serverless":
        return serverless.read(file, account, region, parameters, stage or None, name)
    if kind == "cdk":
        return cdk.read(file, account, region, parameters, name, stacks)
    sources = Sources(file.parent)
    settings = read_samconfig(home_of(file), stage or "default", sources)
    identity = Identity(name or settings.stack_name or stack_name(file), account, region)
    return _read_template(file, identity, sources, settings.parameters, parameters)


def _read_template(
    file: Path, identity: Identity, sources: Sources, usual: Mapping[str, str], given: Mapping[str, str]
) -> Project:
    template = sources.template(file)
    if template is None:
        return Project(identity.name, file.parent, "sam", sources.files, {}, (), findings=sources.findings)
    stack = read_stack(template, identity, Setting(sources), {**usual, **given})
    _check_given(given, stack)
    if not stack.resources and not sources.findings:
        sources.warning(template.place(), "there are no resources")
    resources, order = arrange(
        stack.resources, sources, spoilt=stack.spoilt, missing=stack.missing, place_of=stack.place_of_use
    )
    tell_unsupported(resources.values(), sources)
    return Project(
        identity.name,
        file.parent,
        "sam",
        sources.files,
        resources,
        order,
        stack.outputs,
        sources.findings,
        {name: _shown(value) for name, value in stack.parameters.items()},
    )


def _check_given(given: Mapping[str, str], stack: Stack) -> None:
    known = stack.section("Parameters")
    for name in given:
        if not stack.takes(name):
            place = Place(stack.template.path)
            stack.sources.warning(place, f"there is no parameter {name} to set{meant(name, known)}")


def _shown(value: Json) -> str:
    return ",".join(text_of(part) for part in value) if isinstance(value, list) else text_of(value)
