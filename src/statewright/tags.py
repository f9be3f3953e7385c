"""Tags of resources: how they change, which a resource may have, and the form that lists of them have in requests.

Owns the rules that services share; each service has its own errors for invalid tags (`TagRule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json

MOST_TAGS: Final = 50
KEY_CHARACTERS: Final = 128
VALUE_CHARACTERS: Final = 256
"""Source of all: the services' references, "Tagging restrictions"."""
_RESERVED: Final = "aws:"
_OF_STACKS: Final = "aws:cloudformation:"
_is_stack: ContextVar[bool] = ContextVar("tags are set by a stack", default=False)


def is_reserved(key: str) -> bool:
    """True for a tag that callers may neither set nor remove; those of stacks are set by stacks alone."""
    return key.lower().startswith(_RESERVED) and not (_is_stack.get() and key.startswith(_OF_STACKS))


@contextmanager
def tags_of_stacks() -> Iterator[None]:
    """Let the calls within set and remove the tags of stacks."""
    before = _is_stack.set(True)
    try:
        yield
    finally:
        _is_stack.reset(before)


def retagged(present: Mapping[str, str], put: Mapping[str, str], drop: Iterable[str] = ()) -> dict[str, str]:
    """Tags after some were removed and others set; keys to drop that do not exist, or are reserved, are ignored."""
    gone = {key for key in drop if not is_reserved(key)}
    return {key: value for key, value in present.items() if key not in gone} | dict(put)


def tags_by_key(listed: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    """The tags of a request that lists them: `[{"Key": "team", "Value": "blue"}]`. The last one of a key counts."""
    return {one["Key"]: one["Value"] for one in listed or ()}


def tag_list(tags: Mapping[str, str]) -> list[Json]:
    """Tags as answers list them: the inverse of `tags_by_key`."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@dataclass(frozen=True, slots=True)
class TagRule:
    """One service's refusals of tags that a resource cannot have; called with the number, the key or the value.

    A check without a refusal is not made: the service does not make it, or its model does.
    """

    too_many: Callable[[int], ApiError]
    bad_key: Callable[[str], ApiError] | None = None
    bad_value: Callable[[str], ApiError] | None = None
    reserved: Callable[[str], ApiError] | None = None

    def put(self, present: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
        """The tags of a resource after more were added. Raises: ApiError."""
        for key, value in given.items():
            if self.bad_key is not None and not 1 <= len(key) <= KEY_CHARACTERS:
                raise self.bad_key(key)
            if self.bad_value is not None and len(value) > VALUE_CHARACTERS:
                raise self.bad_value(value)
            if self.reserved is not None and is_reserved(key):
                raise self.reserved(key)
        after = {**present, **given}
        count = sum(not key.startswith(_RESERVED) for key in after)
        if count > MOST_TAGS:
            raise self.too_many(count)
        return after
