"""The present problems of the project that `dev` serves, for the console's banner.

Owns which findings and failures are still true: a failure until its resource is applied or gone, a finding until the
project is read without it. The words are those of the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from statewright.console.project import Problem, ProjectBoard

if TYPE_CHECKING:
    from statewright.cli.serving.project_lines import ProjectLines
    from statewright.projects.deploy.deployment import Result
    from statewright.projects.resources import Project


class ProjectProblems:
    """Collects problems while the project is read and deployed; `publish` shows them all at once."""

    def __init__(self, lines: ProjectLines) -> None:
        self.board = ProjectBoard()
        self._lines = lines
        self._failed: dict[str, list[Problem]] = {}
        self._unreadable: Problem | None = None

    def note(self, result: Result) -> None:
        """Take in what became of one resource."""
        if result.outcome in ("failed", "skipped"):
            self._failed[result.id] = self._of(result)
        else:
            self._failed.pop(result.id, None)

    def forget(self, key: str) -> None:
        """A resource is no longer in the project."""
        self._failed.pop(key, None)

    def unreadable(self, reason: str, *, stays: bool) -> None:
        """The project's files cannot be read at all; until the next `publish` of a project."""
        self._unreadable = Problem("the project", reason, stays=stays)

    def publish(self, project: Project | None = None, *, stays: bool = False) -> None:
        """Show the problems of now: those of a project that was read, or, without one, also that it cannot be read."""
        if project is None:
            self.board.set([*([self._unreadable] if self._unreadable is not None else []), *self._known()])
            return
        self._unreadable = None
        errors = (one for one in project.findings if one.severity == "ERROR")
        found = [Problem(self._lines.shown(one.place.path), one.message, one.place.line, stays=stays) for one in errors]
        self.board.set([*found, *self._known()])

    def _known(self) -> list[Problem]:
        return [problem for problems in self._failed.values() for problem in problems]

    def _of(self, result: Result) -> list[Problem]:
        """Each mistake in its own place; a failure without one is that of the resource."""
        errors = [one for one in result.diagnostics if one.severity == "ERROR"]
        if errors:
            file = self._lines.shown(self._lines.source(result))
            return [Problem(file, f"{result.name}: {one.message}", one.line or 0, stays=result.stays) for one in errors]
        place = result.at or result.place
        file = self._lines.shown(place.path) if place is not None else result.name
        return [Problem(file, f"{result.name}: {result.message}", place.line if place else 0, stays=result.stays)]
