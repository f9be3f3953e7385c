"""Hostile handlers: what one can do to the server, to its data, to other functions and to the machine.

A handler here is the attacker: it has the process of a worker, with its descriptors, and runs any code.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import tracemalloc

import pytest

from statewright.functions.functions import Functions
from statewright.functions.workers.frames import LONGEST_FRAME, BrokenFrame, FrameBuffer, header_of
from statewright.functions.workers.worker import Worker
from tests.deadlines import until
from tests.unit.functions.running import create, document, on_functions

RAW = """
    import os, socket, struct, time
    def frame(head, body=b"", total=None, header=None):
        return struct.pack(">II", 4 + len(head) + len(body) if total is None else total,
                           len(head) if header is None else header) + head + body
    def handler(event, context):
        if event == "fine":
            return "fine"
        id = context.aws_request_id.encode()
        os.write(3, eval(event))
        time.sleep(60)
        return "mine"
    """
KILLED = "Runtime exited with error: signal: killed"


@pytest.mark.parametrize(
    "bytes_",
    [
        "struct.pack('>II', 0xffffffff, 20)",
        "struct.pack('>II', 20, 0xffffffff)",
        f"struct.pack('>II', {LONGEST_FRAME}, 20)",
        "struct.pack('>II', 3, 0)",
        "frame(b'x' * 20)",
        "frame(b'[]')",
        "frame(b'{}')",
        "frame(b'{\"t\":[]}')",
        "frame(b'{\"t\":\"result\"}', b'1')",
        'frame(b\'{"t":"result","id":1,"peak_kib":1}\', b\'1\')',
        'frame(b\'{"t":"result","id":"\' + id + b\'","peak_kib":"1"}\', b\'1\')',
        "frame(b'{\"t\":\"result\",\"id\":\"' + id + b'\",\"peak_kib\":1' + b'0' * 300 + b'}', b'1')",
        'frame(b\'{"t":"sleep_until","due_ms":true}\')',
        "frame(b'[' * 4000)",
        "b'\\r\\nGET / HTTP/1.1\\r\\n\\r\\n'",
    ],
)
def test_a_broken_frame_ends_its_worker_and_nothing_else(bytes_):
    async def test(functions: Functions):
        await create(functions, "f", RAW, Timeout=120)
        broken = await functions.invoke("f", json.dumps(bytes_).encode())
        return document(broken), document(await functions.invoke("f", b'"fine"'))

    broken, after = on_functions(test)
    assert broken["errorType"] == "Runtime.ExitError"
    assert broken["errorMessage"].endswith(KILLED)
    assert after == "fine"


def test_memory_grows_with_what_has_arrived_not_with_what_a_frame_claims():
    tracemalloc.start()
    try:
        frames = FrameBuffer()
        frames.space()[:8] = (LONGEST_FRAME - 4).to_bytes(4, "big") + (20).to_bytes(4, "big")
        assert list(frames.added(8)) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000


def test_a_frame_of_four_gibibytes_is_refused_at_its_head():
    frames = FrameBuffer()
    frames.space()[:8] = b"\xff\xff\xff\xff\x00\x00\x00\x14"
    with pytest.raises(BrokenFrame):
        list(frames.added(8))


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000, 6_291_556])
def test_frames_of_all_lengths_arrive_whole_in_pieces_of_any_size(size):
    head, body = b'{"t":"ready"}', os.urandom(size)
    data = ((4 + len(head) + size).to_bytes(4, "big") + len(head).to_bytes(4, "big") + head + body) * 2
    frames = FrameBuffer()
    found: list[tuple[bytes, bytes]] = []
    at = 0
    while at < len(data):
        space = frames.space()
        count = min(len(space), 50_001, len(data) - at)
        space[:count] = data[at : at + count]
        space.release()
        found += frames.added(count)
        at += count
    assert found == [(head, body), (head, body)]
    assert header_of(head) == {"t": "ready"}


FORGED = """
    import json, os, struct, threading, time
    def frame(header, body):
        head = json.dumps(header).encode()
        return struct.pack(">II", 4 + len(head) + len(body), len(head)) + head + body
    def handler(event, context):
        if event == "again":
            return "true answer"
        # Answers of other invocations, one before this one's own end and a second `ready` after it.
        os.write(3, frame({"t": "result", "id": "another", "peak_kib": 1}, b'"forged"'))
        os.write(3, frame({"t": "ready"}, b"") * 3)
        os.write(3, frame({"t": "failed"}, b"not JSON"))
        return "first"
    """


def test_forged_answers_reach_no_other_invocation():
    async def test(functions: Functions):
        await create(functions, "f", FORGED, Timeout=60)
        first = document(await functions.invoke("f", b'""'))
        # A worker that was free twice would be given two of these at once.
        return first, await asyncio.gather(*(functions.invoke("f", b'"again"') for _ in range(8)))

    first, after = on_functions(test)
    assert first == "first"
    assert [document(one) for one in after] == ["true answer"] * 8


def test_a_module_that_reports_its_own_failure_in_no_form():
    source = """
        import json, os, struct
        head = json.dumps({"t": "failed"}).encode()
        os.write(3, struct.pack(">II", 4 + len(head) + 2, len(head)) + head + b"[]")
        import time; time.sleep(60)
        """

    async def test(functions: Functions):
        await create(functions, "f", source, Timeout=60)
        return document(await functions.invoke("f", b"1"))

    assert on_functions(test)["errorType"] == "Runtime.Unknown"


# ------------------------------------------------------------------ pauses of the server


def channel_of(worker: Worker) -> int:
    """The server's descriptor of a worker's socket."""
    assert worker.transport is not None
    number: int = worker.transport.get_extra_info("socket").fileno()
    return number


@pytest.mark.parametrize("size", [10, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_an_answer_that_arrived_during_a_pause_of_the_server_is_no_timeout(tmp_path, size):
    """The loop stands still from the handler's end until after the deadline, as after SIGSTOP and SIGCONT."""
    source = """
        import time
        def handler(event, context):
            time.sleep(0.2)
            return "x" * event
        """

    async def test(functions: Functions):
        await create(functions, "f", source, Timeout=3)
        await functions.invoke("f", b"1")
        (worker,) = functions.invoker.pools.by_number.values()
        running = asyncio.ensure_future(functions.invoke("f", str(size).encode()))
        while worker.in_hand is None:
            await asyncio.sleep(0)
        channel = channel_of(worker)
        due_ms = functions.clock.now_ms() + 3_000
        until(lambda: select.select([channel], [], [], 0)[0], "the answer")
        until(lambda: functions.clock.now_ms() > due_ms + 100, "the deadline")
        # A loop that calls due timers before it reads sockets, as uvloop does.
        worker._stop_deadline()
        worker._time_out()
        return document(await running)

    assert on_functions(test) == "x" * size


def test_a_worker_that_was_ready_during_a_pause_of_the_server_has_started():
    async def test(functions: Functions):
        await create(functions, "f", "def handler(event, context):\n    return 'fine'", Timeout=60)
        running = asyncio.ensure_future(functions.invoke("f", b"1"))
        while not functions.invoker.pools.by_number:
            await asyncio.sleep(0)
        (worker,) = functions.invoker.pools.by_number.values()
        while worker.transport is None:
            await asyncio.sleep(0)
        channel = channel_of(worker)
        until(lambda: select.select([channel], [], [], 0)[0], "the worker's start")
        worker._time_out_starting()
        return document(await running)

    assert on_functions(test) == "fine"
