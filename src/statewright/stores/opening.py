"""Makes the store of a location: `memory:`, a data folder, or the address of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from statewright.clock import Clock
from statewright.errors import StoreError
from statewright.stores.memory.store import MemoryStore
from statewright.stores.sqlite.file import Durability
from statewright.stores.sqlite.store import SqliteStore
from statewright.stores.store import Store

NO_BUCKET: Final = (
    "--bucket needs a store in PostgreSQL (--store postgresql://...): SQLite and its files belong together on one disk"
)


def open_store(
    location: str,
    *,
    durability: Durability = "full",
    clock: Clock | None = None,
    files: Path | None = None,
    bucket: str | None = None,
    of_node: bool = False,
) -> Store:
    """The store at a location, not opened yet: `await store.open(owner)` does that.

    `memory:` keeps nothing; a path is a data folder, made when missing. `clock` stands still while the store works,
    which virtual time needs. `files` is the folder with the files of a database: the store refuses that of another one.
    `bucket` is the address of the bucket that has the large bytes of a database. `of_node`: the process is a node of
    the cluster that has the database.

    Raises: StoreError for a location that this version cannot use.
    """
    scheme, separator, _ = location.partition("://")
    if bucket is not None and scheme not in ("postgres", "postgresql"):
        raise StoreError(NO_BUCKET)
    if location == "memory:":
        return MemoryStore()
    if separator and scheme in ("postgres", "postgresql"):
        return _postgres(location, clock, files, bucket, of_node=of_node)
    if separator:
        raise StoreError(
            f"{scheme}:// is not a kind of store that Statewright knows; name a data folder, postgresql:// or memory:"
        )
    if not location:
        raise StoreError("a data folder needs a name")
    folder = Path(location)
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; a store needs a data folder")
    return SqliteStore(folder, durability=durability, clock=clock)


def _postgres(address: str, clock: Clock | None, files: Path | None, bucket: str | None, *, of_node: bool) -> Store:
    # Imported here: a store in a folder needs no driver.
    try:
        from statewright.stores.postgres.store import PostgresStore
    except ImportError as problem:
        raise StoreError(
            f"a store in PostgreSQL needs a driver ({problem}): pip install 'statewright[postgres]'"
        ) from problem
    from statewright.stores.bucket.address import bucket_address

    named = None if bucket is None else bucket_address(bucket)
    return PostgresStore(address, clock=clock, files=files, bucket=named, of_node=of_node)
