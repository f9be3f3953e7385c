"""The checks of `statewright doctor` on a data folder: its store, its privacy, the process that has it open."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from statewright.cli.output import count_words
from statewright.cli.serving.checks import Check

MOST_CHECKED_BYTES: Final = 256 * 1024 * 1024
"""Larger stores are not read through for damage: it would take too long."""
LEAST_FREE_BYTES: Final = 500 * 1024 * 1024


def check_data(folder: Path) -> Check:
    """Check that the data folder can be used; its facts are the store's size and the process that has it open."""
    import shutil

    from statewright.files.data_folder import STORE_ID
    from statewright.stores.sqlite.file import FILE_NAME, lacks_log, log_of

    facts: dict[str, Any] = {"folder": str(folder), "inUseBy": None}
    if not folder.exists():
        parent = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
        if not os.access(parent, os.W_OK):
            return Check("data", "problem", f"{folder} cannot be created: {parent} is not writable", facts=facts)
        return Check("data", "note", f"{folder} does not exist yet; statewright serve creates it", facts=facts)
    if not folder.is_dir():
        return Check("data", "problem", f"{folder} is a file", "name a folder: --data DIR", facts)
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("data", "problem", f"{folder} is not writable", "change its owner or permissions", facts)
    facts["freeBytes"] = shutil.disk_usage(folder).free
    file = folder / FILE_NAME
    if not file.is_file():
        facts["ofDatabase"] = (folder / STORE_ID).is_file()
        if facts["ofDatabase"]:
            said = f"{folder}, of a server on PostgreSQL: its logs are here alone, and are not in the database"
            return Check("data", "ok", said, facts=facts)
        return Check("data", "ok", f"{folder} is empty", facts=facts)
    facts["sizeBytes"] = sum(part.stat().st_size for part in folder.glob(f"{FILE_NAME}*") if part.is_file())
    facts["inUseBy"] = holder = holder_of(folder)
    facts["logMissing"] = holder is None and lacks_log(folder)
    problem = _read_store(file, facts)
    words = [str(folder), f"{facts['sizeBytes']:,} bytes"]
    if problem is not None:
        damaged = "damaged" in problem or "malformed" in problem
        hint = f"move {folder} away, and then: statewright restore BACKUP --data {folder}" if damaged else None
        return Check("data", "problem", f"{folder}: {problem}", hint, facts)
    if facts["logMissing"]:
        words.append(f"not closed, and {log_of(file).name} is missing: the last writes may be lost")
        advice = "restore a backup, unless another program has emptied the log; the next start takes the store as it is"
        return Check("data", "problem", ", ".join(words), advice, facts)
    words.append(count_words(facts["executions"], "execution"))
    words.append(f"in use by {holder}" if holder is not None else "not in use")
    if facts["freeBytes"] < LEAST_FREE_BYTES:
        left = facts["freeBytes"] // (1024 * 1024)
        return Check("data", "problem", ", ".join(words), f"only {left:,} MiB of disk space are left", facts)
    return Check("data", "ok", ", ".join(words), facts=facts)


def check_privacy(folder: Path) -> Check:
    """Check that no other user of the machine can read the data folder."""
    from statewright.files.data_folder import openness

    facts: dict[str, Any] = {"openPaths": []}
    if not folder.is_dir():
        return Check("privacy", "ok", "a data folder is made for its owner alone", facts=facts)
    try:
        found = openness(folder)
    except OSError as problem:
        return Check("privacy", "problem", f"{folder} cannot be read: {problem.strerror}", facts=facts)
    facts["openPaths"] = [str(path) for path in found.paths]
    if not found.paths:
        return Check("privacy", "ok", f"only its owner can read {folder}", facts=facts)
    if found.others:
        words = f"{found.others[0]} belongs to another user, or other users can write there"
        return Check("privacy", "problem", words, "name a folder of the server's own: --data DIR", facts)
    hint = "start the server, which closes it; change the secrets that other users may have read"
    return Check("privacy", "problem", f"other users of this machine can read {found.closable[0]}", hint, facts)


def holder_of(folder: Path) -> str | None:
    """The process that has a data folder open, `pid 7 (...)`, or None. The lock is neither awaited nor kept."""
    from statewright.stores.sqlite.file import LOCK_NAME, first_line

    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY)
    except OSError:
        return None
    try:
        if sys.platform == "win32":
            return None
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            said = first_line(os.pread(descriptor, 200, 1))
            # `pid 7 (pid 7)` for a server without a name of its own.
            process, _, owner = said.rstrip(")").partition(" (")
            return f"{process} ({owner})" if owner not in ("", process) else process or "another process"
        return None
    finally:
        os.close(descriptor)


def _read_store(file: Path, facts: dict[str, Any]) -> str | None:
    """Read a store's version and size into `facts`; returns the problem, if there is one."""
    import sqlite3

    from statewright.errors import StoreError
    from statewright.stores.sqlite.file import APPLICATION_ID, SCHEMA_VERSION, connect

    try:
        connection = connect(file, keeps_log=True)
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                return f"{file.name} is not a Statewright store"
            (version,) = connection.execute("SELECT max(version) FROM schema_version").fetchone()
            facts["schemaVersion"] = version
            if version > SCHEMA_VERSION:
                return f"a newer Statewright wrote it (version {version}; this one knows {SCHEMA_VERSION})"
            if facts["sizeBytes"] <= MOST_CHECKED_BYTES:
                (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if said != "ok":
                    return f"the file is damaged: {said}"
            (facts["executions"],) = connection.execute("SELECT count(*) FROM execution").fetchone()
        finally:
            connection.close()
    except (sqlite3.Error, StoreError) as problem:
        return str(problem)
    return None
