"""Tasks: outbox, results, timeouts, heartbeats, tokens, jobs, cancelling."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult, encode_answer
from statewright.errors import ApiError, OwnershipLost, Unavailable
from statewright.interpreter.advance import advance
from statewright.payload import Payload
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import CALL, JOB, LAMBDA, TOKEN, Rig, machine, passing, task


async def refused(work: Any) -> str:
    with pytest.raises(ApiError) as problem:
        await work
    return problem.value.code


def test_a_result_comes_back() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", {"y": 2}, after_ms=1500)
        began = clock.now_ms()
        arn = await rig.begin(machine(T=task(CALL, TimeoutSeconds=10)), {"x": 1})
        await rig.settle()
        (row,) = rig.store.executions.outbox.values()
        (call,) = rig.integrations.calls
        assert call.idempotency_key == str(row.id)
        assert (call.state, call.attempt, call.token, call.deadline_ms) == ("T", 0, None, began + 10_000)
        assert call.parameters == {"QueueUrl": "q", "MessageBody": "b"}
        view = await rig.end(arn)
        assert json.loads(view.output) == {"y": 2}
        assert view.stopped_ms == began + 1500
        assert not rig.store.executions.outbox
        assert await rig.store.executions.due(0, 1 << 62, 9) == []
        assert rig.engine.cells.calls_under_way == 0

    run_virtual(main)


def test_retry_is_a_new_call_with_a_new_key() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "Oops", "because")
        retry = [{"ErrorEquals": ["Oops"], "IntervalSeconds": 1, "MaxAttempts": 2}]
        view = await rig.end(await rig.begin(machine(T=task(Retry=retry))))
        assert (view.status, view.error, view.cause) == ("FAILED", "Oops", "because")
        assert [call.attempt for call in rig.integrations.calls] == [0, 1, 2]
        assert len({call.idempotency_key for call in rig.integrations.calls}) == 3

    run_virtual(main)


@pytest.mark.parametrize(
    ("how", "event"),
    [
        ("failed", "LambdaFunctionFailed"),
        ("schedule failed", "LambdaFunctionScheduleFailed"),
        ("start failed", "LambdaFunctionStartFailed"),
        ("refused", "LambdaFunctionStarted"),
    ],
)
def test_ways_to_fail(how: str, event: str) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "E", "c", how)
        arn = await rig.begin(machine(T=task()))
        view = await rig.end(arn)
        assert (await rig.types(arn))[-2] == event
        assert view.error == ("States.Runtime" if how == "refused" else "E")

    run_virtual(main)


def test_a_timeout_calls_the_task_off() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", 1, after_ms=60_000)
        began = clock.now_ms()
        arn = await rig.begin(machine(T=task(TimeoutSeconds=5)))
        view = await rig.end(arn)
        assert (view.status, view.error, view.stopped_ms) == ("FAILED", "States.Timeout", began + 5_000)
        await rig.settle()
        assert [call.state for call in rig.integrations.cancelled] == ["T"]
        assert rig.engine.cells.calls_under_way == 0
        await rig.until(120_000)
        assert (await rig.types(arn))[-1] == "ExecutionFailed"

    run_virtual(main)


def test_a_stop_calls_the_task_off() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", 1, after_ms=60_000)
        arn = await rig.begin(machine(T=task()))
        await rig.until(1000)
        stopped_ms = await rig.engine.stop_execution(arn, "E", "c")
        assert stopped_ms == clock.now_ms()
        await rig.until(1000)
        assert await rig.engine.stop_execution(arn) == stopped_ms
        view = await rig.engine.describe(arn)
        assert (view.status, view.error, view.cause, view.stopped_ms) == ("ABORTED", "E", "c", stopped_ms)
        assert len(rig.integrations.cancelled) == 1
        assert not rig.store.executions.outbox

    run_virtual(main)


def test_by_token() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("T", {"MessageId": "1"})
        arn = await rig.begin(machine(T=task(TOKEN, HeartbeatSeconds=10, TimeoutSeconds=100)))
        await rig.settle()
        # Whoever waits for a token waits in its frame and timers alone.
        assert not rig.store.executions.outbox
        token = rig.integrations.calls[0].token
        assert token is not None
        assert rig.integrations.calls[0].parameters["MessageBody"]["token"] == token
        await rig.until(6_000)
        await rig.engine.task_heartbeat(token)
        await rig.until(6_000)
        assert (await rig.engine.describe(arn)).status == "RUNNING"
        assert await refused(rig.engine.task_succeeded(token, "{")) == "InvalidOutput"
        await rig.engine.task_succeeded(token, '{"ok": true}')
        view = await rig.end(arn)
        assert json.loads(view.output) == {"ok": True}
        for again in (
            rig.engine.task_succeeded(token, "1"),
            rig.engine.task_failed(token),
            rig.engine.task_heartbeat(token),
        ):
            assert await refused(again) == "TaskTimedOut"
        assert await rig.types(arn) == [
            "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded",
            "TaskStateExited", "ExecutionSucceeded",
        ]  # fmt: skip

    run_virtual(main)


def test_tokens_that_are_none() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("T")
        await rig.begin(machine(T=task(TOKEN)))
        await rig.settle()
        token = rig.integrations.calls[0].token
        assert token is not None
        for bad in ("x", "", "%%%%", "AAAA" * 20):
            assert await refused(rig.engine.task_heartbeat(bad)) == "InvalidToken"
        import base64

        raw = base64.urlsafe_b64decode(token)
        forged = base64.urlsafe_b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode()
        assert await refused(rig.engine.task_heartbeat(forged)) == "InvalidToken"
        elsewhere = base64.urlsafe_b64encode(raw.replace(b":run|", b":nix|")).decode()
        assert await refused(rig.engine.task_heartbeat(elsewhere)) == "TaskDoesNotExist"
        await rig.engine.task_failed(token, "E", "c")
        view = await rig.end("arn:aws:states:us-east-1:000000000000:execution:m:run")
        assert (view.error, view.cause) == ("E", "c")

    run_virtual(main)


def test_a_missed_heartbeat() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("T")
        arn = await rig.begin(machine(T=task(TOKEN, HeartbeatSeconds=10)))
        view = await rig.end(arn)
        assert (view.error, view.stopped_ms) == ("States.Timeout", view.started_ms + 10_000)
        token = rig.integrations.calls[0].token
        assert token is not None
        assert await refused(rig.engine.task_succeeded(token, "1")) == "TaskTimedOut"

    run_virtual(main)


def test_a_job_is_followed_up_after_a_restart_and_called_off_by_a_stop() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("J", {"JobId": "j-1"})
        arn = await rig.begin(machine(J=task(JOB)))
        await rig.settle()
        (first,) = rig.integrations.calls
        assert len(rig.store.executions.outbox) == 1
        await rig.crash()
        await rig.settle()
        again = rig.integrations.calls[1]
        assert again.submitted == Payload({"JobId": "j-1"})
        assert (again.idempotency_key, again.token, again.parameters, again.resource) == (
            first.idempotency_key,
            first.token,
            first.parameters,
            first.resource,
        )
        assert (await rig.types(arn)).count("TaskSubmitted") == 1
        await rig.engine.stop_execution(arn)
        await rig.settle()
        assert [call.idempotency_key for call in rig.integrations.cancelled] == [first.idempotency_key]
        assert not rig.store.executions.outbox

    run_virtual(main)


def test_an_outbox_row_is_dispatched_again_after_a_crash() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", 1, after_ms=5_000)
        arn = await rig.begin(machine(T=task(LAMBDA)), {"big": "x" * 10_000})
        await rig.until(1_000)
        await rig.crash()
        view = await rig.end(arn)
        assert (view.status, view.stopped_ms) == ("SUCCEEDED", view.started_ms + 6_000)
        first, second = rig.integrations.calls
        assert first == second

    run_virtual(main)


def test_an_integration_that_raises_quarantines_its_execution_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def bad(call: ScheduledCall) -> TaskResult:
            raise ZeroDivisionError("a bug")

        rig.integrations.answers["T"] = bad
        arn = await rig.begin(machine(T=task()))
        await rig.settle()
        view = await rig.engine.describe(arn)
        assert (view.status, view.quarantine) == ("RUNNING", "ZeroDivisionError: a bug")
        target = await rig.machine(machine(P=passing()), "other")
        other = await rig.engine.start_execution(target, "o", "{}")
        assert (await rig.end(other.arn)).status == "SUCCEEDED"
        assert (await rig.engine.metrics())["executions_quarantined"] == 1
        # Mended: it goes on where it stood.
        del rig.integrations.answers["T"]
        await rig.crash()
        view = await rig.end(arn)
        assert (view.status, view.quarantine) == ("SUCCEEDED", None)

    with caplog.at_level(logging.CRITICAL):
        run_virtual(main)


def test_a_bug_in_the_interpreter_quarantines(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(W={"Type": "Wait", "Seconds": 5, "End": True}))
        from statewright.engine.heavy import steps as heavy_steps

        real = advance

        def broken(*args: Any, **options: Any) -> Any:
            raise AssertionError("impossible")

        monkeypatch.setattr(heavy_steps, "advance", broken)
        await rig.until(6_000)
        view = await rig.engine.describe(arn)
        assert (view.status, view.quarantine) == ("RUNNING", "AssertionError: impossible")
        assert await refused(rig.engine.redrive_execution(arn)) == "InternalServerError"
        monkeypatch.setattr(heavy_steps, "advance", real)
        # Whoever wants to be rid of it may stop it.
        await rig.engine.stop_execution(arn)
        view = await rig.engine.describe(arn)
        assert (view.status, view.quarantine) == ("ABORTED", None)

    with caplog.at_level(logging.CRITICAL):
        run_virtual(main)


def test_large_texts_are_stored_once() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        sent: list[int] = []
        commit = rig.store.executions.commit

        async def counting(one: Any) -> Any:
            sent.append(len(one.texts))
            return await commit(one)

        rig.store.executions.commit = counting
        states = {f"W{n}": {"Type": "Wait", "Seconds": 1, "Next": f"W{n + 1}"} for n in range(5)}
        arn = await rig.begin(machine(**states, W5=passing()), {"big": "x" * 5000})
        await rig.end(arn)
        assert sent[0] == 1
        assert sum(sent) == 1

    run_virtual(main)


def test_an_activity_like_task_that_answers_before_it_is_submitted() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def early(call: ScheduledCall) -> TaskResult:
            assert call.token is not None
            await rig.engine.task_succeeded(call.token, "7")
            await asyncio.sleep(0)
            return Succeeded(8)

        rig.integrations.answers["T"] = early
        view = await rig.end(await rig.begin(machine(T=task(TOKEN))))
        assert view.output == "7"

    run_virtual(main)


# ------------------------------------------------------------------ the store behind the services of a task


def failing(rig: Rig, *problems: Exception) -> None:
    """Have calls of state T raise these, one after the other, and then answer 1."""
    left = list(problems)

    async def answer(_: ScheduledCall) -> TaskResult:
        if left:
            raise left.pop(0)
        return Succeeded(1)

    rig.integrations.answers["T"] = answer


def test_a_call_that_met_an_outage_of_the_store_is_repeated_under_its_key() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        failing(rig, *[Unavailable("gone")] * 9)
        view = await rig.end(await rig.begin(machine(T=task(CALL))))
        assert (view.status, view.output) == ("SUCCEEDED", "1")
        assert len(rig.integrations.calls) == 10
        assert len({call.idempotency_key for call in rig.integrations.calls}) == 1
        assert rig.engine.cells.calls_under_way == 0

    run_virtual(main)


def test_a_call_whose_answer_was_lost_in_an_outage_is_not_repeated() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def written_but_unanswered(call: ScheduledCall) -> TaskResult:
            outbox = rig.store.executions.outbox
            outbox[call.outbox] = replace(outbox[call.outbox], body=encode_answer(call, Succeeded(7)))
            raise Unavailable("gone")

        rig.integrations.answers["T"] = written_but_unanswered
        view = await rig.end(await rig.begin(machine(T=task(CALL))))
        assert (view.status, view.output) == ("SUCCEEDED", "7")
        assert len(rig.integrations.calls) == 1

    run_virtual(main)


def test_the_refusal_of_a_repeat_is_not_the_answer_of_a_call_that_was_written_meanwhile() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def written_late(call: ScheduledCall) -> TaskResult:
            if len(rig.integrations.calls) == 1:
                raise Unavailable("gone")
            outbox = rig.store.executions.outbox
            outbox[call.outbox] = replace(outbox[call.outbox], body=encode_answer(call, Succeeded(7)))
            return Failed("Sfn.TaskTimedOutException", "it has been answered")

        rig.integrations.answers["T"] = written_late
        view = await rig.end(await rig.begin(machine(T=task(CALL))))
        assert (view.status, view.output) == ("SUCCEEDED", "7")
        assert len(rig.integrations.calls) == 2

    run_virtual(main)


@pytest.mark.parametrize("resource", [CALL, JOB])
def test_the_refusal_of_a_recovered_call_is_not_the_answer_of_one_that_was_written_meanwhile(resource: str) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        rig.integrations.returns("T", "never", after_ms=1_000_000)
        arn = await rig.begin(machine(T=task(resource)))
        await rig.settle()

        async def written_late(call: ScheduledCall) -> TaskResult:
            if call.submitted is not None:
                # The job that the former owner has submitted.
                return Succeeded(call.submitted)
            answer = Submitted(7) if resource == JOB else Succeeded(7)
            outbox = rig.store.executions.outbox
            outbox[call.outbox] = replace(outbox[call.outbox], body=encode_answer(call, answer))
            return Failed("Sfn.TaskTimedOutException", "it has been answered")

        rig.integrations.answers["T"] = written_late
        await rig.crash()
        view = await rig.end(arn)
        assert (view.status, view.output) == ("SUCCEEDED", "7")
        assert len(rig.integrations.calls) == (3 if resource == JOB else 2)

    run_virtual(main)


@pytest.mark.parametrize("type", ["STANDARD", "EXPRESS"])
def test_an_outage_of_the_store_lasts_until_the_tasks_own_timeout(type: str) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        failing(rig, *[Unavailable("gone")] * 1_000)
        catch = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
        definition = machine(T=task(CALL, TimeoutSeconds=30, Catch=catch), Late=passing(Result="late"))
        began = clock.now_ms()
        if type == "STANDARD":
            view = await rig.end(await rig.begin(definition))
        else:
            view = await rig.engine.start_sync_execution(
                await rig.machine(definition, type="EXPRESS"), "run", "{}", None
            )
        assert (view.status, view.output) == ("SUCCEEDED", '"late"')
        assert clock.now_ms() - began == 30_000
        asked = len(rig.integrations.calls)
        await clock.sleep_until(clock.now_ms() + 10_000)
        assert len(rig.integrations.calls) == asked

    run_virtual(main)


def test_a_call_that_meets_another_owner_of_the_store_decides_nothing() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        failing(rig, OwnershipLost("theirs now"))
        arn = await rig.begin(machine(T=task(CALL)))
        await rig.settle()
        assert rig.lost == [True]
        assert not rig.engine.cells.quarantined
        again = await rig.crash()
        assert (await again.end(arn)).output == "1"

    run_virtual(main)
