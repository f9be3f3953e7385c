"""Workers that are started ahead: provisioned concurrency with real workers, and its refusals."""

from __future__ import annotations

import pytest

from statewright.functions import provisioned
from statewright.functions.functions import Functions
from statewright.functions.workers import pools
from statewright.functions.workers.plans import WorkerPlan
from tests.deadlines import PATIENCE_SECONDS, until_async
from tests.unit.functions.running import create, document, on_functions, refusal

TELLING = """
import os
def handler(event, context):
    return [os.getpid(), os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"]]
"""
BROKEN = "raise ValueError('no')\n"


async def published(functions: Functions, source: str = TELLING) -> None:
    await create(functions, "f", source)
    await functions.versions.publish("f")


async def ended(functions: Functions, qualifier: str = "1") -> tuple[str, int, str | None]:
    """The status of a configuration once it is not in progress any more."""
    found = await functions.provisioned.get("f", qualifier)
    for _ in range(round(PATIENCE_SECONDS / 0.02)):
        state = await functions.provisioned.readiness(found)
        if state.status != "IN_PROGRESS":
            return state.status, state.allocated, state.reason
        await functions.clock.sleep_until(functions.clock.now_ms() + 20)
    raise AssertionError("the workers neither start nor fail")


def pids(functions: Functions, version: str = "1") -> set[int]:
    pool = functions.invoker.pools.get("f", version)
    return {worker.pid for worker in pool.idle} if pool is not None else set()


async def known(functions: Functions) -> set[int]:
    """The ids of the processes. A worker is ready by its own word; its id comes from the fork server, perhaps later."""
    await until_async(lambda: all(pids(functions)), "the ids of the processes")
    return pids(functions)


def test_workers_are_started_ahead_and_kept_while_they_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_MS", 10)
    monkeypatch.setattr(pools, "IDLE_MS", 0)

    async def test(functions: Functions) -> None:
        await published(functions)
        made = await functions.provisioned.put("f", "1", 2)
        assert (made.qualifier, made.workers) == ("1", 2)
        assert await ended(functions) == ("READY", 2, None)
        ahead = await known(functions)
        assert len(ahead) == 2
        pid, how = document(await functions.invoke("f", b"{}", qualifier="1"))
        assert (pid in ahead, how) == (True, "provisioned-concurrency")
        assert document(await functions.invoke("f", b"{}"))[1] == "on-demand"
        await until_async(lambda: not pids(functions, "$LATEST"), "the end of the idle worker")
        assert pids(functions) == ahead
        await functions.provisioned.delete("f", "1")
        await until_async(lambda: not pids(functions), "the end of the workers")
        gone = await refusal(functions.provisioned.get("f", "1"))
        assert gone.code == "ProvisionedConcurrencyConfigNotFoundException"

    on_functions(test)


def test_a_worker_that_ends_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_MS", 10)

    async def test(functions: Functions) -> None:
        await published(functions, "import os\ndef handler(event, context):\n    os._exit(1)\n")
        await functions.provisioned.put("f", "1", 1)
        await ended(functions)
        (first,) = await known(functions)
        await functions.invoke("f", b"{}", qualifier="1")
        await until_async(lambda: pids(functions) - {first}, "another worker")

    on_functions(test)


def test_a_worker_that_ends_as_soon_as_it_is_ready_is_replaced_by_the_next_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "CHECK_MS", 1_000_000)
    ending = "import os, threading\nthreading.Timer(0.01, os._exit, [1]).start()\ndef handler(event, context): ...\n"
    starts: list[WorkerPlan] = []

    def noted(plan: WorkerPlan) -> WorkerPlan:
        starts.append(plan)
        return plan

    monkeypatch.setattr(pools, "ahead", noted)

    async def test(functions: Functions) -> None:
        await published(functions, ending)
        await functions.provisioned.put("f", "1", 1)

        def is_at_rest() -> bool:
            pool = functions.invoker.pools.get("f", "1")
            return pool is not None and bool(starts) and not pool.starting and not pool.workers

        await until_async(is_at_rest, "the end of the worker")
        assert len(starts) == 1

    on_functions(test)


def test_an_alias_takes_its_workers_to_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_MS", 10)
    monkeypatch.setattr(pools, "IDLE_MS", 0)
    monkeypatch.setattr(provisioned, "MOST_AHEAD", 1)

    async def test(functions: Functions) -> None:
        await published(functions)
        await functions.aliases.create("f", "live", "1")
        await functions.provisioned.put("f", "live", 50)
        assert await ended(functions, "live") == ("READY", 50, None)
        await functions.definitions.update_configuration("f", {"Timeout": 9})
        await functions.versions.publish("f")
        await functions.aliases.update("f", "live", version="2")
        await until_async(lambda: pids(functions, "2") and not pids(functions, "1"), "the workers of version 2")
        await functions.aliases.delete("f", "live")
        await functions.aliases.create("f", "live", "1")
        assert (await functions.provisioned.page("f", None, 10))[0] == []

    on_functions(test)


def test_a_handler_that_cannot_be_loaded_fails_once() -> None:
    async def test(functions: Functions) -> None:
        await published(functions, BROKEN)
        await functions.provisioned.put("f", "1", 1)
        assert await ended(functions) == ("FAILED", 0, "FUNCTION_ERROR_INIT_FAILURE")
        assert functions.invoker.pools.count == 0

    on_functions(test)


def test_refusals() -> None:
    async def test(functions: Functions) -> None:
        await published(functions)
        await functions.aliases.create("f", "newest", "$LATEST")
        for qualifier in ("$LATEST", "newest"):
            refused = await refusal(functions.provisioned.put("f", qualifier, 1))
            assert (refused.code, refused.message) == (
                "InvalidParameterValueException",
                "Provisioned Concurrency Configs cannot be applied to unpublished function versions.",
            )
        assert (await refusal(functions.provisioned.put("f", "7", 1))).code == "ResourceNotFoundException"
        await functions.definitions.reserve("f", 3)
        refused = await refusal(functions.provisioned.put("f", "1", 4))
        assert "should not be greater than the reservedConcurrentExecution" in refused.message
        missing = await refusal(functions.provisioned.get("f", "1"))
        assert missing.message == "No Provisioned Concurrency Config found for this function"

    on_functions(test)
