"""Shard iterators: a place in a shard as text, `<stream ARN>|<digit>|<opaque>`, which expires.

Pure. Source of the form: recorded; of the expiry: Streams API reference, GetShardIterator; texts the guide's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError
from statewright.pages import read_token, write_token
from statewright.tables.values import invalid

EXPIRES_MS: Final = 15 * 60_000
_DIGIT: Final = "1"


@dataclass(frozen=True, slots=True)
class Iterator:
    """A place in a stream's shard: behind a sequence number; with an empty one at the oldest record there is."""

    stream: str
    after: str
    issued_ms: int

    def text(self) -> str:
        """As callers have it."""
        return f"{self.stream}|{_DIGIT}|{write_token(self.stream, [self.after, self.issued_ms])}"


def read_iterator(text: str, now_ms: int) -> Iterator:
    """The iterator of a text. Raises: ApiError (`ValidationException`, `ExpiredIteratorException`)."""
    stream, _, rest = text.partition("|")
    digit, _, token = rest.partition("|")
    try:
        if digit != _DIGIT:
            raise ValueError
        place = read_token(stream, token)
    except ValueError:
        raise invalid("Invalid ShardIterator") from None
    assert isinstance(place, list)
    after, issued_ms = place
    if now_ms - issued_ms > EXPIRES_MS:
        raise ApiError(
            "ExpiredIteratorException",
            "The shard iterator has expired and can no longer be used to retrieve stream records. A shard iterator "
            "expires 15 minutes after it is retrieved using the GetShardIterator action.",
        )
    return Iterator(stream, after, issued_ms)
