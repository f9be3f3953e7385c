"""What must hold for what several callers have done at several nodes, by recordings of their calls.

Each function takes what was recorded, and what is there once all is at rest; it returns a sentence for everything that
should not be. A call without an answer may have happened once, at any instant after it began. Nothing here calls
anything: `tests/unit/storm` has a wrong recording for each rule.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final

from tests.storm.recording import Call

STALE_SECONDS: Final = 1.0
"""How old a list or a description may be."""
CLOCK_SECONDS: Final = 0.25
"""By how much the clock of a server and that of the callers may differ over a visibility timeout."""
ENDED: Final = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})


def by(calls: Iterable[Call], member: str) -> dict[Any, list[Call]]:
    """Calls by what they were about."""
    found: defaultdict[Any, list[Call]] = defaultdict(list)
    for call in calls:
        found[call.about[member]].append(call)
    return dict(found)


# ------------------------------------------------------------------ names and conditions


def winners(
    what: str, tries: Iterable[Call], there: Mapping[str, Sequence[str]], *, may_be_late: bool = False
) -> Iterator[str]:
    """Of all who try to be the first under a name (`name` and `by` of each call), one is, and is there for ever.

    `there`: who is there under each name that was tried. With `may_be_late`, a call may be refused because of its time.
    """
    for name, calls in sorted(by(tries, "name").items()):
        won = [call.about["by"] for call in calls if call.is_answered]
        found = list(there.get(name, ()))
        possible = {call.about["by"]: call for call in calls if call.may_have_happened}
        if len(won) > 1:
            yield f"{what} {name} has {len(won)} winners: {', '.join(sorted(won))}"
        if len(found) > 1:
            yield f"{what} {name} is there {len(found)} times: {', '.join(sorted(found))}"
        for one in won:
            if one not in found:
                yield f"{what} {name}: {one} has won, and {', '.join(found) or 'none'} is there"
        for one in found:
            if one not in possible:
                yield f"{what} {name}: {one} is there, which was refused or never tried"
            elif won and one not in won:
                yield f"{what} {name}: {one} is there beside {', '.join(won)}"
        for call in calls:
            if (
                call.outcome == "refused"
                and not may_be_late
                and not any(possible[one].begin < call.end for one in found if one in possible)
            ):
                yield f"{what} {name}: {call.about['by']} was refused before one had won"


def sums(adds: Iterable[Call], there: Mapping[str, int]) -> Iterator[str]:
    """Additions of 1 (`counter` of each call) that answer the new number: each is there once, in one order."""
    for counter, calls in sorted(by(adds, "counter").items()):
        done = [call for call in calls if call.is_answered]
        unanswered = sum(call.outcome == "unanswered" for call in calls)
        number = there.get(counter, 0)
        if number < len(done):
            yield f"counter {counter}: {len(done)} additions were acknowledged, and {number} are there"
        if number > len(done) + unanswered:
            yield f"counter {counter}: {number} are there, of {len(done)} and {unanswered} without an answer"
        seen: dict[int, Call] = {}
        for call in done:
            if call.answer in seen:
                yield f"counter {counter}: two additions were answered {call.answer}"
            if call.answer > number:
                yield f"counter {counter}: an addition was answered {call.answer}, and {number} is there"
            seen[call.answer] = call
        yield from _order(counter, done)


def _order(counter: str, done: Sequence[Call]) -> Iterator[str]:
    """What ended before another one began has the smaller answer."""
    ended = sorted(done, key=lambda call: call.end)
    highest, place = 0, 0
    for call in sorted(done, key=lambda call: call.begin):
        while place < len(ended) and ended[place].end < call.begin:
            highest = max(highest, ended[place].answer)
            place += 1
        if call.answer < highest:
            yield f"counter {counter}: {call.answer} was answered to an addition that began after {highest} was"


# ------------------------------------------------------------------ limits


@dataclass(frozen=True, slots=True)
class Held:
    """A permit, from when it surely was held until it surely still was, in any unit."""

    of: str
    who: str
    begin: float
    end: float


def permits(what: str, held: Iterable[Held], limit: int) -> Iterator[str]:
    """Never more than `limit` hold a permit of one thing at once; one may begin at the instant another one ends."""
    for of, intervals in sorted(_by_thing(held).items()):
        inside: list[Held] = []
        for one in sorted(intervals, key=lambda each: (each.begin, each.end)):
            inside = [each for each in inside if each.end > one.begin]
            inside.append(one)
            if len(inside) > limit and one.end > one.begin:
                names = ", ".join(each.who for each in inside)
                yield f"{what} {of}: {len(inside)} at once, of {limit}: {names}"


def _by_thing(held: Iterable[Held]) -> dict[str, list[Held]]:
    found: defaultdict[str, list[Held]] = defaultdict(list)
    for one in held:
        found[one.of].append(one)
    return dict(found)


# ------------------------------------------------------------------ queues


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was received."""

    id: str
    body: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message, the call that received it, and its place among those of the call."""

    message: Message
    call: Call
    place: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Sends (`body` of each call), receives (each answered with a list of messages), and deletions.

    Those have `body`, and `since`: the begin of the receive of their handle.
    """

    sends: Sequence[Call]
    receives: Sequence[Call]
    deletes: Sequence[Call]

    def deliveries(self) -> dict[str, list[Delivery]]:
        """Those of each body, by the ends of the calls."""
        found: defaultdict[str, list[Delivery]] = defaultdict(list)
        for call in sorted(self.receives, key=lambda one: one.end):
            if call.is_answered:
                for place, message in enumerate(call.answer):
                    found[message.body].append(Delivery(message, call, place))
        return dict(found)


def messages(queue: str, traffic: Traffic, hidden_seconds: float, *, refuses_old_handles: bool) -> Iterator[str]:
    """What holds for a queue of any kind once it was drained; no body is meant to be there twice.

    No acknowledged message is lost, none comes that was not sent, each is there once, stays away for `hidden_seconds`
    after it was received, and for ever after its deletion was acknowledged. Unless it `refuses_old_handles`, a queue
    acknowledges a deletion whose handle is too old, and deletes nothing.
    """
    deliveries = traffic.deliveries()
    sends = by(traffic.sends, "body")
    deletes = by(traffic.deletes, "body")
    for body, calls in sorted(sends.items()):
        if any(call.is_answered for call in calls) and body not in deliveries:
            yield f"{queue}: {body} was acknowledged, and never came"
    for body, found in sorted(deliveries.items()):
        if not any(call.may_have_happened for call in sends.get(body, ())):
            yield f"{queue}: {body} came, and was never sent"
        ids = {one.message.id for one in found}
        if len(ids) > 1:
            yield f"{queue}: {body} is there {len(ids)} times: {', '.join(sorted(ids))}"
        counts = [
            call.end
            for call in deletes.get(body, ())
            if call.is_answered
            and (refuses_old_handles or call.end < call.about["since"] + hidden_seconds - CLOCK_SECONDS)
        ]
        gone = min(counts, default=None)
        if gone is not None and any(one.call.begin > gone for one in found):
            yield f"{queue}: {body} came after its deletion was acknowledged"
        for before, after in pairwise(found):
            # In either order: the answer of a server that was frozen comes after that of the next one.
            seconds = max(after.call.end - before.call.begin, before.call.end - after.call.begin)
            if before.message.id == after.message.id and seconds < hidden_seconds - CLOCK_SECONDS:
                yield f"{queue}: {body} came again after {seconds:.1f} s, while it was hidden"


def order(queue: str, traffic: Traffic, sequence: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """In each group of a FIFO queue no message overtakes another one.

    `sequence` has the bodies of each group in the order in which they were sent. One comes only together with all that
    were before it, behind them, or after a deletion of them had begun.
    """
    deliveries = traffic.deliveries()
    deletes = by(traffic.deletes, "body")
    for group, bodies in sorted(sequence.items()):
        places = {body: place for place, body in enumerate(bodies)}
        deleted = [
            min((call.begin for call in deletes.get(body, ()) if call.may_have_happened), default=None)
            for body in bodies
        ]
        # When a deletion of all before a place had begun.
        cleared = list(accumulate((math.inf if at is None else at for at in deleted), max, initial=-math.inf))
        for body in bodies:
            for one in deliveries.get(body, ()):
                if cleared[places[body]] < one.call.end:
                    continue
                beside = {message.body for message in one.call.answer[: one.place]}
                for place in range(places[body]):
                    instant = deleted[place]
                    if (instant is None or instant >= one.call.end) and bodies[place] not in beside:
                        yield f"{queue}: {body} of group {group} has overtaken {bodies[place]}"
                        break


# ------------------------------------------------------------------ what callers see


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of an execution, from the begin of a call to its end. `status` is empty if it was not there."""

    name: str
    status: str
    begin: float
    end: float
    where: str = ""


def never_goes_back(looks: Iterable[Look]) -> Iterator[str]:
    """What has been seen to be there stays there, and what has been seen to have ended stays as it was.

    For all callers together, at all nodes, from `STALE_SECONDS` after the answer that showed it.
    """
    found: defaultdict[str, list[Look]] = defaultdict(list)
    for look in looks:
        found[look.name].append(look)
    for name, all_of_it in sorted(found.items()):
        there: Look | None = None
        ended: Look | None = None
        # By their ends, the first ones are what later ones are held against.
        for look in sorted(all_of_it, key=lambda one: one.end):
            there = there if there is not None or not look.status else look
            ended = ended if ended is not None or look.status not in ENDED else look
        for look in all_of_it:
            if not look.status and there is not None and look.begin > there.end + STALE_SECONDS:
                yield f"{name} was {there.status} {_seen(there, look)}, and is not there {look.where}"
            if ended is None or look.begin <= ended.end + STALE_SECONDS:
                continue
            if look.status not in ("", ended.status):
                yield f"{name} was {ended.status} {_seen(ended, look)}, and is {look.status} {look.where}"


def _seen(before: Look, after: Look) -> str:
    return f"{before.where} {after.begin - before.end:.1f} s before"


@dataclass(frozen=True, slots=True)
class Read:
    """A history as it was read: its events, in an order."""

    name: str
    events: Sequence[Hashable]
    begin: float
    end: float


def prefixes(reads: Iterable[Read]) -> Iterator[str]:
    """A history only grows: what was read of it is the beginning of all that is read later."""
    found: defaultdict[str, list[Read]] = defaultdict(list)
    for read in reads:
        found[read.name].append(read)
    for name, all_of_it in sorted(found.items()):
        ordered = sorted(all_of_it, key=lambda one: len(one.events))
        for shorter, longer in pairwise(ordered):
            if list(longer.events[: len(shorter.events)]) != list(shorter.events):
                yield f"history of {name}: {len(shorter.events)} events that were read are not those of a longer one"
        for before in all_of_it:
            for after in all_of_it:
                if after.begin > before.end + STALE_SECONDS and len(after.events) < len(before.events):
                    yield f"history of {name} had {len(before.events)} events, and later {len(after.events)}"
