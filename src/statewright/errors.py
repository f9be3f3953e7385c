"""The four kinds of error that Statewright distinguishes; anything else is a bug in Statewright.

1. `Failure`: a mistake inside an execution. It is a value, matched by Retry and Catch. Evaluators raise
   `ExecutionFailure`; only `interpreter.advance` turns it into a value.
2. `ApiError`: a caller's mistake.
3. `DefinitionError`: all findings of a definition together.
4. `StoreError`: a failure of the store; only `Unavailable` is worth a retry.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ERROR", "WARNING"]
Step = str | int
"""One step into a JSON document: a member name or an array index."""

RUNTIME = "States.Runtime"
QUERY_EVALUATION = "States.QueryEvaluationError"
INTRINSIC_FAILURE = "States.IntrinsicFailure"
RESULT_PATH_MATCH = "States.ResultPathMatchFailure"
DATA_LIMIT = "States.DataLimitExceeded"
TIMEOUT = "States.Timeout"
HEARTBEAT_TIMEOUT = "States.HeartbeatTimeout"
TASK_FAILED = "States.TaskFailed"
ALL = "States.ALL"


@dataclass(frozen=True, slots=True)
class Failure:
    """A mistake inside an execution, as Retry and Catch see it. Either part may be missing (a bare Fail state)."""

    error: str | None
    cause: str | None


class ExecutionFailure(Exception):
    """Raised by evaluators (paths, templates, intrinsics, expressions).

    `cause` is the bare reason; `advance` puts the sentence that names the state in front of it.
    """

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(error, cause)
        self.error = error
        self.cause = cause


class WordedFailure(ExecutionFailure):
    """A failure whose cause already names the state: nothing is put in front of it."""


class EvaluationFailure(ExecutionFailure):
    """A JSONata field that failed. `location` is the field, slash-separated: `Output/total`; empty for none.

    `from_entry` says which history event the failure follows: the one before the state's Entered event, as for every
    expression (observed), or the Entered event itself, as for a text that is not a timestamp (observed).
    """

    def __init__(self, cause: str, location: str, *, from_entry: bool = False) -> None:
        super().__init__(QUERY_EVALUATION, cause)
        self.location = location
        self.from_entry = from_entry


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding in a definition.

    `path` leads from the root of the document to the place; `None` where a finding has no place.
    `line` and `column` count from 1 and are 0 when unknown. `hint` says how to fix it.
    """

    code: str
    message: str
    path: tuple[Step, ...] | None = None
    severity: Severity = "ERROR"
    line: int = 0
    column: int = 0
    hint: str | None = None

    @property
    def location(self) -> str | None:
        """The place as the service writes it: `/States/C/Choices[0]/Next`."""
        if self.path is None:
            return None
        return "".join(f"[{step}]" if isinstance(step, int) else f"/{step}" for step in self.path) or "/"

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer (RFC 6901); empty for the whole document."""
        if self.path is None:
            return ""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in self.path)


class DefinitionError(Exception):
    """A definition that cannot be used, with every finding, not just the first."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(f"{d.code}: {d.message} at {d.location}" for d in diagnostics))
        self.diagnostics = diagnostics


class ApiError(Exception):
    """A caller's mistake, with the service's own error code.

    `status` is the HTTP status where neither the service's model nor our table has the right one. `details` are
    further members of the error's body, by name; `headers` further headers of S3's answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        details: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details: Mapping[str, object] = details or {}
        self.headers: Mapping[str, str] = headers or {}


class StoreError(Exception):
    """A store could not do what was asked."""


class Conflict(StoreError):
    """Another writer changed the row first."""


class Unreadable(StoreError):
    """A stored row that this version cannot read; the message names it and says what to do."""


class OwnershipLost(StoreError):
    """The shard's lease has moved to another owner; drop the in-memory copy."""


class CellLost(OwnershipLost):
    """This node does not have the cell of `shard`, which may be that of an outbox row that a commit completes."""

    def __init__(self, message: str, shard: int = -1) -> None:
        super().__init__(message)
        self.shard = shard


class Unavailable(StoreError):
    """The database does not answer; the only store error worth a retry."""


class InUse(Unavailable):
    """Another process has the store."""


class NewerStore(StoreError):
    """The store has the tables of a newer version of the program."""


class ElsewhereError(StoreError):
    """An execution is in a cell that another engine has, or has to be started there; `shard` is the cell's."""

    def __init__(self, shard: int, what: str = "the execution is") -> None:
        super().__init__(f"{what} in the cell of shard {shard}, which this engine does not have")
        self.shard = shard


_SHORT_OF = {
    errno.ENOMEM: "memory", errno.EMFILE: "file descriptors", errno.ENFILE: "file descriptors",
    errno.ENOSPC: "disk space", errno.EDQUOT: "disk space",
}  # fmt: skip


def shortage(problem: BaseException) -> Unavailable | None:
    """`Unavailable` for a problem of the machine, which has too little of something; `None` for any other problem.

    It is no bug, and may pass: callers are answered 503, and work that no caller waits for is repeated, as in an outage
    of the store.
    """
    what = None
    if isinstance(problem, MemoryError):
        what = "memory"
    elif isinstance(problem, OSError) and problem.errno is not None:
        what = _SHORT_OF.get(problem.errno)
    elif isinstance(problem, RuntimeError) and "can't start new thread" in str(problem):
        what = "threads"
    elif isinstance(problem, SystemError) and "without" in str(problem) and "exception" in str(problem):
        # CPython's words for code in C that failed and named no reason, as an import does that lacks memory.
        what = "memory"
    return Unavailable(f"the server has too little of what it needs: {what}") if what is not None else None
