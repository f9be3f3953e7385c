"""`statewright backup`: a copy of a data folder, taken while the server runs: its store, and the files beside that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.output import FAILED, NOT_FOUND, USAGE, Stop, count_words, reason_of, stdout

if TYPE_CHECKING:
    import sqlite3

DATA_FOLDER: Final = ".statewright"
TRIES: Final = 3


@click.command(short_help="Copy a data folder, while the server runs.")
@click.argument("target", metavar="TARGET")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The server's data folder.")
@click.option("--force", is_flag=True, help="Replace a TARGET that exists.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def backup(target: str, data: str, force: bool, form: str) -> None:
    """Copy the store of a data folder into the file TARGET; in a folder, into a file named by the time.

    Large objects and the code of functions are files of their own: they go into the folder TARGET.files. Logs are left.
    The copy is what was committed at one instant. It is checked before it counts, and takes TARGET's name only when it
    is complete. To use it: statewright restore.

    \b
    Examples:
      statewright backup nightly.db
      statewright backup /var/backups --data /var/lib/statewright -o json
    """
    from statewright.errors import StoreError
    from statewright.files.data_folder import keep_private
    from statewright.stores.sqlite.file import FILE_NAME

    keep_private()
    file = Path(data) / FILE_NAME
    if not file.is_file():
        raise Stop(NOT_FOUND, f"There is no store in {data}.", "name the folder that the server was given: --data DIR")
    copy = Path(target)
    if copy.is_dir():
        copy = copy / f"statewright-{_now_words()}.db"
    if not copy.parent.is_dir():
        raise Stop(NOT_FOUND, f"There is no folder '{copy.parent}'.")
    if copy.exists() and not force:
        raise Stop(USAGE, f"{copy} exists already.", "name another file, or replace it: --force")
    if copy.exists() and copy.samefile(file):
        raise Stop(USAGE, f"{copy} is the store itself.")
    try:
        found = _copied(Path(data), copy, force)
    except StoreError as problem:
        raise Stop(FAILED, f"The backup was not made: {problem}") from None
    except OSError as problem:
        raise Stop(FAILED, f"{problem.filename or copy}: {reason_of(problem)}") from None
    if form == "json":
        stdout().json({"file": str(copy), **found})
    else:
        stdout().line(f"{copy}: {found['sizeBytes']:,} bytes, {count_words(found['executions'], 'execution')}, checked")
        if found["files"]:
            words = count_words(found["files"], "file")
            stdout().line(f"{found['filesFolder']}: {found['fileBytes']:,} bytes, {words} of objects and functions")


def _copied(data: Path, copy: Path, force: bool) -> dict[str, Any]:
    """Copy a data folder; returns the contents of the copy. Raises: StoreError, OSError."""
    from statewright.cli.serving import backup_files
    from statewright.errors import StoreError
    from statewright.stores.sqlite.file import FILE_NAME, connect, copy_database

    with backup_files.held(data) as held:
        for _ in range(TRIES):
            source = connect(data / FILE_NAME, keeps_log=True)
            try:
                copy_database(source, copy, replace=force)
            finally:
                source.close()
            force = True
            found = checked(copy)
            # What was written between the first links and the copy.
            backup_files.hold(data, held)
            names = files_needed(copy, held)
            if not backup_files.missing(names, held):
                break
        else:
            copy.unlink(missing_ok=True)
            raise StoreError("objects are overwritten faster than they can be copied; try again when less is written")
        folder = backup_files.files_of(copy)
        try:
            size = copied_files(names, held, folder)
        except OSError:
            copy.unlink(missing_ok=True)
            raise
    return {**found, "files": len(names), "fileBytes": size, "filesFolder": str(folder) if names else None}


def copied_files(names: list[str], source: Path, target: Path) -> int:
    """Copy files, with a bar on a terminal; returns their bytes. Raises: OSError."""
    from statewright.cli.serving.backup_files import copy_files

    hidden = not sys.stderr.isatty()
    with click.progressbar(length=len(names), label="copying files", file=sys.stderr, hidden=hidden) as bar:
        return copy_files(names, source, target, bar.update)


def files_needed(copy: Path, folder: Path) -> list[str]:
    """Names of the files that a copy needs of a folder."""
    from statewright.cli.serving.backup_files import needed
    from statewright.stores.sqlite.file import connect

    connection = connect(copy)
    try:
        return needed(connection, folder)
    finally:
        connection.close()


def checked(copy: Path) -> dict[str, Any]:
    """The contents of a copy. Raises: StoreError if it is damaged or not a Statewright store."""
    from statewright.errors import StoreError
    from statewright.stores.sqlite.file import connect, explained, refuse_others

    with explained(copy):
        connection = connect(copy)
        try:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise StoreError(f"the copy is damaged: {said}")
            refuse_others(connection, copy)
            executions = _count(connection)
            (version,) = connection.execute("SELECT max(version) FROM schema_version").fetchone()
        finally:
            connection.close()
    return {"sizeBytes": copy.stat().st_size, "executions": executions, "schemaVersion": version}


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM execution").fetchone()[0])


def _now_words() -> str:
    from statewright.asl.timestamps import format_timestamp
    from statewright.clock import RealClock

    now_ms = RealClock().now_ms()
    return format_timestamp(now_ms // 1000 * 1000).replace("-", "").replace(":", "")
