"""Streams of runs, lists and polled subjects against an engine in virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.console.hub import LIST_PAUSE_MS, MOST_CHANGES, PAUSE_MS, Hub
from statewright.console.live import BEAT_MS, ELSEWHERE_MS, POLLED, live
from statewright.console.project import Problem, ProjectBoard
from statewright.console.subjects import PolledSubject, Polls
from statewright.engine.cells import Cells
from statewright.engine.dispatch import Succeeded
from statewright.engine.executions.views import StatusChange
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.thoroughness import examples
from tests.unit.api.apps import app_of
from tests.unit.console.live_pages import Model, Page, asked, begin_busy, console_of
from tests.unit.engine.running import Rig, machine, passing, task, wait


def test_a_page_follows_an_execution_of_another_node(monkeypatch):
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        # As at a node without the cell: its engine tells of no commits.
        monkeypatch.setattr(rig.engine.history_log, "follow", lambda _: lambda: None)
        monkeypatch.setattr(Cells, "has", lambda *_: False)
        arn = await begin_busy(rig)
        page = Page(console_of(rig), arn)
        await page.read()
        page.connect()
        await rig.end(arn)
        await clock.sleep_until(clock.now_ms() + ELSEWHERE_MS + PAUSE_MS)
        assert page.model == Model(await page.console.runs_of(arn).view(arn))
        assert page.model.head["status"] == "SUCCEEDED"
        await page.leave()
        await rig.down()

    run_virtual(main)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(0, 3_000),
    st.lists(st.tuples(st.integers(0, 1_500), st.sampled_from(["break", "read", "connect", "both"])), max_size=8),
)
def test_a_page_has_every_event_once_whenever_it_reads_and_connects(first_ms, actions):
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await begin_busy(rig)
        page = Page(console_of(rig), arn)
        await clock.sleep_until(clock.now_ms() + first_ms)
        await page.read()
        page.connect()
        for pause_ms, action in actions:
            await clock.sleep_until(clock.now_ms() + pause_ms)
            if action in ("break", "both", "read"):
                await page.leave()
            if action in ("read", "both"):
                await page.read()
            if action in ("connect", "both"):
                await page.leave()
                page.connect()
        await page.leave()
        page.connect()
        await rig.end(arn)
        await clock.sleep_until(clock.now_ms() + 2 * PAUSE_MS)
        await page.leave()
        runs = page.console.runs_of(arn)
        assert page.model == Model(await runs.view(arn))
        assert page.model.head["status"] == "SUCCEEDED"
        assert page.model.types == await rig.types(arn)
        assert runs.decoded == page.model.length, "each event is decoded once"
        await rig.down()

    run_virtual(main)


def test_deltas_keep_their_distance():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        each = machine(
            Each={
                "Type": "Map", "ItemsPath": "$.items", "End": True,
                "ItemProcessor": {"StartAt": "Slow", "States": {"Slow": task()}},
            }
        )  # fmt: skip
        pauses = iter(range(0, 10_000, 7))

        async def answer(call: Any) -> Any:
            await clock.sleep_until(clock.now_ms() + next(pauses))
            return Succeeded(call.parameters)

        rig.integrations.answers["Slow"] = answer
        arn = await rig.begin(each, {"items": list(range(100))})
        page = Page(console_of(rig), arn)
        await page.read()
        page.connect()
        await rig.end(arn)
        await clock.sleep_until(clock.now_ms() + PAUSE_MS)
        await page.leave()
        instants = [at_ms for at_ms, _ in page.lines]
        assert min(later - sooner for sooner, later in pairwise(instants)) >= PAUSE_MS
        assert 2 < len(instants) <= (instants[-1] - instants[0]) // PAUSE_MS + 1 < 100, "a hundred commits and more"
        assert page.model == Model(await page.console.runs_of(arn).view(arn))
        await rig.down()

    run_virtual(main)


def test_nothing_is_noted_without_watchers():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        console = console_of(rig)
        hub = console.hub_of(console.app)
        assert not rig.engine.history_log.is_followed
        arn = await rig.begin(machine(W=wait(5)))
        page, other = Page(console, arn), Page(console, arn)
        await page.read()
        await other.read()
        page.connect()
        other.connect()
        await rig.settle()
        assert (hub.is_listening, rig.engine.history_log.is_followed) == (True, True)
        await page.leave()
        assert hub.is_listening
        await other.leave()
        assert (hub.is_listening, rig.engine.history_log.is_followed) == (False, False)
        await rig.end(arn)
        assert hub.changes == 0
        await rig.down()

    run_virtual(main)


def test_a_stream_that_never_began_leaves_no_watcher():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        console = console_of(rig)
        stream: Any = await live(console, asked(watch="list,project"))
        hub = console.hub_of(console.app)
        assert hub.is_listening
        await stream.documents.aclose()
        assert not hub.is_listening
        with pytest.raises(ApiError, match="cannot watch moon"):
            await live(console, asked(watch="list,moon"))
        assert not hub.is_listening
        await rig.down()

    run_virtual(main)


@pytest.mark.parametrize("watch", ["run:x", "run:arn@", "run:arn:aws:states:us-east-1:0:execution:m:e@-1", "x", ""])
def test_what_cannot_be_watched_is_refused(watch):
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        with pytest.raises(ApiError):
            await live(console_of(rig), asked(watch=watch))
        with pytest.raises(ApiError, match="at most"):
            await live(console_of(rig), asked(watch=",".join(f"x{number}" for number in range(30))))
        await rig.down()

    run_virtual(main)


def test_an_execution_that_was_deleted_says_so_and_one_that_is_redriven_goes_on():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "Broken")
        arn = await rig.begin(machine(A=passing("T"), T=task()))
        assert (await rig.end(arn)).status == "FAILED"
        page = Page(console_of(rig), arn)
        await page.read()
        assert page.model is not None
        page.connect()
        await rig.settle()
        rig.integrations.returns("T", 1, after_ms=5_000)
        await rig.engine.redrive_execution(arn)
        await rig.until(2 * PAUSE_MS)
        assert (page.model.head["status"], page.model.head["redriveCount"]) == ("RUNNING", 1)
        await rig.end(arn)
        await clock.sleep_until(clock.now_ms() + PAUSE_MS)
        assert page.model == Model(await page.console.runs_of(arn).view(arn))
        assert page.model.head["status"] == "SUCCEEDED"
        while await rig.store.executions.forget(clock.now_ms() + 1, 100):
            pass
        await clock.sleep_until(clock.now_ms() + BEAT_MS + PAUSE_MS)
        await page.leave()
        assert "Does Not Exist" in page.lines[-1][1]["gone"]
        await rig.down()

    run_virtual(main)


def test_a_page_that_is_ahead_or_far_behind_reads_again():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(W=wait(5)))
        page = Page(console_of(rig), arn)
        await page.read()
        assert page.model is not None
        page.model.types += ["Invented"] * 7
        page.connect()
        await rig.settle()
        await page.leave()
        assert [line for _, line in page.lines] == [{"subject": f"run:{arn}", "reset": True}]
        await rig.down()

    run_virtual(main)


def test_lists_have_what_changed_twice_a_second():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        console = console_of(rig)
        target = await rig.machine(machine(W=wait(1)))
        lines: list[tuple[int, Any]] = []

        async def listen() -> None:
            stream = await live(console, asked(watch="list"))
            async for line in stream.documents:
                lines.append((clock.now_ms(), line))

        listening = asyncio.create_task(listen())
        await rig.settle()
        for number in range(30):
            await rig.engine.start_execution(target, f"e{number}", "{}", None)
            await clock.sleep_until(clock.now_ms() + 20)
        await clock.sleep_until(clock.now_ms() + 3_000)
        listening.cancel()
        told = [(at_ms, line["rows"]) for at_ms, line in lines if "rows" in line]
        instants = [at_ms for at_ms, _ in told]
        assert min(later - sooner for sooner, later in pairwise(instants)) >= LIST_PAUSE_MS
        latest = {row["name"]: row["status"] for _, rows in told for row in rows}
        assert latest == {f"e{number}": "SUCCEEDED" for number in range(30)}
        await rig.down()

    run_virtual(main)


class StandIn:
    """An engine of which there are only the things that a hub listens to."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.history_log = SimpleNamespace(follow=self.follow)
        self.subscribers: list[Any] = []

    def follow(self, _follower: Any) -> Any:
        return lambda: None

    def subscribe(self, subscriber: Any) -> Any:
        self.subscribers.append(subscriber)
        return lambda: self.subscribers.remove(subscriber)

    def subscribe_express(self, _subscriber: Any) -> Any:
        return lambda: None

    def change(self, number: int) -> None:
        for subscriber in self.subscribers:
            subscriber(StatusChange(f"arn{number}", "RUNNING", None, lambda: None))  # type: ignore[arg-type, return-value]


def test_a_watcher_that_missed_too_many_changes_reads_its_list_again():
    async def main(clock: VirtualClock) -> None:
        engine: Any = StandIn(clock)
        hub = Hub(engine)
        slow, quick = hub.watch_list(asyncio.Event()), hub.watch_list(asyncio.Event())
        for number in (1, 2, 1):
            engine.change(number)
        assert hub.taken(quick).arns == ["arn1", "arn2"]
        assert hub.taken(quick).arns == []
        for number in range(MOST_CHANGES - 2):
            engine.change(number)
        assert hub.taken(slow).arns is None
        assert len(hub.taken(quick).arns or []) == MOST_CHANGES - 2
        assert hub.taken(slow).arns == []
        hub.leave(slow)
        hub.leave(quick)
        assert not engine.subscribers

    run_virtual(main)


def test_watchers_of_one_moment_share_what_was_read():
    async def main(clock: VirtualClock) -> None:
        engine: Any = StandIn(clock)
        hub = Hub(engine)
        watches = [hub.watch_list(asyncio.Event()) for _ in range(20)]
        engine.change(1)
        first = hub.taken(watches[0])
        engine.change(2)
        assert all(hub.taken(watch) is first for watch in watches[1:])
        await clock.sleep_until(clock.now_ms() + LIST_PAUSE_MS)
        later = [hub.taken(watch) for watch in watches]
        assert (later[0].arns, len({id(batch) for batch in later})) == (["arn2"], 1)

    run_virtual(main)


def test_a_polled_subject_is_read_once_for_all_pages():
    async def main(clock: VirtualClock) -> None:
        reads: list[int] = []
        value = [0]

        async def fingerprint(_app: Any) -> object:
            reads.append(clock.now_ms())
            return value[0]

        app, polls = app_of(clock=clock), Polls()
        pages = [PolledSubject("x", app, polls, fingerprint) for _ in range(20)]
        assert [await page.read() for page in pages] == [[]] * 20
        await clock.sleep_until(clock.now_ms() + 1_000)
        value[0] = 1
        assert [await page.read() for page in pages] == [[{"subject": "x", "changed": True}]] * 20
        await clock.sleep_until(clock.now_ms() + 1_000)
        assert [await page.read() for page in pages] == [[]] * 20
        assert len(reads) == 3

    run_virtual(main)


def test_machines_are_a_polled_subject():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        app = app_of(clock=clock, engine=rig.engine)
        before = await POLLED["machines"](app)
        await rig.machine(machine(A=passing()))
        after = await POLLED["machines"](app)
        assert before != after
        assert after == await POLLED["machines"](app)
        await rig.down()

    run_virtual(main)


def test_silence_is_broken_by_beats_and_problems_of_the_project_come_when_they_change():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        console, board = console_of(rig), ProjectBoard()
        console.project = board
        lines: list[Any] = []

        async def listen() -> None:
            stream = await live(console, asked(watch="project"))
            async for line in stream.documents:
                lines.append(line)

        listening = asyncio.create_task(listen())
        await clock.sleep_until(clock.now_ms() + BEAT_MS + 2_000)
        board.set([Problem("order.asl.json", "odd", 3, stays=True)])
        board.set([Problem("order.asl.json", "odd", 3, stays=True)])
        await clock.sleep_until(clock.now_ms() + 2_000)
        board.set([])
        await clock.sleep_until(clock.now_ms() + 2_000)
        listening.cancel()
        assert [next(iter(line)) for line in lines] == ["hello", "subject", "beat", "subject", "subject"]
        assert [line["problems"] for line in lines if "problems" in line] == [
            [], [{"file": "order.asl.json", "line": 3, "message": "odd", "stays": True}], [],
        ]  # fmt: skip
        await rig.down()

    run_virtual(main)
