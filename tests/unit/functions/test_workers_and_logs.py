"""Pools, the clock's frames, log files, names."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.credentials import LEFT_MS, Credentials
from statewright.errors import ApiError
from statewright.functions import logs as logs_module
from statewright.functions.functions import Functions
from statewright.functions.invoke import Invocation
from statewright.functions.logs import Logs
from statewright.functions.names import parse_name
from statewright.functions.workers import pools
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.functions.running import create, document, on_functions
from tests.unit.functions.test_misbehaving_handlers import until_gone


def test_idle_workers_go_after_a_while(monkeypatch):
    monkeypatch.setattr(pools, "CHECK_MS", 10)
    monkeypatch.setattr(pools, "IDLE_MS", 30)

    async def test(functions):
        await create(functions, "f", "import os\ndef handler(e, c):\n    return os.getpid()")
        first = document(await functions.invoke("f", b"{}"))
        await until_gone(first)
        return first, document(await functions.invoke("f", b"{}"))

    first, second = on_functions(test)
    assert first != second


def test_too_many_processes_make_room(monkeypatch):
    monkeypatch.setattr(pools, "MOST_WORKERS", 2)

    async def test(functions):
        pids = []
        for name in "abcd":
            await create(functions, name, "import os\ndef handler(e, c):\n    return os.getpid()")
            pids.append(document(await functions.invoke(name, b"{}")))
        await until_gone(*pids[:2])
        return document(await functions.invoke("d", b"{}")) == pids[3]

    assert on_functions(test)


def test_in_virtual_time_a_worker_asks_the_server_for_the_time():
    source = """
        import sys

        def handler(event, context):
            clock = sys.modules["python_worker"].CLOCK
            before = clock.now_ms()
            return [clock.sleep_until(before + 3_600_000) - before, clock.now_ms() - before]
        """

    async def main(clock: VirtualClock):
        store = MemoryStore()
        await store.open("tests")
        functions = Functions(store, clock, Config(), None, endpoint=lambda: "http://127.0.0.1:1")
        await functions.start()
        try:
            # A day's timeout, so that the hour's sleep is not cut short: out of range for the API, not for a worker.
            await create(functions, "f", source, Timeout=900)
            target = await functions.invoker.resolve("f", None)
            from dataclasses import replace

            long = replace(target, timeout_ms=86_400_000)
            answer = await functions.invoker.run(long, Invocation(b"{}", "r"))
            return json.loads(answer.payload), clock.now_ms() - clock.start_ms
        finally:
            await functions.stop()

    started = time.monotonic()
    slept, passed = run_virtual(main)
    assert slept == [3_600_000, 3_600_000]
    assert 3_600_000 <= passed < 3_700_000
    assert time.monotonic() - started < 3_600


def test_log_files_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(logs_module, "FILE_BYTES", 1_000)

    async def main(clock):
        logs = Logs(tmp_path, clock)
        for number in range(100):
            logs.append("f", "s", b"line %d\nsecond" % number)
            logs.flush()
        return sorted(path.name for path in tmp_path.iterdir())

    assert run_virtual(main) == ["f.log", "f.log.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3_000
    last = (tmp_path / "f.log").read_text() or (tmp_path / "f.log.1").read_text()
    assert last.splitlines()[-1].split("\t")[1:] == ["s", "second"]


def test_logs_are_written_after_a_moment(tmp_path):
    async def main(clock):
        logs = Logs(tmp_path, clock)
        stream = logs.stream("f", "s")
        stream.begin(b"START\n")
        stream.write(b"one\nhalf")
        stream.write(b" and half\nnever ended")
        stream.end(b"END\nREPORT\n")
        assert not list(tmp_path.iterdir())
        await clock.sleep_until(clock.now_ms() + 1_000)
        return stream.tail, [line.split("\t")[2] for line in (tmp_path / "f.log").read_text().splitlines()]

    tail, lines = run_virtual(main)
    assert lines == ["START", "one", "half and half", "never ended", "END", "REPORT"]
    assert tail == b"START\none\nhalf and half\nnever ended\nEND\nREPORT\n"


def test_lines_of_other_processes_keep_their_instants_and_streams(tmp_path):
    async def main(clock):
        logs = Logs(tmp_path, clock)
        heard: list[str] = []
        logs.subscribe(heard.append)
        logs.add("f", [(5, "s", "é\ttab"), (3, "t", "")], is_late=False)
        await clock.sleep_until(clock.now_ms() + 1_000)
        assert heard == ["f"]
        assert [path.name for path in tmp_path.iterdir()] == ["f.log"]
        assert (tmp_path / "f.log").read_text() == "5\ts\té\ttab\n3\tt\t\n"
        logs.add("f", [(1, "s", "late")], is_late=True)
        logs.flush()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f.late", "f.log"]
        logs.delete("f")
        assert not list(tmp_path.iterdir())
        Logs(None, clock).add("f", [(1, "s", "only tails are kept")], is_late=True)

    run_virtual(main)


@pytest.mark.parametrize(
    ("text", "qualifier", "expected"),
    [
        ("f", None, ("f", None)),
        ("f", "1", ("f", "1")),
        ("f:live", None, ("f", "live")),
        ("f:live", "live", ("f", "live")),
        ("function:f:$LATEST", None, ("f", "$LATEST")),
        ("000000000000:function:f", None, ("f", None)),
        ("arn:aws:lambda:us-east-1:000000000000:function:f:3", None, ("f", "3")),
    ],
)
def test_names_of_functions(text, qualifier, expected):
    found = parse_name(text, qualifier, Config())
    assert (found.name, found.qualifier) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "ValidationException"),
        ("a b", "ValidationException"),
        ("f:1:2", "ValidationException"),
        ("x" * 65, "ValidationException"),
        ("arn:aws:lambda:eu-west-1:000000000000:function:f", "ResourceNotFoundException"),
        ("111111111111:function:f", "AccessDeniedException"),
    ],
)
def test_names_of_no_function(text, code):
    with pytest.raises(ApiError) as caught:
        parse_name(text, None, Config())
    assert caught.value.code == code


def test_nothing_is_started_before_the_first_invocation():
    async def test(functions):
        await create(functions, "f", "")
        return functions.invoker.pools.count, functions.invoker._fork_servers.pids

    assert on_functions(test) == (0, [])
    assert RealClock().busy() is not None


def test_credentials_are_issued_for_the_role_and_shared_by_new_workers_while_they_are_young():
    asked: list[tuple[str, str, int]] = []

    async def issue(role: str, name: str, seconds: int) -> Credentials:
        asked.append((role, name, seconds))
        return Credentials(f"ASIA{len(asked)}", "secret", "token", RealClock().now_ms() + 1000 * seconds)

    async def test(functions):
        await create(functions, "f", "import os\ndef handler(e, c):\n    return [os.getpid(), dict(os.environ)]")
        found = [document(await functions.invoke("f", b"1"))]
        (worker,) = functions.invoker.pools.by_number.values()
        found.append(document(await functions.invoke("f", b"1")))
        # The credentials of the only worker are about to expire, and those that its successor would share, too.
        worker.credentials = replace(worker.credentials, expires_ms=RealClock().now_ms() + LEFT_MS)
        worker.plan.credentials._last = worker.credentials
        found.append(document(await functions.invoke("f", b"1")))
        return found

    (pid, first), (same, again), (other, renewed) = on_functions(test, issue=issue)
    assert pid == same != other
    assert (first["AWS_ACCESS_KEY_ID"], first["AWS_SESSION_TOKEN"]) == ("ASIA1", "token")
    assert (again["AWS_ACCESS_KEY_ID"], renewed["AWS_ACCESS_KEY_ID"]) == ("ASIA1", "ASIA2")
    assert asked == [("arn:aws:iam::000000000000:role/functions", "f", 12 * 3600)] * 2
