"""`samconfig.toml`: the stack's name and the parameters that `sam deploy` would use.

Owns reading these two; all else in the file is for the SAM CLI.

Source: Serverless Application Model developer guide, "AWS SAM CLI configuration file".
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.evaluation import Unresolved, text_of
from statewright.projects.resources import Place
from statewright.projects.sources import Sources

FILE_NAME: Final = "samconfig.toml"
_LONG: Final = re.compile(r"ParameterKey=([^,]+),ParameterValue=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SamConfig:
    """The settings of one environment of the file."""

    stack_name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_samconfig(folder: Path, environment: str, sources: Sources) -> SamConfig:
    """The settings of an environment in a folder's file; an error in it is a finding."""
    path = folder / FILE_NAME
    if not path.is_file():
        return SamConfig()
    text = sources.text(path, Place(path))
    try:
        document = tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as problem:
        found = re.search(r"at line (\d+)", str(problem))
        sources.error(Place(path, int(found[1]) if found else 0), f"{FILE_NAME} cannot be read: {problem}")
        return SamConfig()
    settings = {**_settings(document, environment, "global"), **_settings(document, environment, "deploy")}
    name = settings.get("stack_name")
    overrides = settings.get("parameter_overrides")
    parameters: dict[str, str] = {}
    for part in overrides if isinstance(overrides, list) else [overrides]:
        parameters.update(_parameters(part))
    return SamConfig(name if isinstance(name, str) else "", parameters)


def _settings(document: JsonMapping, environment: str, command: str) -> JsonMapping:
    found: object = document
    for step in (environment, command, "parameters"):
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _parameters(part: Json) -> dict[str, str]:
    """Overrides in any of their forms: an object, `A=b C="d e"`, `ParameterKey=A,ParameterValue=b`."""
    if isinstance(part, dict):
        found = {}
        for key, value in part.items():
            try:
                found[key] = text_of(value)
            except Unresolved:
                continue
        return found
    if not isinstance(part, str):
        return {}
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    pairs = {}
    for word in words:
        long = _LONG.fullmatch(word)
        key, equals, value = (long[1], "=", long[2]) if long else word.partition("=")
        if equals and key:
            pairs[key] = value
    return pairs
