"""Handlers of functions with reserved concurrency end with the lease: then another server may run such a handler."""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.functions.functions import Functions
from statewright.functions.runtimes import zygote
from statewright.lease_end import LeaseEnd
from statewright.stores.memory.store import MemoryStore
from tests.deadlines import PATIENCE_SECONDS
from tests.unit.functions.running import SHARING, create, document, refusal

WAITS = """
    import os, time

    def handler(event, context):
        with open(event["begun"], "a") as marks:
            marks.write(f"{os.getpid()}\\n")
        while not os.path.exists(event["go"]):
            time.sleep(0.01)
        return os.getpid()
"""


class LeasedStore(MemoryStore):
    """A store with a lease."""

    def __init__(self, lease_end: LeaseEnd) -> None:
        super().__init__()
        self.lease_end = lease_end  # type: ignore[misc, assignment]


class Rig:
    """Two functions on such a store, one of them with a reservation."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.lease_end = LeaseEnd()

    async def start(self) -> Rig:
        self.renew()
        store = LeasedStore(self.lease_end)
        await store.open("tests")
        self.functions = Functions(store, RealClock(), SHARING, None, endpoint=lambda: "http://127.0.0.1:1")
        await self.functions.start()
        for name in ("free", "alone"):
            await create(self.functions, name, WAITS)
        await self.functions.definitions.reserve("alone", 1)
        return self

    def renew(self, seconds: float = 10 * PATIENCE_SECONDS) -> None:
        self.lease_end.move(time.monotonic() + seconds)

    def invoke(self, name: str) -> asyncio.Task[Any]:
        event = b'{"begun": "%b", "go": "%b"}' % (bytes(self.folder / name), bytes(self.folder / "go"))
        return asyncio.ensure_future(self.functions.invoke(name, event))

    async def begun(self, name: str, count: int = 1) -> None:
        path = self.folder / name
        while not path.exists() or len(path.read_text().splitlines()) < count:
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        await self.functions.stop()
        self.lease_end.close()


def test_a_handler_of_a_reserved_function_is_ended_with_the_lease_and_others_go_on(tmp_path: Path) -> None:
    async def test() -> None:
        rig = await Rig(tmp_path).start()
        alone = rig.invoke("alone")
        await rig.begun("alone")
        rig.renew(0.5)
        # The fork server reads the end again when the one that it knew has come, or when it is asked for a worker.
        free = rig.invoke("free")
        await rig.begun("free")
        error = await refusal(alone)
        assert (error.code, error.status) == ("ServiceException", 500)
        assert "reserved concurrency" in error.message
        # A new one cannot begin either.
        error = await refusal(rig.invoke("alone"))
        assert error.code == "ServiceException"
        # Once the lease is renewed, it can.
        rig.renew()
        again = rig.invoke("alone")
        await rig.begun("alone", 2)
        (tmp_path / "go").touch()
        assert document(await again) != document(await free)
        await rig.stop()

    asyncio.run(test())


DESCRIPTORS = """
    import os

    def handler(event, context):
        links = []
        for number in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{number}"))
            except OSError:
                pass
        return [one for one in links if "lease" in one]
"""


@contextmanager
def high_number(descriptor: int) -> Iterator[int]:
    """The same file under a number that workers do not close, in place of its own."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    number = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 2 * zygote.WORKER_DESCRIPTORS)
    os.close(descriptor)
    try:
        yield number
    finally:
        os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descriptors are listed in /proc")
def test_handlers_cannot_reach_the_end_of_the_lease(tmp_path: Path) -> None:
    async def test() -> None:
        rig = await Rig(tmp_path).start()
        # As in a server that has many files open: workers close low numbers alone.
        with high_number(rig.lease_end.descriptor) as number:
            rig.lease_end._descriptor = number
            await create(rig.functions, "looks", DESCRIPTORS)
            assert document(await rig.functions.invoke("looks", b"{}")) == []
            await rig.functions.stop()
            rig.lease_end._descriptor = -1

    asyncio.run(test())


def test_workers_that_were_started_before_a_reservation_are_replaced(tmp_path: Path) -> None:
    async def test() -> None:
        rig = await Rig(tmp_path).start()
        (tmp_path / "go").touch()
        before = document(await rig.invoke("free"))
        assert document(await rig.invoke("free")) == before
        await rig.functions.definitions.reserve("free", 1)
        after = document(await rig.invoke("free"))
        assert after != before
        assert document(await rig.invoke("free")) == after
        await rig.functions.definitions.reserve("free", None)
        assert document(await rig.invoke("free")) not in (before, after)
        await rig.stop()

    asyncio.run(test())
