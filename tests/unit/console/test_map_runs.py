"""What the console computes of a Map Run: errors, and concurrency over time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from statewright.console.redaction import MASK, Redactor
from statewright.console.services.map_runs import concurrency, errors_of, page_of, spans_of
from statewright.interpreter.map_run.state import FAILED, RUNNING, SUCCEEDED, TIMED_OUT, MapChild, MapRunState
from statewright.payload import Payload
from statewright.settings.server import ConsoleSettings


def child(index: int, status: int, error: str | None = None, cause: str | None = None) -> MapChild:
    made = MapChild(index, Payload(None), 1)
    made.status, made.error, made.cause = status, error, cause
    return made


def test_errors_are_counted_and_the_first_of_each_is_named():
    children = [
        child(0, SUCCEEDED), child(1, FAILED, "Busy", "one"), child(2, FAILED, "Refused"),
        child(3, FAILED, "Refused", "c" * 1_000), child(4, TIMED_OUT), child(5, FAILED),
    ]  # fmt: skip
    assert errors_of(children, Redactor()) == [
        {"error": "Refused", "count": 2, "index": 2, "cause": None},
        {"error": "Busy", "count": 1, "index": 1, "cause": "one"},
        {"error": "TIMED_OUT", "count": 1, "index": 4, "cause": None},
        {"error": "FAILED", "count": 1, "index": 5, "cause": None},
    ]
    assert len(errors_of([child(0, FAILED, "E", "c" * 1_000)], Redactor())[0]["cause"]) == 400


def test_concurrency_is_the_most_children_of_each_step():
    found = concurrency([(0, 100), (50, 150), (150, 0)], 0, 240)
    assert (found["fromMs"], found["toMs"], found["stepMs"], len(found["most"])) == (0, 240, 1, 240)
    assert (found["most"][0], found["most"][60], found["most"][120]) == (1, 2, 1)
    # One child begins as another ends: they do not run beside each other.
    assert found["most"][150] == 1
    assert found["most"][239] == 1


def test_a_child_that_takes_no_time_has_run():
    assert concurrency([(5, 5)], 0, 10)["most"] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_a_stop_of_an_earlier_attempt_ends_nothing():
    assert concurrency([(5, 3)], 0, 8)["most"] == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_long_run_has_few_steps():
    found = concurrency([(0, 10**9)], 0, 10**9)
    assert len(found["most"]) <= 240
    assert set(found["most"]) == {1}
    assert len(concurrency([], 5, 5)["most"]) == 1


def test_children_that_failed_come_first_from_a_cursor_on():
    children = [child(n, FAILED if n % 3 == 0 else SUCCEEDED) for n in range(10)]
    state = SimpleNamespace(redrive_count=0, status="SUCCEEDED")
    seen, begin = [], (0, 0)
    while True:
        rows, cursor = page_of(cast("MapRunState", state), children, (FAILED, SUCCEEDED), begin, 3)
        seen.append([one.index for one in rows])
        if cursor is None:
            break
        rank, _, index = cursor.partition(".")
        begin = int(rank), int(index)
    assert seen == [[0, 3, 6], [9, 1, 2], [4, 5, 7], [8]]


def test_causes_of_errors_are_redacted():
    hidden = Redactor(ConsoleSettings(redact=("**.password",)))
    failed = child(0, FAILED, "E", '{"password": "hunter2!", "n": 1}')
    assert errors_of([failed], hidden)[0]["cause"] == f'{{"password":"{MASK}","n":1}}'
    assert errors_of([failed], Redactor(ConsoleSettings(payloads="hidden")))[0]["cause"] == MASK


def test_a_child_that_runs_again_has_not_stopped():
    again = child(0, RUNNING)
    again.started_ms, again.stopped_ms = 20, 10
    done = child(1, SUCCEEDED)
    done.started_ms, done.stopped_ms = 5, 9
    assert spans_of([again, done, child(2, SUCCEEDED)]) == [(20, 0), (5, 9)]
