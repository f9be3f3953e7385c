"""Variables of `serverless.yml`: `${self:...}`, `${opt:stage}`, `${file(...)}` and their kin, with their defaults.

Owns the syntax and the sources. `${AWS::Region}` and other variables without a source stay for CloudFormation.

Source: Serverless Framework guide, "Variables".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from statewright.payload import Json
from statewright.projects.evaluation import Unresolved, text_of
from statewright.projects.sources import Sources, Steps, Template, meant

_SOURCE: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.-]*)\s*(?:\(([^()]*)\))?(?::(?!:)(.*))?", re.DOTALL)
_STARTS: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9_.-]*\s*(?:\(|:(?!:))")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
MAX_STEPS: Final = 50_000
"""How many variables are resolved for one file. Our own limit: references may double each other."""
MAX_TEXT: Final = 1_000_000
MAX_NESTING: Final = 100
_MISSING: Final[Any] = object()


class _Unknown(Exception):
    """A variable without a value. The text says why."""


class Variables:
    """The variables of one service."""

    def __init__(
        self,
        template: Template,
        sources: Sources,
        *,
        stage: str | None,
        account: str,
        region: str,
        given: Mapping[str, str],
    ) -> None:
        self._template = template
        self._sources = sources
        self._root = template.path.parent
        self._given = given
        self._wanted_stage = stage
        self._count = 0
        self._depth = 0
        self._known: dict[str, Json] = {}
        self._open: list[str] = []
        self._environment: dict[str, str] = {}
        self._aws = {"accountId": account, "region": region, "partition": "aws"}
        self._sources_by_name: dict[str, Callable[[str, str], Json]] = {
            "self": self._self,
            "opt": self._option,
            "env": self._env,
            "file": self._file,
            "param": self._parameter,
            "sls": self._framework,
            "aws": self._cloud,
            "ssm": self._stored,
            "strToBool": self._truth,
        }
        self.stage = stage or "dev"
        self.stage = str(self._stage())
        if self._value_of("useDotenv") is True:
            self._read_environment()

    def resolve(self, value: Json, steps: Steps = ()) -> Json:
        """Resolve the variables of a value; those without a value are reported and left as they are."""
        if isinstance(value, str):
            return self._text(value, steps) if "${" in value else value
        if not isinstance(value, (dict, list)):
            return value
        self._depth += 1
        try:
            if self._depth > MAX_NESTING:
                raise _Unknown("values are nested too deeply here")
            if isinstance(value, dict):
                return {name: self.resolve(part, (*steps, name)) for name, part in value.items()}
            return [self.resolve(part, (*steps, index)) for index, part in enumerate(value)]
        except _Unknown as problem:
            self._sources.error(self._template.place(steps), str(problem))
            return None
        finally:
            self._depth -= 1

    def _stage(self) -> Json:
        if self._wanted_stage:
            return self._wanted_stage
        found = self._value_of("provider.stage")
        return found if isinstance(found, str) and found else "dev"

    def _value_of(self, path: str) -> Json:
        try:
            return self._self("", path)
        except _Unknown:
            return None

    def _text(self, text: str, steps: Steps) -> Json:
        parts: list[Json] = []
        for is_variable, part in _split(text):
            if not is_variable:
                parts.append(part)
                continue
            try:
                parts.append(self._variable(part))
            except _Unknown as problem:
                self._sources.error(self._template.place(steps), f"${{{part}}}: {problem}")
                parts.append("${" + part + "}")
        if len(parts) == 1:
            return parts[0]
        try:
            made = "".join(text_of(part) for part in parts)
        except Unresolved:
            self._sources.error(
                self._template.place(steps), f"{text[:60]!r} puts an object, a list or null into a string"
            )
            return text
        if len(made) > MAX_TEXT:
            self._sources.error(self._template.place(steps), "this text becomes too long")
            return text
        return made

    def _variable(self, expression: str) -> Json:
        self._count += 1
        if self._count > MAX_STEPS:
            raise _Unknown(f"the file has more than {MAX_STEPS:,} variables to resolve")
        why = ""
        for candidate in _candidates(expression):
            try:
                return self._candidate(candidate.strip())
            except _Unknown as problem:
                why = why or str(problem)
        raise _Unknown(why or "it names nothing")

    def _candidate(self, text: str) -> Json:
        if "${" in text:
            inner = list(_split(text))
            if len(inner) == 1 and inner[0][0]:
                return self._variable(inner[0][1])
            parts = [self._variable(part) if is_variable else part for is_variable, part in inner]
            try:
                text = "".join(text_of(part) for part in parts)
            except Unresolved:
                raise _Unknown("a variable inside it is not a string") from None
        if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
            return text[1:-1]
        if text in _WORDS:
            return _WORDS[text]
        if _NUMBER.fullmatch(text):
            return float(text) if "." in text else int(text)
        found = _SOURCE.fullmatch(text)
        if found is None or (found[2] is None and found[3] is None):
            raise _Unknown("it names no source")
        source = self._sources_by_name.get(found[1])
        if source is None:
            known = self._sources_by_name
            raise _Unknown(f"the source {found[1]} is not read here{meant(found[1], known)}: give it a default")
        return source((found[2] or "").strip(), (found[3] or "").strip())

    def _self(self, _argument: str, path: str) -> Json:
        if path in self._known:
            return self._known[path]
        if path in self._open:
            raise _Unknown(f"it refers to itself: {' -> '.join([*self._open[self._open.index(path) :], path])}")
        self._open.append(path)
        self._depth += 1
        try:
            if self._depth > MAX_NESTING:
                raise _Unknown("variables refer to each other too deeply")
            found = self._walk(self._template.value, path)
            if found is _MISSING:
                raise _Unknown(f"the file has no {path}{self._near(path)}")
            self._known[path] = self.resolve(found, tuple(path.split(".")) if path else ())
            return self._known[path]
        finally:
            self._open.pop()
            self._depth -= 1

    def _walk(self, value: Json, path: str) -> Json:
        for step in path.split(".") if path else ():
            while isinstance(value, str) and "${" in value:
                # What is on the way may itself stand for an object.
                before, value = value, self._text(value, ())
                if value == before:
                    break
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _MISSING
        return _MISSING if value is None else value

    def _near(self, path: str) -> str:
        parent, _, last = path.rpartition(".")
        found = self._walk(self._template.value, parent) if parent else self._template.value
        return meant(last, found) if isinstance(found, dict) else ""

    def _option(self, _argument: str, name: str) -> Json:
        if name == "stage" and self._wanted_stage:
            return self._wanted_stage
        if name in self._given:
            return self._given[name]
        raise _Unknown(f"there is no option {name}: give a default, or --parameter {name}=VALUE")

    def _env(self, _argument: str, name: str) -> Json:
        found = os.environ.get(name, self._environment.get(name))
        if found is None:
            raise _Unknown(f"the environment has no {name}: set it, or give a default")
        return found

    def _file(self, argument: str, address: str) -> Json:
        path = (self._root / argument.removeprefix("~/")).resolve()
        key = f"file({path}):{address}"
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise _Unknown(f"{argument} refers to itself")
        self._open.append(key)
        try:
            self._known[key] = self._contents(path, argument, address)
            return self._known[key]
        finally:
            self._open.pop()

    def _contents(self, path: Path, argument: str, address: str) -> Json:
        self._sources.watch(path)
        if not path.is_file():
            raise _Unknown(f"there is no file {argument}")
        if path.suffix in (".js", ".cjs", ".mjs", ".ts"):
            raise _Unknown(f"{argument} is a program, which is not executed here: give a default")
        if path.suffix not in (".yml", ".yaml", ".json"):
            text = self._sources.text(path, self._template.place())
            return text.strip() if text is not None else None
        template = self._sources.template(path)
        if template is None:
            raise _Unknown(f"{argument} cannot be read")
        found = self._walk(template.value, address)
        if found is _MISSING:
            raise _Unknown(f"{argument} has no {address}" if address else f"{argument} is empty")
        return self.resolve(found)

    def _parameter(self, _argument: str, name: str) -> Json:
        if name in self._given:
            return self._given[name]
        for path in (f"stages.{self.stage}.params", f"params.{self.stage}", "stages.default.params", "params.default"):
            found = self._walk(self._template.value, path)
            if isinstance(found, dict) and name in found:
                return self.resolve(found[name])
        raise _Unknown(f"there is no parameter {name} for the stage {self.stage}: --parameter {name}=VALUE")

    def _framework(self, _argument: str, name: str) -> Json:
        if name == "stage":
            return self.stage
        if name == "instanceId":
            return "statewright"
        raise _Unknown(f"there is no sls:{name}")

    def _cloud(self, _argument: str, name: str) -> Json:
        if name in self._aws:
            return self._aws[name]
        raise _Unknown(f"there is no aws:{name}{meant(name, self._aws)}")

    def _stored(self, _argument: str, name: str) -> Json:
        """Parameters of the store are asked at deployment, by the dynamic reference of CloudFormation."""
        name = re.sub(r"~(true|false|split|raw)$", "", name)
        if not name or any(char in name for char in "{}"):
            raise _Unknown("ssm needs the name of a parameter")
        return "{{resolve:ssm:" + name + "}}"

    def _truth(self, argument: str, _address: str) -> Json:
        text = argument.strip("'\" ").lower()
        if text in ("true", "1"):
            return True
        if text in ("false", "0", "null", "undefined", ""):
            return False
        raise _Unknown(f"{argument!r} is neither true nor false")

    def _read_environment(self) -> None:
        for name in (f".env.{self.stage}", ".env"):
            path = self._root / name
            self._sources.watch(path)
            try:
                lines = path.read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            for line in lines:
                key, equals, value = line.removeprefix("export ").partition("=")
                if equals and not key.lstrip().startswith("#"):
                    self._environment.setdefault(key.strip(), value.strip().strip("'\""))
            return


def _split(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a text: variables, without their braces, and what stands between them."""
    start = at = 0
    while True:
        opened = text.find("${", at)
        if opened < 0:
            break
        closed = _end(text, opened + 2)
        if closed < 0:
            break
        if not _STARTS.match(text, opened + 2, closed):
            at = opened + 2
            continue
        if opened > start:
            yield False, text[start:opened]
        yield True, text[opened + 2 : closed]
        start = at = closed + 1
    if start < len(text):
        yield False, text[start:]


def _end(text: str, start: int) -> int:
    """The index of the brace that closes the one before `start`; -1 if there is none."""
    depth = 1
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
    return -1


def _candidates(expression: str) -> list[str]:
    """A variable and its defaults: what commas separate, outside of quotes, parentheses and braces."""
    found = [""]
    quote = ""
    depth = 0
    for char in expression:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "(){}":
            depth += 1 if char in "({" else -1
        elif char == "," and not depth:
            found.append("")
            continue
        found[-1] += char
    return found
