"""The process that is killed: writes, marks and deletes versions of objects, and says what was acknowledged."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from statewright.clock import RealClock
from statewright.config import Config
from statewright.objects.notifications import NOTIFICATION, Change
from statewright.objects.objects import Objects
from statewright.objects.records import Bucket
from statewright.objects.state import ObjectState
from statewright.objects.versions.ids import VERSIONING
from statewright.stores.protocol import EntryRow
from statewright.stores.sqlite.store import SqliteStore

BUCKET = "bucket"
KEYS = tuple(f"key-{number}" for number in range(4))
CALLERS = 6
NOTE = "version note"
LARGE = 20_000
"""More than is stored in a row."""


class Notes:
    """See `Outbox`: an entry of the catalogue for each change that names a version, in place of its notification."""

    def __init__(self, run: str) -> None:
        self._names: Iterator[str] = (f"{run}-{number}" for number in itertools.count())

    def prepare(self, _bucket: Bucket, changes: Sequence[Change]) -> list[list[EntryRow]]:
        """See `Outbox`."""
        return [
            [EntryRow(NOTE, f"{next(self._names)} {one.event} {one.version}", "", 0, 1, b"{}")] if one.version else []
            for one in changes
        ]

    def written(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox`."""

    def unsure(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox`."""


def body_of(start: str, number: int) -> bytes:
    """A body that tells which write it is of; every third is large."""
    text = f"{start}-{number} ".encode()
    return text * (LARGE // len(text) + 1) if number % 3 == 0 else text


async def opened(folder: Path, run: str) -> tuple[SqliteStore, Objects]:
    """The parts over a folder, started."""
    store = SqliteStore(folder)
    await store.open("victim")
    objects = Objects(ObjectState(store, RealClock(), Config(), folder / "objects", Notes(run)))
    await objects.start()
    return store, objects


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def write(objects: Objects, start: str) -> None:
    chance, known = Random(start), list[tuple[str, str]]()
    for number in itertools.count():
        key, act = chance.choice(KEYS), chance.random()
        if act < 0.6 or not known:
            made = await objects.put(BUCKET, key, body_of(start, number))
            if made.row.named:
                assert made.version is not None
                known.append((key, made.version))
                say("put", key, made.version, start, number)
        elif act < 0.75:
            say("marked", key, (await objects.deletions.delete(BUCKET, key)).marker)
        else:
            key, version = known.pop(chance.randrange(len(known)))
            say("try", key, version)
            await objects.deletions.delete(BUCKET, key, version=version)
            say("gone", key, version)


async def change_mind(objects: Objects) -> None:
    """Suspend versions and enable them again, all the time."""
    while True:
        for status in ("Suspended", "Enabled"):
            await objects.set_bucket_setting(BUCKET, VERSIONING, status)
            for number in range(5):
                await objects.put(BUCKET, KEYS[0], body_of(status, number))
                await objects.deletions.delete(BUCKET, KEYS[1])


async def main() -> None:
    _, objects = await opened(Path(sys.argv[1]), sys.argv[2])
    if not await objects.list_buckets():
        await objects.create_bucket(BUCKET, settings={VERSIONING: "Enabled", NOTIFICATION: {}})
    callers = [write(objects, f"{sys.argv[2]}.{caller}") for caller in range(CALLERS)]
    await asyncio.gather(*callers, change_mind(objects))


if __name__ == "__main__":
    asyncio.run(main())
