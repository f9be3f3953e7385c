"""The files of a data folder that a move takes along, and the folder that it fills.

Bodies of objects and packages of functions never change, so both folders can have the same files: they are linked where
the file system allows it. Everything else is copied.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from statewright.cli.output import count_words
from statewright.cli.serving.backup_files import HELD, OBJECTS, Progress, copied, link_or_copy, missing
from statewright.cli.serving.row_progress import bar, compare_rows
from statewright.errors import StoreError
from statewright.files.data_folder import FOLDER_MODE, STORE_ID, folders
from statewright.files.whole import sync_folder, write_bytes
from statewright.functions.functions import CODE
from statewright.log_export.places import FOLDER as OTLP
from statewright.objects.bodies import file_name
from statewright.stores import fail_points
from statewright.stores.sqlite.file import FILE_NAME, LOCK_NAME, UNFINISHED, FolderLock, unfinished_from
from statewright.stores.transfer.rows import Rows, counted

MOVED: Final = (OBJECTS, "functions", "jobs", "logs", "metrics", "node-sdk", "simulations", "regions", "accounts")
"""Names in a data folder that belong to its store."""
LEFT: Final = (f"{FILE_NAME}*", LOCK_NAME, "volatile.sock", HELD, "restored", UNFINISHED, STORE_ID, OTLP)
"""Patterns of those that stay: the rows, and what is of one process."""


def files_of_store(data: Path) -> list[str]:
    """The files of a data folder that go along, by their names in it. Raises: OSError."""
    return [name for part in MOVED for name in _walked(data, part)]


def _walked(data: Path, part: str) -> Iterator[str]:
    for folder, _, names in os.walk(data / part):
        place = Path(folder).relative_to(data)
        inner = _inside(place)
        if inner == OTLP:
            # Places in files of logs, which are other files once they are copied.
            continue
        # Beside the packages is what was unpacked from them, which is done again when it is needed.
        packages = inner == CODE
        if not packages and inner.startswith(f"{CODE}/"):
            continue
        for name in sorted(names):
            path = data / place / name
            # Sockets and pipes are of processes that have ended.
            if (path.is_file() or path.is_symlink()) and (not packages or name.endswith(".zip")):
                yield (place / name).as_posix()


def _inside(path: Path) -> str:
    """A path in the folder of the region that it belongs to."""
    skipped = {"regions": 2, "accounts": 3}.get(path.parts[0], 0)
    return Path(*path.parts[skipped:]).as_posix()


def copy_moved(names: list[str], source: Path, target: Path, *, link: bool = True) -> int:
    """Put files of a data folder into another one, durably; returns their bytes. Raises: OSError."""
    with bar("copying files", len(names)) as progress:
        return _copied(names, source, target, progress, link)


def _copied(names: list[str], source: Path, target: Path, progress: Progress, link: bool) -> int:
    total = 0
    folders = set[Path]()
    for name in names:
        path, place = source / name, target / name
        place.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        folders.add(place.parent)
        if path.is_symlink():
            place.symlink_to(path.readlink())
            total += path.lstat().st_size
        elif link and _inside(Path(name)).startswith((f"{OBJECTS}/", f"{CODE}/")):
            link_or_copy(path, place)
            total += place.stat().st_size
        else:
            total += copied(path, place)
            shutil.copymode(path, place)
        progress(1)
    for folder in folders:
        sync_folder(folder)
    return total


def running_jobs(data: Path) -> int:
    """The number of processes of jobs that outlived the server of a data folder, and still run."""
    from statewright.jobs.runner import CLAIM, EXIT, started_at

    found = 0
    for claim in (path for folder in folders(data) for path in (folder / "jobs").rglob(CLAIM)):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            owner = json.loads(claim.read_bytes())
            if not (claim.parent / EXIT).exists():
                found += started_at(owner["pid"]) == owner["started"]
    return found


def refuse_missing(rows: Rows, blobs: Mapping[str, str], folder: Path) -> None:
    """Check that the files of all objects are there, but for those that blobs have. Raises: StoreError."""
    names = {f"{OBJECTS}/{file_name(number)}" for number in rows.object_files()}
    lost = missing(sorted(names - set(blobs.values())), folder)
    if lost:
        raise StoreError(
            f"{count_words(len(lost), 'file')} of its objects are not in {folder}, for one {lost[0]}: name the data "
            "folder that belongs to this store"
        )


def refuse_folder(folder: Path, origin: str) -> None:
    """Check that a folder can be filled: it is empty, or was left by the same move. Raises: StoreError."""
    unfinished = unfinished_from(folder)
    if unfinished == origin:
        return
    if unfinished is not None:
        raise StoreError(
            f"the folder {folder} is incomplete, because {unfinished} was interrupted: repeat that command, delete the "
            "folder, or name another one"
        )
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; name a folder")
    taken = sorted(name for name in MOVED if (folder / name).exists())
    taken += sorted(path.name for path in folder.glob(f"{FILE_NAME}*"))
    if taken:
        raise StoreError(f"the folder {folder} has files of a store already, for one {taken[0]}; name an empty folder")


@contextlib.contextmanager
def filled_folder(folder: Path, origin: str, command: str) -> Iterator[None]:
    """A folder for the files of a store; until the end of the block, no server starts on it.

    Raises: InUse; StoreError as `refuse_folder` does; OSError.
    """
    lock = FolderLock(folder, command)
    try:
        refuse_folder(folder, origin)
        write_bytes(folder / UNFINISHED, f"{origin}\n".encode(), durable=True)
        for name in MOVED:
            shutil.rmtree(folder / name, ignore_errors=True)
        for path in folder.glob(f"{FILE_NAME}*"):
            path.unlink()
        yield
        fail_points.passed(fail_points.AFTER_TRANSFER)
        _finish(folder)
    finally:
        lock.mark_closed()
        lock.release()


def finish_arrived(rows: Rows, address: str, folder: Path, origin: str, command: str) -> dict[str, int] | None:
    """Complete a move or restore that ended after the database had all rows, before its folder counted.

    Returns the number of rows of each table; None if that is not how `origin` ended.

    Raises: InUse; StoreError if the database has other rows than `rows`; Unavailable.
    """
    # The driver of PostgreSQL is optional.
    from statewright.stores.transfer.postgres_rows import is_filled, owned, snapshot

    if unfinished_from(folder) != origin or not is_filled(address):
        return None
    lock = FolderLock(folder, command)
    try:
        with owned(address, command), snapshot(address) as target:
            try:
                counts = compare_rows(rows, target, counted(rows))
            except StoreError as problem:
                raise StoreError(
                    f"{origin} was interrupted, and the database has changed since or was filled by something else "
                    f"({problem}): if a server has worked on it, it is complete, and {folder / UNFINISHED} can be "
                    "deleted; otherwise give Statewright another database"
                ) from None
        _finish(folder)
        return counts
    finally:
        lock.mark_closed()
        lock.release()


def _finish(folder: Path) -> None:
    """Take away the mark of an incomplete folder. Raises: OSError."""
    sync_folder(folder)
    (folder / UNFINISHED).unlink()
