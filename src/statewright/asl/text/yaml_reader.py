"""Reads YAML text into a JSON value with the offset of every part, without recursion.

Reads the events of PyYAML and builds the value itself, because its loaders recurse, follow YAML 1.1 and drop repeated
names. The messages for errors of the parser itself are in `yaml_faults.py`.

Plain scalars follow the core schema of YAML 1.2: `yes`, `no`, `on`, `off` and dates are text. One rule is ours: digits
with a leading zero are text, because `012` is 10 to one parser and 12 to another, and an account number must keep its
zeros.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isinf
from typing import Any, Final

import yaml

from statewright.asl.text import yaml_faults
from statewright.asl.text.document import (
    MAX_DIGITS,
    MAX_FINDINGS,
    Document,
    Finding,
    Marks,
    Offsets,
    Path,
    SourceText,
    empty,
    repeated_name,
    shown,
    too_deep,
)
from statewright.payload import Json

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The event source: libyaml where PyYAML was built with it, which is 10 to 20 times as fast."""

_PREFIX: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*+)")
_RADIX: Final = re.compile(r"0(?:x[0-9a-fA-F]++|o[0-7]++)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]++|(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_PLACEHOLDER: Final = re.compile(r"\$\{(?:[^{}]|\{[^{}]*+\})++\}")
_UNREADABLE: Final = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_WORDS: Final[dict[str, bool | None]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_OLD_WORDS: Final[dict[str, bool | None]] = {
    form: value
    for word, value in (("yes", True), ("on", True), ("no", False), ("off", False))
    for form in (word, word.capitalize(), word.upper())
}
_MERGE: Final = "<<"


def read_yaml(
    source: SourceText,
    *,
    max_depth: int,
    max_characters: int,
    placeholders: bool,
    template: bool = False,
    old_words: bool = False,
) -> Document:
    """Read one YAML document as a JSON value; `placeholders` says whether to note plain `${...}` scalars.

    In a `template` the short tags of CloudFormation become their long form: `!Ref Queue` is `{"Ref": "Queue"}`,
    `!GetAtt Queue.Arn` is `{"Fn::GetAtt": ["Queue", "Arn"]}`; names are texts however they are written, numbers with a
    leading zero are texts, and of a repeated name the last value counts. With `old_words` plain `yes`,
    `no`, `on` and `off` are truth values, as they are in YAML 1.1. Aliases share the value of their anchor; together
    they may repeat at most `max_characters` characters.

    Raises:
        ReadError: the text is not YAML, has no JSON value, or nests deeper than `max_depth`. It lists every repeated or
            unusable name and every unusable value, and the first break of the grammar.
    """
    building = _Building(source, max_depth, max_characters, template)
    building.words = {**_WORDS, **_OLD_WORDS} if old_words else _WORDS
    return building.document(placeholders)


@dataclass(slots=True)
class _Node:
    """A value with its offset, its approximate length as JSON in characters, and its depth."""

    value: Json
    start: int
    size: int
    height: int = 0


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is being filled. `name` is the member whose value comes next."""

    node: _Node
    offsets: Any
    anchor: str | None
    name: str | None = None
    name_start: int = 0
    merging: bool = False
    function: str | None = None
    merged: list[dict[str, Json]] = field(default_factory=list)


class _Refused(Exception):
    """Raised with a finding that ends the reading."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Building:
    """One pass over the events of a text."""

    def __init__(self, source: SourceText, max_depth: int, max_characters: int, template: bool) -> None:
        self.source = source
        self.words = _WORDS
        self.is_template = template
        self.functions = yaml_faults.CLOUDFORMATION if template else frozenset[str]()
        self.skipped = 1 if source.text.startswith("\ufeff") else 0
        self.max_depth = max_depth
        self.max_characters = max_characters
        self.repeats = 0
        self.stack: list[_Open] = []
        self.root: _Node | None = None
        self.containers: dict[int, Offsets] = {}
        self.anchors: dict[str, _Node | None] = {}
        self.placeholders: dict[int, str] = {}
        self.findings: list[Finding] = []
        self.repeated: list[Finding] = []
        self.handlers: dict[type, Callable[..., None]] = {
            yaml.ScalarEvent: self.scalar,
            yaml.MappingStartEvent: self.mapping,
            yaml.SequenceStartEvent: self.sequence,
            yaml.MappingEndEvent: self.end,
            yaml.SequenceEndEvent: self.end,
            yaml.AliasEvent: self.alias,
            yaml.DocumentStartEvent: self.start,
        }

    def document(self, placeholders: bool) -> Document:
        try:
            self.read()
        except _Refused as refused:
            raise self.source.error([*self.findings, refused.finding], "yaml") from None
        root = self.root
        if root is None:
            self.findings.append(empty(0))
        if self.findings or root is None:
            raise self.source.error(self.findings, "yaml")
        noted = self.placeholder_paths(root.value) if placeholders and self.placeholders else ()
        marks = Marks(root.start, self.containers)
        return Document(root.value, self.source.name, "yaml", noted, self.source, marks, tuple(self.repeated))

    def read(self) -> None:
        text = self.source.text[self.skipped :]
        unreadable = _UNREADABLE.search(text)
        if unreadable:
            found = f"found U+{ord(unreadable[0]):04X}, expected readable text"
            hint = 'remove the character, or escape it in double quotes: "\\x07"'
            raise _Refused(Finding(unreadable.start() + self.skipped, found, hint))
        try:
            events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
            for event in events:
                handler = self.handlers.get(type(event))
                if handler:
                    handler(event, event.start_mark.index + self.skipped)
        except yaml.YAMLError as error:
            raise _Refused(yaml_faults.explain(self.source, error, self.skipped, self.here())) from None

    def start(self, _event: yaml.Event, start: int) -> None:
        if self.root:
            found = "found the start of a second document, expected one"
            raise _Refused(Finding(start, found, "write one document per file: remove everything from the --- on"))

    def scalar(self, event: yaml.ScalarEvent, start: int) -> None:
        text: str = event.value
        is_name = self.wants_name()
        if event.implicit[0] and event.tag is None:
            if is_name and text == _MERGE:
                self.stack[-1].name, self.stack[-1].merging = _MERGE, True
                return
            value = text if is_name and self.is_template else self.plain(text, start)
            if value is text and text.startswith("${") and not is_name and _PLACEHOLDER.fullmatch(text):
                self.placeholders[id(text)] = text
        else:
            value = self.tagged(event, text, start)
        self.add(_Node(value, start, len(text) + 3), event.anchor)

    def plain(self, text: str, start: int) -> Json:
        """Resolve a plain scalar; `+12` and `.5` are numbers, `0o17` and `0x1f` too."""
        first = text[:1]
        if first.isalpha() or not text or first == "~":
            return text if self.wants_name() and text in _OLD_WORDS else self.words.get(text, text)
        if not (first.isdigit() or first in "+-."):
            return text
        if self.is_template and first == "0" and text.isdigit() and text != "0":
            return text
        if len(text) <= MAX_DIGITS:
            if _INTEGER.fullmatch(text):
                return int(text)
            if _RADIX.fullmatch(text):
                return int(text, 0)
        if _FLOAT.fullmatch(text):
            if len(text) > MAX_DIGITS:
                found = f"found a number of {len(text):,} characters, expected at most {MAX_DIGITS:,}"
                self.note(start, found, "put it in quotes")
                return text
            number = float(text)
            if isinf(number):
                self.note(start, f"found {shown(text)}, expected a number below 1.8e308", "put it in quotes")
            return number
        if _NO_NUMBER.fullmatch(text):
            self.note(start, f"found {text}, expected a JSON value", "JSON has no such number: write null or a text")
        return text

    def tagged(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, text: str, start: int) -> Json:
        """Resolve a scalar that is quoted, a block, or has a tag."""
        tag = event.tag
        if tag is None or tag in ("!", _PREFIX + "str"):
            return text
        if tag[1:] in self.functions:
            return self.called(tag[1:], text, start)
        value = self.plain(text, start)
        kind = tag.removeprefix(_PREFIX)
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(kind)
        if wanted is None:
            self.refuse_tag(tag, start)
            return text
        if type(value) is wanted:
            return value
        if kind == "float" and type(value) is int:
            return float(value)
        self.note(start, f"found {shown(text)} with the tag !!{kind}, expected a value of that type", "remove the tag")
        return text

    def called(self, name: str, argument: Json, start: int) -> Json:
        """The long form of a short tag."""
        if name == "GetAtt" and isinstance(argument, str) and "." in argument:
            argument = list(argument.split(".", 1))
            self.containers[id(argument)] = [start, start]
        value = {name if name in ("Ref", "Condition") else f"Fn::{name}": argument}
        self.containers[id(value)] = dict.fromkeys(value, (start, start))
        return value

    def mapping(self, event: yaml.MappingStartEvent, start: int) -> None:
        self.open(event, {}, start, "map")

    def sequence(self, event: yaml.SequenceStartEvent, start: int) -> None:
        self.open(event, [], start, "seq")

    def open(self, event: yaml.CollectionStartEvent, value: Json, start: int, kind: str) -> None:
        if self.wants_name():
            found = f"found {'a mapping' if kind == 'map' else 'a list'} as a name, expected a string"
            raise _Refused(Finding(start, found, yaml_faults.name_hint(self.source, start), self.here()))
        function = event.tag[1:] if event.tag and event.tag[1:] in self.functions else None
        if function is None and event.tag not in (None, "!", _PREFIX + kind):
            self.refuse_tag(event.tag, start)
        if len(self.stack) >= self.max_depth:
            raise _Refused(too_deep(start, self.max_depth))
        offsets: Offsets = {} if kind == "map" else []
        self.containers[id(value)] = offsets
        self.stack.append(_Open(_Node(value, start, 2, 1), offsets, event.anchor, function=function))
        if event.anchor:
            self.anchors[event.anchor] = None

    def end(self, _event: yaml.Event, _start: int) -> None:
        done = self.stack.pop()
        container = done.node.value
        # A mapping's own members win over merged ones, and earlier merges over later ones.
        for merged in done.merged:
            offsets: Any = self.containers[id(merged)]
            for name, value in merged.items():
                if name not in container:
                    container[name] = value
                    done.offsets[name] = offsets[name]
        if done.function:
            done.node.value = self.called(done.function, container, done.node.start)
            done.node.height += 1
        self.add(done.node, done.anchor)

    def alias(self, event: yaml.AliasEvent, start: int) -> None:
        if event.anchor not in self.anchors:
            hint = f"put &{event.anchor} before the value to repeat, above this line; quote the text if * belongs to it"
            self.note(start, f"found the alias *{event.anchor}, expected one whose anchor came before", hint)
            self.add(_Node("", start, 0), None)
            return
        node = self.anchors[event.anchor]
        if node is None:
            hint = "JSON values cannot contain themselves: write the value out"
            raise _Refused(Finding(start, f"found *{event.anchor} inside its own anchor", hint, self.here()))
        self.repeats += node.size
        if self.repeats > self.max_characters:
            found = f"found aliases that repeat more than {self.max_characters:,} characters"
            raise _Refused(Finding(start, f"{found}, expected fewer", "use fewer aliases", self.here()))
        if len(self.stack) + node.height > self.max_depth:
            raise _Refused(too_deep(start, self.max_depth))
        name_start = start if self.wants_name() else node.start
        self.add(_Node(node.value, name_start, node.size, node.height), None)

    def add(self, node: _Node, anchor: str | None) -> None:
        """Add a finished value to its container."""
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.node.size += node.size
        parent.node.height = max(parent.node.height, node.height + 1)
        container, name = parent.node.value, parent.name
        if isinstance(container, list):
            container.append(node.value)
            parent.offsets.append(node.start)
        elif name is None:
            parent.name, parent.name_start = self.name_of(node, parent), node.start
        elif parent.merging:
            self.merge(node, parent)
            parent.name, parent.merging = None, False
        else:
            container[name] = node.value
            parent.offsets[name] = (parent.name_start, node.start)
            parent.name = None

    def name_of(self, node: _Node, parent: _Open) -> str:
        name = node.value
        if not isinstance(name, str):
            written = self.source.text[node.start : node.start + 80].split("\n", 1)[0].split(":", 1)[0].strip()
            kind = {bool: "a boolean", int: "a number", float: "a number", type(None): "null"}.get(type(name), "")
            self.note(
                node.start,
                f"found the name {shown(written)}, which is {kind or 'not a string'} in YAML, expected a string",
                yaml_faults.name_hint(self.source, node.start),
            )
            return written
        noted = self.repeated if self.is_template else self.findings
        if name in parent.offsets and len(noted) < MAX_FINDINGS:
            first = parent.offsets[name][0]
            path = (*self.here()[: len(self.stack) - 1], name)
            noted.append(repeated_name(self.source, name, node.start, first, path))
        return name

    def merge(self, node: _Node, parent: _Open) -> None:
        parts = node.value if isinstance(node.value, list) else [node.value]
        if all(isinstance(part, dict) for part in parts):
            parent.merged.extend(parts)
        else:
            hint = 'write <<: *anchor, or quote the name: "<<"'
            self.note(
                node.start, "found << with a value that is not a mapping, expected a mapping or a list of them", hint
            )

    def wants_name(self) -> bool:
        return bool(self.stack) and self.stack[-1].name is None and isinstance(self.stack[-1].node.value, dict)

    def refuse_tag(self, tag: str, start: int) -> None:
        self.note(start, *yaml_faults.about_tag(tag.replace(_PREFIX, "!!")))

    def note(self, start: int, message: str, hint: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(start, message, hint, self.here()))

    def here(self) -> Path:
        """The path of the value that comes next; in front of a name, that of its mapping."""
        steps = (open_.name if isinstance(open_.offsets, dict) else len(open_.offsets) for open_ in self.stack)
        return tuple(step for step in steps if step is not None)

    def placeholder_paths(self, root: Json) -> tuple[Path, ...]:
        """The paths of the plain placeholders in document order, those that an alias repeats included."""
        found: list[Path] = []
        pending: list[tuple[Path, Json]] = [((), root)]
        while pending:
            path, value = pending.pop()
            if isinstance(value, dict):
                pending.extend(((*path, name), part) for name, part in reversed(value.items()))
            elif isinstance(value, list):
                pending.extend(((*path, index), value[index]) for index in reversed(range(len(value))))
            elif id(value) in self.placeholders:
                found.append(path)
        return tuple(found)
