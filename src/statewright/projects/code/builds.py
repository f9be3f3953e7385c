"""The output of `sam build` for functions and layers, and when it is used in place of the source.

The source is what runs, so that a change takes effect at once. A build is used where the source alone cannot run: its
handler is TypeScript or compiled, or packages that it needs are not beside it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from statewright.projects.cloudformation import Stack
from statewright.projects.resources import Resource

FOLDER: Final = Path(".aws-sam") / "build"
"""Source: Serverless Application Model developer guide, `sam build`."""
SOURCES: Final = {"python": (".py",), "nodejs": (".js", ".mjs", ".cjs")}
"""Endings of modules with handlers, by how the names of runtimes begin."""
_IDLE: Final = frozenset({"node_modules", "__pycache__"})


def has_handler(folder: Path, handler: str, runtime: str) -> bool:
    """True if a folder has the module of a handler; for other runtimes, the program that they start."""
    endings = next((found for start, found in SOURCES.items() if runtime.startswith(start)), None)
    if endings is None:
        return not runtime.startswith("provided") or (folder / "bootstrap").is_file()
    module = handler.rpartition(".")[0]
    path = module.replace(".", "/") if runtime.startswith("python") else module
    if any((folder / f"{path}{ending}").is_file() for ending in endings):
        return True
    return runtime.startswith("python") and (folder / path / "__init__.py").is_file()


def needs_packages(folder: Path) -> bool:
    """True if packages that a folder's files ask for are not installed in it."""
    wanted = folder / "requirements.txt"
    if wanted.is_file() and not any(folder.glob("*.dist-info")):
        lines = wanted.read_text("utf-8", "replace").splitlines()
        return any(line.split("#")[0].strip() for line in lines)
    package = folder / "package.json"
    if package.is_file() and not (folder / "node_modules").is_dir():
        return '"dependencies"' in package.read_text("utf-8", "replace")
    return False


def built(stack: Stack, resource: Resource) -> Resource:
    """A function or layer with the code that `sam build` has made, where its source cannot do without."""
    folder = stack.template.path.parent / FOLDER / resource.id
    source = resource.code
    if source is None or not source.is_dir() or stack.prefix or not folder.is_dir() or source == folder:
        return resource
    stack.sources.watch(folder.parent / "template.yaml")
    handler, runtime = (str(resource.properties.get(name, "")) for name in ("Handler", "Runtime"))
    is_function = resource.type == "AWS::Lambda::Function"
    runs = has_handler(source, handler, runtime) if is_function else "BuildMethod" not in _metadata(stack, resource.id)
    if runs and not needs_packages(source):
        return resource
    if _is_stale(folder.parent, source):
        shown = stack.sources.shown(source)
        if runs:
            words = f"{shown} has changed since sam build, so that the source runs: run sam build for its packages"
            stack.sources.info(resource.place, f"{resource.id}: {words}")
            return resource
        words = f"{shown} has changed since sam build, and the build is used: run sam build again"
        stack.sources.warning(resource.place, f"{resource.id}: {words}")
    if is_function and not has_handler(folder, handler, runtime):
        return resource
    return replace(resource, code=folder)


def _metadata(stack: Stack, id_: str) -> dict[str, object]:
    found = stack.body(id_).get("Metadata")
    return found if isinstance(found, dict) else {}


def _is_stale(build: Path, source: Path) -> bool:
    """True if a file of the source is newer than the build."""
    try:
        made = (build / "template.yaml").stat().st_mtime
    except OSError:
        return False
    for path in source.rglob("*"):
        parts = path.relative_to(source).parts
        is_idle = any(part in _IDLE or part.startswith(".") for part in parts)
        if not is_idle and path.is_file() and path.stat().st_mtime > made:
            return True
    return False
