"""The rules of the storm's probes: a right recording passes each of them, and every wrong one fails it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.storm.invariants import (
    Held,
    Look,
    Message,
    Read,
    Traffic,
    messages,
    never_goes_back,
    order,
    permits,
    prefixes,
    sums,
    winners,
)
from tests.storm.recording import Call, Outcome

ANSWERED: Outcome = "answered"
REFUSED: Outcome = "refused"
UNANSWERED: Outcome = "unanswered"


def call(begin: float, end: float, outcome: Outcome = ANSWERED, answer: Any = None, **about: Any) -> Call:
    return Call(begin, end, about, outcome, answer)


# ------------------------------------------------------------------ names and conditions


def tried(by: str, outcome: Outcome, begin: float = 0, end: float = 1) -> Call:
    return call(begin, end, outcome, name="n", by=by)


@pytest.mark.parametrize(
    ("tries", "there"),
    [
        ([tried("a", ANSWERED), tried("b", REFUSED)], ["a"]),
        ([tried("a", UNANSWERED), tried("b", REFUSED)], ["a"]),
        ([tried("a", UNANSWERED)], []),
        ([tried("a", UNANSWERED), tried("b", ANSWERED)], ["b"]),
    ],
)
def test_one_wins_a_name(tries: list[Call], there: list[str]) -> None:
    assert list(winners("put", tries, {"n": there})) == []


@pytest.mark.parametrize(
    ("tries", "there", "told"),
    [
        ([tried("a", ANSWERED), tried("b", ANSWERED)], ["a"], "2 winners"),
        ([tried("a", ANSWERED)], [], "none is there"),
        ([tried("a", ANSWERED), tried("b", REFUSED)], ["b"], "b is there, which was refused"),
        ([tried("a", ANSWERED), tried("b", UNANSWERED)], ["b"], "a has won, and b is there"),
        ([tried("a", UNANSWERED), tried("b", UNANSWERED)], ["a", "b"], "is there 2 times"),
        ([tried("a", ANSWERED)], ["a", "a"], "is there 2 times"),
        ([tried("b", REFUSED)], [], "refused before one had won"),
        ([tried("a", ANSWERED, 2, 3), tried("b", REFUSED, 0, 1)], ["a"], "refused before one had won"),
        ([tried("a", UNANSWERED)], ["z"], "never tried"),
    ],
)
def test_two_winners_are_found(tries: list[Call], there: list[str], told: str) -> None:
    assert any(told in one for one in winners("put", tries, {"n": there}))


def test_who_may_be_late_is_refused_without_a_winner() -> None:
    tries = [tried("a", REFUSED), tried("b", ANSWERED, 2, 3)]
    assert list(winners("answer", tries, {"n": ["b"]}, may_be_late=True)) == []


def added(begin: float, end: float, answer: int | None) -> Call:
    return call(begin, end, UNANSWERED if answer is None else ANSWERED, answer, counter="c")


@pytest.mark.parametrize("there", [2, 3])
def test_an_unanswered_addition_is_there_or_not(there: int) -> None:
    adds = [added(0, 1, 1), added(0, 2, None), added(2, 3, 2)]
    assert list(sums(adds, {"c": there})) == []


@pytest.mark.parametrize(
    ("adds", "there", "told"),
    [
        ([added(0, 1, 1), added(0, 1, 2)], 1, "2 additions were acknowledged, and 1 are there"),
        ([added(0, 1, 1), added(0, 1, None)], 3, "3 are there, of 1 and 1 without an answer"),
        ([added(0, 1, 1), added(0, 1, 1)], 2, "two additions were answered 1"),
        ([added(0, 1, 2), added(2, 3, 1)], 2, "1 was answered to an addition that began after 2"),
        ([added(0, 1, 5)], 1, "answered 5, and 1 is there"),
    ],
)
def test_lost_and_repeated_additions_are_found(adds: list[Call], there: int, told: str) -> None:
    assert any(told in one for one in sums(adds, {"c": there}))


# ------------------------------------------------------------------ limits


def held(who: str, begin: float, end: float, of: str = "door") -> Held:
    return Held(of, who, begin, end)


def test_as_many_as_the_limit_hold_a_permit() -> None:
    those = [held("a", 0, 2), held("b", 1, 3), held("c", 2, 4), held("other", 0, 9, "gate")]
    assert list(permits("permits of", those, 2)) == []


def test_one_more_than_the_limit_is_found() -> None:
    those = [held("a", 0, 3), held("b", 1, 4), held("c", 2, 5)]
    assert list(permits("permits of", those, 2)) == ["permits of door: 3 at once, of 2: a, b, c"]
    # The one that holds on for long is not forgotten.
    assert len(list(permits("permits of", [held("a", 0, 9), held("b", 1, 2), held("c", 5, 6)], 1))) == 2


# ------------------------------------------------------------------ queues

HIDDEN = 5.0


def sent(body: str, outcome: Outcome = ANSWERED) -> Call:
    return call(0, 0.1, outcome, body=body)


def received(begin: float, *bodies: str, ids: str = "id", seconds: float = 0.1) -> Call:
    return call(begin, begin + seconds, answer=[Message(f"{ids} {body}", body) for body in bodies])


def deleted(begin: float, body: str, outcome: Outcome = ANSWERED, since: float = 1) -> Call:
    return call(begin, begin + 0.1, outcome, body=body, since=since)


def traffic(*calls: Sequence[Call]) -> Traffic:
    return Traffic(*calls)


@pytest.mark.parametrize(
    "those",
    [
        traffic([sent("a"), sent("b", UNANSWERED)], [received(1, "a")], [deleted(2, "a")]),
        traffic([sent("b", UNANSWERED)], [received(1, "b")], [deleted(2, "b")]),
        # It comes again, because it was not deleted in time, or its deletion had no answer, or was late.
        traffic([sent("a")], [received(1, "a"), received(7, "a")], [deleted(3, "a", UNANSWERED), deleted(8, "a")]),
        traffic([sent("a")], [received(1, "a"), received(7, "a")], [deleted(7, "a")]),
    ],
)
def test_messages_come_until_they_are_deleted(those: Traffic) -> None:
    for refuses in (True, False):
        assert list(messages("q", those, HIDDEN, refuses_old_handles=refuses)) == []


@pytest.mark.parametrize(
    ("those", "told"),
    [
        (traffic([sent("a")], [], []), "a was acknowledged, and never came"),
        (traffic([], [received(1, "a")], []), "never sent"),
        (traffic([sent("a", REFUSED)], [received(1, "a")], []), "never sent"),
        (traffic([sent("a")], [received(1, "a"), received(7, "a", ids="two")], []), "a is there 2 times"),
        (traffic([sent("a")], [received(1, "a"), received(7, "a")], [deleted(2, "a")]), "after its deletion"),
        (traffic([sent("a")], [received(1, "a"), received(3, "a")], []), "while it was hidden"),
        (traffic([sent("a")], [received(1, "a", seconds=5), received(4, "a")], []), "again after 3.1 s, while it was"),
    ],
)
def test_lost_and_repeated_messages_are_found(those: Traffic, told: str) -> None:
    for refuses in (True, False):
        assert any(told in one for one in messages("q", those, HIDDEN, refuses_old_handles=refuses))


def test_the_answer_of_a_frozen_server_may_come_after_that_of_the_next_one() -> None:
    those = traffic([sent("a")], [received(1, "a", seconds=5.3), received(6.1, "a")], [])
    assert list(messages("q", those, HIDDEN, refuses_old_handles=False)) == []


def test_a_deletion_by_an_old_handle_counts_where_it_would_be_refused() -> None:
    those = traffic([sent("a")], [received(1, "a"), received(7, "a"), received(13, "a")], [deleted(8, "a")])
    assert list(messages("q", those, HIDDEN, refuses_old_handles=False)) == []
    assert list(messages("q", those, HIDDEN, refuses_old_handles=True)) != []


@pytest.mark.parametrize(
    "those",
    [
        traffic([], [received(1, "a", "b", "c")], []),
        traffic([], [received(1, "a"), received(3, "b")], [deleted(2, "a")]),
        traffic([], [received(1, "a"), received(3, "b", "c")], [deleted(2, "a", UNANSWERED)]),
        # A receive without an answer had the first one, and it was never deleted: it comes again.
        traffic([], [call(0, 1, UNANSWERED), received(7, "a", "b")], []),
        # Both come again.
        traffic(
            [], [received(1, "a", "b"), received(7, "a", "b"), received(9, "c")], [deleted(8, "a"), deleted(8.2, "b")]
        ),
    ],
)
def test_messages_of_a_group_come_in_order(those: Traffic) -> None:
    assert list(order("q", those, {"g": ["a", "b", "c"]})) == []


@pytest.mark.parametrize(
    "those",
    [
        traffic([], [received(1, "b")], []),
        traffic([], [received(1, "b", "a")], []),
        traffic([], [received(1, "a"), received(2, "b")], []),
        traffic([], [received(1, "a"), received(2, "b")], [deleted(3, "a")]),
        traffic([], [received(1, "a"), received(3, "b")], [deleted(2, "a", REFUSED)]),
        # The first two were deleted out of order: the third comes too early: the first one is still there.
        traffic([], [received(1, "a", "b"), received(3, "c")], [deleted(2, "b")]),
    ],
)
def test_overtaking_is_found(those: Traffic) -> None:
    assert any("has overtaken" in one for one in order("q", those, {"g": ["a", "b", "c"]}))


def test_groups_do_not_wait_for_one_another() -> None:
    assert list(order("q", traffic([], [received(1, "x")], []), {"g": ["a"], "h": ["x"]})) == []


# ------------------------------------------------------------------ what callers see


def look(status: str, begin: float, name: str = "e") -> Look:
    return Look(name, status, begin, begin + 0.1, "there")


def test_what_was_seen_stays() -> None:
    looks = [
        look("", 0), look("RUNNING", 0.5), look("SUCCEEDED", 1),
        # At another node, within what it may lag behind.
        look("RUNNING", 1.9), look("SUCCEEDED", 9),
    ]  # fmt: skip
    assert list(never_goes_back(looks)) == []


@pytest.mark.parametrize(
    ("looks", "told"),
    [
        ([look("SUCCEEDED", 1), look("RUNNING", 2.2)], "was SUCCEEDED there 1.1 s before, and is RUNNING"),
        ([look("ABORTED", 1), look("SUCCEEDED", 3)], "was ABORTED"),
        ([look("RUNNING", 1), look("", 3)], "was RUNNING there 1.9 s before, and is not there"),
        ([look("SUCCEEDED", 1), look("", 3)], "is not there"),
        ([look("RUNNING", 3), look("SUCCEEDED", 1)], "is RUNNING"),
    ],
)
def test_what_is_not_as_it_was_seen_is_found(looks: list[Look], told: str) -> None:
    assert any(told in one for one in never_goes_back(looks))


def read(begin: float, *events: int) -> Read:
    return Read("e", events, begin, begin + 0.1)


def test_histories_grow() -> None:
    assert list(prefixes([read(1, 1, 2, 3), read(0, 1), read(1.5, 1, 2), read(9, 1, 2, 3, 4)])) == []


def test_other_and_fewer_events_are_found() -> None:
    assert any("are not those" in one for one in prefixes([read(0, 1, 2), read(5, 1, 3, 4)]))
    assert any("later 1" in one for one in prefixes([read(0, 1, 2), read(5, 1)]))
