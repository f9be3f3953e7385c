"""Rows copied from one store into another with a bar on a terminal, for `move`, `backup` and `restore`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from statewright.cli.output import USAGE, Stop

if TYPE_CHECKING:
    from statewright.stores.transfer.rows import EmptyStore, FilledStore, Rows


def is_address(store: str) -> bool:
    """True if a store is named by the address of a PostgreSQL database."""
    return store.startswith(("postgresql://", "postgres://"))


def check_driver() -> None:
    """Check that PostgreSQL can be reached from here. Raises: Stop."""
    try:
        import psycopg  # noqa: F401
    except ImportError as problem:
        hint = "pip install 'statewright[postgres]'"
        raise Stop(USAGE, f"PostgreSQL needs a driver: {problem}.", hint) from None


@contextlib.contextmanager
def bar(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal, if there is one; called with the number of further steps."""
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=length, label=label, file=sys.stderr, hidden=hidden) as shown:
        yield shown.update


def copy_rows(source: Rows, target: EmptyStore, counts: Mapping[str, int]) -> dict[str, int]:
    """Copy and compare all rows; returns their number by table. `counts` is about what there is. Raises: StoreError."""
    from statewright.stores.transfer.rows import transfer

    # Each row is copied and read back.
    with bar("copying rows", 2 * sum(counts.values())) as progress:
        return transfer(source, target, progress)


def compare_rows(source: Rows, target: FilledStore, counts: Mapping[str, int]) -> dict[str, int]:
    """Compare all rows of two stores; as `copy_rows`. Raises: StoreError if they differ."""
    from statewright.stores.transfer.rows import compare

    with bar("comparing rows", 2 * sum(counts.values())) as progress:
        return compare(source, target, progress)
