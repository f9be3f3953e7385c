"""One service of a `serverless.yml` while its template is being made.

Owns the template's sections, the place of each resource in the file, and logical ids.

Source: Serverless Framework guide, "AWS CloudFormation resource reference".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from statewright.payload import Json, JsonObject
from statewright.projects.resources import Place
from statewright.projects.sam.template import merged
from statewright.projects.sources import Sources, Steps, Template


def normalized(name: str) -> str:
    """A name as part of a logical id: `hello-world` is `HelloDashworld`."""
    name = name[:1].upper() + name[1:]
    return re.sub(r"[^A-Za-z0-9]", "", name.replace("-", "Dash").replace("_", "Underscore"))


class Service:
    """The contents of the file, and the template made from it.

    `names` maps the file's own names of functions and machines to ids, so that references may use either. `patterns`
    are those of each function's package, by id.
    """

    def __init__(
        self,
        template: Template,
        sources: Sources,
        value: Mapping[str, Json],
        name: str,
        stage: str,
        provider: Mapping[str, Json],
    ) -> None:
        self.sources = sources
        self.value = value
        self.name_ = name
        self.stage = stage
        self.provider = provider
        self.sections: dict[str, dict[str, Json]] = {}
        self.extensions: dict[str, Json] = {}
        self.origins: dict[str, Steps] = {}
        self.names: dict[str, str] = {}
        self.patterns: dict[str, tuple[str, ...]] = {}
        self._template = template

    @property
    def file(self) -> str:
        """The name of the service's file."""
        return self._template.path.name

    @property
    def stack_name(self) -> str:
        """The name of the service's stack."""
        given = self.provider.get("stackName")
        return given if isinstance(given, str) and given else f"{self.name_}-{self.stage}"

    def template(self) -> dict[str, Json]:
        """The CloudFormation template of the service."""
        return {"Resources": {}, **self.sections}

    def place(self, steps: Steps) -> Place:
        """The line of a part of the file."""
        return self._template.place(steps)

    def name(self, own: str, id_: str) -> None:
        """Let a name of the file stand for an id."""
        self.names.setdefault(own, id_)

    def add(
        self,
        id_: str,
        kind: str,
        properties: Mapping[str, Json],
        at: Steps,
        *,
        needs: Json = None,
        condition: Json = None,
        retain: bool = False,
    ) -> None:
        """Add a resource; one that `resources` has under the same id is what it is merged with."""
        body: JsonObject = {"Type": kind, "Properties": dict(properties)}
        if needs:
            listed = needs if isinstance(needs, list) else [needs]
            body["DependsOn"] = [self.names.get(need, need) if isinstance(need, str) else need for need in listed]
        if condition:
            body["Condition"] = condition
        if retain:
            body["DeletionPolicy"] = "Retain"
        resources = self.sections.setdefault("Resources", {})
        own = resources.get(id_)
        if own is not None and self.origins.get(id_, ())[:1] != ("resources",):
            self.sources.error(self.place(at), f"the id {id_} is taken twice")
            return
        resources[id_] = body if own is None else merged(body, own)
        self.origins[id_] = at


def renamed(given: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """The settings that are given, under the names of properties: `{"batchSize": "BatchSize"}`."""
    return {name: given[setting] for setting, name in names.items() if given.get(setting) is not None}
