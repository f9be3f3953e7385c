"""The files that a project is read from, with the places of what they hold, and everything found on the way.

Owns reading files once, remembering which were read, and the list of findings. What is in the files is up to the
readers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from statewright.asl.reader import read_document
from statewright.asl.text.document import Document, ReadError
from statewright.errors import Step
from statewright.payload import Json
from statewright.projects.resources import Finding, FindingSeverity, Place

MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""The longest template that is read. Ours: the service stops at 1 MB; what a build has written may be longer."""
MAX_DEPTH: Final = 120
MAX_FINDINGS: Final = 500

Steps = tuple[Step, ...]


class Template:
    """One file as a value whose parts know their place."""

    def __init__(self, path: Path, document: Document) -> None:
        self.path = path
        self.value: Json = document.value
        self._document = document

    def mentions(self, words: str) -> bool:
        """True if the text contains some words."""
        return words in self._document.source.text

    def place(self, steps: Steps = ()) -> Place:
        """The place of a part, by its name; of a part that does not exist, its nearest ancestor's."""
        return Place(self.path, self._document.key_position(steps)[0])

    def place_of_text(self, words: str) -> Place:
        """The first line that has some words; the file as a whole if none has."""
        source = self._document.source
        at = source.text.find(words)
        return Place(self.path, source.place(at)[0] if at >= 0 else 0)


class Sources:
    """The files that were read, and the findings."""

    def __init__(self, root: Path, *, old_words: bool = True) -> None:
        """`old_words`: plain `yes` and `no` in YAML are truth values, as CloudFormation has them."""
        self.root = root
        self._old_words = old_words
        self._files: dict[Path, None] = {}
        self._templates: dict[Path, Template | None] = {}
        self._findings: dict[Finding, None] = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that was read or looked for, in order."""
        return tuple(self._files)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in order, each once."""
        return tuple(self._findings)

    def error(self, place: Place, message: str) -> None:
        """Say what keeps something from working."""
        self._note("ERROR", message, place)

    def warning(self, place: Place, message: str) -> None:
        """Say what is left out."""
        self._note("WARNING", message, place)

    def info(self, place: Place, message: str) -> None:
        """Say what is good to know."""
        self._note("INFO", message, place)

    def watch(self, path: Path) -> None:
        """Remember a file whose change means reading again."""
        self._files[path] = None

    def template(self, path: Path, at: Place | None = None) -> Template | None:
        """Read a JSON or YAML file; what is wrong with it is a finding at the file, or at `at` where there is none."""
        if path not in self._templates:
            self._templates[path] = None
            self._templates[path] = self._read(path, at)
        return self._templates[path]

    def given(self, path: Path, document: Document) -> Template:
        """A document that was not read from a file; messages name it by a path."""
        template = self._templates[path] = Template(path, document)
        return template

    def text(self, path: Path, at: Place) -> str | None:
        """The text of a file; a finding at `at` where it cannot be read."""
        self.watch(path)
        try:
            return path.read_text("utf-8-sig")
        except FileNotFoundError:
            self.error(at, f"there is no file {self.shown(path)}{_near(path)}")
        except (OSError, ValueError) as problem:
            self.error(at, f"{self.shown(path)} cannot be read: {_reason(problem)}")
        return None

    def shown(self, path: Path) -> str:
        """A path as messages have it: below the project's folder where it lies there."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return str(path)

    def _read(self, path: Path, at: Place | None) -> Template | None:
        text = self.text(path, at or Place(path))
        if text is None:
            return None
        try:
            document = read_document(
                text,
                name=str(path),
                max_characters=MAX_CHARACTERS,
                max_depth=MAX_DEPTH,
                placeholders=False,
                template=True,
                old_words=self._old_words,
            )
        except ReadError as problem:
            for found in problem.diagnostics[:MAX_FINDINGS]:
                where = f"column {found.column}: " if found.column else ""
                hint = f"; {found.hint}" if found.hint else ""
                self.error(Place(path, found.line), f"{where}{found.message}{hint}")
            return None
        for one in document.repeated:
            line, _ = document.source.place(one.offset)
            name = one.path[-1] if one.path else ""
            self.warning(Place(path, line), f"{name} is written twice in the same object: the last one counts")
        return Template(path, document)

    def _note(self, severity: FindingSeverity, message: str, place: Place) -> None:
        if len(self._findings) < MAX_FINDINGS:
            self._findings[Finding(severity, message, place)] = None


def meant(name: str, known: Iterable[str]) -> str:
    """A guess at what was meant, to follow a message: `; did you mean "Orders"?`."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1, 0.6)
    if not close:
        lower = {other.lower(): other for other in names}
        close = [lower[name.lower()]] if name.lower() in lower else []
    return f'; did you mean "{close[0]}"?' if close else ""


def _near(path: Path) -> str:
    try:
        return meant(path.name, (other.name for other in path.parent.iterdir()))
    except OSError:
        return ""


def _reason(problem: Exception) -> str:
    if isinstance(problem, IsADirectoryError):
        return "it is a folder"
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
