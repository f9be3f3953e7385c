"""CBOR as service protocols use it: values to bytes and back, with the library `cbor2`.

Owns the subset of CBOR that is accepted from callers: one value, JSON's types and byte strings, text keys, `DEEPEST`
levels, and of tags only instants and large integers. The library's own tags would build cycles, regular expressions or
numbers with a billion digits from a few bytes. Members of messages are left to `rpc_cbor.py`.

Source: RFC 8949; smithy.protocols#rpcv2Cbor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Final

from statewright.payload import Json

if TYPE_CHECKING:
    from cbor2 import CBORTag

DEEPEST: Final = 64
"""Levels of lists and maps; service models have far fewer."""

_INSTANT_TAG: Final = 1
_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None)})

Untag = Callable[[Json, bool], Json]


class CborError(ValueError):
    """Bytes that are not CBOR, or not of the accepted subset."""


def instants() -> Callable[[float], CBORTag]:
    """The function that marks epoch seconds as an instant, for `encode`; when decoded, instants are epoch seconds."""
    # Most servers never receive CBOR: the library is loaded with the first message.
    from cbor2 import CBORTag

    return partial(CBORTag, _INSTANT_TAG)


def decode(content: bytes) -> Json:
    """Decode bytes to their one value; byte strings stay bytes, undefined is null.

    Raises: CborError.
    """
    from cbor2 import CBORDecodeEOF, CBORDecodeError, CBORDecoder, undefined

    # Only texts and byte strings as keys: others could be chosen to have the same hash.
    decoder = CBORDecoder(BytesIO(content), semantic_decoders=_TAGS, max_depth=DEEPEST, strict_hashable_types=True)
    try:
        value = _checked(decoder.decode(), undefined)
    except CBORDecodeError as problem:
        raise CborError(str(problem.__cause__ or problem)) from None
    try:
        decoder.read(1)
    except CBORDecodeEOF:
        return value
    raise CborError("there is more than one value")


def _checked(value: Json, undefined: object) -> Json:
    """Check that all parts of a value are of JSON's types or byte strings, and return it. Raises: CborError."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        for key, one in value.items():
            if type(key) is not str:
                raise CborError("a key that is no text")
            if type(one) not in _PLAIN:
                value[key] = _checked(one, undefined)
        return value
    if kind is list:
        return [one if type(one) in _PLAIN else _checked(one, undefined) for one in value]
    if value is undefined:
        return None
    raise CborError("a simple value of an unknown kind")


class _Tags(dict[int, Untag]):
    """Decoders of tagged values: an allow-list, as the library looks here before it looks at its own tags."""

    def __missing__(self, tag: int) -> Untag:
        def refuse(_value: Json, _immutable: bool) -> Json:
            raise CborError(f"a value of the unknown kind {tag}")

        return refuse


def _seconds(value: Json, _immutable: bool) -> float:
    if type(value) not in (int, float):
        raise CborError("an instant that is no number")
    seconds: float = value
    return seconds


def _natural(value: Json, _immutable: bool) -> int:
    if type(value) is not bytes:
        raise CborError("an integer that is no bytes")
    return int.from_bytes(value, "big")


_TAGS: Final = _Tags({_INSTANT_TAG: _seconds, 2: _natural, 3: lambda value, immutable: -1 - _natural(value, immutable)})


def encode(value: Json) -> bytes:
    """Encode a value; floats are doubles, values marked by `instants` are instants."""
    from cbor2 import dumps

    try:
        return dumps(value)
    except UnicodeEncodeError:
        return dumps(_in_unicode(value))


def _in_unicode(value: Json) -> Json:
    """A value with lone surrogates in its texts replaced by JSON escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_in_unicode(key): _in_unicode(one) for key, one in value.items()}
    return [_in_unicode(one) for one in value] if isinstance(value, (list, tuple)) else value
