"""Files that change: looked at again and again, by the clock, without help from the system.

Owns when a change is reported: once a file is unchanged for one scan, so that a half-written one is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from statewright.clock import Clock

INTERVAL_MS: Final = 250

Stamp = tuple[int, int, int]


class Watch:
    """The state of a set of files at the last report."""

    def __init__(self, find: Callable[[], Iterable[Path]]) -> None:
        """`find` names the files of the moment; those there now are known, and no change."""
        self._find = find
        self._reported = self._stamps()
        self._seen = dict(self._reported)

    def changes(self) -> list[Path]:
        """Files added, changed or removed since the last report that have been stable for one scan, in order."""
        before, self._seen = self._seen, self._stamps()
        changed = []
        for path in sorted(self._reported.keys() | self._seen.keys()):
            now = self._seen.get(path)
            if now != self._reported.get(path) and now == before.get(path):
                changed.append(path)
                if now is None:
                    del self._reported[path]
                else:
                    self._reported[path] = now
        return changed

    def _stamps(self) -> dict[Path, Stamp]:
        stamps = {}
        for path in self._find():
            try:
                found = path.stat()
            except OSError:
                continue
            stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
        return stamps


async def watch_files(watch: Watch, clock: Clock, on_change: Callable[[list[Path]], None]) -> None:
    """Report changes until cancelled."""
    while True:
        await clock.sleep_until(clock.now_ms() + INTERVAL_MS)
        changed = watch.changes()
        if changed:
            on_change(changed)
