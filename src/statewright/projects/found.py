"""The project of a folder or file, with what its `statewright.toml` says: which file describes it, what is added to it.

Owns the choice between a project file and the plain folder, and which files a change of a project may be in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from statewright.config import Config
from statewright.projects.deploy.compute.packages import code_files
from statewright.projects.finding import SERVERLESS, TEMPLATES
from statewright.projects.functions import find_functions
from statewright.projects.plain import folder_files, read_folder, with_tables
from statewright.projects.reading import read_project
from statewright.projects.resources import Project, ProjectError, Stacks

_NONE: Mapping[str, str] = {}


def find_project(
    place: Path,
    config: Config,
    *,
    parameters: Mapping[str, str] = _NONE,
    stage: str | None = None,
    express: frozenset[str] = frozenset(),
    stacks: Stacks = "all",
) -> Project:
    """The project of a folder, or the one that a file describes; `config` is what `statewright.toml` beside it says.

    `stacks` are those of a CDK application that are read. A folder without a project file is a project of its own, made
    of its definitions and functions.

    Raises: ProjectError when a file is no project.
    """
    settings = config.project
    source = place / settings.template if settings.template and place.is_dir() else place
    try:
        project = read_project(
            source,
            account=config.account,
            region=config.region,
            parameters={**settings.parameters, **parameters},
            stage=stage or settings.stage,
            name=settings.name or "",
            stacks=stacks,
        )
    except ProjectError:
        if not place.is_dir() or settings.template:
            raise
        return read_folder(place, config, express=express)
    if project.kind == "folder":
        return read_folder(project.root, config, express=express)
    return with_tables(project, config) if config.tables else project


def project_files(project: Project) -> list[Path]:
    """The files of the moment whose change may change the project, code among them."""
    if project.kind == "folder":
        # A project file that comes takes the folder's place.
        coming = [project.root / name for name in (*TEMPLATES, *SERVERLESS, "cdk.json")]
        return [*folder_files(project.root), *(path for path in coming if path.is_file())]
    found = dict.fromkeys(project.files)
    for files in files_by_resource(project).values():
        found.update(dict.fromkeys(files))
    return list(found)


def files_by_resource(project: Project) -> dict[str, list[Path]]:
    """The local files that each resource is made of: code, definitions."""
    packed = find_functions(project.root).functions if project.kind == "folder" else {}
    found: dict[str, list[Path]] = {}
    for key, resource in project.resources.items():
        source = packed.get(key.removeprefix("functions.")) if resource.code is not None else None
        files = list(source.files.values()) if source is not None else []
        if source is None and resource.code is not None:
            files = code_files(resource.code, resource.patterns)
        if resource.definition is not None:
            files.append(resource.definition)
        if files:
            found[key] = files
    return found


def affected(before: Project | None, now: Project, touched: Iterable[Path]) -> frozenset[str]:
    """The resources that a change concerns: those that are other than before, or made of a file that was touched."""
    changed = set(touched)
    old_files = files_by_resource(before) if before is not None else {}
    new_files = files_by_resource(now)
    concerned = set()
    for key, resource in now.resources.items():
        old = before.resources.get(key) if before is not None else None
        same = old is not None and (old.properties, old.code, old.definition, old.type) == (
            resource.properties, resource.code, resource.definition, resource.type,
        )  # fmt: skip
        if not same or changed & {*old_files.get(key, ()), *new_files.get(key, ())}:
            concerned.add(key)
    return frozenset(concerned)


def users_of(project: Project, keys: Iterable[str]) -> frozenset[str]:
    """Resources that depend on some others, directly or through others."""
    reached = set(keys)
    for key in project.order:
        if reached & set(project.resources[key].depends_on):
            reached.add(key)
    return frozenset(reached)
