"""`statewright init [DIR]`: a small project to begin with, which nothing is overwritten for."""

from __future__ import annotations

import re
from pathlib import Path

import click

from statewright.cli.output import FAILED, NOT_FOUND, Stop, stdout


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
    printer = stdout()
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        # Another process may have created the file meanwhile.
        with path.open("x", encoding="utf-8") as made:
            made.write(text)
        printer.line(("✓ ", "ok"), str(path))
    where = "" if folder == "." else f" {folder}"
    printer.line("Next: ", (f"statewright test{where}", "strong"), ", then ", (f"statewright dev{where}", "strong"))
