"""Files that describe a project: which one a folder has, and which folders inside a plain one are projects themselves.

Owns the names of these files. Reading them is `reading.py`'s business.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from statewright.asl.loading import NOT_OURS
from statewright.projects.resources import ProjectKind

TEMPLATES: Final = ("template.yaml", "template.yml", "template.json")
SERVERLESS: Final = ("serverless.yml", "serverless.yaml", "serverless.json", "serverless.ts", "serverless.js")
PACKAGED: Final = (".aws-sam/build/template.yaml", ".serverless/cloudformation-template-update-stack.json")
"""Templates that `sam build` and `serverless package` have written, for folders without a file of their own."""
CDK_MANIFEST: Final = "manifest.json"
CDK_SETTINGS: Final = "cdk.json"
CDK_OUTPUT: Final = "cdk.out"
_NAMES: Final = frozenset((*TEMPLATES, *SERVERLESS, CDK_MANIFEST, CDK_SETTINGS))
_IS_TEMPLATE: Final = re.compile(
    r"""(?m)(?:^\s*|[{,]\s*)["']?(?:Resources|AWSTemplateFormatVersion|Transform)["']?\s*:"""
)


def project_file(path: Path) -> tuple[ProjectKind, Path] | None:
    """The kind of a project, and the file or folder that describes it; None for a plain folder."""
    if path.is_file():
        return _kind_of(path), path
    template = _find_template(path)
    if template is not None:
        return "sam", template
    assembly = _find_assembly(path)
    if assembly is not None:
        return "cdk", assembly
    service = next((path / name for name in SERVERLESS if (path / name).is_file()), None)
    if service is None or service.suffix in (".ts", ".js"):
        # The meaning of a program is in the template that it was packaged as.
        packaged = next((path / name for name in PACKAGED if (path / name).is_file()), None)
        if packaged is not None:
            return "sam", packaged
    return ("serverless", service) if service is not None else None


def is_assembly(folder: Path) -> bool:
    """True if a folder is the output of a CDK application."""
    try:
        return '"artifacts"' in (folder / CDK_MANIFEST).read_text("utf-8", "replace")
    except OSError:
        return False


def own_files(root: Path, endings: tuple[str, ...], exclude: Collection[str] = ()) -> list[Path]:
    """Every file of a plain folder with one of the endings, in order, without those of projects inside it.

    `exclude` has patterns of paths, as seen from the folder, that are left out, too.
    """
    found: list[Path] = []
    for place, names in _own_folders(root):
        found += [Path(place, name) for name in names if name.endswith(endings)]
    if not exclude:
        return found
    return [path for path in found if not any(fnmatch(path.relative_to(root).as_posix(), one) for one in exclude)]


def projects_within(root: Path) -> list[tuple[Path, Path]]:
    """The folders inside a plain one that are projects, and the file that describes each."""
    found: list[tuple[Path, Path]] = []
    for _ in _own_folders(root, found):
        pass
    return found


def _own_folders(root: Path, apart: list[tuple[Path, Path]] | None = None) -> Iterator[tuple[str, list[str]]]:
    """Each folder of a plain one with the names of its files; folders that are projects go to `apart`."""
    for place, folders, names in os.walk(root):
        is_inside = place != str(root)
        described = project_file(Path(place)) if is_inside and _may_be_project(folders, names) else None
        if described is not None:
            folders.clear()
            if apart is not None:
                apart.append((Path(place), described[1]))
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_OURS)
        yield place, sorted(names)


def _may_be_project(folders: list[str], names: list[str]) -> bool:
    return CDK_OUTPUT in folders or not _NAMES.isdisjoint(names)


def _kind_of(path: Path) -> ProjectKind:
    if path.name.startswith("serverless."):
        return "serverless"
    return "cdk" if path.name in (CDK_MANIFEST, CDK_SETTINGS) else "sam"


def _find_template(folder: Path) -> Path | None:
    for name in TEMPLATES:
        path = folder / name
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            continue
        if _IS_TEMPLATE.search(text):
            return path
    return None


def _find_assembly(folder: Path) -> Path | None:
    for place in (folder, *_outputs(folder)):
        if is_assembly(place):
            return place
    return folder / CDK_SETTINGS if (folder / CDK_SETTINGS).is_file() else None


def _outputs(folder: Path) -> list[Path]:
    try:
        named = json.loads((folder / CDK_SETTINGS).read_text("utf-8")).get("output")
    except (OSError, ValueError, AttributeError):
        named = None
    return [folder / name for name in (named, CDK_OUTPUT) if isinstance(name, str) and name]
