"""Inputs that others leave in the store, and a shard that somebody else has taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from statewright.engine import inbox as rows
from statewright.errors import OwnershipLost, Unavailable
from statewright.stores.protocol import InboxRow
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import TOKEN, Rig, machine, passing, task, wait


async def left(rig: Rig, row: InboxRow) -> None:
    await rig.store.executions.put_inbox(row)
    await rig.engine.cells.home.inbox.poll()
    await rig.settle()


def next_id(rig: Rig) -> int:
    return rig.engine.cells.home.shard.ids.next()


def inbox_of(rig: Rig) -> list[InboxRow]:
    return list(rig.store.executions.inbox.values())


def test_a_stop_is_applied_once_and_consumed() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(W=wait(60)))
        execution = (await rig.engine.describe(arn)).id
        await left(rig, rows.stop_row(next_id(rig), execution, "E", "c"))
        view = await rig.engine.describe(arn)
        assert (view.status, view.error, view.cause) == ("ABORTED", "E", "c")
        assert not inbox_of(rig)
        events = len(await rig.events(arn))
        # One for an execution that has ended is cleared away, whether its state is kept or not.
        await left(rig, rows.stop_row(next_id(rig), execution))
        assert not inbox_of(rig)
        assert len(await rig.events(arn)) == events
        await rig.down()

    run_virtual(main)


@pytest.mark.parametrize("known", [True, False])
def test_a_stop_for_what_succeeded_or_never_was_is_discarded(known: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        execution = 12345
        if known:
            arn = await rig.begin(machine(P=passing()))
            execution = (await rig.end(arn)).id
        await left(rig, rows.stop_row(next_id(rig), execution))
        assert not inbox_of(rig)
        await rig.down()

    run_virtual(main)


Answered = Callable[[int, int, str], InboxRow]


@pytest.mark.parametrize(
    ("row", "status", "output"),
    [
        (lambda n, e, token: rows.answer_row(n, e, rows.TASK_SUCCEEDED, token, "[1]"), "SUCCEEDED", "[1]"),
        (lambda n, e, token: rows.answer_row(n, e, rows.TASK_FAILED, token, "E", "c"), "FAILED", None),
        (lambda n, e, token: rows.answer_row(n, e, rows.TASK_HEARTBEAT, token), "RUNNING", None),
        (lambda n, e, _: rows.answer_row(n, e, rows.TASK_SUCCEEDED, "no token", "1"), "RUNNING", None),
        (lambda n, e, token: rows.answer_row(n, e, rows.TASK_SUCCEEDED, token, "no json"), "RUNNING", None),
        (lambda n, e, _: InboxRow(n, e, rows.TASK_FAILED, b"{"), "RUNNING", None),
    ],
)
def test_answers_by_token(row: Answered, status: str, output: str | None) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("T")
        arn = await rig.begin(machine(T=task(TOKEN)))
        await rig.settle()
        token = rig.integrations.calls[0].token
        assert token is not None
        execution = (await rig.engine.describe(arn)).id
        number = next_id(rig)
        await left(rig, row(number, execution, token))
        view = await rig.engine.describe(arn)
        assert (view.status, view.output) == (status, output)
        assert not [one for one in inbox_of(rig) if one.id == number]
        await left(rig, row(next_id(rig), execution, token))
        assert (await rig.engine.describe(arn)).status == status
        await rig.down()

    run_virtual(main)


def test_rows_wait_for_the_next_start() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(W=wait(60)))
        execution = (await rig.engine.describe(arn)).id
        await rig.store.executions.put_inbox(rows.stop_row(next_id(rig), execution))
        await rig.store.executions.put_inbox(InboxRow(next_id(rig), execution, "unheard of", b""))
        await rig.crash()
        await rig.settle()
        assert (await rig.engine.describe(arn)).status == "ABORTED"
        assert [row.kind for row in inbox_of(rig)] == ["unheard of"]
        await rig.down()

    run_virtual(main)


def test_a_redrive_row_is_not_met_twice() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(F={"Type": "Fail"}))
        execution = (await rig.end(arn)).id
        row = InboxRow(next_id(rig), execution, rows.REDRIVE, b"")
        await left(rig, row)
        # A look that had read the row before it was consumed.
        rig.engine.cells.home.inbox.take(row)
        await rig.settle()
        assert (await rig.engine.describe(arn)).redrive_count == 1
        await rig.engine.cells.home.inbox.poll()
        await rig.engine.cells.home.inbox.poll()
        assert not rig.engine.cells.home.inbox._taken
        await rig.down()

    run_virtual(main)


# Ownership


@pytest.mark.parametrize("noticed", ["commit", "look"])
def test_a_lost_shard_leaves_memory(noticed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", 1, after_ms=60_000)
        await rig.begin(machine(T=task()))
        waits = await rig.machine(machine(W=wait(30)), "waits")
        arn = (await rig.engine.start_execution(waits, "w", "{}")).arn
        await rig.settle()
        assert rig.engine.cells.calls_under_way == 1
        assert sum(len(cell.effects.timers) for cell in rig.engine.cells)

        def gone(*_: Any) -> Any:
            raise OwnershipLost("gone")

        if noticed == "look":
            monkeypatch.setattr(rig.store, "check_lease", gone, raising=False)
            await rig.engine.cells.home.inbox.poll()
        else:
            monkeypatch.setattr(rig.store.executions, "_apply", gone)
            with pytest.raises((OwnershipLost, Unavailable)):
                await rig.engine.stop_execution(arn)
        await rig.settle()
        assert rig.lost == [True]
        assert not any(cell.shard.is_held for cell in rig.engine.cells)
        assert rig.engine.cells.calls_under_way == 0
        assert rig.engine.cells.in_memory == 0
        monkeypatch.undo()
        await rig.until(120_000)
        assert [one.row.status for one in rig.store.executions.by_id.values()] == ["RUNNING", "RUNNING"]
        with pytest.raises(Unavailable):
            await asyncio.wait_for(rig.engine.stop_execution(arn), None)

    run_virtual(main)
