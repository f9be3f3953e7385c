"""A project, whatever its files are written for: which reader it needs, and what `statewright.toml` says about that.

Owns finding the project's file. Reading it is up to `cloudformation.py`, `sam.py`, `serverless.py` and `cdk.py`; the
plain folder is `folder.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from statewright.projects.resources import Project, ProjectError

_NONE: Mapping[str, str] = {}


def read_project(
    folder_or_file: Path,
    *,
    account: str,  # noqa: ARG001
    region: str,  # noqa: ARG001
    parameters: Mapping[str, str] = _NONE,  # noqa: ARG001
    stage: str | None = None,  # noqa: ARG001
) -> Project:
    """Read the project of a folder, or the one that a file describes.

    `parameters` replace those of the file; `stage` is for kinds of files that know stages. What is wrong with the
    project stands in its findings.

    Raises: ProjectError when there is nothing to read.
    """
    raise ProjectError(f"{folder_or_file}: no reader for project files is there yet")
