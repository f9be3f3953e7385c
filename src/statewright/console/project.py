"""The problems of the project that `statewright dev` deploys, for the banner of the console's pages.

`dev` reads the project's files in a thread of its own and sets them here; the server, in the same process, shows them.
No page and no other program can set them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from statewright.payload import JsonObject


@dataclass(frozen=True, slots=True)
class Problem:
    """A file of the project that could not be used. `line` is 0 for the file as a whole; `stays` says that what was
    deployed from it before stays in use.
    """

    file: str
    message: str
    line: int = 0
    stays: bool = False

    def document(self) -> JsonObject:
        """`{file, line, message, stays}`; line is null for the file as a whole."""
        return {"file": self.file, "line": self.line or None, "message": self.message, "stays": self.stays}


class ProjectBoard:
    """The problems of the present. May be set from any thread, because one tuple replaces another."""

    def __init__(self) -> None:
        self._now: tuple[int, tuple[Problem, ...]] = (0, ())

    @property
    def version(self) -> int:
        """Counts the changes."""
        return self._now[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Each problem once, in the order in which they were found."""
        return self._now[1]

    def set(self, problems: Iterable[Problem]) -> None:
        """Replace what was found before; nothing, if everything is good."""
        version, before = self._now
        found = tuple(dict.fromkeys(problems))
        if found != before:
            self._now = (version + 1, found)
