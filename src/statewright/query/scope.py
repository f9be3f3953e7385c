"""The surroundings of an expression while it is evaluated: data, variables, the context object, and seeded randomness.

One `Scope` serves every expression of one phase of one state. JSONPath reads `data` (`$`), `context` (`$$`) and
`variables` (`$name`); JSONata reads `input`, `result`, `error_output` and `context` as members of `$states`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from statewright.payload import Json


class _Undefined:
    """JSONata's "nothing", which is not null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = _Undefined()

NO_VARIABLES: Final[Mapping[str, Json]] = {}


class Entropy:
    """Randomness determined by a seed and a counter, so that a rerun of the same step draws the same numbers."""

    __slots__ = ("counter", "seed")

    def __init__(self, seed: bytes, counter: int = 0) -> None:
        self.seed = seed
        self.counter = counter

    def next_bytes(self) -> bytes:
        """32 fresh bytes; moves the counter."""
        self.counter += 1
        return hashlib.blake2b(self.counter.to_bytes(8, "big"), key=self.seed[:64], digest_size=32).digest()

    def uniform(self) -> float:
        """A number from 0 (inclusive) to 1 (exclusive) with 53 random bits."""
        return (int.from_bytes(self.next_bytes()[:8], "big") >> 11) / (1 << 53)

    def uuid4(self) -> str:
        """A version 4 UUID in its usual text form."""
        raw = bytearray(self.next_bytes()[:16])
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = raw.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Scope:
    """The surroundings of one evaluation. `make_context` is called once at most, when the context is first read."""

    __slots__ = (
        "_context",
        "_make_context",
        "data",
        "entropy",
        "error_output",
        "handle",
        "input",
        "now_ms",
        "result",
        "variables",
    )

    def __init__(
        self,
        data: Json,
        variables: Mapping[str, Json] = NO_VARIABLES,
        make_context: Callable[[], Json] | None = None,
        *,
        entropy: Entropy | None = None,
        now_ms: int = 0,
        input: Json = UNDEFINED,
        result: Json = UNDEFINED,
        error_output: Json = UNDEFINED,
    ) -> None:
        self.data = data
        self.variables = variables
        self._make_context = make_context
        self._context: Json = UNDEFINED
        self.entropy = entropy if entropy is not None else Entropy(b"")
        self.now_ms = now_ms
        self.input = data if input is UNDEFINED else input
        self.result = result
        self.error_output = error_output
        self.handle: object | None = None
        """Used by `query.jsonata`: the data in its library's form, shared by every expression on this scope."""

    @property
    def context(self) -> Json:
        """The context object (`$$`, `$states.context`)."""
        if self._context is UNDEFINED:
            self._context = self._make_context() if self._make_context is not None else {}
        return self._context
