"""A definition in an API: the members that it makes, changes and deletes.

Owns the modes: `merge` leaves what the definition does not have, `overwrite` deletes it. Members keep their ids where
path or name stay. A method of a definition replaces one that exists as a whole.

Source: API Gateway developer guide, "Import an OpenAPI file to update an existing API definition"; `binaryMediaTypes`
of both modes are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.apis.apis import Held
from statewright.apis.errors import bad_request
from statewright.apis.openapi.rest import RestDefinition
from statewright.apis.records import AUTHORIZER, GATEWAY_RESPONSE, MODEL, RESOURCE, VALIDATOR, Member
from statewright.apis.resource_paths import check_part
from statewright.errors import ApiError
from statewright.payload import JsonMapping, JsonObject

New = Callable[[str, JsonMapping, str], Member]
"""Makes a member of a kind with its settings; an empty id stands for a new one."""
_RESET: Final = ("binaryMediaTypes", "minimumCompressionSize", "policy", "apiKeySource", "description", "version")
"""Settings that an overwriting definition removes if it does not have them."""


class RestMembers:
    """The members of one API as a definition changes them."""

    def __init__(self, new: New, held: Held | None, *, overwrites: bool) -> None:
        """`held` is the API as it is; `None` for a new one."""
        self._new = new
        self._held = held
        self._overwrites = overwrites
        self._written: dict[tuple[str, str], Member] = {}
        self.deleted: list[Member] = []
        self._resources: dict[str, Member] = {}
        self._parts: dict[str, set[str]] = {}

    def apply(self, definition: RestDefinition) -> None:
        """Find the members to write and to delete. Raises: ApiError."""
        kept = ("Empty", "Error")
        for name, settings in definition.models.items():
            before = self._before(MODEL).get(name)
            model_id = before.settings["id"] if before is not None else self._new(MODEL, {}, "").id
            self._write(MODEL, name, {"id": model_id, **settings}, before)
        self._clear(MODEL, (*definition.models, *kept))
        validators = self._named(VALIDATOR, definition.validators)
        authorizers = self._named(AUTHORIZER, definition.authorizers)
        for kind, settings in definition.gateway_responses.items():
            self._write(GATEWAY_RESPONSE, kind, settings, self._before(GATEWAY_RESPONSE).get(kind))
        self._clear(GATEWAY_RESPONSE, definition.gateway_responses)
        self._place_resources(definition, validators, authorizers)

    @property
    def written(self) -> list[Member]:
        """The members to write."""
        return [*self._written.values()]

    def settings(self, definition: RestDefinition) -> JsonObject:
        """The API's own settings after the definition."""
        before = dict(self._held.api.settings) if self._held is not None else {}
        if self._overwrites:
            before = {name: value for name, value in before.items() if name not in _RESET}
        made = {**before, **definition.settings}
        if not self._overwrites and "binaryMediaTypes" in before and "binaryMediaTypes" in definition.settings:
            united = (*before["binaryMediaTypes"], *definition.settings["binaryMediaTypes"])
            made["binaryMediaTypes"] = list(dict.fromkeys(united))
        return made

    def _before(self, kind: str) -> Mapping[str, Member]:
        return self._held.of(kind) if self._held is not None else {}

    def _write(self, kind: str, id: str, settings: JsonMapping, before: Member | None) -> Member:
        made = self._new(kind, settings, before.id if before is not None else id)
        if before is not None:
            made = replace(made, created_ms=before.created_ms, stored=before.stored)
        self._written[kind, made.id] = made
        return made

    def _clear(self, kind: str, kept: Iterable[str]) -> None:
        if self._overwrites:
            left = set(kept)
            self.deleted += [one for key, one in self._before(kind).items() if key not in left]

    def _named(self, kind: str, wanted: Mapping[str, JsonMapping]) -> dict[str, str]:
        """The ids of members by their names, those of the API included."""
        before = {one.settings.get("name"): one for one in self._before(kind).values()}
        found = {name: self._write(kind, "", settings, before.get(name)).id for name, settings in wanted.items()}
        self._clear(kind, found.values())
        return found

    # ------------------------------------------------------------------ resources

    def _place_resources(
        self, definition: RestDefinition, validators: Mapping[str, str], authorizers: Mapping[str, str]
    ) -> None:
        for one in self._before(RESOURCE).values():
            if not self._overwrites or one.settings["path"] == "/":
                self._resources[one.settings["path"]] = one
                self._parts.setdefault(one.settings.get("parentId") or "", set()).add(one.settings.get("pathPart", ""))
        own = {one.settings["path"]: one for one in self._before(RESOURCE).values()}
        if "/" not in self._resources:
            self._resources["/"] = self._write(RESOURCE, "", {"path": "/"}, None)
        root = self._resources["/"]
        if self._overwrites and root.settings.get("methods"):
            self._set_methods(root, {})
        for path, methods in definition.paths.items():
            resource = self._resource(_plain(path), own)
            merged = dict(resource.settings.get("methods") or {})
            for name, method in methods.items():
                merged[name] = _with_ids(method, resource.id, validators, authorizers)
            if merged:
                self._set_methods(resource, merged)
        if self._overwrites:
            self._clear(RESOURCE, [one.id for one in self._resources.values()])

    def _set_methods(self, resource: Member, methods: JsonMapping) -> None:
        settings = {**resource.settings, "methods": methods}
        made = replace(resource, settings=settings)
        self._written[RESOURCE, made.id] = made
        self._resources[settings["path"]] = made

    def _resource(self, path: str, own: Mapping[str, Member]) -> Member:
        """The resource of a path; those on the way are made."""
        parent = self._resources["/"]
        whole = ""
        for part in path.split("/")[1:] if path != "/" else ():
            whole = f"{whole}/{part}"
            found = self._resources.get(whole)
            if found is None:
                found = self._new_resource(whole, part, parent, own.get(whole))
            parent = found
        return parent

    def _new_resource(self, path: str, part: str, parent: Member, before: Member | None) -> Member:
        siblings = self._parts.setdefault(parent.id, set())
        try:
            check_part(part, parent.settings.get("pathPart") or "", siblings)
        except ApiError as problem:
            raise bad_request(
                f"Errors found during import:\n\tUnable to create resource at path '{path[:500]}': {problem.message}"
            ) from None
        siblings.add(part)
        made = self._write(RESOURCE, "", {"parentId": parent.id, "pathPart": part, "path": path}, before)
        self._resources[path] = made
        return made


def _plain(path: str) -> str:
    return "/" + path.strip("/")


def _with_ids(
    method: JsonMapping, resource_id: str, validators: Mapping[str, str], authorizers: Mapping[str, str]
) -> JsonObject:
    """A method with the ids of what it names."""
    made = {name: value for name, value in method.items() if name not in ("validator", "authorizer")}
    if "validator" in method:
        made["requestValidatorId"] = validators[method["validator"]]
    if "authorizer" in method:
        made["authorizerId"] = authorizers[method["authorizer"]]
    integration = made.get("methodIntegration")
    if integration is not None:
        made["methodIntegration"] = {"cacheNamespace": resource_id, **integration}
    return made
