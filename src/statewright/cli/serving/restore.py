"""`statewright restore`: a data folder made from a backup."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from statewright.cli.output import FAILED, NOT_FOUND, USAGE, Stop, count_words, reason_of, stdout
from statewright.cli.serving.backup import DATA_FOLDER, checked, copied_files, files_needed


@click.command(short_help="Create a data folder from a backup.")
@click.argument("source", metavar="BACKUP")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The data folder to create.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def restore(source: str, data: str, form: str) -> None:
    """Restore a backup into a data folder that is empty or does not exist yet; then serve it.

    The files in the folder BACKUP.files come with it. The backup is checked before it counts, and stays as it is.
    Executions continue from where they were when it was taken.

    \b
    Examples:
      statewright restore nightly.db
      statewright restore nightly.db --data /var/lib/statewright && statewright serve --data /var/lib/statewright
    """
    from statewright.errors import StoreError
    from statewright.files.data_folder import keep_private
    from statewright.stores.sqlite.file import FILE_NAME, FolderLock, connect, copy_database, refuse_others

    keep_private()
    backup, folder = Path(source), Path(data)
    if not backup.is_file():
        raise Stop(NOT_FOUND, f"There is no backup {backup}.", "name the file that statewright backup wrote")
    if (folder / FILE_NAME).exists() or any(folder.glob(f"{FILE_NAME}-*")):
        hint = "move it away, or name another folder: --data DIR"
        raise Stop(USAGE, f"There is already a store in {folder}; it was not replaced.", hint)
    try:
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
        found = checked(folder / FILE_NAME)
    except StoreError as problem:
        raise Stop(FAILED, f"Nothing was restored: {problem}") from None
    except OSError as problem:
        raise Stop(FAILED, f"Nothing was restored: {folder}: {reason_of(problem)}") from None
    if form == "json":
        stdout().json({"folder": str(folder), "backup": str(backup), **found})
    else:
        stdout().line(f"{folder}: {count_words(found['executions'], 'execution')} from {backup}, checked")
        stdout().line(("To serve it: ", "idle"), f"statewright serve --data {folder}")


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
