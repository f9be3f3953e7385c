"""One call of an API, over HTTP or within the process.

Owns the protocol, and which refusals mean that something is missing or not supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

Answer = dict[str, Any]

_MISSING: Final = ("DoesNotExist", "NotFound", "NonExistent", "NoSuch", "ClusterNotFound")
_MISSING_WORDS: Final = ("does not exist", "doesn't exist", "not found", "Unable to describe")
_TAKEN: Final = ("Exist", "Conflict", "AlreadyOwned", "InUse")
_UNSERVED: Final = frozenset({"UnknownService", "UnknownOperationException", "NotImplemented", "InvalidAction"})


class Call(Protocol):
    """Carries out an operation."""

    def __call__(self, service: str, operation: str, request: Mapping[str, Any], /) -> Answer:
        """The answer; instants are epoch milliseconds, bodies are bytes.

        `service` is botocore's name of one (`stepfunctions`, `lambda`), `operation` the API's (`CreateQueue`).

        Raises: CallRefused.
        """
        ...


class CallRefused(Exception):
    """A service's refusal, in its own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message

    @property
    def is_missing(self) -> bool:
        """True if the resource does not exist."""
        if any(part in self.code for part in _MISSING):
            return not self.is_unserved
        # Client and validation errors of some services tell it in words alone.
        return self.code in ("ClientException", "ValidationError") and any(w in self.message for w in _MISSING_WORDS)

    @property
    def is_taken(self) -> bool:
        """True if the resource may exist already."""
        return any(part in self.code for part in _TAKEN) and not self.is_missing

    @property
    def is_unserved(self) -> bool:
        """True if the server does not support the service or the operation."""
        return self.code in _UNSERVED
