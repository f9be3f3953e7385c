"""Bodies that are streamed in: an operation reads them piece by piece, of any length."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from statewright.api.protocols.wire import Incoming


@dataclass(slots=True)
class Upload:
    """A body on its way in. `length` is the declared one, in bytes of content; `None` if the caller declared none.

    `trailers` are headers sent after the body, complete once all pieces have been read.
    """

    pieces: AsyncIterator[bytes]
    length: int | None = None
    trailers: Mapping[str, str] = field(default_factory=dict)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.pieces


def upload_of(incoming: Incoming) -> Upload:
    """The body of a request as an upload."""
    declared = incoming.headers.get("content-length", "")
    return Upload(incoming.chunks(), int(declared) if declared.isdigit() and len(declared) < 19 else None)
