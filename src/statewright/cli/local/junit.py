"""The report of `statewright test` as JUnit XML, which CI systems read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from statewright.cli.local.mismatches import failure_words, mismatch_lines
from statewright.cli.output import Printer, visible

if TYPE_CHECKING:
    from statewright.errors import Diagnostic
    from statewright.simulator.cases import CaseResult


def junit_report(results: Sequence[CaseResult], broken: Sequence[tuple[str, list[Diagnostic]]]) -> str:
    """One suite a case file; a file that cannot be read is an error of its own. Times are real seconds."""
    by_file: dict[str, list[CaseResult]] = {}
    for result in results:
        by_file.setdefault(str(result.case.file), []).append(result)
    failures = sum(not result.passed for result in results)
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(results) + len(broken)}" failures="{failures}" errors="{len(broken)}">',
    ]
    for file, inside in by_file.items():
        failed = sum(not result.passed for result in inside)
        parts.append(
            f'<testsuite name={_attribute(file)} tests="{len(inside)}" failures="{failed}" errors="0" '
            f'time="{_seconds(sum(result.real_ms for result in inside))}">'
        )
        parts += [_case(file, result) for result in inside]
        parts.append("</testsuite>")
    for file, findings in broken:
        said = "\n".join(f"{file}:{one.line}:{one.column} {one.code} {one.message}" for one in findings)
        parts.append(
            f'<testsuite name={_attribute(file)} tests="1" failures="0" errors="1" time="0">'
            f'<testcase classname={_attribute(file)} name="(file)" time="0">'
            f"<error message={_attribute(findings[0].message)}>{_text(said)}</error></testcase></testsuite>"
        )
    parts.append("</testsuites>")
    return "\n".join(parts) + "\n"


def _case(file: str, result: CaseResult) -> str:
    head = (
        f'<testcase classname={_attribute(file)} name={_attribute(result.case.name)} time="{_seconds(result.real_ms)}"'
    )
    if result.passed:
        return head + "/>"
    lines = [result.problem] if result.problem is not None else []
    lines += _details(result)
    message = result.problem or "not as expected: " + ", ".join(mismatch.what for mismatch in result.mismatches)
    return f"{head}><failure message={_attribute(message)}>{_text(chr(10).join(lines))}</failure></testcase>"


class _Page(io.StringIO):
    encoding = "utf-8"


def _details(result: CaseResult) -> list[str]:
    printer = Printer(_Page())
    lines = [printer.styled(line) for mismatch in result.mismatches for line in mismatch_lines(mismatch)]
    said = failure_words(result)
    return lines if said is None else [*lines, f"      {said}"]


def _seconds(real_ms: int) -> str:
    return f"{real_ms / 1000:.3f}"


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _text(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.split("\n")))
