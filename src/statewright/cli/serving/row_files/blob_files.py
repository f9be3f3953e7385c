"""The files of an embedded store that a store in PostgreSQL has as blobs: bodies of objects, packages of functions.

A store that an older version wrote may have some of them in its folder still. A file in the folder is the whole one:
its blob may not be complete yet.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from statewright.cli.serving.backup_files import OBJECTS, Progress
from statewright.errors import StoreError
from statewright.files.data_folder import FILE_MODE, FOLDER_MODE, folder_of
from statewright.files.whole import sync_folder
from statewright.functions.functions import CODE
from statewright.objects.bodies import file_name
from statewright.stores.transfer.rows import Rows

_OBJECT: Final = "object"
_CODE: Final = "code"


def files_of_blobs(rows: Rows, folder: Path) -> dict[str, str]:
    """The files that a folder lacks and blobs have, by the names of the blobs; without bodies that no row names.

    Raises: StoreError.
    """
    sizes = rows.blob_sizes()
    if not sizes:
        return {}
    named = set(rows.object_files())
    found = {name: file for name in sizes if (file := _file_of(name, named)) is not None}
    return {name: file for name, file in found.items() if not (folder / file).is_file()}


def _file_of(name: str, named: set[int]) -> str | None:
    *place, kind, key = name.split("/")
    region, account = (place[-1], place[0] if len(place) > 1 else "") if place else ("", "")
    folder = folder_of(Path(), region, account) if region else Path()
    if kind == _CODE:
        return (folder / CODE / f"{key}.zip").as_posix()
    if kind == _OBJECT:
        number = int(key, 16)
        return (folder / OBJECTS / file_name(number)).as_posix() if number in named else None
    raise StoreError(f"the blob {name} is of no kind that this program knows")


def write_blobs(rows: Rows, files: Mapping[str, str], target: Path, progress: Progress) -> int:
    """Write blobs into files of a folder, durably; returns their bytes. Raises: StoreError, OSError.

    Packages are checked by their SHA-256, bodies by their length.
    """
    if not files:
        return 0
    sizes = rows.blob_sizes()
    written = dict.fromkeys(files, 0)
    name = ""
    with contextlib.ExitStack() as stack, contextlib.closing(rows.blob_pieces(files)) as pieces:
        for piece_of, number, body in pieces:
            if piece_of not in files:
                continue
            if piece_of != name:
                name = piece_of
                stack.close()
                file = stack.enter_context(_new_file(target / files[name]))
                digest = stack.enter_context(_checked(name))
                expected = 0
                progress(1)
            if number != expected:
                raise StoreError(f"the blob {name} is damaged: its piece {expected} is missing")
            expected += 1
            file.write(body)
            digest.update(body)
            written[name] += len(body)
    for name, size in written.items():
        if size != sizes[name]:
            raise StoreError(f"of {sizes[name]:,} bytes of the blob {name}, {size:,} arrived")
    for folder in {(target / file).parent for file in files.values()}:
        sync_folder(folder)
    return sum(written.values())


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    with path.open("wb") as file:
        path.chmod(FILE_MODE)
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _checked(name: str) -> Iterator[hashlib._Hash]:
    digest = hashlib.sha256()
    yield digest
    kind, key = name.split("/")[-2:]
    if kind == _CODE and digest.hexdigest() != key:
        raise StoreError(f"the blob {name} is damaged: its SHA-256 is not its name")
