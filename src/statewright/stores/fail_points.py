"""Fail points: named places at which a process can be killed as by `kill -9`, for the crash suite.

Off unless the environment variable `STATEWRIGHT_FAIL_POINT` arms one when the process starts: `NAME:N` kills the
process at the N-th passing of that point (`:N` may be left out for the first). An unarmed point costs one comparison.
Code calls `passed` at a point; `tests/crash` owns what must hold after the kill.
"""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "STATEWRIGHT_FAIL_POINT"

BEFORE_COMMIT: Final = "before-commit"
"""Everything of a group is written, its transaction not ended."""
AFTER_COMMIT: Final = "after-commit"
"""The group is durable, and no caller has been answered."""
BEFORE_DISPATCH: Final = "before-dispatch"
"""Callers have their answer; no timer is armed and no call is made."""
DISPATCHED: Final = "dispatched"
"""A call is about to leave the process."""
RESULT: Final = "result"
"""A call's result is here, and its execution has not been told."""
IN_COPY: Final = "in-copy"
"""A copy of the file (a backup, or the one made before a migration) is written and does not have its name yet."""
IN_TRANSFER: Final = "in-transfer"
"""All rows of a store are written into another one, which is not complete yet."""
AFTER_TRANSFER: Final = "after-transfer"
"""A store that was filled from another one is complete and durable; its folder is still marked as incomplete."""
IN_MIGRATION: Final = "in-migration"
"""The new schema is written, its transaction not ended."""
IN_DRAIN: Final = "in-drain"
"""The server was asked to end and accepts nothing new; work under way is not written yet."""
BEFORE_CLOSE: Final = "before-close"
"""The engine has stopped, the store is still open."""
BEFORE_RESOURCE: Final = "before-resource"
"""A stack's row says that a resource is under way; nothing is made, changed or deleted yet."""
AFTER_RESOURCE: Final = "after-resource"
"""A resource is made, changed or deleted, and the stack's row does not say so."""

BODY_WRITTEN: Final = "body-written"
"""The bytes of an object are durable, and no row names them yet."""
BODY_FREED: Final = "body-freed"
"""No row names the bytes of an object any more, and they are not deleted yet."""

POINTS: Final = (
    BEFORE_COMMIT, AFTER_COMMIT, BEFORE_DISPATCH, DISPATCHED, RESULT, IN_COPY, IN_TRANSFER, AFTER_TRANSFER,
    IN_MIGRATION, IN_DRAIN, BEFORE_CLOSE, BEFORE_RESOURCE, AFTER_RESOURCE, BODY_WRITTEN, BODY_FREED,
)  # fmt: skip

_armed: str | None = None
_passings_left = 0


def arm(setting: str | None) -> None:
    """Arm one point, `NAME:N`; nothing or an empty text arms none. Raises: ValueError for what is no point."""
    global _armed, _passings_left
    if not setting:
        _armed = None
        return
    name, _, number = setting.partition(":")
    if name not in POINTS or not (number or "1").isdecimal():
        raise ValueError(f"{VARIABLE}={setting} names no fail point: NAME:N with one of {', '.join(POINTS)}")
    _armed, _passings_left = name, int(number or "1")


def passed(point: str) -> None:
    """The process is at a point; if that is the armed one, and often enough, this is its end."""
    if _armed == point:
        _die_at_last()


def _die_at_last() -> None:
    global _passings_left
    _passings_left -= 1
    if _passings_left <= 0:
        # Windows has no SIGKILL; this is as abrupt there.
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


arm(os.environ.get(VARIABLE))
