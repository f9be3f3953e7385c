"""`statewright restore`: a data folder, or a database and its data folder, made from a backup."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from statewright.cli.output import FAILED, NOT_FOUND, USAGE, Stop, count_words, reason_of, stdout
from statewright.cli.serving.backup import DATA_FOLDER, check_store, checked, copied_files, files_needed
from statewright.cli.serving.row_progress import copy_rows, is_address


@click.command(short_help="Create a data folder, or fill a database, from a backup.")
@click.argument("source", metavar="BACKUP")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The data folder to create.")
@click.option("--store", metavar="STORE", default="sqlite", show_default=True, help="Where the rows go, as for serve.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def restore(source: str, data: str, store: str, form: str) -> None:
    """Restore a backup into a data folder that is empty or does not exist yet; then serve it.

    With --store postgresql://..., the rows go into that database, which must be empty, and the files into the folder.
    The files in the folder BACKUP.files come with it. The backup is checked before it counts, and stays as it is.
    Executions continue from where they were when it was taken.

    \b
    Examples:
      statewright restore nightly.db
      statewright restore nightly.db --data /var/lib/statewright && statewright serve --data /var/lib/statewright
      statewright restore nightly.db --store postgresql://statewright@db/statewright --data /srv/statewright
    """
    from statewright.errors import StoreError
    from statewright.files.data_folder import keep_private

    keep_private()
    check_store(store)
    backup, folder = Path(source), Path(data)
    if not backup.is_file():
        raise Stop(NOT_FOUND, f"There is no backup {backup}.", "name the file that statewright backup wrote")
    try:
        found = _into_database(backup, store, folder) if is_address(store) else _into_folder(backup, folder)
    except StoreError as problem:
        raise Stop(FAILED, f"Nothing was restored: {problem}") from None
    except OSError as problem:
        raise Stop(FAILED, f"Nothing was restored: {folder}: {reason_of(problem)}") from None
    if form == "json":
        stdout().json({"folder": str(folder), "backup": str(backup), **found})
    else:
        where, options = (found["store"], f"--store {found['store']} ") if is_address(store) else (folder, "")
        stdout().line(f"{where}: {count_words(found['executions'], 'execution')} from {backup}, checked")
        stdout().line(("To serve it: ", "idle"), f"statewright serve {options}--data {folder}")


def _into_folder(backup: Path, folder: Path) -> dict[str, Any]:
    """Make a data folder; returns its contents. Raises: Stop, StoreError, OSError."""
    from statewright.stores.sqlite.file import (
        FILE_NAME,
        FolderLock,
        connect,
        copy_database,
        refuse_others,
        refuse_unfinished,
    )

    refuse_unfinished(folder)
    if (folder / FILE_NAME).exists() or any(folder.glob(f"{FILE_NAME}-*")):
        hint = "move it away, or name another folder: --data DIR"
        raise Stop(USAGE, f"There is already a store in {folder}; it was not replaced.", hint)
    # Before the folder is made, so that a file that is no backup leaves nothing behind.
    checked(backup)
    files = _files(backup)
    lock = FolderLock(folder, "restore")
    try:
        copy = connect(backup)
        try:
            refuse_others(copy, backup)
            _restore_files(files, backup, folder)
            copy_database(copy, folder / FILE_NAME)
        finally:
            copy.close()
    finally:
        lock.release()
    return checked(folder / FILE_NAME)


def _into_database(backup: Path, address: str, folder: Path) -> dict[str, Any]:
    """Fill a database, and a folder with its files; returns their contents. Raises: StoreError, OSError."""
    from statewright.cli.serving.backup_files import files_of
    from statewright.cli.serving.moved_files import copy_moved, filled_folder, finish_arrived, refuse_folder
    from statewright.stores.postgres.connection import place_of
    from statewright.stores.transfer.postgres_rows import empty, refuse_other_folder
    from statewright.stores.transfer.rows import counted
    from statewright.stores.transfer.sqlite_rows import reading

    place = place_of(address)
    origin = f"the restore of {backup.resolve()} into {place}"
    found = checked(backup)
    names = _files(backup)
    refuse_folder(folder, origin)
    refuse_other_folder(address, folder)
    with reading(backup) as rows:
        counts = finish_arrived(rows, address, folder, origin, "restore")
        if counts is None:
            with empty(address, "statewright restore") as target, filled_folder(folder, origin, "restore"):
                target.mark(origin)
                copy_moved(names, files_of(backup), folder, link=False)
                with target.filling():
                    counts = copy_rows(rows, target, counted(rows))
        size = sum((folder / name).lstat().st_size for name in names)
    return {**found, "executions": counts["execution"], "store": place, "files": len(names), "fileBytes": size}


def _files(backup: Path) -> list[str]:
    """The files that come with a backup. Raises: StoreError where some are missing."""
    from statewright.cli.serving.backup_files import files_of, missing
    from statewright.errors import StoreError

    folder = files_of(backup)
    names = files_needed(backup, folder)
    lost = missing(names, folder)
    if lost:
        raise StoreError(
            f"{count_words(len(lost), 'file')} of its objects are not in {folder}, for one {lost[0]}; a backup is a "
            "file and the folder beside it: keep them together"
        )
    return names


def _restore_files(names: list[str], backup: Path, folder: Path) -> None:
    """Put files into a data folder. Raises: OSError, StoreError where other ones are there."""
    from statewright.cli.serving.backup_files import OBJECTS, files_of
    from statewright.errors import StoreError

    taken = folder / OBJECTS
    if taken.is_dir() and any(taken.iterdir()):
        raise StoreError(f"there are objects of another store in {taken}; move them away, or name another folder")
    if not names:
        return
    whole = folder / "restored"
    copied_files(names, files_of(backup), whole)
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (whole / name).replace(target)
    shutil.rmtree(whole)
