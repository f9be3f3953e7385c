"""The modules of the page as one script, for a page that is a single file.

Each module becomes a function that returns what it exports, in the order in which they need each other. Only the forms
of import and export that the page's modules have are known; anything else is refused, so that a test finds it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.console.assets import assets

_IMPORT: Final = re.compile(r"^import (?:\{([^}]*)\} from )?'\./([\w.]+)';$", re.MULTILINE)
_LAZY: Final = re.compile(r"\bimport\('\./([\w.]+)'\)")
_EXPORT: Final = re.compile(r"^export (async function\*?|function\*?|const|let|class) (\w+)", re.MULTILINE)
_LIST: Final = re.compile(r"(?:^|;)export ?\{([^}]*)\};?$", re.MULTILINE)
_LEFT: Final = re.compile(r"^(?:import\b(?!\()|export\b)|\bimport\.meta\b", re.MULTILINE)


class BundleError(Exception):
    """Raised for a module with a form that is not known here, or a circle of modules."""


@dataclass(slots=True)
class _Bundle:
    instead: Mapping[str, str]
    parts: list[str] = field(default_factory=list)
    exported: dict[str, frozenset[str]] = field(default_factory=dict)
    under_way: list[str] = field(default_factory=list)
    lazy: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Add a module after those that it needs."""
        name = self.instead.get(name, name)
        if name in self.exported:
            return
        if name in self.under_way:
            raise BundleError(f"{name} needs itself: {' needs '.join([*self.under_way, name])}")
        found = assets().get(name)
        if found is None:
            raise BundleError(f"there is no module {name}")
        self.under_way.append(name)
        text = _without_comment_lines(found.body.decode())
        for match in _IMPORT.finditer(text):
            self.add(match[2])
        self.lazy += _LAZY.findall(text)
        self.under_way.pop()
        self.parts.append(self._function(name, text))

    def _function(self, name: str, text: str) -> str:
        exports: dict[str, str] = {}

        def imported(match: re.Match[str]) -> str:
            if match[1] is None:
                return ""
            wanted = _names(match[1])
            module = self.instead.get(match[2], match[2])
            missing = set(wanted) - self.exported[module]
            if missing:
                raise BundleError(f"{name} imports {', '.join(sorted(missing))} of {module}, which has no such export")
            members = ", ".join(one if one == own else f"{one}: {own}" for one, own in wanted.items())
            return f"const {{ {members} }} = modules['{module}'];"

        def export(match: re.Match[str]) -> str:
            exports[match[2]] = match[2]
            return f"{match[1]} {match[2]}"

        def listed(match: re.Match[str]) -> str:
            exports.update({own: one for one, own in _names(match[1]).items()})
            return ";"

        def lazy(match: re.Match[str]) -> str:
            return f"Promise.resolve(modules['{self.instead.get(match[1], match[1])}'])"

        text = _LAZY.sub(lazy, _LIST.sub(listed, _EXPORT.sub(export, _IMPORT.sub(imported, text))))
        left = _LEFT.search(text)
        if left is not None:
            raise BundleError(f"{name} has a form that cannot be bundled: {text[left.start() : left.start() + 80]!r}")
        self.exported[name] = frozenset(exports)
        members = ", ".join(own if own == one else f"{own}: {one}" for own, one in exports.items())
        return f"modules['{name}'] = (() => {{\n{text}\nreturn {{ {members} }};\n}})();"


def bundle(entry: str, instead: Mapping[str, str]) -> str:
    """A module and all that it needs as one script; `instead` names modules that stand in for others.

    Raises: BundleError.
    """
    made = _Bundle(instead)
    # What is loaded when it is needed stands first, since the entry runs as soon as it is read.
    made.under_way.append(entry)
    text = _without_comment_lines(assets()[entry].body.decode())
    for match in _IMPORT.finditer(text):
        made.add(match[2])
    made.lazy += _LAZY.findall(text)
    while made.lazy:
        made.add(made.lazy.pop())
    made.under_way.clear()
    made.add(entry)
    script = "'use strict';\nconst modules = {};\n" + "\n".join(made.parts) + "\n"
    for forbidden in ("</script", "<!--", "<script"):
        if forbidden in script.lower():
            raise BundleError(f"a module has {forbidden}, which would end the script that it stands in")
    return script


def _names(listed: str) -> dict[str, str]:
    """The names of `a, b as c`, by the first of each pair."""
    found = {}
    for one in filter(None, (part.strip() for part in listed.split(","))):
        before, _, after = one.partition(" as ")
        found[before] = after or before
    return found


def _without_comment_lines(text: str) -> str:
    """Without lines that are comments alone: they are a third of the files."""
    kept, is_comment = [], False
    for line in text.split("\n"):
        words = line.strip()
        if is_comment or (words.startswith("/*") and (words.endswith("*/") or "*/" not in words)):
            is_comment = "*/" not in words
        elif not words.startswith("//"):
            kept.append(line)
    return "\n".join(kept)
