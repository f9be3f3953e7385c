"""The files beside a store, for `backup` and `restore`: bodies of large objects, packages of functions, metrics.

Files of the first two kinds never change once a row names them, but a running server deletes them. So a backup first
holds fast all of them by hard links in the data folder, and copies from those. Minutes of metrics are appended to their
files: a block that was copied in part is dropped at the next start. Owns where the files of a backup lie:
`nightly.db` has them in the folder `nightly.db.files`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

OBJECTS: Final = "objects"
HELD: Final = ".backup"
"""Of the data folder: links that a backup holds while it is made."""

Progress = Callable[[int], None]
"""Called with the number of further files that were copied."""


def files_of(backup: Path) -> Path:
    """The folder with the files of a backup; it exists only if there are any."""
    return backup.with_name(backup.name + ".files")


@contextmanager
def held(data: Path) -> Iterator[Path]:
    """Links to every file of a data folder, so that none disappears meanwhile; `more` of them may be made in there."""
    folder = data / HELD
    shutil.rmtree(folder, ignore_errors=True)
    try:
        hold(data, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hold(data: Path, folder: Path) -> None:
    """Link what is in a data folder and not yet in the folder of links."""
    for name in _names(data):
        target = folder / name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            link_or_copy(data / name, target)
        except FileNotFoundError:
            # The server has deleted it just now.
            continue


def needed(bodies_of_rows: Iterable[int], folder: Path) -> list[str]:
    """The files of a folder that a store needs: bodies that its rows name by their ids, every package, and metrics."""
    from statewright.objects.bodies import file_name

    bodies = [f"{OBJECTS}/{file_name(number)}" for number in bodies_of_rows]
    return bodies + [name for name in _names(folder) if not name.startswith(OBJECTS + "/")]


def missing(names: Iterable[str], folder: Path) -> list[str]:
    """Those of some files that are not in a folder."""
    return [name for name in names if not (folder / name).is_file()]


def copy_files(
    names: list[str], source: Path, target: Path, progress: Progress, write_more: Callable[[Path], int] | None = None
) -> int:
    """Copy files into a folder, which gets its name when it is complete; returns their bytes. Raises: OSError.

    A folder of that name is replaced. `write_more` writes further files into it, and returns their bytes.
    """
    unfinished = target.with_name(target.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    total = 0
    try:
        for name in names:
            copy = unfinished / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            total += copied(source / name, copy)
            progress(1)
        if write_more is not None:
            total += write_more(unfinished)
        shutil.rmtree(target, ignore_errors=True)
        if unfinished.exists():
            unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return total


def _names(folder: Path) -> Iterator[str]:
    """The files of a data folder or of a backup, by their names in there."""
    from statewright.files.data_folder import folders
    from statewright.functions.functions import CODE
    from statewright.metrics.minute_files import METRICS

    for path in sorted((folder / OBJECTS).glob("*/*")):
        yield path.relative_to(folder).as_posix()
    # What is unpacked beside a package is unpacked again when it is needed.
    for place in folders(folder):
        for path in (*sorted((place / CODE).glob("*.zip")), *sorted((place / METRICS).glob("*"))):
            yield path.relative_to(folder).as_posix()


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name. Raises: OSError."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        # A file system without links.
        shutil.copyfile(source, target)


def copied(source: Path, target: Path) -> int:
    """Copy a file durably; returns its bytes. Raises: OSError."""
    with source.open("rb") as taken, target.open("wb") as written:
        os.chmod(target, 0o600)
        shutil.copyfileobj(taken, written, 1024 * 1024)
        written.flush()
        os.fsync(written.fileno())
        return written.tell()
