"""Objects in memory and in a data folder, each opened for a test on a virtual or real clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.objects.objects import Objects
from statewright.objects.state import ObjectState
from tests.contract.stores import MAKERS

Body = Callable[[Objects], Awaitable[None]]


@pytest.fixture(params=["memory", "folder", "postgres"])
def with_objects(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Body], None]:
    """Runs a body with opened objects that have a bucket `bucket`."""

    def run(body: Body) -> None:
        async def inner() -> None:
            store = MAKERS["sqlite" if request.param == "folder" else request.param](tmp_path)
            await store.open("test")
            folder = tmp_path / "objects" if request.param == "folder" else None
            objects = Objects(ObjectState(store, RealClock(), Config(), folder, None))
            try:
                await objects.create_bucket("bucket")
                await body(objects)
            finally:
                await objects.stop()
                await store.close()

        asyncio.run(inner())

    return run


async def refused(call: Awaitable[object]) -> ApiError:
    """What a call is refused with."""
    try:
        await call
    except ApiError as error:
        return error
    raise AssertionError("it was not refused")


def files_in(folder: Path) -> list[str]:
    """Names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
