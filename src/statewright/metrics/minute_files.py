"""Minutes of metrics as files of the data folder: one for each hour, to which blocks are appended.

`series.jsonl` maps numbers to metrics. A block that a dying process left unfinished is cut off at the next start.
Nothing is synced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from statewright.files.whole import write_bytes
from statewright.metrics.archive import HOUR, KEPT_SECONDS, MOST_BYTES, Known
from statewright.metrics.blocks import Name, blocks_in, line_of, names_in, whole_bytes

METRICS: Final = "metrics"
"""The folder, in a data folder or that of a region."""
NAMES: Final = "series.jsonl"
ENDING: Final = ".minutes"
COMPACT_ABOVE: Final = 5_000
"""With more names, those without points are dropped at start."""

log = logging.getLogger("statewright.metrics")


class MinuteFiles:
    """See `Minutes`: the files of one folder, used by one process at a time, which writes them if `may_write`."""

    def __init__(
        self, folder: Path, may_write: Callable[[], bool] = lambda: True, most_bytes: int = MOST_BYTES
    ) -> None:
        self._folder = folder
        self._names = folder / NAMES
        self._may_write = may_write
        self._most_bytes = most_bytes
        self._named: set[int] = set()
        self._pruned = 0
        self._is_broken = False

    async def open(self, now: int) -> Known:
        """See `Minutes.open`; cuts off half-written blocks of a dying process."""
        names = self.opened(now)
        return Known(names, max((name.number for name in names), default=0))

    def opened(self, now: int) -> list[Name]:
        """See `open`; the known metrics."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self.hours()[-2:]:
            whole = whole_bytes(path.read_bytes())
            if whole < path.stat().st_size:
                with path.open("r+b") as file:
                    file.truncate(whole)
        self._prune(now)
        names = self.names()
        if len(names) > COMPACT_ABOVE:
            used: set[int] = set()
            for path in self.hours():
                for block in blocks_in(path.read_bytes()):
                    used.update(block.numbers())
            names = [name for name in names if name.number in used]
            write_bytes(self._names, _lines(names))
        self._named = {name.number for name in names}
        return names

    def has_name(self, number: int, _now: int) -> bool:
        """See `Minutes.has_name`."""
        return number in self._named

    def add(self, minute: int, block: bytes, names: Sequence[Name]) -> None:
        """See `Minutes.add`. A failed write is logged, once: a full disk must not stop the server."""
        if not self._may_write():
            # The metrics stay without a name, until the next minute that is written.
            return
        try:
            self.append(minute, block, names)
            self._is_broken = False
        except OSError as problem:
            if not self._is_broken:
                log.warning("metrics of this minute are not kept: %s", problem)
            self._is_broken = True
        if minute // HOUR != self._pruned:
            self._prune(minute)

    def append(self, minute: int, block: bytes, names: Sequence[Name]) -> None:
        """Write a block, behind the names in it. Raises: OSError."""
        if names:
            _append(self._names, _lines(names))
            self._named.update(name.number for name in names)
        _append(self._path(minute), block)

    async def settle(self) -> None:
        """See `Minutes.settle`: everything is."""

    def contents(self, start: int, end: int) -> Iterator[bytes]:
        """See `Minutes.contents`."""
        first, last = self._path(start).name, self._path(max(end - 1, 0)).name
        for path in self.hours():
            if first <= path.name <= last:
                yield _content(path)

    async def close(self) -> None:
        """See `Minutes.close`: nothing waits."""

    def names(self) -> list[Name]:
        """The names in the folder."""
        return list(names_in(_content(self._names).splitlines()))

    def hours(self) -> list[Path]:
        """The files of blocks, by time."""
        return sorted(self._folder.glob(f"*{ENDING}"))

    def remove_names(self) -> None:
        """Delete the names: no block is left."""
        self._names.unlink(missing_ok=True)

    def _prune(self, now: int) -> None:
        """Delete the files of hours that are too old, and the oldest ones above the bound on bytes."""
        self._pruned = now // HOUR
        oldest = self._path(now - KEPT_SECONDS).name
        kept = 0
        for path in reversed(self.hours()):
            kept += path.stat().st_size
            if path.name < oldest or kept > self._most_bytes:
                path.unlink(missing_ok=True)

    def _path(self, second: int) -> Path:
        return self._folder / f"{second // HOUR:08d}{ENDING}"


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def _lines(names: Sequence[Name]) -> bytes:
    return b"".join(line_of(name) + b"\n" for name in names)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
