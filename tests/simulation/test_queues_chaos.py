"""Queues in a world that goes wrong by the draw of a seed: a store that fails before or after its work, servers that
are killed, consumers that delete, give back, forget or go away. `SEED=n` plays one seed; a failure prints its own.

Checked all along: a message that was acknowledged is lost to nothing but a deletion by a valid handle, its time, a
purge or a move; FIFO groups never overtake; counters are what the store has.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import defaultdict
from random import Random
from typing import Any

import pytest

from statewright.errors import ApiError, Unavailable
from statewright.queues.messages import Outgoing, Received
from statewright.queues.queues import Queue
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.thoroughness import THOROUGH, scaled
from tests.unit.queues.running import SECOND, Rig

SEEDS = range(30 if THOROUGH else 3)
PLAY_MS = 90_000
FAILURES = ("send", "claim", "drop", "hide", "move", "load", "expire", "look", "note")


class Chaos:
    """One play of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.sent: dict[str, str] = {}
        """Acknowledged messages: body by id."""
        self.doubtful: set[str] = set()
        """Bodies whose sending failed: they may or may not be there."""
        self.deleted: set[str] = set()
        """Bodies whose deletion was asked for by a handle that was valid, as far as anybody knows."""
        self.in_hand: dict[str, tuple[int, str]] = {}
        """FIFO messages that a consumer has, with until when and the group."""
        self.done_of_group: dict[str, list[int]] = defaultdict(list)
        self.count = 0
        self.problems = 0
        self.received = 0

    def play(self) -> None:
        run_virtual(self._play)

    async def _play(self, clock: VirtualClock) -> None:
        self.rig = rig = Rig(clock)
        await rig.open()
        dead = await rig.queue("dead")
        redrive = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 4}
        await rig.queue("plain", VisibilityTimeout="5", RedrivePolicy=redrive)
        await rig.queue("line.fifo", VisibilityTimeout="5")
        self.until_ms = clock.now_ms() + PLAY_MS
        tasks = [asyncio.create_task(self._producer("plain")) for _ in range(2)]
        tasks += [asyncio.create_task(self._producer("line.fifo")) for _ in range(2)]
        tasks += [asyncio.create_task(self._consumer("plain")) for _ in range(4)]
        tasks += [asyncio.create_task(self._consumer("line.fifo")) for _ in range(4)]
        tasks += [asyncio.create_task(self._trouble())]
        await asyncio.gather(*tasks)
        rig.messages.fails.clear()
        await self._drain()
        await rig.queues.stop()

    def queue(self, name: str) -> Queue:
        return self.rig.queues.find(name)

    async def pause(self, most_ms: int) -> None:
        await self.rig.pass_ms(self.chance.randrange(1, most_ms))

    async def attempt(self, work: Any) -> Any:
        """What a caller does when the server fails: nothing; `None` says that nobody knows."""
        try:
            return await work
        except (Unavailable, ApiError):
            self.problems += 1
            return None

    # Those who take part

    async def _producer(self, name: str) -> None:
        while self.rig.clock.now_ms() < self.until_ms:
            await self.pause(700)
            batch = []
            for _ in range(self.chance.randrange(1, 6)):
                self.count += 1
                # The number grows with each, so that order within a group shows.
                group = self.chance.choice("abc") if name.endswith(".fifo") else self.chance.choice([None, None, "t"])
                body = f"{name} {group} {self.count}"
                fifo = name.endswith(".fifo")
                delay_ms = None if fifo else self.chance.choice([0, 0, 0, 4 * SECOND])
                batch.append(Outgoing(body, group=group, dedup=body if fifo else None, delay_ms=delay_ms))
            found = await self.attempt(self.rig.queues.send(self.queue(name), batch))
            if found is not None and name.endswith(".fifo") and self.chance.random() < 0.3:
                again = await self.attempt(self.rig.queues.send(self.queue(name), batch))
                assert again in (None, found), "a duplicate is a message of its own"
            for message, sent in zip(batch, found or [None] * len(batch), strict=True):
                if sent is None:
                    self.doubtful.add(message.body)
                else:
                    self.sent[sent.message_id] = message.body

    async def _consumer(self, name: str) -> None:
        while self.rig.clock.now_ms() < self.until_ms:
            work = self.rig.queues.receive(
                self.queue(name), most=self.chance.randrange(1, 11), wait_ms=self.chance.choice([0, 0, 3 * SECOND])
            )
            taking = asyncio.create_task(self._take(name, work))
            if self.chance.random() < 0.1:
                await self.pause(500)
                taking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await taking
                continue
            messages = await taking
            await self.pause(3_000)
            await self._finish(name, messages)

    async def _take(self, name: str, work: Any) -> list[Received]:
        messages: list[Received] = await self.attempt(work) or []
        self._has(name, messages)
        return messages

    def _has(self, name: str, messages: list[Received]) -> None:
        now_ms = self.rig.clock.now_ms()
        self.received += len(messages)
        mine = {message.body for message in messages}
        for message in messages:
            assert message.body not in self.deleted, f"{message.body} was deleted and is back"
            assert message.body in self.doubtful or self.sent.get(message.message_id) == message.body
            if not name.endswith(".fifo"):
                continue
            number = int(message.body.split()[-1])
            for body, (until_ms, group) in self.in_hand.items():
                # A message in flight holds back those behind it.
                is_before = group == message.group and int(body.split()[-1]) < number
                if is_before and until_ms > now_ms and body not in mine:
                    raise AssertionError(f"{message.body} came while {body} was in flight")
            assert all(number > done for done in self.done_of_group[message.group or ""]), f"{message.body} is late"
            self.in_hand[message.body] = now_ms + 5 * SECOND, message.group or ""
        numbers = defaultdict(list)
        for message in messages:
            numbers[message.group].append(int(message.body.split()[-1]))
        if name.endswith(".fifo"):
            assert all(of_group == sorted(of_group) for of_group in numbers.values())

    async def _finish(self, name: str, messages: list[Received]) -> None:
        """Delete, give back or forget what was received; of a FIFO group from its first on."""
        if not messages or self.chance.random() < 0.15:
            return
        if self.chance.random() < 0.2:
            # Perhaps only the first ones: the rest of their group keeps it locked.
            back = messages[: self.chance.randrange(1, len(messages) + 1)]
            for message in back:
                self.in_hand.pop(message.body, None)
            handles = [(message.handle, 0) for message in back]
            await self.attempt(self.rig.queues.change_visibility(self.queue(name), handles))
            return
        many = self.chance.randrange(1, len(messages) + 1)
        now_ms = self.rig.clock.now_ms()
        chosen = [one for one in messages[:many] if self.in_hand.get(one.body, (now_ms + 1, ""))[0] > now_ms]
        answers = await self.attempt(self.rig.queues.delete(self.queue(name), [one.handle for one in chosen]))
        for message, wrong in zip(chosen, answers or [None] * len(chosen), strict=True):
            if answers is not None and wrong is not None:
                continue
            self.in_hand.pop(message.body, None)
            if answers is None:
                # It may or may not be gone.
                self.doubtful.add(message.body)
            elif not name.endswith(".fifo"):
                self.doubtful.add(message.body)
            else:
                self.deleted.add(message.body)
                self.done_of_group[message.group or ""].append(int(message.body.split()[-1]))

    async def _trouble(self) -> None:
        while self.rig.clock.now_ms() < self.until_ms:
            await self.pause(2_500)
            if self.chance.random() < 0.2:
                await self.rig.restart()
            else:
                self.rig.messages.fails[self.chance.choice(FAILURES)] = self.chance.choice(["before", "after"])
            if self.chance.random() < 0.3:
                await self.attempt(self._count())

    async def _count(self) -> None:
        for name in ("plain", "line.fifo", "dead"):
            queue = self.queue(name)
            visibility = await queue.state.known()
            await self.rig.queues.counts(queue)
            assert visibility.total >= 0

    # The end

    async def _drain(self) -> None:
        """Receive and delete what is left; every acknowledged message was there or had been deleted."""
        rig = self.rig
        await rig.pass_ms(60 * SECOND)
        left: set[str] = set()
        last: dict[str, int] = {}
        for name in ("plain", "line.fifo", "dead"):
            await rig.counts(self.queue(name))
            while messages := await rig.take(self.queue(name), 100):
                for message in messages:
                    assert message.body not in self.deleted
                    left.add(message.body)
                    if name.endswith(".fifo"):
                        number = int(message.body.split()[-1])
                        assert number > last.get(message.group or "", 0)
                        last[message.group or ""] = number
                await rig.delete(self.queue(name), *messages)
            # What was received too often goes to the dead letters on the way.
            await rig.pass_ms(10 * SECOND)
            assert await rig.counts(self.queue(name)) == (0, 0, 0)
        lost = set(self.sent.values()) - left - self.deleted - self.doubtful
        assert not lost, f"lost: {sorted(lost)}"


@scaled
@pytest.mark.parametrize("seed", [int(os.environ["SEED"])] if "SEED" in os.environ else SEEDS)
def test_nothing_is_lost_overtaken_or_miscounted(seed):
    print(f"SEED={seed}")
    chaos = Chaos(seed)
    chaos.play()
    assert chaos.received > 50
    assert chaos.problems > 3
