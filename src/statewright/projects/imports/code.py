"""The code of a function as its handler sees it: files by their names in the package, and the layers below it.

Owns where things are. Which imports there are, and where each is looked for, is up to `python.py` and `node.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

LONGEST_BYTES: Final = 1024 * 1024
"""Longer files are bundles of tools, which have what they import."""
MOST_FILES: Final = 300
"""Files that are read for one function."""


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one function.

    `root` is the folder of the package; `files` are those of a package that is made of single files, by their names
    in it. `text` is code that a template holds. `layers` are the local folders of its layers.
    """

    root: Path
    runtime: str
    entry: str
    """The handler's module by its name in the package, without an ending."""
    files: Mapping[str, Path] | None = None
    text: str | None = None
    layers: tuple[Path, ...] = ()

    @property
    def shown(self) -> str:
        """The folder of the package, as one types it here."""
        return os.path.relpath(self.root)

    def file(self, name: str) -> Path | None:
        """A file of the package."""
        if self.files is not None:
            return self.files.get(name)
        path = self.root / name
        return path if self.text is None and path.is_file() else None

    def has(self, name: str) -> bool:
        """True if the package has this file or folder."""
        if self.files is not None:
            return name in self.files or any(one.startswith(f"{name}/") for one in self.files)
        return self.text is None and (self.root / name).exists()

    def names(self) -> list[str]:
        """The names at the top of the package."""
        if self.files is not None:
            return sorted({name.partition("/")[0] for name in self.files})
        return sorted(path.name for path in self.root.iterdir()) if self.text is None and self.root.is_dir() else []


@dataclass(frozen=True, slots=True)
class Missing:
    """Packages that one file imports and that cannot be found. `advice` says what to do about them."""

    file: Path | None
    line: int
    names: tuple[str, ...]
    why: str
    advice: str


@dataclass(slots=True)
class Gathering:
    """Missing packages so far: one entry for each file and reason."""

    found: dict[tuple[Path | None, str], tuple[int, list[str], str]] = field(default_factory=dict)

    def add(self, file: Path | None, line: int, name: str, why: str, advice: str) -> None:
        """Add a package, which is named once for a file."""
        _, names, _ = self.found.setdefault((file, why), (line, [], advice))
        if name not in names:
            names.append(name)

    def missing(self) -> list[Missing]:
        """Everything, in the order in which it was found."""
        return [
            Missing(file, line, tuple(names), why, advice) for (file, why), (line, names, advice) in self.found.items()
        ]


def read_text(path: Path) -> str | None:
    """The text of a source file; None for one that cannot be read, or that is too long to be anyone's own."""
    try:
        return path.read_text("utf-8") if path.stat().st_size <= LONGEST_BYTES else None
    except (OSError, ValueError):
        return None
