"""CBOR as service protocols use it: values to bytes and back, by the library `cbor2`.

Owns what of CBOR is taken from strangers: one value, JSON's types and byte strings, text keys, `DEEPEST` levels, and of
tags the instants and large integers only. The library's own tags would build cycles, regular expressions or numbers
with a billion digits from a few bytes. Which members a message has is up to `rpc_cbor.py`.

Source: RFC 8949; smithy.protocols#rpcv2Cbor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from statewright.payload import Json

if TYPE_CHECKING:
    from cbor2 import CBORTag

DEEPEST: Final = 64
"""Levels of lists and maps; service models have far fewer."""

_INSTANT_TAG: Final = 1
_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None)})

Untag = Callable[[Any, bool], Any]


class CborError(ValueError):
    """Bytes that are no CBOR, or none that is read here."""


def instants() -> Callable[[float], CBORTag]:
    """What marks epoch seconds as an instant, to be written as such; when read, instants are epoch seconds."""
    # Most servers never hear CBOR: the library is loaded with the first message.
    from cbor2 import CBORTag

    return partial(CBORTag, _INSTANT_TAG)


def decode(content: bytes) -> Json:
    """The one value that bytes are; byte strings stay bytes, undefined is null.

    Raises: CborError.
    """
    from cbor2 import CBORDecodeEOF, CBORDecodeError, CBORDecoder, undefined

    # Only texts and byte strings as keys: others could be chosen to have one hash.
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


def _checked(value: Any, undefined: object) -> Json:
    """A value whose parts are all of JSON's types or byte strings. Raises: CborError."""
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
    """What is made of tagged values: an allow-list, as the library looks here before it looks at its own tags."""

    def __missing__(self, tag: int) -> Untag:
        def refuse(_value: Any, _immutable: bool) -> Any:
            raise CborError(f"a value of the unknown kind {tag}")

        return refuse


def _seconds(value: Any, _immutable: bool) -> float:
    if type(value) not in (int, float):
        raise CborError("an instant that is no number")
    seconds: float = value
    return seconds


def _natural(value: Any, _immutable: bool) -> int:
    if type(value) is not bytes:
        raise CborError("an integer that is no bytes")
    return int.from_bytes(value, "big")


_TAGS: Final = _Tags({_INSTANT_TAG: _seconds, 2: _natural, 3: lambda value, immutable: -1 - _natural(value, immutable)})


def encode(value: Any) -> bytes:
    """A value as bytes; floats are doubles, what `instants` marked is an instant."""
    from cbor2 import dumps

    try:
        return dumps(value)
    except UnicodeEncodeError:
        return dumps(_in_unicode(value))


def _in_unicode(value: Any) -> Any:
    """A value whose texts have halves of surrogate pairs written as JSON escapes them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_in_unicode(key): _in_unicode(one) for key, one in value.items()}
    return [_in_unicode(one) for one in value] if isinstance(value, (list, tuple)) else value
