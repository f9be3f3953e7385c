"""`statewright move`: everything of a stopped server, between a data folder and PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.output import FAILED, NOT_FOUND, USAGE, Stop, count_words, reason_of, stdout
from statewright.cli.serving.row_progress import bar, check_driver, copy_rows, is_address
from statewright.cli.table import print_table

if TYPE_CHECKING:
    from statewright.stores.transfer.rows import Rows

COMMAND: Final = "statewright move"
_FOLDER: Final = "sqlite:"


@dataclass(frozen=True, slots=True)
class Move:
    """A move between the data folder of an embedded store and a database with a data folder beside it."""

    folder: Path
    address: str
    place: str
    """The address as messages show it."""
    data: Path
    to_database: bool

    @property
    def ends(self) -> tuple[str, str]:
        """The names of source and target."""
        both = (f"{_FOLDER}{self.folder}", self.place)
        return both if self.to_database else both[::-1]

    @property
    def origin(self) -> str:
        """How an unfinished target names the move."""
        both = (f"{_FOLDER}{self.folder.resolve()}", self.place)
        source, target = both if self.to_database else both[::-1]
        return f"the move from {source} to {target}"

    @property
    def files(self) -> tuple[Path, Path]:
        """The folders from which and to which files go."""
        return (self.folder, self.data) if self.to_database else (self.data, self.folder)


@dataclass(slots=True)
class Moved:
    """The rows and files of a store, to be moved or moved."""

    rows: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)
    """Files that are made of blobs, by the names of these."""
    minutes: int = 0
    """Blocks of minutes of metrics that become files; they are not in `file_bytes`."""
    file_bytes: int = 0

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.names) + len(self.blobs)


@click.command(short_help="Move everything between a data folder and PostgreSQL.")
@click.option("--from", "source", metavar="STORE", required=True, help="sqlite:DIR or postgresql://...")
@click.option("--to", "target", metavar="STORE", required=True, help="The other of the two, which must be empty.")
@click.option(
    "--data",
    metavar="DIR",
    required=True,
    help="The data folder of the server on PostgreSQL, with its files beside the rows.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and count; write nothing.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def move(source: str, target: str, data: str, dry_run: bool, form: str) -> None:
    """Move a stopped server from its data folder to PostgreSQL, or back: all rows, and the files beside them.

    The source stays as it is. Every table is read back and compared before the target counts. A target that was
    interrupted is refused by `serve` until the same command has completed it.

    \b
    Examples:
      statewright move --from sqlite:.statewright --to postgresql://statewright@db/statewright --data /srv/statewright
      statewright move --from postgresql://statewright@db/statewright --to sqlite:restored --data /srv/statewright
      statewright move --from sqlite:.statewright --to postgresql://db/sw --data /srv/statewright --dry-run -o json
    """
    from statewright.errors import StoreError
    from statewright.files.data_folder import keep_private

    keep_private()
    wanted = _wanted(source, target, Path(data))
    try:
        moved = _to_database(wanted, dry_run) if wanted.to_database else _to_folder(wanted, dry_run)
    except StoreError as problem:
        raise Stop(FAILED, f"Nothing was moved: {problem}.") from None
    except OSError as problem:
        raise Stop(FAILED, f"Nothing was moved: {problem.filename or data}: {reason_of(problem)}.") from None
    _say(wanted, moved, dry_run, form)


def _wanted(source: str, target: str, data: Path) -> Move:
    """The move that was asked for. Raises: Stop."""
    for option, store in (("--from", source), ("--to", target)):
        if not is_address(store) and not store.startswith(_FOLDER):
            hint = "name a data folder as sqlite:DIR, or a database as postgresql://..."
            # An address may have a password.
            shown = "this address" if "@" in store else store
            raise Stop(USAGE, f"{option} {shown} is not a store.", hint)
        if store == _FOLDER:
            raise Stop(USAGE, f"{option} {store} names no folder.", "name the data folder: sqlite:DIR")
    if is_address(source) == is_address(target):
        kind = "PostgreSQL databases" if is_address(source) else "data folders"
        raise Stop(USAGE, f"Both stores are {kind}.", "to copy a store: statewright backup, then statewright restore")
    check_driver()
    from statewright.errors import StoreError
    from statewright.stores.postgres.connection import place_of

    to_database = is_address(target)
    address = target if to_database else source
    folder = Path((source if to_database else target).removeprefix(_FOLDER))
    try:
        place = place_of(address)
    except StoreError as problem:
        raise Stop(USAGE, f"{problem}.") from None
    if data.resolve() == folder.resolve():
        hint = "name another one: --data DIR. A server on the old store would delete files of the new one"
        raise Stop(USAGE, f"{folder} cannot be the data folder of both stores.", hint)
    return Move(folder, address, place, data, to_database)


def _to_database(wanted: Move, dry_run: bool) -> Moved:
    """Fill a database from a data folder. Raises: Stop, StoreError, OSError."""
    from statewright.cli.serving.moved_files import copy_moved, filled_folder, finish_arrived, refuse_folder
    from statewright.stores.sqlite.file import FILE_NAME
    from statewright.stores.transfer.postgres_rows import empty, refuse_filled, refuse_other_folder
    from statewright.stores.transfer.sqlite_rows import reading

    if not (wanted.folder / FILE_NAME).is_file():
        hint = "name the folder that the server was given: sqlite:DIR"
        raise Stop(NOT_FOUND, f"There is no store in {wanted.folder}.", hint)
    with _locked(wanted.folder), reading(wanted.folder / FILE_NAME) as rows:
        moved = _found(wanted, rows)
        refuse_folder(wanted.data, wanted.origin)
        refuse_other_folder(wanted.address, wanted.data)
        if not dry_run:
            arrived = finish_arrived(rows, wanted.address, wanted.data, wanted.origin, COMMAND)
            if arrived is not None:
                moved.rows = arrived
                return moved
        refuse_filled(wanted.address)
        if dry_run:
            return moved
        with empty(wanted.address, COMMAND) as target, filled_folder(wanted.data, wanted.origin, COMMAND):
            target.mark(wanted.origin)
            moved.file_bytes = copy_moved(moved.names, *wanted.files)
            with target.filling():
                moved.rows = copy_rows(rows, target, moved.rows)
    return moved


def _to_folder(wanted: Move, dry_run: bool) -> Moved:
    """Fill a data folder from a database. Raises: Stop, StoreError, OSError."""
    from statewright.cli.serving.moved_files import copy_moved, filled_folder, refuse_folder
    from statewright.cli.serving.row_files.blob_files import write_blobs
    from statewright.cli.serving.row_files.metric_files import write_minutes
    from statewright.stores.sqlite.file import FILE_NAME
    from statewright.stores.transfer.postgres_rows import owned, refuse_other_folder, snapshot
    from statewright.stores.transfer.sqlite_rows import new_file

    if not wanted.data.is_dir():
        hint = "name the folder that the server was given: --data DIR"
        raise Stop(NOT_FOUND, f"There is no folder '{wanted.data}'.", hint)
    with owned(wanted.address, COMMAND) as lease, snapshot(wanted.address) as rows:
        refuse_other_folder(wanted.address, wanted.data)
        moved = _found(wanted, rows)
        refuse_folder(wanted.folder, wanted.origin)
        if dry_run:
            return moved
        with filled_folder(wanted.folder, wanted.origin, COMMAND):
            moved.file_bytes = copy_moved(moved.names, *wanted.files)
            with bar("writing files", len(moved.blobs)) as progress:
                moved.file_bytes += write_blobs(rows, moved.blobs, wanted.folder, progress)
            write_minutes(rows, wanted.folder)
            with new_file(wanted.folder / FILE_NAME) as target:
                moved.rows = copy_rows(rows, target, moved.rows)
                lease.check()
    return moved


def _found(wanted: Move, rows: Rows) -> Moved:
    """The rows and files to move. Raises: StoreError for files that are missing, or jobs that still run."""
    from statewright.cli.serving.moved_files import files_of_store, refuse_missing, running_jobs
    from statewright.cli.serving.row_files.blob_files import files_of_blobs
    from statewright.errors import StoreError
    from statewright.stores.transfer.rows import counted

    source = wanted.files[0]
    blobs = files_of_blobs(rows, source)
    refuse_missing(rows, blobs, source)
    running = running_jobs(source)
    if running:
        raise StoreError(
            f"{count_words(running, 'process', 'processes')} of jobs still run in {source}: wait for their end, or "
            "start the server again and stop them"
        )
    names = files_of_store(source)
    size = sum((source / name).lstat().st_size for name in names)
    sizes = rows.blob_sizes() if blobs else {}
    return Moved(counted(rows), names, blobs, rows.count_minutes(), size + sum(sizes[name] for name in blobs))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep servers from a data folder. Raises: InUse, naming the one that has it; StoreError if it is incomplete."""
    from statewright.errors import StoreError
    from statewright.stores.sqlite.file import FILE_NAME, FolderLock, log_is_missing, refuse_unfinished

    refuse_unfinished(folder)
    lock = FolderLock(folder, COMMAND)
    try:
        if lock.was_left_open and log_is_missing(folder / FILE_NAME):
            raise StoreError(
                f"the store in {folder} was not closed and its write-ahead log is missing, so what was acknowledged "
                "last may be lost: look for the log, or start a server on the folder once to go on without it"
            )
        yield
    finally:
        lock.mark_closed()
        if lock.was_left_open:
            lock.mark_open()
        lock.release()


def _say(wanted: Move, moved: Moved, dry_run: bool, form: str) -> None:
    printer = stdout()
    source, target = wanted.ends
    if form == "json":
        found: dict[str, Any] = {"from": source, "to": target, "data": str(wanted.data), "dryRun": dry_run}
        found |= {"tables": moved.rows, "rows": sum(moved.rows.values())}
        found |= {"files": moved.files, "fileBytes": moved.file_bytes, "metricMinutes": moved.minutes}
        printer.json(found)
        return
    rows = [[name, f"{many:,}"] for name, many in moved.rows.items() if many]
    if rows:
        print_table(printer, ["TABLE", "ROWS"], rows)
        printer.line()
    what = f"{count_words(sum(moved.rows.values()), 'row')} and {count_words(moved.files, 'file')}"
    what += f" of {moved.file_bytes:,} bytes" if moved.files else ""
    what += f" and {count_words(moved.minutes, 'minute')} of metrics" if moved.minutes else ""
    if dry_run:
        printer.line(f"{what} would be moved from {source} to {target}; nothing was written")
        return
    printer.line(f"{what} moved from {source} to {target}, compared")
    store = f"--store {target} --data {wanted.data}" if wanted.to_database else f"--data {wanted.folder}"
    printer.line(("To serve it: ", "idle"), f"statewright serve {store}")
    printer.line((f"{source} is as it was. Start no server on it again, or both carry out the same work.", "idle"))
