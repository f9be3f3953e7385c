"""`statewright export`: a definition without what only Statewright has, for a service that does not know it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from statewright.cli.local.validate import type_option
from statewright.cli.output import (
    FAILED,
    NOT_FOUND,
    OK,
    USAGE,
    Printer,
    Refused,
    Stop,
    Tone,
    count_words,
    json_text,
    reason_of,
    stderr,
    stdout,
)
from statewright.cli.output_files import write_output

if TYPE_CHECKING:
    from statewright.asl.text.document import Document
    from statewright.export.portable import Exported

STDIN: Final = "-"
_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
"""Source: service model, `TableName` of DynamoDB."""
_FORMS: Final = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_TONES: Final[dict[str, Tone]] = {"rewritten": "ok", "differs": "wait", "cannot": "fail"}


@click.command(short_help="Rewrite a definition for services without extensions.")
@click.argument("file", metavar="FILE")
@click.option("--for-aws", is_flag=True, expose_value=False, help="Write for the cloud service, the only target.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["json", "yaml"]),
    help="Output format; default: that of --out's ending, or of FILE.",
)
@click.option("-O", "--out", "target", metavar="FILE", help="Write the definition to a file.")
@click.option(
    "--semaphore-table",
    "table",
    default="statewright-semaphores",
    show_default=True,
    metavar="NAME",
    help="The DynamoDB table for permits.",
)
@click.option("--max-concurrent", type=click.IntRange(1), metavar="N", help="Maximum number of concurrent executions.")
@click.option(
    "--max-starts-per-second",
    "per_second",
    type=click.FloatRange(0, 1e6, min_open=True),
    metavar="RATE",
    help="Maximum number of executions started per second.",
)
@click.option(
    "--wait",
    "wait_seconds",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="The pause between two requests for a permit.",
)
@click.option("--cleanup", metavar="FILE", help="Write the machine that releases the permits of stopped executions.")
@type_option
def export(
    file: str, form: str | None, target: str | None, table: str, max_concurrent: int | None,
    per_second: float | None, wait_seconds: int,
    cleanup: str | None, machine_type: Literal["STANDARD", "EXPRESS"],
) -> int:  # fmt: skip
    """Rewrite semaphores, polls and loops with deadlines in plain Amazon States Language.

    What was done to which state, what behaves otherwise and what cannot be rewritten goes to the standard error. A
    definition without any of them comes out as it is. FILE may be - for the standard input.

    \b
    Examples:
      statewright export order.asl.json --out order.cloud.asl.json
      statewright export order.asl.json --max-concurrent 5 --cleanup cleanup.asl.json
      statewright export order.asl.yaml -o json --semaphore-table locks

    Exit code: 0 when everything was rewritten, 1 when something cannot be, or FILE has mistakes.
    """
    from statewright.export.portable import export as exported_of

    name = "<stdin>" if file == STDIN else file
    try:
        text = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as problem:
        raise Stop(NOT_FOUND, f"{file}: {reason_of(problem)}") from None
    document = _sound(text, name, machine_type)
    if not _TABLE_NAME.fullmatch(table):
        raise Stop(
            USAGE, f"--semaphore-table: {table!r} is not a valid table name", "letters, digits, and any of _ . -"
        )
    if machine_type == "EXPRESS" and (max_concurrent, per_second) != (None, None):
        raise Stop(FAILED, "--max-concurrent, --max-starts-per-second: EXPRESS machines have no such limits")
    made = exported_of(
        document, table=table, max_concurrent=max_concurrent, per_second=per_second, wait_seconds=wait_seconds,
        express=machine_type == "EXPRESS",
    )  # fmt: skip
    form = form or _form_of(target) or document.syntax
    is_same = made.definition == document.value
    is_verbatim = is_same and form == document.syntax
    shown = document.source.text if is_verbatim else _text(made.definition, form)
    if target is None:
        stdout().plain(shown if shown.endswith("\n") else shown + "\n")
    else:
        _write(target, shown)
    if cleanup is not None:
        from statewright.export.semaphores import cleanup as cleaning

        _write(cleanup, _text(cleaning(table), "yaml" if cleanup.endswith((".yaml", ".yml")) else "json"))
    printer = stderr()
    _report_notes(printer, name, document, made)
    if document.placeholders and not is_verbatim:
        printer.folded([(name, "strong"), ": bare ${Placeholders} are quoted in the output"], " " * 4)
    _sum_up(printer, name, made, is_same=is_same)
    return OK if made.is_whole else FAILED


def _sound(text: bytes, name: str, machine_type: Literal["STANDARD", "EXPRESS"]) -> Document:
    """The definition, which may have every extension. Raises: Refused."""
    from statewright.asl import extensions
    from statewright.asl.loading import check_text

    with extensions.accepted():
        document, findings = check_text(text, name, machine_type=machine_type, lints=False)
    if document is None or any(found.severity == "ERROR" for found in findings):
        raise Refused(name, findings)
    return document


def _form_of(target: str | None) -> str | None:
    """The format that the ending of a file names."""
    return _FORMS.get(Path(target).suffix.lower()) if target is not None else None


def _text(definition: object, form: str) -> str:
    if form == "json":
        return json_text(definition) + "\n"
    import yaml

    return yaml.dump(definition, Dumper=_plain_dumper(), sort_keys=False, allow_unicode=True, width=10_000)


def _plain_dumper() -> Any:
    """A writer of YAML that repeats what occurs twice, as not every reader knows anchors."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, _data: object) -> bool:
            return True

    return Plain


def _write(target: str, text: str) -> None:
    write_output(target, text)
    stderr().line(f"Wrote {target}")


def _report_notes(printer: Printer, name: str, document: Document, made: Exported) -> None:
    for note in sorted(made.notes, key=lambda one: document.key_position(one.path)):
        line, column = document.key_position(note.path)
        said = f" '{note.state}' {note.message}" if note.state is not None else f" {note.message}"
        where = f"{name}:{line}:{column}"
        printer.folded([(where, "strong"), " ", (note.kind, _TONES[note.kind]), said], " " * 4)


def _sum_up(printer: Printer, name: str, made: Exported, *, is_same: bool) -> None:
    kinds = [note.kind for note in made.notes]
    done, missing = count_words(kinds.count("rewritten"), "rewriting"), kinds.count("cannot")
    if missing:
        printer.line(f"{done}, ", (f"✗ {missing} cannot be rewritten", "fail"))
    elif is_same:
        printer.line(f"{name} uses no extensions and is unchanged")
    else:
        printer.line((f"✓ {done}", "ok"))
