"""Extensions of the language, which the service does not have. Off for the whole process unless switched on.

They are refused when a definition is judged; one that was accepted runs on wherever it is stored. There is one so far:
a Parallel with one branch may carry a deadline and a bound on turns, and so be a loop with both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOOP_FIELDS: Final = ("TimeoutSeconds", "TimeoutSecondsPath", "MaxTurns")
HOW: Final = "an extension that --extensions switches on; the cloud service refuses it"
MAX_TURNS: Final = "Statewright.MaxTurnsExceeded"
"""The error of a branch that comes by one of its states too often."""

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
