"""Files made of blobs, for a data folder or a backup."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.serving.moved_files import refuse_missing
from statewright.cli.serving.row_files.blob_files import files_of_blobs, write_blobs
from statewright.errors import StoreError
from statewright.objects.bodies import file_name
from statewright.stores.transfer.mapping import Table

ZIP = b"a zip"
SHA = hashlib.sha256(ZIP).hexdigest()


class Blobs:
    """The blobs of a store whose rows name the bodies 1 and 16."""

    def __init__(self, pieces: list[tuple[str, int, bytes]]) -> None:
        self.pieces = sorted(pieces)

    def blob_sizes(self) -> dict[str, int]:
        return {name: sum(len(body) for one, _, body in self.pieces if one == name) for name, _, _ in self.pieces}

    def blob_pieces(self, names: Container[str]) -> Generator[tuple[Any, ...], None, None]:
        yield from self.pieces

    def object_files(self) -> list[int]:
        return [1, 16]

    def count(self, table: Table) -> int:
        raise NotImplementedError

    def rows(self, table: Table) -> Generator[tuple[Any, ...], None, None]:
        raise NotImplementedError

    sorted_rows = rows

    def epoch(self) -> int:
        raise NotImplementedError

    count_minutes = epoch

    def minute_blocks(self) -> Generator[tuple[Any, ...], None, None]:
        raise NotImplementedError

    metric_names = minute_blocks


WHOLE = [
    ("object/1", 0, b"one"), ("object/10", 0, b"six"), ("object/10", 1, b"teen"), ("object/2", 0, b"doomed"),
    (f"code/{SHA}", 0, ZIP[:2]), (f"code/{SHA}", 1, ZIP[2:]), (f"eu-west-1/code/{SHA}", 0, ZIP),
    (f"111122223333/eu-west-1/code/{SHA}", 0, ZIP),
]  # fmt: skip


def written(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())


def test_blobs_become_the_files_that_rows_name(tmp_path):
    rows, steps = Blobs(WHOLE), list[int]()
    files = files_of_blobs(rows, tmp_path / "old")
    refuse_missing(rows, files, tmp_path / "old")
    assert write_blobs(rows, files, tmp_path / "new", steps.append) == len("one" + "sixteen") + 3 * len(ZIP)
    assert sum(steps) == len(files) == 5
    assert list(written(tmp_path / "new")) == sorted([
        f"objects/{file_name(1)}", f"objects/{file_name(16)}", f"functions/code/{SHA}.zip",
        f"regions/eu-west-1/functions/code/{SHA}.zip", f"accounts/111122223333/eu-west-1/functions/code/{SHA}.zip",
    ])  # fmt: skip
    assert (tmp_path / "new" / "objects" / file_name(16)).read_bytes() == b"sixteen"
    assert (tmp_path / "new" / "objects" / file_name(16)).stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_is_the_whole_one(tmp_path):
    place = tmp_path / "objects" / file_name(16)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"not yet a blob")
    assert "object/10" not in files_of_blobs(Blobs(WHOLE), tmp_path)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (
            [one for one in WHOLE if one[:2] != ("object/10", 0)],
            "the blob object/10 is damaged: its piece 0 is missing",
        ),
        ([(f"code/{SHA}", 0, b"another zip")], f"the blob code/{SHA} is damaged: its SHA-256 is not its name"),
    ],
)
def test_a_damaged_blob_is_refused(tmp_path, pieces, said):
    rows = Blobs(pieces)
    with pytest.raises(StoreError, match=said):
        write_blobs(rows, files_of_blobs(rows, tmp_path), tmp_path / "new", lambda _: None)


def test_a_body_that_is_nowhere_is_refused(tmp_path):
    rows = Blobs([("object/1", 0, b"one")])
    with pytest.raises(StoreError, match=rf"1 file of its objects are not in .*objects/{file_name(16)}"):
        refuse_missing(rows, files_of_blobs(rows, tmp_path), tmp_path)
