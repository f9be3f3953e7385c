"""The places up to which the events of log groups were exported, in files of a folder, one for each group.

They belong to the node, as the log files do: the inodes in them mean nothing elsewhere. While the file `begun` is
missing, the export has never run here.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Final

from statewright.files.whole import write_bytes, write_text
from statewright.records.log_following import Places

FOLDER: Final = "otlp"
_BEGUN: Final = "begun"

log = logging.getLogger("statewright.logs")


class PlaceFiles:
    """The files of one region, in a folder of its data. Without data nothing is kept. Everything here blocks."""

    def __init__(self, data: Path | None, folder: str = FOLDER) -> None:
        self._folder = data / folder if data is not None else None

    def load(self) -> dict[str, Places] | None:
        """The places by group; None if the export has never run here. Raises: OSError."""
        if self._folder is None or not (self._folder / _BEGUN).exists():
            return None
        found: dict[str, Places] = {}
        for path in self._folder.glob("*.json"):
            try:
                kept = json.loads(path.read_bytes())
                found[kept["group"]] = {stream: _place(one) for stream, one in kept["places"].items()}
            except (ValueError, KeyError, TypeError, AttributeError, IndexError):
                log.warning("%s is damaged: events of its log group are exported again from the first", path)
        return found

    def begin(self) -> None:
        """Note that the places of all groups were kept once. Raises: OSError."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_text(self._folder / _BEGUN, "")

    def keep(self, group: str, places: Places) -> None:
        """Keep the places of a group, durably; none removes it. Raises: OSError."""
        if self._folder is None:
            return
        path = self._folder / f"{hashlib.blake2b(group.encode(), digest_size=16).hexdigest()}.json"
        if not places:
            path.unlink(missing_ok=True)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = {"group": group, "places": {stream: list(place) for stream, place in places.items()}}
        write_bytes(path, json.dumps(kept).encode(), durable=True)


def _place(kept: list[int]) -> tuple[int, int, int]:
    """An inode, an offset and a mark. Raises: ValueError, TypeError."""
    inode, offset, mark = kept
    return int(inode), int(offset), int(mark)
