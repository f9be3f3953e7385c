"""Projects from texts, for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

from statewright.payload import Json
from statewright.projects.evaluation import Unresolved
from statewright.projects.intrinsics import resolve
from statewright.projects.reading import read_project
from statewright.projects.resources import Project

ACCOUNT = "000000000000"
REGION = "eu-central-1"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


def read(folder: Path, template: str, *, name: str = "template.yaml", **more: Any) -> Project:
    """The project of a folder called `shop`, whose template this is."""
    write(folder, {name: template})
    return read_project(folder, account=ACCOUNT, region=REGION, **more)


def texts(project: Project, severity: str | None = None) -> list[str]:
    """What was found, as `line: message`."""
    return [f"{f.place.line}: {f.message}" for f in project.findings if severity in (None, f.severity)]


class Deployed:
    """A lookup in which every resource is there."""

    def __init__(self, missing: frozenset[str] = frozenset()) -> None:
        self._missing = missing

    def ref(self, id: str) -> Json:
        if id in self._missing:
            raise Unresolved(f"{id} is not there")
        return f"<{id}>"

    def attribute(self, id: str, name: str) -> Json:
        return f"<{id}.{name}>"


def resolved(value: Json) -> Json:
    return resolve(value, Deployed())
