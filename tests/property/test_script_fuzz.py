"""Whatever a mock file holds, it is read or refused with places; and rules answer as a plain reading of them says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.clock import TimerQueue
from statewright.errors import DefinitionError
from statewright.instants import parse_duration_ms
from statewright.simulator.mock_config import load_mock_config
from statewright.simulator.mocks import _matches
from statewright.simulator.script import Result, Returned, Rule, Script, TaskCall, load_script, read_spans
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.thoroughness import examples

WORDS = st.sampled_from([
    "mocks", "comment", "returns", "returns_payload", "throws", "error", "cause", "hangs", "times", "delay",
    "then", "stop", "cycle", "heartbeats", "submitted", "iterations", "attempts", "visits", "default", "0", "0-1",
    "5+", "1/2", "*/0", "A", "resource:sqs:*", "resource:lambda:A", "StateMachines", "TestCases",
    "MockedResponses", "Return", "Throw", "Error", "Cause", "1.5s",
])  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=25,
)
# Shaped like mock files, so that the deeper parts of the readers are reached.
RESULTS = st.dictionaries(
    st.sampled_from(["returns", "throws", "hangs", "times", "delay", "then", "heartbeats", "submitted"]),
    JSON,
    max_size=3,
)
ENTRIES = st.recursive(
    RESULTS | st.lists(RESULTS, max_size=3),
    lambda inner: st.dictionaries(
        st.sampled_from(["iterations", "attempts", "visits"]),
        st.dictionaries(st.sampled_from(["0", "1-2", "3+", "1/2", "x", "default"]), inner, max_size=3),
        max_size=2,
    ),
    max_leaves=5,
)
CALLS = st.builds(
    TaskCall,
    st.sampled_from(["A", "B", ""]),
    st.sampled_from(["arn:aws:states:::sqs:sendMessage", "arn:aws:states:::lambda:invoke", "x", ""]),
    JSON,
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.integers(0, 4),
    st.integers(0, 4),
)


def read_or_refuse(load: Any, text: str) -> Any:
    try:
        return load(text)
    except DefinitionError as error:
        diagnostics = error.diagnostics
    assert diagnostics
    assert all(found.line >= 1 and found.column >= 1 and found.message for found in diagnostics)
    return None


def ask(script: Script, calls: list[TaskCall]) -> None:
    """Answers and hints come for any call; only a mock that is wrong in itself may be refused."""
    run = script.start()
    for call in calls:
        try:
            answer = run.answer(call)
        except DefinitionError:
            continue
        if answer is None:
            assert call.state in run.hint(call)
        else:
            assert answer.delay_ms >= 0
            assert list(answer.heartbeats) == sorted(answer.heartbeats)


@settings(max_examples=examples(150))
@given(JSON | st.builds(lambda value: {"mocks": value}, JSON), st.lists(CALLS, max_size=3))
def test_any_json_is_read_or_refused(value, calls):
    script = read_or_refuse(load_script, json.dumps(value))
    if script is not None:
        ask(script, calls)


@settings(max_examples=examples(150))
@given(
    st.dictionaries(st.sampled_from(["A", "B*", "resource:sqs:*"]), ENTRIES, max_size=3), st.lists(CALLS, max_size=5)
)
def test_any_mocks_are_read_or_refused(mocks, calls):
    script = read_or_refuse(load_script, json.dumps({"mocks": mocks}))
    if script is not None:
        ask(script, calls)


@settings(max_examples=examples(100))
@given(st.text(max_size=60) | st.text("mocks: A{}[]-\n\"'|>&*!%", max_size=60))
def test_any_text_is_read_or_refused(text):
    read_or_refuse(load_script, text)
    read_or_refuse(load_mock_config, text)


@settings(max_examples=examples(150))
@given(
    JSON | st.builds(lambda machines, responses: {"StateMachines": machines, "MockedResponses": responses}, JSON, JSON)
)
def test_any_mock_configuration_is_read_or_refused(value):
    config = read_or_refuse(load_mock_config, json.dumps(value))
    if config is not None:
        for machine in config.machines():
            for case in config.cases(machine):
                ask(config.script(machine, case), [TaskCall("A", "x")] * 3)


SEQUENCES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=5)


@given(SEQUENCES, st.sampled_from(["repeat", "cycle", "stop"]))
def test_a_sequence_is_what_it_spells_out(sequence, ending):
    spelled = [value for value, times in sequence for _ in range(times)]
    rule = Rule(tuple(Result(Returned(value), times) for value, times in sequence), state="A", ending=ending)
    run = Script((rule,)).start()
    for number in range(3 * len(spelled)):
        answer = run.answer(TaskCall("A", "x"))
        if number < len(spelled) or ending == "cycle":
            expected = spelled[number % len(spelled)]
        elif ending == "repeat":
            expected = spelled[-1]
        else:
            assert answer is None
            continue
        assert answer is not None
        assert answer.outcome == Returned(expected)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 20)), min_size=1, max_size=4), st.integers(0, 50)
)
def test_spans_hold_what_they_say(pairs, number):
    ordered = [(low, None if high is None else max(low, high)) for low, high in pairs]
    text = ",".join(f"{low}+" if high is None else f"{low}-{high}" for low, high in ordered)
    spans = read_spans(text)
    assert spans is not None
    assert (number in spans) == any(low <= number and (high is None or number <= high) for low, high in ordered)


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_patterns_match_as_a_table_says(pattern, text):
    # The textbook table: reach[i] tells whether the pattern so far fits the first i characters.
    reach = [True] + [False] * len(text)
    for char in pattern:
        if char == "*":
            first = reach.index(True) if True in reach else len(reach)
            reach = [at >= first for at in range(len(reach))]
        else:
            reach = [False, *(reach[at] and text[at] == char for at in range(len(text)))]
    assert _matches(pattern, text) == reach[-1]


def test_a_hostile_pattern_is_quick():
    assert not _matches("*a" * 40 + "*b", "a" * 80 + "c")
    assert _matches("*a" * 40 + "*", "a" * 80)


@given(st.integers(0, 10**5), st.sampled_from([("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]))
def test_lengths_of_time_in_every_unit(number, unit):
    assert parse_duration_ms(f"{number}{unit[0]}") == number * unit[1]


OPERATIONS = st.lists(
    st.integers(0, 5) | st.tuples(st.just("cancel"), st.integers(0, 30)) | st.just("pop"), max_size=60
)


@settings(max_examples=examples(200))
@given(OPERATIONS)
def test_the_queue_is_a_sorted_list(operations):
    queue: TimerQueue[int] = TimerQueue()
    model: list[tuple[int, int]] = []
    pushed = 0
    for operation in operations:
        if isinstance(operation, int):
            assert queue.push(operation, pushed) == pushed
            model.append((operation, pushed))
            pushed += 1
        elif operation == "pop":
            expected = min(model, default=None)
            assert queue.next_due_ms() == (expected and expected[0])
            if expected is not None:
                model.remove(expected)
                assert queue.pop_next() == expected
        else:
            cancelled = [entry for entry in model if entry[1] == operation[1]]
            assert queue.cancel(operation[1]) == bool(cancelled)
            model = [entry for entry in model if entry not in cancelled]
        assert len(queue) == len(model)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(0, 400 * 86_400_000), st.booleans()), max_size=30))
def test_virtual_timers_run_at_their_instants_in_order(timers):
    async def main(clock: VirtualClock) -> list[tuple[int, int]]:
        ran: list[tuple[int, int]] = []
        for number, (due_ms, cancelled) in enumerate(timers):
            timer = clock.call_at(due_ms, lambda number=number: ran.append((clock.now_ms(), number)))  # type: ignore[misc]
            if cancelled:
                timer.cancel()
        await clock.sleep_until(500 * 86_400_000)
        return ran

    expected = sorted((due_ms, number) for number, (due_ms, cancelled) in enumerate(timers) if not cancelled)
    assert run_virtual(main, start_ms=0) == expected
