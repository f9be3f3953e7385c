"""Handlers that crash, hang, flood, fork and outgrow: the caller gets an answer, the next invocation a worker."""

from __future__ import annotations

import asyncio
import json
import os
import textwrap
import time
from pathlib import Path

import pytest

from statewright.functions.logs import TAIL_BYTES
from tests.deadlines import until_async
from tests.unit.functions.running import create, document, invoked, on_functions, refusal


def gone(pid: int) -> bool:
    """Whether a process has ended: it is not there, or waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def until_gone(*pids: int) -> None:
    await until_async(lambda: all(gone(pid) for pid in pids), f"the end of {pids}")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(3)", "Runtime exited with error: exit status 3"),
        ("sys.exit(4)", "Runtime exited with error: exit status 4"),
        ("sys.exit('why')", "Runtime exited with error: exit status 1"),
        ("os._exit(0)", "Runtime exited without providing a reason"),
        ("os.kill(os.getpid(), 9)", "Runtime exited with error: signal: killed"),
        ("os.kill(os.getpid(), 11)", "Runtime exited with error: signal: segmentation fault"),
    ],
)
def test_a_runtime_that_ends(body, words):
    source = f"import os, sys\ndef handler(event, context):\n    if event:\n        {body}\n    return 'fine'"

    async def test(functions):
        await create(functions, "f", source)
        ended = await functions.invoke("f", b"1", log_tail=True)
        return ended, await functions.invoke("f", b"0")

    ended, after = on_functions(test)
    assert (ended.status, ended.function_error) == (200, "Unhandled")
    assert document(ended) == {"errorType": "Runtime.ExitError",
                               "errorMessage": f"RequestId: {ended.request_id} Error: {words}"}  # fmt: skip
    assert words.encode() in ended.log_tail
    assert document(after) == "fine"


def test_a_module_that_ends_its_process():
    answer = invoked("import os\nos._exit(5)")
    assert document(answer)["errorMessage"].endswith("Error: Runtime exited with error: exit status 5")


def test_a_timeout_ends_the_worker_and_its_children_though_they_will_not():
    source = """
        import os, signal, subprocess, sys, time

        def handler(event, context):
            if event is None:
                return "warm"
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(
                [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
            escaped = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
            with open(event, "w") as file:
                file.write(f"{os.getpid()} {child.pid} {escaped.pid}")
            while True:
                time.sleep(1)
        """

    async def test(functions):
        await create(functions, "f", source, Timeout=4)
        target = functions.invoker.logs.folder.parent / "pids"
        started = time.monotonic()
        answer = await functions.invoke("f", json.dumps(str(target)).encode(), log_tail=True)
        took = time.monotonic() - started
        await until_gone(*(int(word) for word in target.read_text().split()))
        return answer, took, await functions.invoke("f", b"null")

    answer, took, after = on_functions(test)
    assert took >= 4.0
    assert document(answer) == {"errorType": "Sandbox.Timedout",
                                "errorMessage": f"RequestId: {answer.request_id} Error: Task timed out after 4.00 seconds"}  # fmt: skip # noqa: E501
    assert f"{answer.request_id} Task timed out after 4.00 seconds\n\nEND RequestId".encode() in answer.log_tail
    assert document(after) == "warm"


def test_a_gigabyte_of_output_is_survived_and_bounded():
    source = """
        import os

        def handler(event, context):
            block = b"x" * 65535 + b"\\n"
            for _ in range(16 * 1024):
                os.write(1, block)
            print("the end")
            return "written"
        """

    async def test(functions):
        await create(functions, "f", source, Timeout=120)
        answer = await functions.invoke("f", b"{}", log_tail=True)
        functions.logs.flush()
        kept = sum(path.stat().st_size for path in functions.logs.folder.iterdir())
        return answer, kept

    answer, kept = on_functions(test)
    assert document(answer) == "written"
    assert len(answer.log_tail) == TAIL_BYTES
    assert b"the end\nEND RequestId" in answer.log_tail
    assert kept < 12 * 1024 * 1024


def test_ten_mebibytes_are_too_much_of_a_result():
    source = "def handler(event, context):\n    return 'x' * event"

    async def test(functions):
        await create(functions, "f", source, Timeout=60)
        return [await functions.invoke("f", str(size).encode()) for size in (10 << 20, 6_291_554, 6_291_555)]

    first, fits, over = on_functions(test)
    assert document(first) == {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
    }
    assert (fits.function_error, len(fits.payload)) == (None, 6_291_556)
    assert over.function_error == "Unhandled"


def test_a_handler_that_forks_answers_once():
    source = """
        import os

        def handler(event, context):
            child = os.fork()
            if child:
                os.waitpid(child, 0)
            return [event, child > 0]
        """

    async def test(functions):
        await create(functions, "f", source)
        return [document(await functions.invoke("f", str(n).encode())) for n in range(3)]

    assert on_functions(test) == [[0, True], [1, True], [2, True]]


def test_a_handler_that_outgrows_its_memory_is_killed():
    source = """
        import time

        def handler(event, context):
            kept = []
            for _ in range(100):
                kept.append(b"x" * (4 << 20))
                time.sleep(0.02)
            time.sleep(30)
        """
    answer = invoked(source, Timeout=30, MemorySize=128)
    assert document(answer)["errorType"] == "Runtime.ExitError"
    assert document(answer)["errorMessage"].endswith("Error: Runtime exited with error: signal: killed")
    assert b"Max Memory Used: 128 MB" in (answer.log_tail or b"")


def test_an_allocation_far_beyond_is_refused_at_once():
    answer = invoked("def handler(e, c):\n    return len(b'x' * (8 << 30))", MemorySize=128)
    assert document(answer)["errorType"] == "MemoryError"


def test_a_worker_sees_nothing_of_the_server():
    os.environ["STATEWRIGHT_TEST_SECRET"] = "secret"
    source = """
        import os

        def handler(event, context):
            files = sorted(int(name) for name in os.listdir("/proc/self/fd"))
            return {"files": files, "secret": "STATEWRIGHT_TEST_SECRET" in os.environ, "cwd": os.getcwd() ==
                    os.environ["LAMBDA_TASK_ROOT"], "group": os.getpgid(0) == os.getpid(),
                    "zone": os.environ["TZ"]}
        """
    try:
        found = document(invoked(source))
    finally:
        del os.environ["STATEWRIGHT_TEST_SECRET"]
    # The last one is the listing's own.
    assert found.pop("files")[:-1] == [0, 1, 2, 3]
    assert found == {"secret": False, "cwd": True, "group": True, "zone": ":UTC"}


def test_a_killed_fork_server_is_started_again():
    source = "import os\ndef handler(e, c):\n    return [os.getpid(), os.getppid()]"

    async def test(functions):
        await create(functions, "f", source)
        worker, parent = document(await functions.invoke("f", b"{}"))
        os.kill(parent, 9)
        await until_gone(worker)
        answer = await functions.invoke("f", b"{}")
        if answer.function_error:
            # The worker had died, and its pool had not noticed yet.
            answer = await functions.invoke("f", b"{}")
        return parent, document(answer)[1]

    before, after = on_functions(test)
    assert before != after


def test_the_clock_of_real_time_is_the_handlers_own():
    source = """
        import sys

        def handler(event, context):
            module = sys.modules["python_worker"]
            try:
                return module.CLOCK.now_ms()
            except module.ClockRefused as problem:
                return str(problem)
        """
    assert document(invoked(source)) == "this server keeps real time: read the time and sleep by yourself"


def test_stopping_ends_every_process():
    source = "import os, time\ndef handler(e, c):\n    return [os.getpid(), os.getppid()]"
    found = document(invoked(source))
    assert all(gone(pid) for pid in found)


def test_concurrency_is_counted_and_bounded(tmp_path):
    gate = tmp_path / "gate"
    wait = f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    source = f"import os, time\ndef handler(e, c):\n    {wait}\n    return 1"

    async def test(functions):
        counted = functions.invoker.concurrency
        await create(functions, "f", source)
        await create(functions, "g", "def handler(e, c): return 1")
        await functions.definitions.reserve("f", 2)
        running = [asyncio.ensure_future(functions.invoke("f", b"{}")) for _ in range(2)]
        while counted.running.get("f", 0) < 2:
            await asyncio.sleep(0)
        await functions.invoke("g", b"{}")
        error = await refusal(functions.invoke("f", b"{}"))
        gate.touch()
        answers = await asyncio.gather(*running)
        gate.unlink()
        functions.invoker.concurrency.account = 1
        await functions.definitions.reserve("f", None)
        one = asyncio.ensure_future(functions.invoke("f", b"{}"))
        while counted.unreserved_running < 1:
            await asyncio.sleep(0)
        other = await refusal(functions.invoke("g", b"{}"))
        gate.touch()
        await one
        return answers, error, other, functions.invoker.concurrency.unreserved_running

    answers, error, other, left = on_functions(test)
    assert [document(answer) for answer in answers] == [1, 1]
    assert (error.code, error.status, error.details["Reason"]) == (
        "TooManyRequestsException", 429, "ReservedFunctionConcurrentInvocationLimitExceeded",
    )  # fmt: skip
    assert other.details == {
        "Reason": "ConcurrentInvocationLimitExceeded", "Type": "User", "retryAfterSeconds": "1",
    }  # fmt: skip
    assert left == 0


def test_updated_code_runs_in_new_workers_while_the_old_ones_finish(tmp_path):
    began, gate = tmp_path / "began", tmp_path / "gate"
    slow = f"""
        import os, time

        def handler(event, context):
            open({str(began)!r}, "w").close()
            while not os.path.exists({str(gate)!r}):
                time.sleep(0.01)
            return "old"
        """

    async def test(functions):
        await create(functions, "f", textwrap.dedent(slow))
        running = asyncio.ensure_future(functions.invoke("f", b"{}"))
        await until_async(began.exists, "the old code's start")
        from statewright.functions.definitions import Code
        from tests.unit.functions.running import zipped

        await functions.definitions.update_code("f", Code(zip=zipped(app__py="def handler(e, c):\n    return 'new'")))
        new = await functions.invoke("f", b"{}")
        gate.touch()
        return document(await running), document(new)

    assert on_functions(test) == ("old", "new")


def test_many_at_once_share_few_workers():
    source = "import os\ndef handler(e, c):\n    return os.getpid()"

    async def test(functions):
        await create(functions, "f", source)
        await functions.invoke("f", b"{}")
        found = await asyncio.gather(*(functions.invoke("f", b"{}") for _ in range(40)))
        return {document(answer) for answer in found}

    assert len(on_functions(test)) < 20


def test_an_unknown_python_runs_with_ours_and_the_log_says_so():
    async def test(functions):
        await create(
            functions, "f", "import sys\ndef handler(e, c):\n    return sys.version_info[0]", Runtime="python3.4"
        )
        answer = await functions.invoke("f", b"{}")
        functions.logs.flush()
        return answer, (functions.logs.folder / "f.log").read_text()

    answer, log = on_functions(test)
    assert document(answer) == 3
    assert "this machine has no python3.4" in log
