"""`statewright backup`: a copy of a store, taken while the server runs, and of the files beside it.

The copy is the file of an embedded store, also of a store in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.output import FAILED, NOT_FOUND, USAGE, Stop, count_words, reason_of, stdout
from statewright.cli.serving.row_progress import bar, check_driver, copy_rows, is_address

if TYPE_CHECKING:
    import sqlite3

    from statewright.stores.transfer.rows import Rows

DATA_FOLDER: Final = ".statewright"
TRIES: Final = 3


@click.command(short_help="Copy everything that a server stores, while it runs.")
@click.argument("target", metavar="TARGET")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The server's data folder.")
@click.option("--store", metavar="STORE", default="sqlite", show_default=True, help="The server's store, as for serve.")
@click.option("--force", is_flag=True, help="Replace a TARGET that exists.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def backup(target: str, data: str, store: str, force: bool, form: str) -> None:
    """Copy the store of a server into the file TARGET; in a folder, into a file named by the time.

    Large objects, the code of functions and metrics are files of their own: they go into the folder TARGET.files. Logs
    are left. The copy is what was committed at one instant. It is checked before it counts, and takes TARGET's name
    only when it is complete. The file is the same whether it comes from a data folder or from PostgreSQL, and can be
    restored into either. To use it: statewright restore.

    \b
    Examples:
      statewright backup nightly.db
      statewright backup /var/backups --data /var/lib/statewright -o json
      statewright backup nightly.db --store postgresql://statewright@db/statewright --data /srv/statewright
    """
    from statewright.errors import StoreError
    from statewright.files.data_folder import keep_private
    from statewright.stores.sqlite.file import FILE_NAME

    keep_private()
    check_store(store)
    file = Path(data) / FILE_NAME
    if not is_address(store) and not file.is_file():
        raise Stop(NOT_FOUND, f"There is no store in {data}.", "name the folder that the server was given: --data DIR")
    if not Path(data).is_dir():
        raise Stop(NOT_FOUND, f"There is no folder '{data}'.", "name the folder that the server was given: --data DIR")
    copy = Path(target)
    if copy.is_dir():
        copy = copy / f"statewright-{_now_words()}.db"
    if not copy.parent.is_dir():
        raise Stop(NOT_FOUND, f"There is no folder '{copy.parent}'.")
    if copy.exists() and not force:
        raise Stop(USAGE, f"{copy} exists already.", "name another file, or replace it: --force")
    if copy.exists() and file.exists() and copy.samefile(file):
        raise Stop(USAGE, f"{copy} is the store itself.")
    try:
        found = (
            _copied_database(store, Path(data), copy, force) if is_address(store) else _copied(Path(data), copy, force)
        )
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
            what = "of objects, functions and metrics"
            stdout().line(f"{found['filesFolder']}: {found['fileBytes']:,} bytes, {words} {what}")


def _copied(data: Path, copy: Path, force: bool) -> dict[str, Any]:
    """Copy a data folder; returns the contents of the copy. Raises: StoreError, OSError."""
    from statewright.cli.serving import backup_files
    from statewright.errors import StoreError
    from statewright.stores.sqlite.file import FILE_NAME, connect, copy_database, refuse_unfinished

    refuse_unfinished(data)
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
        return found | _with_files(names, held, copy)


def _copied_database(address: str, data: Path, copy: Path, force: bool) -> dict[str, Any]:
    """Copy a database, and the files of its data folder; returns as `_copied` does. Raises: StoreError, OSError."""
    from statewright.cli.serving import backup_files
    from statewright.cli.serving.row_files.blob_files import files_of_blobs
    from statewright.errors import StoreError
    from statewright.stores.transfer.postgres_rows import refuse_other_folder, snapshot
    from statewright.stores.transfer.rows import Gone, counted
    from statewright.stores.transfer.sqlite_rows import new_file

    refuse_other_folder(address, data)
    gone: Gone | None = None
    with backup_files.held(data) as held:
        for _ in range(TRIES):
            with snapshot(address) as rows:
                # Files that the rows name are there now, and may be deleted while the rows are copied.
                backup_files.hold(data, held)
                blobs = files_of_blobs(rows, held)
                made = set(blobs.values())
                names = [name for name in backup_files.needed(rows.object_files(), held) if name not in made]
                lost = backup_files.missing(names, held)
                if lost:
                    continue
                with new_file(copy, replace=force) as target:
                    copy_rows(rows, target, counted(rows))
                # A further try replaces the copy.
                force = True
                try:
                    return checked(copy) | _with_files(names, held, copy, rows, blobs)
                except Gone as problem:
                    gone = problem
        if not lost:
            raise StoreError(f"{gone}: try again when less is overwritten")
        raise StoreError(
            f"{count_words(len(lost), 'file')} of its objects are not in {data}, for one {lost[0]}: name the "
            "folder that the server was given with --data, or try again when less is overwritten"
        )


def _with_files(
    names: list[str], held: Path, copy: Path, rows: Rows | None = None, blobs: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Copy files beside a copy of the rows, which is deleted if that fails; make those that are blobs of `rows`.

    Raises: StoreError, OSError.
    """
    from statewright.cli.serving.backup_files import copy_files, files_of
    from statewright.cli.serving.row_files.blob_files import write_blobs
    from statewright.cli.serving.row_files.metric_files import write_minutes
    from statewright.errors import StoreError

    made = blobs or {}
    folder = files_of(copy)

    def write(source: Rows, target: Path) -> int:
        size = write_blobs(source, made, target, progress)
        return size + write_minutes(source, target)

    try:
        with bar("copying files", len(names) + len(made)) as progress:
            size = copy_files(names, held, folder, progress, None if rows is None else partial(write, rows))
    except (OSError, StoreError):
        copy.unlink(missing_ok=True)
        raise
    # Of minutes that are rows, the number of files is known once they are written.
    many = sum(path.is_file() for path in folder.rglob("*"))
    return {"files": many, "fileBytes": size, "filesFolder": str(folder) if many else None}


def check_store(store: str) -> None:
    """Check that a store is named that can be copied. Raises: Stop."""
    if is_address(store):
        from statewright.errors import StoreError

        check_driver()
        from statewright.stores.postgres.connection import place_of

        try:
            place_of(store)
        except StoreError as problem:
            raise Stop(USAGE, f"{problem}.") from None
    elif store != "sqlite":
        raise Stop(USAGE, f"--store {store} is not one of sqlite, postgresql://...")


def copied_files(names: list[str], source: Path, target: Path) -> int:
    """Copy files, with a bar on a terminal; returns their bytes. Raises: OSError."""
    from statewright.cli.serving.backup_files import copy_files

    with bar("copying files", len(names)) as progress:
        return copy_files(names, source, target, progress)


def files_needed(copy: Path, folder: Path) -> list[str]:
    """Names of the files that a copy needs of a folder."""
    from statewright.cli.serving.backup_files import needed
    from statewright.stores.sqlite.file import connect, object_files

    connection = connect(copy)
    try:
        return needed(object_files(connection), folder)
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
