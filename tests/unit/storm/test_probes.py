"""What single probes of the storm make of what was recorded."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.storm.checks import without_an_answer
from tests.storm.client import NoAnswer, Refused
from tests.storm.invariants import never_goes_back
from tests.storm.probes.events import heard, once_each
from tests.storm.probes.permits import Permits, interval
from tests.storm.probes.spread import CALLS, Told, calls, running
from tests.storm.probes.watchers import Page, looks, stops
from tests.storm.recording import Call, Recorder


def test_the_error_of_a_stop_is_that_of_a_try_until_one_was_acknowledged() -> None:
    tries = [
        Call(0, 1, {"name": "e", "by": "try 1"}, "unanswered"),
        Call(1, 2, {"name": "e", "by": "try 2"}, "answered"),
        Call(3, 4, {"name": "e", "by": "try 3"}, "answered"),
    ]
    assert list(stops(tries, {"e": "try 1"})) == []
    assert list(stops(tries, {"e": "try 2"})) == []
    assert list(stops(tries, {"e": "try 3"})) == ["endless: e was stopped with try 3, of try 1, try 2"]
    assert list(stops(tries, {"e": ""})) != []


def started(name: str, date: float, end: float) -> Call:
    return Call(end - 0.1, end, {"name": name}, "answered", {"startDate": date})


def listed(begin: float, since: float, *names: str) -> Call:
    return Call(begin, begin + 0.1, {"machine": "watched"}, "answered", Page(since, dict.fromkeys(names, "RUNNING")))


def test_a_list_shows_all_that_began_after_its_oldest() -> None:
    starts = [started("watched-1", 10, 1), started("watched-2", 11, 2), started("endless-3", 12, 3)]
    # The first one is behind the page, the third one is of another machine.
    assert list(never_goes_back(looks(starts, [], [], [listed(9, 10.5, "watched-2")]))) == []
    # The second one is too new to be missed.
    assert list(never_goes_back(looks(starts, [], [], [listed(2.5, 0, "watched-1")]))) == []
    found = list(never_goes_back(looks(starts, [], [], [listed(9, 10.5)])))
    assert [one.partition(" ")[0] for one in found] == ["watched-2"]


def test_a_description_is_held_against_the_stop() -> None:
    stop = Call(0, 1, {"name": "e"}, "answered")
    described = Call(3, 4, {"name": "e"}, "answered", {"status": "RUNNING"})
    assert list(never_goes_back(looks([], [stop], [described], []))) == [
        "e was ABORTED by its stop 2.0 s before, and is RUNNING by its description"
    ]


def test_an_interval_is_that_of_the_state_inside() -> None:
    events = [
        {"timestamp": 1, "stateEnteredEventDetails": {"name": "Enter"}},
        {"timestamp": 2, "stateEnteredEventDetails": {"name": "Inside"}},
        {"timestamp": 3, "stateExitedEventDetails": {"name": "Inside"}},
        {"timestamp": 4, "stateExitedEventDetails": {"name": "Leave"}},
    ]
    assert interval(events) == (2, 3)
    assert interval(events[:2]) is None


def told(name: str) -> list[Told]:
    return [Told(at, f"{name} {what}", f"id of {what}", 0) for what in CALLS for at in ("begin", "end")]


def test_each_task_calls_its_handler_under_one_id() -> None:
    right = told("s-1")
    assert list(calls(["s-1"], right)) == []
    assert list(calls(["s-1"], [*right, right[0]])) == []
    assert any("2 ids for s-1 first" in one for one in calls(["s-1"], [*right, Told("end", "s-1 first", "other", 0)]))
    missing = [one for one in right if (one.at, one.called) != ("end", "s-1 last")]
    assert any("s-1 last, or none to its end" in one for one in calls(["s-1"], missing))


def test_a_call_that_died_with_its_node_has_no_interval() -> None:
    those = [Told("begin", "a", "1", 0), Told("begin", "b", "2", 1), Told("end", "b", "2", 3)]
    assert [(one.who, one.begin, one.end) for one in running(those)] == [("b", 1, 3)]


def test_a_recording_has_begin_end_and_outcome_of_each_call() -> None:
    heard: list[tuple[str, bool]] = []
    recorder = Recorder(lambda service, is_answered: heard.append((service, is_answered)))

    def answer(service: str, problem: Exception | None = None) -> str:
        if problem is not None:
            raise problem
        return service

    recorder.make("k", {"n": 1}, [], answer, "sqs")
    recorder.make("k", {"n": 2}, ["Known"], answer, "sqs", Refused("Known", ""))
    recorder.make("k", {"n": 3}, [], answer, "sqs", NoAnswer())
    with pytest.raises(Refused):
        recorder.make("k", {"n": 4}, ["Known"], answer, "sqs", Refused("Other", ""))
    made = recorder.calls("k")
    assert [(one.about["n"], one.outcome, one.code) for one in made] == [
        (1, "answered", ""), (2, "refused", "Known"), (3, "unanswered", ""),
    ]  # fmt: skip
    assert made[0].answer == "sqs"
    assert all(one.begin <= one.end for one in made)
    assert heard == [("sqs", True), ("sqs", True), ("sqs", False)]
    assert recorder.take("k") == made
    assert recorder.calls("k") == []


def test_a_probe_without_an_answered_call_is_broken() -> None:
    def answer(service: str, problem: Exception | None = None) -> str:
        if problem is not None:
            raise problem
        return service

    recorder = Recorder()
    probe = Permits(recorder)
    recorder.make("start", {}, ["Known"], answer, "states", Refused("Known", ""))
    recorder.make("start", {}, [], answer, "states", NoAnswer())
    assert without_an_answer(probe, recorder) == ["Permits: no call was answered in this round"]
    recorder.make("start", {}, [], answer, "states")
    assert without_an_answer(probe, recorder) == []


def test_each_acknowledged_event_starts_as_many_executions_as_it_was_put_or_fewer() -> None:
    puts = Counter({"one": 1, "two": 2, "none": 1, "never": 3})
    started = Counter({"one": 1, "two": 1, "other": 7})
    assert list(once_each({"one", "two"}, puts, started)) == []
    assert list(once_each({"one", "none"}, puts, started)) == [
        "by-event: none was put 1 times, and has started 0 executions"
    ]
    assert list(once_each({"one", "two"}, puts, Counter({"one": 2, "two": 2}))) == [
        "by-event: one was put 1 times, and has started 2 executions"
    ]


def test_each_acknowledged_event_calls_its_handler_to_the_end_under_one_id() -> None:
    puts = Counter({"a": 1, "b": 2})
    told = [Told("begin", "a", "1", 0), Told("begin", "a", "1", 1), Told("end", "a", "1", 2)]
    assert list(heard({"a"}, puts, told)) == []
    assert list(heard({"a", "b"}, puts, [*told, Told("begin", "b", "2", 3)])) == [
        "heard: no handler was called to its end for b"
    ]
    again = [*told, Told("begin", "a", "2", 3)]
    assert list(heard({"a"}, puts, again)) == ["heard: a was put 1 times, and has called handlers under 2 ids"]
    assert list(heard({"a"}, Counter({"a": 2}), again)) == []
