from __future__ import annotations

import re
import sys

import pytest

from statewright.errors import StoreError
from statewright.stores.memory.store import MemoryStore
from statewright.stores.opening import open_store
from statewright.stores.sqlite.store import SqliteStore


def test_a_location_says_which_store(tmp_path):
    assert isinstance(open_store("memory:"), MemoryStore)
    store = open_store(str(tmp_path / "not" / "there"))
    assert isinstance(store, SqliteStore)
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("postgres://localhost/db?nonsense=1", "cannot be read"),
        ("mysql://localhost/db", "mysql:// is not a kind of store"),
        ("", "needs a name"),
    ],
)
def test_what_no_store_has_is_refused_in_words(location, words):
    with pytest.raises(StoreError, match=words):
        open_store(location)


def test_a_database_without_its_driver_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("psycopg", "statewright.stores.postgres"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=re.escape("pip install 'statewright[postgres]'")):
        open_store("postgresql://localhost/db")


def test_a_file_is_no_data_folder(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        open_store(str(tmp_path / "x"))
