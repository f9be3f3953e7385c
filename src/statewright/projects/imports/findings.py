"""Warnings about handlers of a project whose imports cannot be found: the file, the packages, and what to do.

Owns which functions are looked at: those with local code or code in a template, for Python and Node.js, whose layers
are local. Nothing is run.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from statewright.functions.node_sdk import NodeSdk
from statewright.payload import Json
from statewright.projects.functions import FunctionSource, find_functions
from statewright.projects.imports.code import Code, Missing
from statewright.projects.imports.node import missing_in_node
from statewright.projects.imports.python import missing_in_python
from statewright.projects.resources import Finding, Place, Project, Resource

FUNCTION: Final = "AWS::Lambda::Function"
LAYER: Final = "AWS::Lambda::LayerVersion"
MOST_NAMED: Final = 5
_PROBE_SECONDS: Final = 10.0


def with_missing_imports(project: Project, account: str, sdk: NodeSdk | None) -> Project:
    """The project with warnings about imports that its functions will not find.

    `sdk` is the SDK of the server; None if it is not known here.
    """
    found = dict.fromkeys(project.findings)
    plain = find_functions(project.root).functions if project.kind == "folder" else {}
    for resource in project.resources.values():
        if resource.type != FUNCTION:
            continue
        try:
            code = code_of(project, resource, plain, account)
            for one in _missing(code, sdk) if code is not None else ():
                found[_finding(resource, one)] = None
        except OSError:
            # The deployment says what is wrong with the code.
            continue
    return replace(project, findings=tuple(found))


def _missing(code: Code, sdk: NodeSdk | None) -> list[Missing]:
    return missing_in_node(code, sdk) if code.runtime.startswith("nodejs") else missing_in_python(code)


def code_of(project: Project, resource: Resource, plain: dict[str, FunctionSource], account: str) -> Code | None:
    """The code of a function; None if it cannot be looked into, or runs where other packages are."""
    properties = resource.properties if isinstance(resource.properties, dict) else {}
    source = plain.get(resource.id.removeprefix("functions."))
    if source is not None and "Handler" not in properties:
        return Code(source.path, "python", source.module.stem, files=source.files)
    runtime, handler = properties.get("Runtime"), properties.get("Handler")
    if not (isinstance(runtime, str) and isinstance(handler, str)) or not _is_own_runtime(runtime):
        return None
    layers = tuple(_layers(project, properties.get("Layers"), account))
    if None in layers:
        return None
    local = tuple(layer for layer in layers if layer is not None)
    entry = re.sub(r"\.[^/]*$" if runtime.startswith("nodejs") else r"\.[^.]*$", "", handler).removeprefix("./")
    if resource.code is not None:
        if resource.code.is_file():
            if zipfile.is_zipfile(resource.code):
                return None
            return Code(resource.code.parent, runtime, entry, files={resource.code.name: resource.code}, layers=local)
        return Code(resource.code, runtime, entry, layers=local)
    given = properties.get("Code")
    text = given.get("ZipFile") if isinstance(given, dict) else None
    return Code(project.root, runtime, "index", text=text, layers=local) if isinstance(text, str) else None


def _is_own_runtime(runtime: str) -> bool:
    """True if handlers run on Node.js, or on the Python that runs this and has its packages."""
    if runtime.startswith("nodejs"):
        return True
    own = "python{}.{}".format(*sys.version_info)
    if not runtime.startswith("python"):
        return False
    other = shutil.which(runtime) if runtime != own else None
    return other is None or not _works(other)


@functools.cache
def _works(program: str) -> bool:
    """True if an interpreter starts: a program on the path may be a shim for one that is not installed."""
    try:
        return subprocess.run([program, "-c", ""], capture_output=True, timeout=_PROBE_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _layers(project: Project, given: Json, account: str) -> Iterator[Path | None]:
    """The folders of a function's layers; None for one that may be on the server already.

    A layer of another account is left out when the project is deployed, so that its packages are missing.
    """
    for one in given if isinstance(given, list) else ():
        named = one.get("Ref") if isinstance(one, dict) else None
        layer = project.resources.get(named) if isinstance(named, str) else None
        if layer is not None and layer.type == LAYER and layer.code is not None and layer.code.is_dir():
            yield layer.code
        elif not (isinstance(one, str) and one.startswith("arn:") and one.split(":")[4:5] != [account]):
            yield None


def _finding(resource: Resource, missing: Missing) -> Finding:
    names = list(missing.names)
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    place = resource.place if missing.file is None else Place(missing.file, missing.line)
    return Finding("WARNING", f"{resource.id} imports {shown}: {missing.why}. Try: {missing.advice}", place)
