"""Extensions of the language, which the service does not have. Off for the whole process unless switched on.

While they are off, validation refuses them; a definition that was accepted keeps running wherever it is stored. The
only one so far: a Parallel with one branch may have a deadline and a limit on turns, which makes it a bounded loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOOP_FIELDS: Final = ("TimeoutSeconds", "TimeoutSecondsPath", "MaxTurns")
HOW: Final = "an extension that --extensions switches on; the cloud service refuses it"
MAX_TURNS: Final = "Statewright.MaxTurnsExceeded"
"""The error of a branch that enters one of its states too often."""

_switch = {"on": False}


def are_on() -> bool:
    """True if extensions are accepted."""
    return _switch["on"]


def switch(on: bool) -> None:
    """Accept extensions from now on, or refuse them."""
    _switch["on"] = on


@contextmanager
def accepted() -> Iterator[None]:
    """Accept extensions for a while; for tests."""
    before = are_on()
    switch(True)
    try:
        yield
    finally:
        switch(before)
