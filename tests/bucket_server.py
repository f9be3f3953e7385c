"""An S3-compatible endpoint for tests: Statewright's own, in a process that keeps everything in memory."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from statewright.stores.bucket.address import BucketAddress
from tests.deadlines import OPEN
from tests.e2e.conftest import Server

_NUMBERS = itertools.count(1)


@functools.cache
def _server() -> Server:
    found = Server(Path(tempfile.mkdtemp(prefix="statewright-s3-")) / "data", "--store", "memory")
    # It serves further tests.
    OPEN.pop(id(found.process))
    atexit.register(found.kill)
    return found


class Place:
    """A new bucket at an endpoint, and what lies in it."""

    def __init__(self, server: Server | None = None) -> None:
        self.server = server or _server()
        self.s3: Any = self.server.client("s3")
        self.name = f"large-bytes-{next(_NUMBERS)}"
        self.s3.create_bucket(Bucket=self.name)
        self.address = BucketAddress(self.name, "some/prefix/", self.server.url, "us-east-1")

    def stored(self) -> list[str]:
        """The keys under the prefix, but for the mark of the store."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        found = [one["Key"].removeprefix(self.address.prefix) for page in pages for one in page.get("Contents", ())]
        return [key for key in found if not key.startswith("statewright-")]

    def uploads(self) -> list[str]:
        """The keys of uploads in parts."""
        return [one["Key"] for one in self.s3.list_multipart_uploads(Bucket=self.name).get("Uploads", ())]

    def put(self, key: str, body: bytes = b"x") -> None:
        """Write an object, as another program does."""
        self.s3.put_object(Bucket=self.name, Key=self.address.prefix + key, Body=body)


def with_credentials(patch: pytest.MonkeyPatch) -> None:
    """Give this process, and those that it starts, credentials for the endpoint."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    patch.setenv("AWS_ACCESS_KEY_ID", "test")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
