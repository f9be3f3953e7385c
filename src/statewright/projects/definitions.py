"""State machine definitions in projects: read from files, and filled in.

A definition may hold placeholders, `${Name}`, within texts or bare in the place of a value. Owns how definitions in
JSON and YAML become one text, and what `DefinitionSubstitutions` do to it.

Source: CloudFormation template reference, AWS::StepFunctions::StateMachine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from statewright.asl.document import ReadError
from statewright.asl.reader import read_document
from statewright.errors import Step
from statewright.payload import Json, JsonTextError, Payload, parse_json
from statewright.projects.intrinsics import text_of
from statewright.projects.resources import Place
from statewright.projects.sources import Sources

_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_BARE: Final = "\ufffestatewright:bare:"
"""Marks a bare placeholder while a value is written as JSON. No definition can hold it: it is no character."""


def definition_of(path: Path, sources: Sources, place: Place) -> str | None:
    """The text of a definition's file as JSON, bare placeholders as they are; a finding where it cannot be read."""
    text = sources.text(path, place)
    if text is None:
        return None
    try:
        document = read_document(text, name=str(path))
    except ReadError as problem:
        for found in problem.diagnostics[:50]:
            hint = f"; {found.hint}" if found.hint else ""
            sources.error(Place(path, found.line), f"column {found.column}: {found.message}{hint}")
        return None
    if document.syntax == "json":
        return text
    return _written(document.value, set(document.placeholders))


def substituted(text: str, substitutions: Mapping[str, Json]) -> str:
    """A definition with its placeholders filled in; those without a substitution stay.

    Within a text the substitution is put in as it is. In the place of a value it stands for the JSON that it is, or
    for itself where it is none.

    Raises: Unresolved for a substitution that is no scalar.
    """
    given = {name: text_of(value) for name, value in substitutions.items()}
    if not any("${" + name + "}" in text for name in given):
        return text
    try:
        document = read_document(text, syntax="json")
    except ReadError:
        # Whatever is wrong with it is told of when the machine is made.
        return _PLACEHOLDER.sub(lambda found: given.get(found[1], found[0]), text)
    bare = set(document.placeholders)
    return _written(
        _filled(document.value, (), bare, given), {path for path in bare if not _fills(path, document.value, given)}
    )


def _fills(path: tuple[Step, ...], value: Json, given: Mapping[str, str]) -> bool:
    for step in path:
        value = value[step]
    found = _PLACEHOLDER.fullmatch(value)
    return found is not None and found[1] in given


def _filled(value: Json, path: tuple[Step, ...], bare: set[tuple[Step, ...]], given: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        if "${" not in value:
            return value
        if path in bare:
            found = _PLACEHOLDER.fullmatch(value)
            return _typed(given[found[1]]) if found and found[1] in given else value
        return _text(value, given)
    if isinstance(value, dict):
        return {_text(name, given): _filled(part, (*path, name), bare, given) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, (*path, index), bare, given) for index, part in enumerate(value)]
    return value


def _text(text: str, given: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: given.get(found[1], found[0]), text) if "${" in text else text


def _typed(text: str) -> Json:
    try:
        return parse_json(text)
    except JsonTextError:
        return text


def _written(value: Json, bare: set[tuple[Step, ...]]) -> str:
    """A value as JSON, with bare placeholders left bare."""
    if not bare:
        return Payload(value).text
    text = Payload(_marked(value, (), bare)).text
    return re.sub(f'"{_BARE}' + r'(\$\{[^"]*\})"', lambda found: found[1], text)


def _marked(value: Json, path: tuple[Step, ...], bare: set[tuple[Step, ...]]) -> Json:
    if path in bare:
        return f"{_BARE}{value}"
    if isinstance(value, dict):
        return {name: _marked(part, (*path, name), bare) for name, part in value.items()}
    if isinstance(value, list):
        return [_marked(part, (*path, index), bare) for index, part in enumerate(value)]
    return value
