"""Privacy of the data folder: only the user who runs the server may read what it stores.

1. A process that writes data folders or backups calls `keep_private` first: what it makes has no permissions for
   others (0700, 0600). Stores give their folder and file these modes themselves, for programs that open one directly.
2. `close_to_others` closes a folder that an earlier version left open, at each start. The folder and its entries
   suffice: nothing below a closed folder can be reached. A folder that also holds files of others (`--data .`) keeps
   its own mode; each entry of Statewright in it is closed.
3. Handlers inherit the mask; programs of jobs run with the one that the server was started with (`users_mask`),
   because they may write files for others.

Owns these permissions and the names in the folder; the modules named in `PARTS` own what is in the files.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

MASK: Final = 0o077
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
STORE_ID: Final = "store-id"
"""The file of a folder that belongs to a database: see `stores/postgres/identity.py`."""
PARTS: Final = (
    "statewright.db*",
    "lock",
    "objects",
    "functions",
    "jobs",
    "logs",
    "metrics",
    "simulations",
    "node-sdk",
    "volatile.sock",
    ".backup",
    "restored",
    "unfinished",
    "regions",
    "accounts",
    STORE_ID,
)
"""Patterns of the names in a data folder."""

_OTHERS_WRITE: Final = 0o022
_masks: Final[list[int]] = []


def folder_of(data: Path, region: str, account: str = "") -> Path:
    """The folder of a region other than the default one; `account` is empty for the default account."""
    return data / "accounts" / account / region if account else data / "regions" / region


def folders(data: Path) -> list[Path]:
    """A data folder, and the folders of its regions and accounts."""
    return [data, *sorted(data.glob("regions/*")), *sorted(data.glob("accounts/*/*"))]


def keep_private() -> None:
    """Give what this process and its children make from now on no permissions for other users."""
    before = os.umask(MASK)
    if not _masks:
        _masks.append(before)


def users_mask() -> int:
    """The file mode mask that this process was started with; -1 (as `subprocess` takes it) if it still has that."""
    return _masks[0] if _masks else -1


@dataclass(frozen=True, slots=True)
class Openness:
    """Paths of a data folder, its own or those of its entries, that other users of the machine can reach.

    `closable` can be closed without touching files that are not Statewright's; `others` cannot: a folder in which other
    users may replace the store, or one that belongs to another user.
    """

    closable: list[Path]
    others: list[Path]

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [*self.closable, *self.others]


def openness(folder: Path) -> Openness:
    """The openness of a data folder, which need not exist. Raises: OSError."""
    if sys.platform == "win32" or not folder.is_dir():
        return Openness([], [])
    found = folder.stat()
    foreign_owner = found.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0
    others = [folder] if foreign_owner else []
    if not found.st_mode & MASK:
        return Openness([], others)
    entries = sorted(folder.iterdir())
    ours = [entry for entry in entries if any(fnmatchcase(entry.name, part) for part in PARTS)]
    closable = [entry for entry in ours if is_open(entry)]
    # A sticky folder is one that users share, like /tmp, even while it is empty.
    if len(ours) == len(entries) and not found.st_mode & stat.S_ISVTX:
        return Openness([folder, *closable], others)
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX and not others:
        others = [folder]
    return Openness(closable, others)


def close_to_others(folder: Path) -> tuple[Openness, Openness]:
    """Close a data folder; returns what was open before, and what still is. Never raises for a folder in use."""
    before = openness(folder)
    for path in before.closable:
        try:
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~MASK)
        except FileNotFoundError:
            continue
        except OSError:
            # Seen again below: a file system without permissions, or another owner.
            continue
    return before, openness(folder)


def is_open(path: Path) -> bool:
    """True if a file or folder exists and has permissions for other users."""
    try:
        return sys.platform != "win32" and bool(path.stat().st_mode & MASK)
    except FileNotFoundError:
        # A link that leads nowhere, or a file that was deleted just now.
        return False
