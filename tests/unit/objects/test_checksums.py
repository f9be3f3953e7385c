"""Checksums over pieces of any length, whatever computes them."""

from __future__ import annotations

import zlib

import pytest

from statewright.objects.checksums import hasher

BODY = bytes(range(256)) * 1000


@pytest.mark.parametrize("sizes", [(len(BODY),), (1, 16_383, 16_384, 16_385, 100_000, 106_847), (20_000, 3, 235_997)])
def test_crc32_is_the_same_in_short_and_long_pieces(sizes):
    assert sum(sizes) == len(BODY)
    one, place = hasher("CRC32"), 0
    for size in sizes:
        one.update(BODY[place : place + size])
        place += size
    assert one.digest() == zlib.crc32(BODY).to_bytes(4, "big")
