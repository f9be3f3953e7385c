"""Checksums of objects: the algorithms that uploads may name, over streams, of parts and of objects made of parts.

Source: user guide, "Checking object integrity": algorithms, full-object and composite checksums.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Protocol

from statewright.objects import faults
from statewright.objects.records import COMPOSITE, FULL_OBJECT, Checksum

DEFAULT: Final = "CRC64NVME"
"""The algorithm that the service uses if the uploader names none."""

ALGORITHMS: Final = ("CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME", "SHA512", "MD5")
"""The supported algorithms; the service's XXHASH64, XXHASH3 and XXHASH128 are refused."""

_CRC_BYTES: Final = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8}
_MODELS: Final = {"CRC32": "CRC32", "CRC32C": "CRC32-ISCSI", "CRC64NVME": "CRC64-NVME"}
_LONG_BYTES: Final = 16 * 1024
_POLYNOMIALS: Final = {"CRC32": 0xEDB88320, "CRC32C": 0x82F63B78, "CRC64NVME": 0x9A6C9329AC4BC9B5}
"""The polynomials in reflected form."""
_LENGTHS: Final = {**_CRC_BYTES, "SHA1": 20, "SHA256": 32, "SHA512": 64, "MD5": 16}
_HASHES: Final[dict[str, Callable[[], Hasher]]] = {
    "SHA1": lambda: hashlib.sha1(usedforsecurity=False),
    "SHA256": hashlib.sha256,
    "SHA512": hashlib.sha512,
    "MD5": lambda: hashlib.md5(usedforsecurity=False),
}
KINDS: Final = {
    "CRC32": (COMPOSITE, FULL_OBJECT),
    "CRC32C": (COMPOSITE, FULL_OBJECT),
    "CRC64NVME": (FULL_OBJECT,),
    "SHA1": (COMPOSITE,),
    "SHA256": (COMPOSITE,),
    "SHA512": (COMPOSITE,),
    "MD5": (COMPOSITE,),
}
"""Kinds of checksum that a multipart upload may have, the usual one first."""


class Hasher(Protocol):
    """A checksum that is being computed."""

    def update(self, chunk: bytes, /) -> None:
        """Add bytes."""

    def digest(self) -> bytes:
        """The checksum of all bytes added so far."""


def hasher(algorithm: str) -> Hasher:
    """A new computation with this algorithm."""
    if algorithm in _CRC_BYTES:
        return _Crc(algorithm)
    return _HASHES[algorithm]()


class _Crc:
    def __init__(self, algorithm: str) -> None:
        self._bytes = _CRC_BYTES[algorithm]
        self._extend = _crc32 if algorithm == "CRC32" else _model(algorithm)
        self._value = 0

    def update(self, chunk: bytes, /) -> None:
        self._value = self._extend(chunk, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._bytes, "big")


def _crc32(chunk: bytes, value: int) -> int:
    # The standard library's function takes three times as long, which matters for long bodies only.
    return zlib.crc32(chunk, value) if len(chunk) < _LONG_BYTES else _model("CRC32")(chunk, value)


@cache
def _model(algorithm: str) -> Callable[[bytes, int], int]:
    # Imported at first use: an idle server needs none of these.
    import anycrc

    model = anycrc.Model(_MODELS[algorithm])

    def extend(chunk: bytes, value: int) -> int:
        found: int = model.calc(chunk, value)
        return found

    return extend


def check_algorithm(algorithm: str) -> None:
    """Refuse an algorithm that Statewright does not compute. Raises: ApiError (`NotImplemented`, `InvalidRequest`)."""
    if algorithm.startswith("XXHASH"):
        raise faults.not_here(f"This version of Statewright does not compute {algorithm}; use CRC64NVME or CRC32.")
    if algorithm not in ALGORITHMS:
        raise faults.invalid_request("Checksum algorithm provided is unsupported. Please try again with any of the "
                                     "valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256, SHA512, MD5]")  # fmt: skip


def check_value(algorithm: str, value: str) -> None:
    """Refuse a value that cannot be a checksum of this algorithm. Raises: ApiError (`InvalidRequest`)."""
    if len(_decoded(value)) != _LENGTHS[algorithm]:
        raise faults.invalid_request(f"Value for x-amz-checksum-{algorithm.lower()} header is invalid.")


def text_of(digest: bytes) -> str:
    """A digest as the service writes it."""
    return base64.b64encode(digest).decode()


def of_parts(algorithm: str, kind: str, parts: Sequence[tuple[str, int]]) -> Checksum:
    """The checksum of an object from those of its parts, each with its size in bytes."""
    if kind == COMPOSITE:
        whole = hasher(algorithm)
        for value, _ in parts:
            whole.update(_decoded(value))
        return Checksum(algorithm, f"{text_of(whole.digest())}-{len(parts)}", COMPOSITE)
    polynomial, size = _POLYNOMIALS[algorithm], _CRC_BYTES[algorithm]
    total = 0
    for value, length in parts:
        total = _shifted(total, length, polynomial, size * 8) ^ int.from_bytes(_decoded(value), "big")
    return Checksum(algorithm, text_of(total.to_bytes(size, "big")), FULL_OBJECT)


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _shifted(crc: int, length: int, polynomial: int, bits: int) -> int:
    """A CRC after `length` bytes of zeros: multiplied by x^(8 * length) modulo the polynomial, in reflected order."""
    power = 1 << (bits - 1)
    square = power >> 8
    while length:
        if length & 1:
            power = _times(square, power, polynomial, bits)
        square = _times(square, square, polynomial, bits)
        length >>= 1
    return _times(power, crc, polynomial, bits)


def _times(a: int, b: int, polynomial: int, bits: int) -> int:
    product = 0
    top = 1 << (bits - 1)
    while a:
        if a & top:
            product ^= b
        a = (a << 1) & ((1 << bits) - 1)
        b = (b >> 1) ^ polynomial if b & 1 else b >> 1
    return product
