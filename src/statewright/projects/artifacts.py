"""The local files that resources need: code, definitions of machines, OpenAPI documents of APIs, nested templates.

Owns finding them, whichever way a template names them, and reporting what is missing. Packing code is `deploy/`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.code.builds import SOURCES, built, has_handler
from statewright.projects.code.foreign_layers import is_foreign, what_to_do
from statewright.projects.deploy.compute.functions import NOT_RUN
from statewright.projects.evaluation import waits
from statewright.projects.resources import Resource
from statewright.projects.sources import Steps, meant

FUNCTION: Final = "AWS::Lambda::Function"
LAYER: Final = "AWS::Lambda::LayerVersion"
MACHINE: Final = "AWS::StepFunctions::StateMachine"
_APIS: Final = ("AWS::ApiGateway::RestApi", "AWS::ApiGatewayV2::Api")

Locate = Callable[[str, str], Path | None]
"""Returns the local path of an object, given bucket and key, if the project has it."""

_PROPERTY: Final = {
    FUNCTION: "Code",
    LAYER: "Content",
    MACHINE: "DefinitionS3Location",
    **dict.fromkeys(_APIS, "BodyS3Location"),
}
_REMOTE: Final = ("s3://", "https://", "http://")


def attach(stack: Stack, locate: Locate | None = None, *, is_served: bool = False) -> None:
    """Give every function, layer and machine of a stack its local files, and check that they exist.

    A template that `is_served` has none: what it names are objects in buckets.
    """
    if is_served:
        for resource in list(stack.resources.values()):
            if resource.type == MACHINE:
                stack.resources[resource.id] = _whole(stack, resource)
            elif resource.type == FUNCTION:
                stack.resources[resource.id] = _without_foreign_layers(stack, resource)
        return
    for resource in list(stack.resources.values()):
        name = _PROPERTY.get(resource.type)
        if name is not None and resource.code is None and resource.definition is None:
            found = _attached(stack, resource, name, locate)
            stack.resources[resource.id] = _whole(stack, found) if found.type == MACHINE else found
    for resource in list(stack.resources.values()):
        if resource.type == FUNCTION:
            resource = built(stack, resource)
            _check_function(stack, resource)
            stack.resources[resource.id] = _without_foreign_layers(stack, resource)
        elif resource.type == LAYER:
            stack.resources[resource.id] = built(stack, resource)


def local_path(stack: Stack, id_: str, value: Json, locate: Locate | None) -> Path | None:
    """The local path that a property means: a path beside the template, or a located object of a bucket."""
    asset = _asset(stack, id_)
    if asset is not None:
        return asset
    folder = stack.template.path.parent
    if isinstance(value, str) and value and not value.startswith(_REMOTE):
        return (folder / value).resolve()
    if isinstance(value, dict):
        bucket = value.get("S3Bucket", value.get("Bucket"))
        key = value.get("S3Key", value.get("Key"))
        if not isinstance(key, str):
            return None
        # A packaged service has its zip beside its template.
        beside = folder / key.rsplit("/", 1)[-1]
        if beside.suffix == ".zip" and beside.is_file():
            return beside
        return locate(bucket, key) if locate is not None and isinstance(bucket, str) else None
    if locate is None:
        return None
    if isinstance(value, str) and not waits(value):
        rest = value.split("://", 1)[1] if "://" in value else value
        return locate(rest, rest.rsplit("/", 1)[-1])
    return None


def _asset(stack: Stack, id_: str) -> Path | None:
    """The asset path that CDK or `sam build` records for a resource. Source: cloud assembly, asset metadata."""
    metadata = stack.body(id_).get("Metadata")
    path = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
    if not isinstance(path, str) or not path:
        return None
    found = (stack.template.path.parent / path).resolve()
    return found if found.exists() else None


def _attached(stack: Stack, resource: Resource, name: str, locate: Locate | None) -> Resource:
    properties: Mapping[str, Json] = resource.properties
    value = properties.get(name)
    place = stack.place(_steps(stack, resource.id, name))
    if value is None or (isinstance(value, dict) and ("ZipFile" in value or "ImageUri" in value)):
        return resource
    path = local_path(stack, resource.id, value, locate)
    if path is None:
        words = "is not a local path: it is taken from that bucket of this server, if it has one"
        stack.sources.warning(place, f"{resource.id}: {name} {words}")
        return resource
    shown = stack.sources.shown(path)
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        stack.sources.watch(path)
        stack.sources.error(place, f"{resource.id}: there is no {shown}{meant(path.name, beside)}")
        stack.spoilt.add(resource.id)
        return resource
    if resource.type in (MACHINE, *_APIS):
        stack.sources.watch(path)
        noun = "definition" if resource.type == MACHINE else "OpenAPI document"
        if not path.is_file():
            stack.sources.error(place, f"{resource.id}: {shown} is a folder, where its {noun} is needed")
            stack.spoilt.add(resource.id)
            return resource
        rest = {key: part for key, part in properties.items() if key != name}
        return replace(resource, properties=rest, definition=path)
    return replace(resource, properties={key: part for key, part in properties.items() if key != name}, code=path)


def _steps(stack: Stack, id_: str, name: str) -> Steps:
    """The property that holds the path; serverless resources name it differently."""
    steps = (*stack.steps(id_), "Properties")
    written = stack.body(id_).get("Properties")
    for other in (name, "CodeUri", "ContentUri", "DefinitionUri"):
        if isinstance(written, dict) and other in written:
            return (*steps, other)
    return steps


def _whole(stack: Stack, resource: Resource) -> Resource:
    """A machine whose definition, where it is an object, has become a text."""
    properties: Mapping[str, Json] = resource.properties
    given = properties.get("Definition")
    if resource.definition is not None:
        return resource
    if isinstance(given, dict):
        rest = {name: part for name, part in properties.items() if name != "Definition"}
        written = stack.fold({"Fn::ToJsonString": given}, stack.steps(resource.id), resource.id)
        return replace(resource, properties={**rest, "DefinitionString": written})
    if not properties.get("DefinitionString") and "DefinitionS3Location" not in properties:
        stack.sources.error(resource.place, f"the state machine {resource.id} has no definition")
        stack.spoilt.add(resource.id)
    return resource


def _check_function(stack: Stack, function: Resource) -> None:
    properties: Mapping[str, Json] = function.properties
    runtime, handler = properties.get("Runtime"), properties.get("Handler")
    if properties.get("PackageType") == "Image" or "ImageUri" in (properties.get("Code") or {}):
        stack.sources.warning(
            function.place, f"the function {function.id} is a container image, which cannot run here: calls to it fail"
        )
        return
    if isinstance(runtime, str) and runtime.startswith(NOT_RUN):
        stack.sources.warning(
            function.place, f"the function {function.id} needs the runtime {runtime}, which cannot run here"
        )
        return
    folder = function.code
    if folder is None:
        if "Code" not in properties:
            stack.sources.error(function.place, f"the function {function.id} has no code")
        return
    if not folder.is_dir():
        return
    if isinstance(handler, str) and isinstance(runtime, str):
        _check_handler(stack, function, folder, handler, runtime)
    _check_dependencies(stack, function, folder)


def _without_foreign_layers(stack: Stack, function: Resource) -> Resource:
    """The function without layers of other accounts, each with a warning that says what it would have brought."""
    layers = function.properties.get("Layers") if isinstance(function.properties, dict) else None
    if not isinstance(layers, list):
        return function
    foreign = [one for one in layers if is_foreign(one, stack.identity.account)]
    if not foreign:
        return function
    place = stack.place((*stack.steps(function.id), "Properties", "Layers"))
    for one in foreign:
        words = what_to_do(one, str(function.properties.get("Runtime", "")))
        stack.sources.warning(place, f"{function.id}: {words}")
    return replace(function, properties={**function.properties, "Layers": [x for x in layers if x not in foreign]})


def _check_handler(stack: Stack, function: Resource, folder: Path, handler: str, runtime: str) -> None:
    endings = next((found for start, found in SOURCES.items() if runtime.startswith(start)), None)
    if endings is None:
        return
    module, dot, _ = handler.rpartition(".")
    place = stack.place((*stack.steps(function.id), "Properties", "Handler"))
    if not dot:
        stack.sources.error(place, f"{function.id}: the handler {handler} must be MODULE.FUNCTION")
        return
    if has_handler(folder, handler, runtime):
        return
    path = module.replace(".", "/") if runtime.startswith("python") else module
    named = folder / f"{path}{endings[0]}"
    try:
        beside = [other.name for other in named.parent.iterdir()]
    except OSError:
        beside = []
    hint = meant(named.name, [name for name in beside if name.endswith(endings)])
    if runtime.startswith("nodejs") and (folder / f"{path}.ts").is_file():
        hint = ": it is TypeScript, which must be built first"
    stack.sources.error(
        place, f"{function.id}: the handler {handler} needs {stack.sources.shown(named)}, which does not exist{hint}"
    )


def _check_dependencies(stack: Stack, function: Resource, folder: Path) -> None:
    wanted = folder / "requirements.txt"
    if wanted.is_file() and str(function.properties.get("Runtime", "")).startswith("python"):
        lines = [line.split("#")[0].strip() for line in wanted.read_text("utf-8", "replace").splitlines()]
        if any(lines) and not any(folder.glob("*.dist-info")):
            stack.sources.info(
                function.place,
                f"{stack.sources.shown(wanted)} is not installed for {function.id}: the function finds the packages of "
                f"the server's environment, and what lies beside its code (pip install -r {wanted.name} -t "
                f"{stack.sources.shown(folder)})",
            )
    if (folder / "package.json").is_file() and not (folder / "node_modules").is_dir():
        text = (folder / "package.json").read_text("utf-8", "replace")
        if '"dependencies"' in text:
            stack.sources.info(
                function.place,
                f"{stack.sources.shown(folder / 'package.json')} has dependencies, and there is no node_modules beside "
                "it: run npm install there",
            )
