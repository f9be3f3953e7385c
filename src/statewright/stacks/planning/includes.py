"""Includes of a stack's template: the objects of this server's buckets that `AWS::Include` names.

An evaluation asks for includes by their locations, which may derive from parameters; it is repeated once they have been
read. Owns the service's words for includes that fail.

Source: template reference, "AWS::Include transform"; the text about buckets is recorded.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from statewright.asl.reader import ReadError, read_document
from statewright.background import in_thread
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.projects.evaluation import Unresolved
from statewright.stacks.planning.objects import TooLong, object_text
from statewright.stacks.planning.templates import MOST_BYTES, MOST_DEPTH, has_long_number
from statewright.stacks.threads import Invoke

FAILED: Final = "Transform AWS::Include failed with: "
MOST_INCLUDES: Final = 50
"""Objects that one template includes. Ours."""


class Includes:
    """The includes of one template."""

    def __init__(self, invoke: Invoke, clock: Clock) -> None:
        self._invoke = invoke
        self._clock = clock
        self._found: dict[str, Json] = {}
        self._problems: dict[str, str] = {}
        self._wanted: dict[str, None] = {}

    def load(self, location: Json) -> Json:
        """The value at a location; empty until it has been read. Raises: Unresolved."""
        if not isinstance(location, str) or not location.startswith("s3://"):
            raise Unresolved("The location parameter is not a valid S3 uri.")
        if location in self._problems:
            raise Unresolved(self._problems[location])
        if location not in self._found:
            self._wanted[location] = None
        return self._found.get(location, {})

    async def read(self) -> bool:
        """Read what an evaluation has asked for; true if there was anything."""
        wanted, self._wanted = [*self._wanted], {}
        for location in wanted:
            if len(self._found) >= MOST_INCLUDES:
                self._problems[location] = f"A template includes at most {MOST_INCLUDES} objects."
                continue
            try:
                text = await self._text(location)
                self._found[location] = await in_thread(self._clock, partial(_value_of, text))
            except Unresolved as problem:
                self._problems[location] = str(problem)
        return bool(wanted)

    async def _text(self, location: str) -> str:
        bucket, _, key = location.removeprefix("s3://").partition("/")
        try:
            return await object_text(self._invoke, bucket, key)
        except ApiError as error:
            if error.code == "NoSuchBucket":
                raise Unresolved(f"S3 bucket [{bucket}] does not exist.") from None
            raise Unresolved(error.message) from None
        except TooLong:
            raise Unresolved(f"{location} is longer than {MOST_BYTES} bytes.") from None
        except UnicodeDecodeError:
            raise Unresolved("The specified S3 object's content should be valid Yaml/JSON") from None


def _value_of(text: str) -> Json:
    try:
        value = read_document(
            text, name="include", max_characters=MOST_BYTES, max_depth=MOST_DEPTH, placeholders=False, template=True,
            old_words=True,
        ).value  # fmt: skip
    except ReadError:
        raise Unresolved("The specified S3 object's content should be valid Yaml/JSON") from None
    if not isinstance(value, dict) or has_long_number(value):
        raise Unresolved("The specified S3 object's content should be valid Yaml/JSON")
    return value
