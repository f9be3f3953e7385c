"""The note of what the event loop is at: one for the whole process, overwritten when a part begins something.

Read by the watchdog of the loop (`metrics/loop_watch.py`) when the loop is held up, so that its log names the cause.
Writing a note costs a fraction of a microsecond; notes are never cleared.
"""

from __future__ import annotations

from typing import Final


class AtWork:
    """The note: what kind of work, its name, and the expression that was evaluated last in it, if any."""

    __slots__ = ("expression", "kind", "name")

    def __init__(self) -> None:
        self.kind = "start"
        self.name = ""
        self.expression: str | None = None

    def begin(self, kind: str, name: str) -> None:
        """Note the beginning of some work."""
        self.kind = kind
        self.name = name
        self.expression = None


AT_WORK: Final = AtWork()
"""The note of this process."""
