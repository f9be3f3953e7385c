"""`statewright validate`: every finding of definitions, one line each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from statewright.cli.extensions import extensions_option
from statewright.cli.output import (
    FAILED,
    NOT_FOUND,
    OK,
    Printer,
    Span,
    count_words,
    finding_json,
    print_findings,
    reason_of,
    stderr,
    stdout,
)

if TYPE_CHECKING:
    from statewright.errors import Diagnostic

STDIN: Final = "-"


type_option: Final = click.option(
    "--type",
    "machine_type",
    type=click.Choice(["STANDARD", "EXPRESS"], case_sensitive=False),
    default="STANDARD",
    show_default=True,
    help="The type of the state machine.",
)


@click.command(short_help="Check definitions and report problems.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@type_option
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@click.option("--no-lints", is_flag=True, help="Leave out Statewright's own warnings.")
@click.option(
    "-o", "--output", "form", type=click.Choice(["table", "json", "sarif"]), default="table", help="Output format."
)
@extensions_option
def validate(
    paths: tuple[str, ...],
    machine_type: Literal["STANDARD", "EXPRESS"],
    strict: bool,
    no_lints: bool,
    form: str,
) -> int:
    """Check definitions and print what is wrong with them.

    A folder is searched for *.asl.json, *.asl.yaml and *.asl.yml; a file may have any name, and - is the standard
    input. ${Placeholders} of SAM, CDK, Terraform or Serverless may stand anywhere.

    \b
    Examples:
      statewright validate order.asl.json
      statewright validate . --strict
      statewright validate machines/ -o json
      statewright validate . -o sarif > statewright.sarif

    Exit code: 0 when nothing is wrong, 1 when there is an error, 3 when a path does not exist.
    """
    from statewright.asl.loading import check_text

    found: list[tuple[str, list[Diagnostic]]] = []
    missing: list[str] = []
    for path in _files(paths, missing):
        try:
            text = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        except OSError as problem:
            missing.append(f"{path}: {reason_of(problem)}")
            continue
        name = "<stdin>" if path == STDIN else path
        found.append((name, check_text(text, name, machine_type=machine_type, lints=not no_lints)[1]))
    if form == "json":
        stdout().json([finding_json(name, finding) for name, findings in found for finding in findings])
    elif form == "sarif":
        from statewright.cli.local.sarif import sarif_log

        stdout().json(sarif_log(found, missing))
    else:
        _print_text(stdout(), found)
    for what in missing:
        stderr().wrapped(what, "       ", first="Error: ")
    if missing:
        return NOT_FOUND
    fatal = ("ERROR", "WARNING") if strict else ("ERROR",)
    return FAILED if any(finding.severity in fatal for _, findings in found for finding in findings) else OK


def _files(paths: tuple[str, ...], missing: list[str]) -> list[str]:
    """The files that the arguments name, each once; missing ones go to `missing`."""
    from statewright.asl.loading import DEFINITION_ENDINGS, files_below

    files: dict[str, None] = {}
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            below = files_below(Path(path), DEFINITION_ENDINGS)
            if not below:
                missing.append(f"{path}: no *.asl.json, *.asl.yaml or *.asl.yml in this folder")
            files.update(dict.fromkeys(str(file) for file in below))
        else:
            files[path] = None
    return list(files)


def _print_text(printer: Printer, found: list[tuple[str, list[Diagnostic]]]) -> None:
    counts: dict[str, int] = {"ERROR": 0, "WARNING": 0}
    for name, findings in found:
        print_findings(printer, name, findings)
        for finding in findings:
            counts[finding.severity] += 1
    if not found:
        return
    if any(counts.values()):
        printer.line()
    files = count_words(len(found), "file")
    said: list[Span] = [(f"{files}: ", "")]
    if counts["ERROR"]:
        said += [("✗ " + count_words(counts["ERROR"], "error"), "fail"), ", "]
    else:
        said += [("✓ no errors", "ok"), ", "]
    said.append((count_words(counts["WARNING"], "warning"), "wait" if counts["WARNING"] else ""))
    printer.line(*said)
