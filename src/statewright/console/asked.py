"""A request to the console as its reads and actions see it, and what they answer with.

Members of a query or of a posted document are read with the functions below, which refuse what is missing or wrong in
one sentence.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.records.console_sessions import ConsoleSession

Given = Mapping[str, str]
"""Members of a query; of one that is given twice, the last."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of the page. Its access key is empty on a server without credentials, and for a user whom a proxy names.

    `account` is that of the key, empty for the default one; `session` the sign-in, if there is one.
    """

    access_key: str = ""
    may_write: bool = True
    user: str = ""
    account: str = ""
    session: ConsoleSession | None = None

    @property
    def name(self) -> str:
        """The caller for the log."""
        return self.user or self.access_key or "a user of this machine"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `given` is the query, `body` the posted document; `None` for a read."""

    given: Given
    caller: Caller
    request_id: str
    body: Json = None


@dataclass(frozen=True, slots=True)
class Lines:
    """An answer that goes on: JSON documents, one a line, sent as they come.

    It is closed (`aclose`) when the page goes away, so what a generator holds belongs into `try` and `finally`.
    """

    documents: AsyncIterable[Json] = field(repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is a file of another type than JSON. `tag` changes with its content; `policy` is its own content
    security policy, which may load nothing from anywhere.
    """

    type: str
    body: bytes = field(repr=False)
    tag: str = ""
    policy: str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"


Answer = JsonObject | Lines | File


def needed(given: Given, name: str) -> str:
    """A member of a query. Raises: ApiError (`BadRequest`) if it is missing."""
    value = given.get(name)
    if not value:
        raise ApiError("BadRequest", f"The address lacks {name}.")
    return value


def number(given: Given, name: str, default: int) -> int:
    """A whole number of a query that is not negative. Raises: ApiError (`BadRequest`)."""
    value = given.get(name)
    if value is None or value == "":
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise ApiError("BadRequest", f"{name} must be a whole number: {value[:40]}")
    return int(value)


def document(asked: Asked) -> JsonObject:
    """The posted document. Raises: ApiError (`BadRequest`) if that is no object."""
    if not isinstance(asked.body, dict):
        raise ApiError("BadRequest", "The request must be a JSON object.")
    return asked.body


def text_of(body: JsonObject, name: str, default: str | None = None) -> str:
    """A text of a posted document. Raises: ApiError (`BadRequest`) if it is missing or no text."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ApiError("BadRequest", f"The request needs {name}, a text.")
    return value
