"""Output of `deploy` and `dev` about resources, in lines and in JSON.

Owns the words for what becomes of a resource, and that files are named as seen from the project's folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from statewright.cli.output import Printer, Tone, count_words, finding_json, print_findings

if TYPE_CHECKING:
    from statewright.projects.deploy.deployment import Result
    from statewright.projects.resources import Finding, Place

MACHINE: Final = "AWS::StepFunctions::StateMachine"
FUNCTION: Final = "AWS::Lambda::Function"
_SIGNS: Final[dict[str, tuple[str, Tone]]] = {
    "created": ("✓ ", "ok"), "updated": ("✓ ", "ok"), "replaced": ("✓ ", "ok"), "unchanged": ("✓ ", "ok"),
    "removed": ("✓ ", "ok"), "noted": ("○ ", "idle"), "gone": ("○ ", "idle"), "failed": ("✗ ", "fail"),
    "skipped": ("✗ ", "fail"),
}  # fmt: skip
_STAYS: Final = {MACHINE: "the last good revision stays in use", FUNCTION: "the last good code stays in use"}
_TONES: Final[dict[str, Tone]] = {"ERROR": "fail", "WARNING": "wait", "INFO": "idle"}


class ProjectLines:
    """Reports the outcome of a deployment; with `would`, of a dry run."""

    def __init__(self, root: Path, printer: Callable[[], Printer], *, would: bool = False) -> None:
        self._root = root
        self._printer = printer
        self._would = would

    def result(self, result: Result) -> None:
        """One resource."""
        printer = self._printer()
        sign, name = _SIGNS[result.outcome], (result.name, "strong")
        noun = "" if result.type == MACHINE else f"{result.noun} "
        place = result.at or result.place
        where = self.where(place) if place is not None else ""
        if result.outcome in ("failed", "skipped"):
            stays = f"; {_STAYS.get(result.type, 'what was there stays')}" if result.stays else ""
            what = "" if result.type in (MACHINE, FUNCTION) else f"{noun}"
            lead = f"{what}skipped: " if result.outcome == "skipped" else what
            printer.line(sign, (name[0], "strong"), f"  {lead}{where + ': ' if where else ''}{result.message}{stays}")
            if result.diagnostics and result.place is not None:
                print_findings(printer, str(self.source(result)), result.diagnostics)
            return
        if result.outcome == "noted":
            printer.line(sign, (name[0], "strong"), f"  {noun}left out: {result.message}", (f" ({where})", "idle"))
            return
        if result.outcome == "gone":
            why = result.message or "it is no longer in the project; --prune removes it"
            printer.line(sign, (name[0], "strong"), f"  {noun}stays: {why}")
            return
        done = f"would be {result.outcome}" if self._would and result.outcome != "unchanged" else result.outcome
        warned = f", {count_words(len(result.diagnostics), 'warning')}" if result.diagnostics else ""
        printer.line(sign, (name[0], "strong"), f"  {noun}{done}", (f" from {where}{warned}" if where else "", "idle"))
        for note in result.notes:
            printer.wrapped(note, "    ", "idle", first="  · ")

    def finding(self, finding: Finding) -> None:
        """One finding of the project's reader."""
        from statewright.projects.plain import SAME_NAME

        where = self.where(finding.place)
        printer = self._printer()
        if finding.message.startswith(SAME_NAME.partition("{}")[0]):
            printer.line(("✗ ", "fail"), f"{where} {finding.message}")
            return
        printer.folded(
            [(where, "strong"), " ", (finding.severity, _TONES[finding.severity]), " ", finding.message], " " * 4
        )

    def source(self, result: Result) -> Path:
        """The file that diagnostics are about."""
        return result.at.path if result.at is not None else (result.place.path if result.place else self._root)

    def where(self, place: Place) -> str:
        """A place as seen from the project's folder: `template.yaml:12`."""
        return f"{self.shown(place.path)}:{place.line}" if place.line else self.shown(place.path)

    def shown(self, path: Path) -> str:
        """A file as seen from the project's folder."""
        # Readers of templates resolve paths, and the folder may have been named relative to another.
        for place, root in ((path, self._root), (path.resolve(), self._root.resolve())):
            if place.is_relative_to(root):
                return str(place.relative_to(root))
        return str(path)

    def as_json(self, result: Result) -> dict[str, Any]:
        """A resource and its outcome, as JSON."""
        shown: dict[str, Any] = {
            "id": result.id, "type": result.type, "name": result.name, "outcome": result.outcome,
        }  # fmt: skip
        if result.place is not None:
            shown["file"] = self.shown(result.place.path)
            shown["line"] = result.place.line or None
        if result.known is not None:
            shown["ref"] = result.known.ref
            shown["arn"] = result.known.attributes.get("Arn")
        if result.message:
            shown["message"] = result.message
        if result.notes:
            shown["notes"] = list(result.notes)
        if result.diagnostics:
            shown["findings"] = [finding_json(str(self.source(result)), one) for one in result.diagnostics]
        return {key: value for key, value in shown.items() if value is not None}

    def finding_json(self, finding: Finding) -> dict[str, Any]:
        """A finding of the project's reader."""
        return {
            "severity": finding.severity, "message": finding.message, "file": self.shown(finding.place.path),
            "line": finding.place.line or None,
        }  # fmt: skip
