"""`statewright test`: the scripted cases beside definitions, one line each, and what was not as expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.extensions import extensions_option
from statewright.cli.local.mismatches import failure_words, mismatch_lines
from statewright.cli.output import (
    FAILED,
    NOT_FOUND,
    OK,
    Printer,
    Span,
    Stop,
    Tone,
    count_words,
    duration_words,
    finding_json,
    print_findings,
    reason_of,
    stdout,
)

if TYPE_CHECKING:
    from statewright.errors import Diagnostic
    from statewright.simulator.cases import CaseFile, CaseResult


@click.command(short_help="Run the test cases beside definitions.")
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--case", "pattern", metavar="GLOB", help="Only cases whose name matches, such as 'declined*'.")
@click.option(
    "-o", "--output", "form", type=click.Choice(["table", "json", "junit"]), default="table", help="The report."
)
@click.option("-q", "--quiet", is_flag=True, help="Print only failed cases and the summary.")
@extensions_option
def test(paths: tuple[str, ...], pattern: str | None, form: str, quiet: bool) -> int:
    """Run scripted test cases in virtual time.

    Cases are kept in files such as order.cases.yaml beside order.asl.json; a folder is searched for *.cases.yaml,
    *.cases.yml and *.cases.json. Without a path the current folder is searched.

    \b
    Examples:
      statewright test
      statewright test order.cases.yaml --case 'declined*'
      statewright test -o junit > report.xml

    Exit code: 0 when every case passes, 1 when one fails, 3 when there are no cases.
    """
    from statewright.clock import RealClock
    from statewright.engine.heavy.forked_trial import fence_expressions

    fence_expressions()
    clock = RealClock()
    began_ms = clock.now_ms()
    session = Session(stdout(), text=form == "table", quiet=quiet)
    for path in _case_files(paths or (".",)):
        session.run_file(path, pattern)
    took_ms = clock.now_ms() - began_ms
    if not session.results and not session.broken:
        if pattern is not None:
            raise Stop(NOT_FOUND, f"No case matches '{pattern}'.", _names_hint(session.names))
        raise Stop(NOT_FOUND, "There are no cases in these files.")
    if form == "json":
        stdout().json(session.document(took_ms))
    elif form == "junit":
        from statewright.cli.local.junit import junit_report

        stdout().plain(junit_report(session.results, session.broken))
    else:
        session.sum_up(took_ms)
    return OK if session.all_passed else FAILED


class Session:
    """The files and cases run so far, printed as they go when the report is text."""

    def __init__(self, printer: Printer, *, text: bool, quiet: bool) -> None:
        self.printer = printer
        self.text = text
        self.quiet = quiet
        self.results: list[CaseResult] = []
        self.broken: list[tuple[str, list[Diagnostic]]] = []
        self.warnings: list[tuple[str, str]] = []
        self.names: list[str] = []

    @property
    def all_passed(self) -> bool:
        """True if every case passed and every file could be read."""
        return not self.broken and all(result.passed for result in self.results)

    def run_file(self, path: Path, pattern: str | None) -> None:
        """Run the cases of a file whose names fit."""
        from statewright.errors import DefinitionError
        from statewright.simulator.cases import load_cases, run_case

        try:
            file = load_cases(path)
        except DefinitionError as problem:
            self.broken.append((str(path), problem.diagnostics))
            if self.text:
                print_findings(self.printer, str(path), problem.diagnostics)
            return
        except OSError as problem:
            raise Stop(NOT_FOUND, f"{path}: {reason_of(problem)}") from None
        self.names += [case.name for case in file.cases]
        chosen = [case for case in file.cases if pattern is None or fnmatchcase(case.name, pattern)]
        if not chosen:
            return
        if self.text and not self.quiet:
            self.printer.line((str(path), "strong"))
        width = min(max(len(case.name) for case in chosen), 48)
        results = []
        for case in chosen:
            result = run_case(case)
            results.append(result)
            if self.text and (not self.quiet or not result.passed):
                self.print_case(result, width, str(path) if self.quiet else None)
        self.results += results
        self.warn(file, results, complete=len(chosen) == len(file.cases))

    def warn(self, file: CaseFile, results: Sequence[CaseResult], *, complete: bool) -> None:
        """Warn of mocks for states that do not exist, and of unused mocks."""
        from statewright.simulator.cases import unused_common

        found = []
        for warning in file.warnings:
            hint = f"; {warning.hint}" if warning.hint else ""
            found.append((f"{file.path}:{warning.line}:{warning.column}", warning.message + hint))
        misnamed = {(warning.line, warning.column) for warning in file.warnings}
        passed = [result for result in results if result.passed]
        own = [(rule, f" in case '{result.case.name}'") for result in passed for rule in result.unused]
        shared = unused_common(file, results) if complete and len(passed) == len(results) else ()
        for rule, where in (*own, *((rule, " by any case") for rule in shared)):
            if rule.place not in misnamed:
                place = f"{file.path}:{rule.place[0]}:{rule.place[1]}"
                found.append((place, f"the mock for {rule.label} was not used{where}"))
        self.warnings += found
        if self.text and not self.quiet:
            for place, message in found:
                self.printer.line(("  ! ", "wait"), (f"{place} WARNING {message}", "wait"))

    def print_case(self, result: CaseResult, width: int, file: str | None) -> None:
        """One line for a case, and below it everything that was not as expected."""
        from statewright.cli.output import visible

        mark, word, tone = _VERDICTS[result.passed]
        name = visible(result.case.name)
        line: list[Span] = [(f"  {mark} ", tone), (f"{word}  ", tone), name.ljust(width)]
        if result.run is not None:
            line.append((f"  {duration_words(result.run.duration_ms)} virtual", "idle"))
        line.append((f"  {result.real_ms} ms" + (f"  {file}" if file else ""), "idle"))
        self.printer.line(*line)
        if result.problem is not None:
            self.printer.wrapped(result.problem, " " * 8, "fail", first="      ")
        for mismatch in result.mismatches:
            for detail in mismatch_lines(mismatch):
                self.printer.line(*detail)
        if (said := failure_words(result)) is not None:
            self.printer.wrapped(said, " " * 8, "idle", first="      ")

    def sum_up(self, took_ms: int) -> None:
        """The last line."""
        failed = sum(not result.passed for result in self.results)
        passed = len(self.results) - failed
        said: list[Span] = [(f"✓ {passed:,} passed", "ok" if passed else "idle")]
        if failed:
            said += [", ", (f"✗ {failed:,} failed", "fail")]
        if self.broken:
            said += [", ", (f"✗ {count_words(len(self.broken), 'file')} with errors", "fail")]
        if self.warnings:
            said += [", ", (count_words(len(self.warnings), "warning"), "wait")]
        virtual_ms = sum(result.run.duration_ms for result in self.results if result.run is not None)
        said.append((f" · {duration_words(virtual_ms)} of virtual time in {duration_words(took_ms)}", "idle"))
        if not self.quiet or self.results:
            self.printer.line()
        self.printer.line(*said)

    def document(self, took_ms: int) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "passed": sum(result.passed for result in self.results),
            "failed": sum(not result.passed for result in self.results),
            "realMs": took_ms,
            "cases": [_case_json(result) for result in self.results],
            "problems": [finding_json(name, finding) for name, findings in self.broken for finding in findings],
            "warnings": [{"place": place, "message": message} for place, message in self.warnings],
        }


_VERDICTS: Final[dict[bool, tuple[str, str, Tone]]] = {True: ("✓", "passed", "ok"), False: ("✗", "failed", "fail")}


def _case_files(paths: Iterable[str]) -> list[Path]:
    from statewright.simulator.cases import CASE_ENDINGS, cases_beside, find_case_files

    found: dict[Path, None] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            below = find_case_files(path)
            if not below:
                hint = "a case file belongs beside its definition: order.cases.yaml beside order.asl.json"
                raise Stop(NOT_FOUND, f"There is no *.cases.yaml in {path} or below.", hint)
            found.update(dict.fromkeys(below))
        elif not path.exists():
            raise Stop(NOT_FOUND, f"There is no file '{path}'.")
        elif path.name.endswith(CASE_ENDINGS):
            found[path] = None
        else:
            beside = cases_beside(path)
            if beside is None:
                hint = "a case file belongs beside its definition: order.cases.yaml beside order.asl.json"
                raise Stop(NOT_FOUND, f"There are no cases beside {path}.", hint)
            found[beside] = None
    return list(found)


def _names_hint(names: Sequence[str]) -> str | None:
    if not names:
        return None
    shown = [f"'{name}'" for name in names[:20]] + (["..."] if len(names) > 20 else [])
    return "there are " + ", ".join(shown)


def _json_value(value: object) -> object:
    """A value as the report shows it; an absent one is null."""
    from statewright.simulator.differences import Absent

    return None if isinstance(value, Absent) else value


def _case_json(result: CaseResult) -> dict[str, Any]:
    run = result.run
    return {
        "file": str(result.case.file),
        "definition": str(result.case.subject.path),
        "name": result.case.name,
        "passed": result.passed,
        "problem": result.problem,
        "mismatches": [
            {
                "what": mismatch.what,
                "wanted": _json_value(mismatch.wanted),
                "got": _json_value(mismatch.got),
                "differences": [
                    {"at": one.where, "wanted": _json_value(one.wanted), "got": _json_value(one.got)}
                    for one in mismatch.differences
                ],
            }
            for mismatch in result.mismatches
        ],
        "status": run.status if run is not None else None,
        "error": run.state.error if run is not None else None,
        "cause": run.state.cause if run is not None else None,
        "path": run.path if run is not None else None,
        "durationMs": run.duration_ms if run is not None else None,
        "realMs": result.real_ms,
        "unusedMocks": [rule.label for rule in result.unused],
    }
