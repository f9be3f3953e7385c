"""The blocks of every page for users: where they are, and of which kind they are.

A block is fenced, or indented by four spaces after an empty line. Its kind follows from what it says, so that a new
block needs no registration:

    commands   a line of `$ ` and a command, with what it prints below: run by a shell
    python     run as a test if it has one, else as a script
    data       JSON, YAML or TOML: read by the reader of what it is
    synopsis   lines that begin with `statewright`: each command and option must exist
    other      everything else: `not_run.py` says why it cannot be run
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).resolve().parents[2]
Kind = Literal["commands", "python", "data", "synopsis", "other"]
DATA: Final = frozenset({"json", "yaml", "toml"})
_FENCE: Final = re.compile(r"^( *)(```+)\s*([\w-]*)\s*$")
_INDENT: Final = "    "
_SYNOPSIS: Final = re.compile(r"statewright |  +\S|\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page; `line` is that of its first line of text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def kind(self) -> Kind:
        """See the module."""
        if self.text.startswith("$ "):
            return "commands"
        if self.language == "python":
            return "python"
        if self.language in DATA:
            return "data"
        lines = self.text.splitlines()
        if self.text.startswith("statewright ") and all(_SYNOPSIS.match(line) for line in lines):
            return "synopsis"
        return "other"

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"

    def __str__(self) -> str:
        return self.place


def pages() -> list[str]:
    """Every page for users, by its path in the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    found += sorted((ROOT / "examples").rglob("README*"))
    return [str(path.relative_to(ROOT)) for path in found if "node_modules" not in path.parts]


@cache
def blocks_of(page: str) -> tuple[Block, ...]:
    """The blocks of a page, from its beginning to its end."""
    return tuple(read_blocks(page, (ROOT / page).read_text(encoding="utf-8")))


def every_block() -> list[Block]:
    """The blocks of all pages."""
    return [block for page in pages() for block in blocks_of(page)]


def read_blocks(page: str, text: str) -> list[Block]:
    """The blocks of a text in Markdown."""
    lines = text.splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is not None:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence[2]), len(lines))
            inner = [line.removeprefix(fence[1]) for line in lines[at + 1 : end]]
            found.append(Block(page, at + 2, fence[3], "\n".join(inner) + "\n"))
            at = end + 1
        elif lines[at].startswith(_INDENT) and (at == 0 or not lines[at - 1].strip()):
            end = _end_of_indented(lines, at)
            inner = [line.removeprefix(_INDENT) for line in lines[at:end]]
            found.append(Block(page, at + 1, "", "\n".join(inner) + "\n"))
            at = end
        else:
            at += 1
    return found


def _end_of_indented(lines: list[str], at: int) -> int:
    end = at
    while at < len(lines) and (lines[at].startswith(_INDENT) or not lines[at].strip()):
        at += 1
        if lines[at - 1].strip():
            end = at
    return end


def block_of(page: str, beginning: str) -> Block:
    """The block of a page that begins so. Raises: LookupError."""
    for block in blocks_of(page):
        if block.text.lstrip().startswith(beginning):
            return block
    raise LookupError(f"{page} has no block that begins with {beginning!r}")
