"""Levels of isolation: what a hostile handler gets at, at each of them. docs/security.md has the same as a table.

These handlers run on the machine of the tests, also without isolation and as root. So no attempt changes anything if it
succeeds: files are opened and not written, rights are read and not used. Never mount, set a clock or write below /proc
here.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from statewright.config import Config, FunctionSettings
from statewright.functions.functions import Functions
from statewright.functions.workers import pools
from statewright.functions.workers.isolation import CannotIsolate, isolation
from tests.deadlines import until_async
from tests.e2e.conftest import Server
from tests.unit.functions.running import RUNTIME, create, document, on_functions, zipped

ROLE = "arn:aws:iam::000000000000:role/r"


def has(level: str) -> bool:
    try:
        return isolation(level).level == level
    except CannotIsolate:
        return False


def at(level: str, *marks: pytest.MarkDecorator) -> Any:
    """A parameter that is left out on machines without that level."""
    return pytest.param(
        level, marks=[pytest.mark.skipif(not has(level), reason=f"this machine has no {level}"), *marks]
    )


LEVELS = [at("none"), at("hardened"), at("namespaces")]
STRONGEST_QUICKLY = [at("none", pytest.mark.slow), at("hardened", pytest.mark.slow), at("namespaces")]
"""For what takes seconds at each level."""

HOSTILE = """
    import ctypes, errno, os, signal

    libc = ctypes.CDLL(None, use_errno=True)

    def attempts(server, data):
        def read(path):
            with open(path, "rb") as file:
                file.read(1)
        def append(path):
            # Opened and not written: an attempt that succeeds must change nothing.
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        def ask(name, *arguments):
            if getattr(libc, name)(*arguments) < 0:
                raise OSError(ctypes.get_errno(), name)
        def chmod_and_write():
            os.chmod(__file__, 0o600)
            append(__file__)
        def make_file():
            path = os.environ["LAMBDA_TASK_ROOT"] + "/new"
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
            os.unlink(path)
        def long_file():
            with open("/tmp/long" + str(os.getpid()), "wb") as file:
                try:
                    os.truncate(file.fileno(), 600 << 20)
                finally:
                    os.unlink(file.name)
        yield "data folder", lambda: os.listdir(data)
        yield "database", lambda: read(f"{data}/statewright.db")
        yield "database written", lambda: append(f"{data}/lock")
        yield "code of others", lambda: os.listdir(f"{data}/functions/code")
        yield "environment of the server", lambda: read(f"/proc/{server}/environ")
        yield "memory of the server", lambda: read(f"/proc/{server}/mem") or open(f"/proc/{server}/mem", "r+b").close()
        yield "map of the server", lambda: read(f"/proc/{server}/maps")
        yield "files of the server", lambda: os.readlink(f"/proc/{server}/fd/0")
        yield "trace of the server", lambda: ask("ptrace", 0x4206, server, 0, 0)
        yield "signal to the server", lambda: os.kill(server, 0)
        yield "own code", lambda: append(__file__)
        yield "own code, made writable", chmod_and_write
        yield "a file beside the code", make_file
        yield "files of the home folder", lambda: os.listdir(os.path.dirname(data))
        yield "long file", long_file
        yield "user namespace", lambda: ask("unshare", 0x10000000)
        yield "change of user", lambda: os.setuid(12345)
        yield "system settings", lambda: append("/proc/sys/kernel/hostname")

    def handler(event, context):
        got = []
        for name, attempt in attempts(event["server"], event["data"]):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    attempt()
                    code = 0
                finally:
                    os._exit(code)
            if os.waitpid(pid, 0)[1] == 0:
                got.append(name)
        with open("/proc/self/status") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines())
        return {
            "got": got,
            "privileges": [status[name].strip() for name in ("CapPrm", "CapEff", "CapAmb", "NoNewPrivs")],
            "environment": dict(os.environ),
            "alone": len([name for name in os.listdir("/proc") if name.isdigit()]),
        }
    """

NEVER_HARDENED = {
    "environment of the server", "memory of the server", "map of the server", "files of the server",
    "trace of the server", "own code", "a file beside the code", "long file", "change of user",
}  # fmt: skip
"""What no handler gets at from `hardened` on."""
STILL_HARDENED = {"data folder", "database", "code of others", "signal to the server", "files of the home folder"}
"""What a handler still gets at while it is only `hardened`: it is the same user, on the same file system."""


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def fenced(level: str, tmp_path: Path) -> Iterator[Server]:
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nAKIDOFTHESERVER = "the secret of the server"\n')
    server = Server(tmp_path / "data", "--config", str(settings), "--isolation", level)
    yield server
    assert server.stop() == 0


def test_a_hostile_handler(fenced: Server, level: str, tmp_path: Path) -> None:
    assert f"handlers: {level}," in fenced.ready_line
    functions = fenced.client("lambda", key="AKIDOFTHESERVER", secret="the secret of the server")
    functions.create_function(
        FunctionName="hostile", Runtime=RUNTIME, Handler="app.handler", Role=ROLE, Timeout=120,
        Code={"ZipFile": zipped(app__py=HOSTILE)},
    )  # fmt: skip
    event = {"server": fenced.process.pid, "data": str(tmp_path / "data")}
    answer = json.loads(functions.invoke(FunctionName="hostile", Payload=json.dumps(event))["Payload"].read())
    assert "the secret of the server" not in str(answer)
    got = set(answer["got"])
    if level != "none":
        assert answer["privileges"] == ["0" * 16] * 3 + ["1"]
    if level == "hardened":
        assert got & NEVER_HARDENED == set()
        assert got >= STILL_HARDENED
    if level == "namespaces":
        assert got == set()
        # Its first process, itself, and the child that looked.
        assert answer["alone"] <= 3
        assert answer["environment"]["LAMBDA_TASK_ROOT"] == "/var/task"


@pytest.mark.parametrize("level", STRONGEST_QUICKLY)
def test_the_memory_of_children_counts(level: str) -> None:
    source = """
        import os, time
        def handler(event, context):
            for _ in range(4):
                if os.fork() == 0:
                    kept = os.urandom(48 << 20)
                    time.sleep(300)
            time.sleep(300)
        """

    async def test(functions: Functions) -> Any:
        await create(functions, "f", source, MemorySize=128)
        return document(await functions.invoke("f", b"1"))

    answer = on_functions(test, config=settings(level))
    assert answer["errorType"] == "Runtime.ExitError"
    assert answer["errorMessage"].endswith("Runtime exited with error: signal: killed")


@pytest.mark.parametrize("level", STRONGEST_QUICKLY)
def test_memory_that_children_share_counts_once(level: str) -> None:
    source = """
        import os, time
        def handler(event, context):
            kept = os.urandom(70 << 20)
            children = []
            for _ in range(4):
                children.append(os.fork())
                if children[-1] == 0:
                    time.sleep(300)
            time.sleep(event)
            for child in children:
                os.kill(child, 9)
            return len(kept)
        """

    async def test(functions: Functions) -> Any:
        await create(functions, "f", source, MemorySize=128)
        return document(await functions.invoke("f", b"2.5"))

    assert on_functions(test, config=settings(level)) == 70 << 20


@pytest.mark.parametrize("level", STRONGEST_QUICKLY)
def test_no_process_outlives_a_timeout(level: str) -> None:
    """Each process holds a connection to this test, which ends with it."""
    source = """
        import os, signal, socket, time
        def handler(event, context):
            for number in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0 or number == 2:
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        link = socket.create_connection(("127.0.0.1", event))
                        link.sendall(b"+")
                        time.sleep(600)
                    os._exit(0)
            time.sleep(600)
        """

    async def test(functions: Functions) -> tuple[Any, list[bytes]]:
        await create(functions, "f", source, Timeout=5)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            loop = asyncio.get_running_loop()
            running = asyncio.ensure_future(functions.invoke("f", str(listening.getsockname()[1]).encode()))
            links = []
            while not running.done():
                accepting = asyncio.ensure_future(loop.sock_accept(listening))
                await asyncio.wait([accepting, running], return_when=asyncio.FIRST_COMPLETED)
                if accepting.done():
                    links.append(accepting.result()[0])
                else:
                    accepting.cancel()
            answer = document(await running)
            ends = []
            for link in links:
                with link:
                    ends.append(await loop.sock_recv(link, 1) and await loop.sock_recv(link, 1))
        return answer, ends

    answer, ends = on_functions(test, config=settings(level))
    assert answer["errorType"] == "Sandbox.Timedout"
    assert ends
    assert set(ends) == {b""}


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS[1:])
def test_a_fork_bomb_is_bounded(level: str) -> None:
    source = """
        import os, time
        def handler(event, context):
            for count in range(20_000):
                try:
                    pid = os.fork()
                except OSError:
                    break
                if pid == 0:
                    time.sleep(600)
            time.sleep(600)
        """

    async def test(functions: Functions) -> Any:
        await create(functions, "f", source, MemorySize=10_240, Timeout=60)
        return document(await functions.invoke("f", b"1"))

    assert on_functions(test, config=settings(level))["errorType"] in ("Runtime.ExitError", "Sandbox.Timedout")


def test_idle_workers_and_their_children_are_stopped(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_MS", 50)
    monkeypatch.setattr(pools, "FREEZE_MS", 50)
    source = """
        import os, time
        def handler(event, context):
            if event == 1 and os.fork() == 0:
                time.sleep(600)
            return event
        """

    def states(pids: list[int]) -> list[str]:
        return [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]

    async def test(functions: Functions) -> Any:
        await create(functions, "f", source)
        assert document(await functions.invoke("f", b"1")) == 1
        (worker,) = functions.invoker.pools.by_number.values()
        if level != "none":
            await until_async(lambda: states(worker.family()) == ["T", "T"], "the stop of both")
        family = worker.family()
        again = document(await functions.invoke("f", b"2"))
        return family, again, functions.invoker.pools.by_number

    family, again, _ = on_functions(test, config=settings(level))
    assert again == 2
    assert len(family) == 2


def test_a_level_that_the_machine_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from statewright.functions.workers import isolation as module

    monkeypatch.setattr(module, "_problem_of", lambda name: "not today" if name == "namespaces" else "")
    with pytest.raises(CannotIsolate, match="not today"):
        isolation("namespaces")
    assert isolation("auto") == module.Isolation("hardened", "no namespaces: not today")


def settings(level: str) -> Config:
    return Config(functions=FunctionSettings(level))
