"""Loops and includes of templates: `Fn::ForEach` and the transform `AWS::Include`, written out before anything is read.

Owns what the two make. Every other transform but the serverless one is a finding.

Source: template reference, "Fn::ForEach" and "AWS::Include transform".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.evaluation import NO_VALUE, Unresolved, size_of, text_of, waits
from statewright.projects.resources import Place
from statewright.projects.sources import Steps
from statewright.projects.supported import is_evaluated

SERVERLESS: Final = "AWS::Serverless-2016-10-31"
INCLUDE: Final = "AWS::Include"
_KNOWN: Final = (SERVERLESS, INCLUDE, "AWS::LanguageExtensions")
_LOOP: Final = "Fn::ForEach::"
_APIS: Final = ("AWS::Serverless::Api", "AWS::Serverless::HttpApi")
"""Types whose documents may be includes."""
_REMOTE: Final = ("s3://", "https://", "http://")
Include = Callable[[Json], Json]
"""Returns the value at a location. Raises: Unresolved."""
MAX_ROUNDS: Final = 5_000
"""How many rounds all loops of a template make. Ours: a template may have 500 resources."""
MAX_NESTING: Final = 150


def expand(stack: Stack, include: Include | None = None, *, is_served: bool = False) -> None:
    """Write out the loops and includes of a stack's template; one that `is_served` includes objects of buckets."""
    _check_transforms(stack)
    template = stack.template
    if template.mentions("Fn::ForEach") or template.mentions(INCLUDE):
        stack.value = _Expansion(stack, include, is_served).whole(stack.value)


def transforms_of(value: Mapping[str, Json]) -> list[str]:
    """The names of the transforms that a template asks for."""
    found = value.get("Transform")
    parts = found if isinstance(found, list) else [found]
    names = [part.get("Name") if isinstance(part, dict) else part for part in parts]
    return [name for name in names if isinstance(name, str)]


def _check_transforms(stack: Stack) -> None:
    for name in transforms_of(stack.value):
        if name not in _KNOWN:
            stack.sources.warning(
                stack.place(("Transform",)), f"the transform {name} is not applied: what it would add is missing"
            )


def _is_idle(body: Mapping[str, Json]) -> bool:
    """True for a resource that is left out: its loops and includes are not written out, so that none can fail."""
    kind = body.get("Type")
    return isinstance(kind, str) and kind not in _APIS and not is_evaluated(kind, body.get("Properties"))


class _Expansion:
    """One template, being written out. `_names` are the loop variables of the moment."""

    def __init__(self, stack: Stack, include: Include | None, is_served: bool) -> None:
        self._stack = stack
        self._load = include
        self._is_served = is_served
        self._names: dict[str, str] = {}
        self._rounds = 0
        self._included = 0

    def whole(self, value: Mapping[str, Json]) -> Mapping[str, Json]:
        made = dict(value)
        top = made.get("Transform")
        for part in top if isinstance(top, list) else [top]:
            if isinstance(part, dict) and part.get("Name") == INCLUDE:
                for name, section in self._include(part, ("Transform",)).items():
                    old = made.get(name)
                    made[name] = {**section, **old} if isinstance(old, dict) and isinstance(section, dict) else section
        for name, section in made.items():
            if name not in ("Transform", "Parameters", "Metadata", "Mappings") and isinstance(section, dict):
                made[name] = self._value(section, (name,))
        return made

    def _value(self, value: Json, steps: Steps) -> Json:
        if len(steps) > MAX_NESTING:
            self._stack.sources.error(self._stack.place(steps), "loops and includes are nested too deeply here")
            return None
        if self._names:
            self._stack.allowance.spend(len(value) if isinstance(value, str) else 64)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(part, (*steps, index)) for index, part in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and isinstance(value.get("Ref"), str) and value["Ref"] in self._names:
            return self._names[value["Ref"]]
        if len(steps) == 2 and steps[0] == "Resources" and _is_idle(value):
            return value
        made: dict[str, Json] = {}
        for name, part in value.items():
            here = (*steps, name)
            if name.startswith(_LOOP):
                self._loop(part, here, made)
            elif name == "Fn::Transform" and isinstance(part, dict) and part.get("Name") == INCLUDE:
                made.update(self._include(part, here))
            else:
                if len(steps) == 1 and steps[0] == "Resources" and not self._names:
                    self._stack.origins.setdefault(name, here)
                made[self._text(name)] = self._value(part, here)
        return made

    def _loop(self, argument: Json, steps: Steps, made: dict[str, Json]) -> None:
        stack = self._stack
        if not isinstance(argument, list) or len(argument) != 3 or not isinstance(argument[0], str):
            stack.sources.error(stack.place(steps), "Fn::ForEach needs a name, a list of values and what to repeat")
            return
        name, collection, body = argument
        values = stack.fold(self._value(collection, (*steps, 1)), (*steps, 1))
        if values is NO_VALUE or not isinstance(values, list) or waits(values):
            stack.sources.error(stack.place((*steps, 1)), "Fn::ForEach needs a list that is known before deployment")
            return
        before = dict(self._names)
        for value in values:
            self._rounds += 1
            if self._rounds > MAX_ROUNDS:
                stack.sources.error(stack.place(steps), f"the loops make more than {MAX_ROUNDS} rounds")
                break
            try:
                self._names = {**before, name: text_of(value)}
            except Unresolved:
                stack.sources.error(stack.place((*steps, 1)), "Fn::ForEach needs a list of texts")
                break
            try:
                pairs = self._pairs(body, (*steps, 2))
            except Unresolved as problem:
                stack.sources.error(stack.place(steps), str(problem))
                break
            for id_, part in pairs:
                made[id_] = part
                if steps[0] == "Resources" and len([step for step in steps if isinstance(step, str)]) >= 2:
                    stack.origins.setdefault(id_, steps)
        self._names = before

    def _pairs(self, body: Json, steps: Steps) -> list[tuple[str, Json]]:
        found = self._value(body, steps)
        if isinstance(found, dict):
            return list(found.items())
        self._stack.sources.error(self._stack.place(steps), "Fn::ForEach repeats the members of an object")
        return []

    def _text(self, text: str) -> str:
        if not self._names or "{" not in text:
            return text
        for name, value in self._names.items():
            self._stack.allowance.spend(len(text) + text.count("${" + name + "}") * len(value))
            text = text.replace("${" + name + "}", value)
            if "&{" in text:
                text = text.replace("&{" + name + "}", re.sub(r"[^A-Za-z0-9]", "", value))
        return text

    def _served(self, location: Json, place: Place, steps: Steps) -> dict[str, Json]:
        """The members of an object in a bucket; loops and includes in them are written out, too."""
        self._included += 1
        try:
            if self._load is None or self._included > MAX_ROUNDS:
                raise Unresolved("Nothing can be included here.")
            found = self._load(location)
            # It is copied, and a template may include it many times.
            self._stack.allowance.spend(size_of(found))
            made = self._value(found, (*steps, str(location)))
        except Unresolved as problem:
            self._stack.sources.error(place, f"Transform AWS::Include failed with: {problem}")
            return {}
        return made if isinstance(made, dict) else {}

    def _include(self, body: Mapping[str, Json], steps: Steps) -> dict[str, Json]:
        stack = self._stack
        place = stack.place(steps)
        parameters = body.get("Parameters")
        location = parameters.get("Location") if isinstance(parameters, dict) else None
        location = stack.fold(location, (*steps, "Parameters", "Location"))
        if self._is_served:
            return self._served(location, place, steps)
        if isinstance(location, str) and location.startswith(_REMOTE) and "DefinitionBody" in steps:
            # The API is left out, with the reason.
            return {"Fn::Transform": dict(body)}
        if not isinstance(location, str) or location.startswith(_REMOTE):
            stack.sources.error(place, "AWS::Include needs the Location of a local file; what it would add is missing")
            return {}
        self._included += 1
        template = stack.sources.template(stack.template.path.parent / location, place) if self._included < 50 else None
        if template is None:
            return {}
        if not isinstance(template.value, dict):
            stack.sources.error(place, f"{location} holds no object to include")
            return {}
        made = self._value(template.value, (*steps, location))
        return made if isinstance(made, dict) else {}
