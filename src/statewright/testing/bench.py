"""The shared state of one test: its system in virtual time, the machines in it, their mocks and recordings.

Owns when the system begins (with the first thing that needs it, so that a run can say `at=`). The leaf below machines,
runs, cases, projects and replays, which take it; the fixture `sfn` is the façade over all of them (`workbench.py`).
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from statewright.assembly import Hooks
from statewright.config import Config
from statewright.engine.machines.programs import Refine
from statewright.errors import ApiError
from statewright.limits import PROFILES
from statewright.payload import JsonObject
from statewright.testing.mocking import MockBook
from statewright.testing.recordings import Recorder, Recording
from statewright.testing.snapshots import Snapshots
from statewright.testing.subject import Subject
from statewright.testing.tasks import Tasks
from statewright.virtual.system import VirtualSystem

Instant = str | datetime
_ROLE: Final = "arn:aws:iam::{}:role/test"


class Bench:
    """The state of one test. `refine` may replace the program of a machine by its id, so that coverage can count."""

    def __init__(
        self, base: Path | None = None, *, start: Instant | None = None, seed: int = 0, extensions: bool = False,
        limits: str = "aws", snapshots: Snapshots | None = None, refine: Refine | None = None,
    ) -> None:  # fmt: skip
        self.base = base or Path()
        self.config = replace(Config(), limits=PROFILES[limits], extensions=extensions)
        self.snapshots = snapshots
        self.recorder = Recorder()
        self.tasks = Tasks(self, self.recorder)
        self.book = MockBook()
        self.subjects: dict[str, Subject] = {}
        self.started: list[tuple[Subject, Recording]] = []
        """The executions that the test itself has started, in order."""
        self._refine = refine
        self._start = start
        self._seed = seed
        self._system: VirtualSystem | None = None

    # ------------------------------------------------------------------ the system

    @property
    def system(self) -> VirtualSystem:
        """The system, which begins when it is first asked for."""
        if self._system is None:
            options: JsonObject = {} if self._start is None else {"start": instant_of(self._start)}
            hooks = Hooks(
                around_tasks=self.tasks.stand_between, refine=self._refine, on_history=self.recorder.note,
                on_offer=self.tasks.offered,
            )  # fmt: skip
            made = VirtualSystem(
                seed=self._seed, config=self.config, prepare=self.tasks.take_over, hooks=hooks, **options
            )
            self._system = made.__enter__()
        return self._system

    @property
    def has_begun(self) -> bool:
        """True if there is a system yet, so that time cannot begin earlier."""
        return self._system is not None

    def move_to(self, at: Instant | None) -> None:
        """Let it be that instant. Raises: ValueError for one that has passed."""
        if at is None:
            return
        instant = instant_of(at)
        if self._system is None:
            self._start = instant
            return
        if instant < self.system.now:
            raise ValueError(f"at={at}: it is {self.system.now:%Y-%m-%dT%H:%M:%SZ} already, and time goes forward only")
        self.system.run_until(instant)

    def path(self, path: str | Path) -> Path:
        """A file or folder beside the test, or from the current folder.

        Raises: FileNotFoundError, with the names that were probably meant.
        """
        beside, here = self.base / path, Path(path)
        if beside.exists() or here.exists():
            return beside if beside.exists() else here
        near = [name for place in dict.fromkeys((beside, here)) for name in _near(place)]
        meant = f": did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
        raise FileNotFoundError(f"there is no {path} beside the test or in the current folder{meant}")

    def close(self) -> None:
        """End the system."""
        system, self._system = self._system, None
        if system is not None:
            system.__exit__(None, None, None)

    # ------------------------------------------------------------------ machines

    @property
    def role(self) -> str:
        """The role that machines are made with."""
        return _ROLE.format(self.config.account)

    def add(self, subject: Subject) -> None:
        """Take in a definition. Raises: ValueError when there is one of the name."""
        if subject.name in self.subjects:
            raise ValueError(f"there is a machine {subject.name} already: give this one a name=")
        self.subjects[subject.name] = subject

    def arn_of(self, subject: Subject) -> str:
        """The ARN of a machine, which is made in the system, with its activities, when it is first asked for."""
        if subject.arn is None:
            for activity in subject.program.activities:
                self._make_activity(activity)
            made: str = self.system.call(
                "stepfunctions",
                "CreateStateMachine",
                {
                    "name": subject.name, "definition": subject.text, "roleArn": self.role, "type": subject.kind,
                    **subject.settings,
                },
            )["stateMachineArn"]  # fmt: skip
            subject.arn = made
        return subject.arn

    def make_machines(self) -> None:
        """Have every machine in the system, since one may start another."""
        for subject in self.subjects.values():
            self.arn_of(subject)

    def _make_activity(self, arn: str) -> None:
        try:
            self.system.call("stepfunctions", "CreateActivity", {"name": arn.rpartition(":")[2]})
        except ApiError as refused:
            if refused.code != "ActivityAlreadyExists":
                raise

    # ------------------------------------------------------------------ what tasks ask

    def book_of(self, machine: str) -> tuple[MockBook, bool]:
        """See `tasks.Books`. A machine that the test has made by a client has no mocks of its own."""
        found = self.subjects.get(machine)
        return (self.book, True) if found is None else (found.book, found.unmocked == "runs")

    def knows(self, machine: str) -> bool:
        """See `tasks.Books`."""
        found = self.subjects.get(machine)
        return found is not None and found.arn is not None


def _near(missing: Path) -> list[str]:
    """Names in the folder of a missing file that are like its own, the likeliest first."""
    try:
        there = sorted(one.name for one in missing.parent.iterdir())
    except OSError:
        return []
    return difflib.get_close_matches(missing.name, there, 2)


def instant_of(at: Instant) -> datetime:
    """An instant with its zone; without one, UTC. Raises: ValueError."""
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at.strip())
        except ValueError:
            raise ValueError(f"'{at}' is no instant: write it like 2026-01-01T00:00:00Z") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
