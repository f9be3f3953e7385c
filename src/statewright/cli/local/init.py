"""`statewright init [DIR]`: a small project to begin with, which nothing is overwritten for."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import click

from statewright.cli.output import FAILED, NOT_FOUND, Stop, reason_of, stdout


@click.command(short_help="Start a project.")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option(
    "--kind", type=click.Choice(["folder", "sam"]), default="folder", show_default=True,
    help="A plain folder, or a SAM template.",
)  # fmt: skip
def init(folder: str, kind: str) -> None:
    """Write a small project: a state machine, the function that it calls, cases that test it, settings.

    It runs as it is. Nothing is overwritten: if one of the files exists, none is written.

    \b
    Examples:
      statewright init shop && cd shop && statewright test
      statewright init shop --kind sam
    """
    from statewright.projects.starter import starter_files

    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise Stop(NOT_FOUND, f"'{root}' is a file, not a folder.")
    name = re.sub(r"[^A-Za-z0-9-]+", "-", root.resolve().name).strip("-") or "project"
    files = starter_files(kind, name)
    taken = [file for file in files if (root / file).exists()]
    if taken:
        raise Stop(
            FAILED,
            f"Nothing was written: {', '.join(taken)} already {'exists' if len(taken) == 1 else 'exist'}.",
            "name a new folder",
        )
    _write({root / file: text for file, text in files.items()})
    printer = stdout()
    for file in files:
        printer.line(("✓ ", "ok"), str(root / file))
    where = "" if folder == "." else f" {folder}"
    printer.line("Next: ", (f"statewright test{where}", "strong"), ", then ", (f"statewright dev{where}", "strong"))


def _write(files: dict[Path, str]) -> None:
    """Write new files and their folders: all of them, or none. Raises: Stop."""
    made: list[Path] = []
    path = Path()
    try:
        for path, text in files.items():
            for folder in reversed([folder for folder in path.parents if not folder.exists()]):
                folder.mkdir(exist_ok=True)
                made.append(folder)
            # Another process may have created the file meanwhile.
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except BaseException as problem:
        for one in reversed(made):
            # A folder into which another process has written stays.
            with contextlib.suppress(OSError):
                one.rmdir() if one.is_dir() else one.unlink()
        if isinstance(problem, OSError):
            raise Stop(FAILED, f"Nothing was written: {path}: {reason_of(problem)}.") from None
        raise
