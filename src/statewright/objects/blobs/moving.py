"""Moves bodies of objects out of a folder into the store, beside its work: once, for a store of an older version.

Each is read from its file until its blob is durable, and the file is deleted then. So it may end at any point, and the
next start goes on. Ids that are doomed are left to those who delete them.
"""

from __future__ import annotations

import logging
from typing import Final

from statewright.clock import Clock
from statewright.objects.blobs.bodies import BlobBodies
from statewright.objects.bodies import PARTS, FileBodies
from statewright.objects.vault import Vault

REPORTED_MS: Final = 10_000
"""Between two lines of progress."""

log = logging.getLogger("statewright.objects")


async def move_into_store(vault: Vault, bodies: BlobBodies, clock: Clock) -> None:
    """Move the bodies that are in files. Raises: Unavailable."""
    files = bodies.files
    assert files is not None
    reported_ms = clock.now_ms()
    moved = total = 0
    for part in range(PARTS):
        for number in await vault.run(FileBodies.numbers, files, part):
            if not vault.pin_living(number):
                continue
            try:
                size = await vault.run(bodies.move, number)
            finally:
                vault.unpin([number])
            moved, total = moved + bool(size), total + size
            if clock.now_ms() - reported_ms >= REPORTED_MS:
                reported_ms = clock.now_ms()
                log.info(
                    "%d bodies of objects (%d MiB) moved into the store; about %d %% of the folder is done",
                    moved, total >> 20, 100 * part // PARTS,
                )  # fmt: skip
    if moved:
        log.info("all %d bodies of objects (%d MiB) of the folder are in the store now", moved, total >> 20)
