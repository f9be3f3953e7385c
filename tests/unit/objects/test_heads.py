"""HEAD on an object: what is known of it, without a byte of it being read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from statewright.objects.vault import Piece, Vault
from statewright.virtual import VirtualSystem


def test_head_reads_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    read = Vault.read

    def noted(self: Vault, pieces: Sequence[Piece]) -> AsyncIterator[bytes]:
        begun.append(len(pieces))
        return read(self, pieces)

    monkeypatch.setattr(Vault, "read", noted)
    with VirtualSystem() as system:
        s3 = system.client("s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="large", Body=b"x" * 3_000_000)
        assert s3.head_object(Bucket="bucket", Key="large")["ContentLength"] == 3_000_000
        assert s3.head_object(Bucket="bucket", Key="large", Range="bytes=5-9")["ContentLength"] == 5
        assert begun == []
        assert len(s3.get_object(Bucket="bucket", Key="large")["Body"].read()) == 3_000_000
        assert begun
