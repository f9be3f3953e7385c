"""What was called in a storm, and when: begin, end and answer of every call that a check is about.

All instants are of the one clock of the storm's process, in seconds. A call that ended before another one began came
before it; of two that overlap, nothing is known.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.storm.client import NoAnswer, Refused

Outcome = Literal["answered", "refused", "unanswered"]
PAUSE_SECONDS: Final = 0.02
"""After a call without an answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call, what it was about, and how it ended. `code` is that of a refusal."""

    begin: float
    end: float
    about: Mapping[str, Any]
    outcome: Outcome
    answer: Any = None
    code: str = ""

    @property
    def is_answered(self) -> bool:
        return self.outcome == "answered"

    @property
    def may_have_happened(self) -> bool:
        return self.outcome != "refused"


def _nothing(_service: str, _is_answered: bool) -> None:
    return


@dataclass
class Recorder:
    """The calls of several threads, by kind. `on_call` gets the service of each call, and whether it was answered."""

    on_call: Callable[[str, bool], None] = _nothing
    answered: int = 0
    """How many calls of this round were answered, and not refused."""
    _calls: defaultdict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def make(
        self,
        kind: str,
        about: Mapping[str, Any],
        refusals: Collection[str],
        call: Callable[..., Any],
        service: str,
        *given: Any,
        **more: Any,
    ) -> Call:
        """Make the call `call(service, ...)`, and note it under a kind.

        Raises: Refused, if `refusals` does not have its code.
        """
        begin = time.monotonic()
        answer: Any = None
        code = ""
        outcome: Outcome = "answered"
        try:
            answer = call(service, *given, **more)
        except NoAnswer:
            outcome = "unanswered"
        except Refused as refused:
            if refused.code not in refusals:
                raise
            outcome, code = "refused", refused.code
        made = Call(begin, time.monotonic(), about, outcome, answer, code)
        with self._lock:
            self._calls[kind].append(made)
            self.answered += made.is_answered
        self.on_call(service, outcome != "unanswered")
        if outcome == "unanswered":
            time.sleep(PAUSE_SECONDS)
        return made

    def calls(self, kind: str) -> list[Call]:
        """All calls of a kind so far, in the order of their ends."""
        with self._lock:
            return list(self._calls[kind])

    def take(self, kind: str) -> list[Call]:
        """As `calls`, which then begin anew."""
        with self._lock:
            return self._calls.pop(kind, [])
