"""Makes the store of a location: `memory:`, a data folder, or the address of a database."""

from __future__ import annotations

from pathlib import Path

from statewright.clock import Clock
from statewright.errors import StoreError
from statewright.stores.memory.store import MemoryStore
from statewright.stores.sqlite.file import Durability
from statewright.stores.sqlite.store import SqliteStore
from statewright.stores.store import Store


def open_store(
    location: str, *, durability: Durability = "full", clock: Clock | None = None, files: Path | None = None
) -> Store:
    """The store at a location, not opened yet: `await store.open(owner)` does that.

    `memory:` keeps nothing; a path is a data folder, made when missing. `clock` stands still while the store works,
    which virtual time needs. `files` is the folder with the files of a database: the store refuses that of another one.

    Raises: StoreError for a location that this version cannot use.
    """
    if location == "memory:":
        return MemoryStore()
    scheme, separator, _ = location.partition("://")
    if separator and scheme in ("postgres", "postgresql"):
        return _postgres(location, clock, files)
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


def _postgres(address: str, clock: Clock | None, files: Path | None) -> Store:
    # Imported here: a store in a folder needs no driver.
    try:
        from statewright.stores.postgres.store import PostgresStore
    except ImportError as problem:
        raise StoreError(
            f"a store in PostgreSQL needs a driver ({problem}): pip install 'statewright[postgres]'"
        ) from problem
    return PostgresStore(address, clock=clock, files=files)
