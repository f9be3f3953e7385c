"""The output of a CDK application: a cloud assembly with its stacks and assets.

Owns the manifest, where assets lie, and exports from one stack to another. A stack's template is `stacks.py`'s.

Source: CDK, cloud assembly schema (`manifest.json`, `*.assets.json`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.cloudformation import Identity, Stack, stack_name
from statewright.projects.evaluation import Unresolved
from statewright.projects.finding import CDK_MANIFEST as MANIFEST
from statewright.projects.ordering import arrange
from statewright.projects.resources import Place, Project, Resource, Stacks
from statewright.projects.sources import Sources, Steps, meant
from statewright.projects.stacks import Setting, read_stack
from statewright.projects.supported import tell_unsupported

_STACK: Final = "aws:cloudformation:stack"
_ASSETS: Final = "cdk:asset-manifest"
_NESTED: Final = "cdk:cloud-assembly"
_UNKNOWN: Final = ("unknown-account", "unknown-region")
_DEEPEST: Final = 5


def read(
    place: Path, account: str, region: str, parameters: Mapping[str, str], name: str, which: Stacks = "all"
) -> Project:
    """Read an assembly: its folder, its manifest, or the `cdk.json` of an application that has none yet.

    The project is called `name`, or as its only stack, or as its folder. Ids that several stacks have are put behind
    the stack's name.
    """
    folder = place if place.is_dir() else place.parent
    root = folder.parent if folder.name == "cdk.out" else folder
    sources = Sources(root)
    if place.name == "cdk.json" and place.is_file():
        sources.watch(place)
        sources.watch(folder / "cdk.out" / MANIFEST)
        sources.error(Place(place), "the application has no output yet: run cdk synth, and again after each change")
        return Project(name or stack_name(root), root, "cdk", sources.files, {}, (), findings=sources.findings)
    assembly = _Assembly(sources, account, region, parameters, which)
    assembly.find(folder, 0)
    stacks = assembly.read()
    chosen = stacks[0].identity.name if len(stacks) == 1 and not assembly.elsewhere else stack_name(root)
    project = _project(name or chosen, root, sources, stacks, parameters)
    return replace(project, regions=tuple(dict.fromkeys(assembly.elsewhere)))


@dataclass(slots=True)
class _Artifact:
    """One stack of the manifest, and when it is read."""

    id: str
    path: Path
    identity: Identity
    parameters: Mapping[str, Json]
    needs: tuple[str, ...]
    stack: Stack | None = None
    names: dict[str, str] = field(default_factory=dict)


class _Assembly:
    """The contents of an application's manifests."""

    def __init__(
        self, sources: Sources, account: str, region: str, parameters: Mapping[str, str], which: Stacks
    ) -> None:
        self.elsewhere: list[str] = []
        """The other regions of stacks that are not read."""
        self._which = which
        self._sources = sources
        self._account = account
        self._region = region
        self._given = parameters
        self._stacks: dict[str, _Artifact] = {}
        self._files: dict[str, Path] = {}
        self._reading: set[str] = set()
        self._exports: dict[str, Json] = {}

    def find(self, folder: Path, depth: int) -> None:
        """Find stacks and assets, also those of stages, which are assemblies of their own."""
        manifest = self._sources.template(folder / MANIFEST)
        if manifest is None:
            return
        artifacts = manifest.value.get("artifacts") if isinstance(manifest.value, dict) else None
        if not isinstance(artifacts, dict):
            self._sources.error(
                manifest.place(), f"{MANIFEST} has no artifacts: this is not the output of a CDK application"
            )
            return
        for id_, body in artifacts.items():
            steps: Steps = ("artifacts", id_)
            kind = body.get("type") if isinstance(body, dict) else None
            given = (body.get("properties") or {}) if isinstance(body, dict) else {}
            properties: JsonMapping = given if isinstance(given, dict) else {}
            if kind == _STACK and isinstance(properties.get("templateFile"), str):
                self._add(id_, folder, body, properties)
            elif kind == _ASSETS and isinstance(properties.get("file"), str):
                self._add_assets(folder, properties["file"], manifest.place(steps))
            elif kind == _NESTED and isinstance(properties.get("directoryName"), str) and depth < _DEEPEST:
                self.find(folder / properties["directoryName"], depth + 1)

    def read(self) -> list[Stack]:
        """Every stack that can be read, each after those whose exports it needs."""
        if not self._stacks and not self.elsewhere and not self._sources.findings:
            self._sources.warning(Place(self._sources.root), "the output of the CDK application has no stacks")
        for artifact in self._stacks.values():
            self._read(artifact)
        return [found.stack for found in self._stacks.values() if found.stack is not None]

    def _add(self, id_: str, folder: Path, body: JsonMapping, properties: JsonMapping) -> None:
        account, region = self._account, self._region
        parts = str(body.get("environment", "")).removeprefix("aws://").split("/")
        named = parts[1] if len(parts) == 2 and parts[1] not in _UNKNOWN else None
        if self._which != "all" and named != region and (named is not None or self._which == "named"):
            self.elsewhere += [named] if named is not None else []
            return
        if named not in (None, region):
            self._sources.info(
                Place(folder / MANIFEST), f"the stack {id_} is for {parts[1]}; it is deployed to {region} here"
            )
        parameters = properties.get("parameters")
        needs = body.get("dependencies")
        self._stacks[id_] = _Artifact(
            id_,
            folder / properties["templateFile"],
            Identity(str(properties.get("stackName") or id_), account, region),
            {**(parameters if isinstance(parameters, dict) else {}), **self._given},
            tuple(need for need in needs if isinstance(need, str)) if isinstance(needs, list) else (),
        )

    def _add_assets(self, folder: Path, name: str, place: Place) -> None:
        manifest = self._sources.template(folder / name, place)
        files = manifest.value.get("files") if manifest and isinstance(manifest.value, dict) else None
        for hash_, body in files.items() if isinstance(files, dict) else ():
            source = body.get("source") if isinstance(body, dict) else None
            path = source.get("path") if isinstance(source, dict) else None
            if not isinstance(path, str):
                continue
            self._files[hash_] = folder / path
            destinations = body.get("destinations")
            for target in destinations.values() if isinstance(destinations, dict) else ():
                if isinstance(target, dict) and isinstance(target.get("objectKey"), str):
                    self._files[target["objectKey"]] = folder / path

    def locate(self, _bucket: str, key: str) -> Path | None:
        """The local path of an asset."""
        return self._files.get(key) or self._files.get(key.rsplit("/", 1)[-1].split(".")[0])

    def _read(self, artifact: _Artifact) -> None:
        if artifact.stack is not None or artifact.id in self._reading:
            return
        self._reading.add(artifact.id)
        for need in artifact.needs:
            if need in self._stacks:
                self._read(self._stacks[need])
        template = self._sources.template(artifact.path)
        if template is None:
            return
        setting = Setting(self._sources, self.locate, self._imported)
        stack = read_stack(template, artifact.identity, setting, artifact.parameters)
        artifact.stack = stack
        self._rename(artifact, stack)
        self._exports.update({name: _renamed(value, artifact.names) for name, value in stack.exports.items()})

    def _imported(self, name: str) -> Json:
        if name not in self._exports:
            for artifact in self._stacks.values():
                self._read(artifact)
        if name in self._exports:
            return self._exports[name]
        raise Unresolved(f"nothing in this project exports {name}{meant(name, self._exports)}")

    def _rename(self, artifact: _Artifact, stack: Stack) -> None:
        """Put ids that another stack has, too, behind the stack's name."""
        taken = {id_ for other in self._stacks.values() if other.stack not in (None, stack) for id_ in _ids(other)}
        names = {id_: f"{artifact.id}{id_}" for id_ in stack.resources if id_ in taken}
        artifact.names = names
        if not names:
            return
        stack.resources = {
            names.get(found.id, found.id): replace(
                found,
                id=names.get(found.id, found.id),
                properties=_renamed(found.properties, names),
                depends_on=tuple(names.get(need, need) for need in found.depends_on),
            )
            for found in stack.resources.values()
        }
        stack.spoilt = {names.get(id_, id_) for id_ in stack.spoilt}
        stack.outputs = {name: _renamed(value, names) for name, value in stack.outputs.items()}


def _ids(artifact: _Artifact) -> set[str]:
    return set(artifact.stack.resources) if artifact.stack is not None else set()


def _renamed(value: Json, names: Mapping[str, str]) -> Json:
    """A folded value that names resources by other ids."""
    if not names:
        return value
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        if isinstance(value.get("Ref"), str):
            return {"Ref": names.get(value["Ref"], value["Ref"])}
        target = value.get("Fn::GetAtt")
        if isinstance(target, list) and target and isinstance(target[0], str):
            return {"Fn::GetAtt": [names.get(target[0], target[0]), *target[1:]]}
    return {name: _renamed(part, names) for name, part in value.items()}


def _project(name: str, root: Path, sources: Sources, stacks: list[Stack], parameters: Mapping[str, str]) -> Project:
    resources: dict[str, Resource] = {}
    spoilt: set[str] = set()
    missing: dict[str, str] = {}
    owners: dict[str, Callable[[str, str], Place | None]] = {}
    outputs: dict[str, Json] = {}
    shown: dict[str, str] = {}
    for stack in stacks:
        for resource in stack.resources.values():
            if resource.type == "AWS::CDK::Metadata":
                continue
            resources[resource.id] = replace(resource, stack=stack.identity.name)
            owners[resource.id] = stack.place_of_use
        spoilt |= stack.spoilt
        missing.update(stack.missing)
        for output, value in stack.outputs.items():
            if output.startswith("ExportsOutput"):
                # For other stacks of the application, which have it already.
                continue
            outputs[output if output not in outputs else f"{stack.identity.name}.{output}"] = value
        plain = {key: value for key, value in stack.parameters.items() if isinstance(value, str)}
        shown.update({key: value for key, value in plain.items() if key != "BootstrapVersion"})
    for key in parameters:
        if not any(stack.takes(key) for stack in stacks):
            sources.warning(Place(root), f"there is no parameter {key} to set{meant(key, shown)}")

    def place_of(id_: str, used: str) -> Place | None:
        return owners[id_](id_, used) if id_ in owners else None

    complete, order = arrange(resources, sources, spoilt=spoilt, missing=missing, place_of=place_of)
    tell_unsupported(complete.values(), sources)
    return Project(name, root, "cdk", sources.files, complete, order, outputs, sources.findings, shown)
