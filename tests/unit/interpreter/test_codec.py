from __future__ import annotations

from typing import Any

import orjson
import pytest

from statewright.errors import Unreadable
from statewright.interpreter import events
from statewright.interpreter.codec import LARGE_BYTES, Decoder, decode, encode
from statewright.interpreter.state import ExecutionState, Frame
from statewright.payload import MAX_DEPTH, Payload
from tests.unit.interpreter.driven import Driven, machine, parallel, task, wait

BIG = "x" * LARGE_BYTES
NO_TEXTS: dict[bytes, str] = {}


def round_trip(state: ExecutionState) -> ExecutionState:
    body, frames, texts = encode(state)
    copy = decode(body, frames.values(), texts)
    assert encode(copy) == (body, frames, texts)
    return copy


def test_everything_comes_back() -> None:
    definition = machine(
        A={"Type": "Pass", "Assign": {"v": [1, {"k": 2**70}]}, "Next": "P"},
        P=parallel(
            machine(T=task(TimeoutSeconds=9, HeartbeatSeconds=5)), machine(W=wait()), machine(B={"Type": "Succeed"})
        ),
    )
    state = Driven(definition, {"x": 1.0}).state
    copy = round_trip(state)
    assert copy.identity == state.identity
    assert copy.root.variables == {"v": [1, {"k": 2**70}]}
    assert copy.frames.keys() == state.frames.keys()
    assert copy.entropy.counter == state.entropy.counter
    assert copy.input.text == '{"x":1.0}'


def test_only_the_frames_asked_for() -> None:
    state = Driven(machine(P=parallel(machine(W=wait()), machine(V=wait())))).state
    _, frames, _ = encode(state, [2])
    assert list(frames) == [2]


def test_a_large_value_is_stored_once_however_many_frames_hold_it() -> None:
    state = Driven(machine(P=parallel(machine(W=wait()), machine(V=wait()))), BIG).state
    body, frames, texts = encode(state)
    assert list(texts.values()) == [f'"{BIG}"']
    assert all(len(row) < 200 for row in frames.values())
    assert len(body) < 600
    copy = decode(body, frames.values(), texts)
    inputs = [frame.input for frame in copy.frames.values() if isinstance(frame, Frame)]
    assert len(inputs) == 3
    assert all(given is copy.input or given is inputs[0] for given in inputs)


@pytest.mark.parametrize("size", [LARGE_BYTES - 3, LARGE_BYTES - 2])
def test_from_which_size_on(size: int) -> None:
    _, _, texts = encode(Driven(machine(W=wait()), "x" * size).state)
    assert bool(texts) == (size + 2 >= LARGE_BYTES)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [250, 300, MAX_DEPTH])
def test_deep_values_come_back(depth: int) -> None:
    definition = machine(
        A={"Type": "Pass", "Assign": {"v.$": "$"}, "Next": "P"}, P=parallel(machine(W=wait()), machine(V=wait()))
    )
    copy = round_trip(Driven(definition, nested(depth)).state)
    assert copy.root.variables["v"] == nested(depth)


def test_a_map_run_and_an_end_come_back() -> None:
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **machine(W=wait())}
    run = Driven(machine(M={"Type": "Map", "ItemProcessor": processor, "End": True}), [1])
    copy = round_trip(run.state)
    assert copy.root.map_run == run.state.root.map_run
    assert isinstance(copy.root.map_run, tuple)
    run.send(events.ExecutionStopped("E", "c"))
    copy = round_trip(run.state)
    assert (copy.status, copy.error, copy.cause, copy.stopped_ms) == ("ABORTED", "E", "c", run.now_ms)
    run.send(events.ExecutionRedriven(), after_ms=5)
    assert round_trip(run.state).redriven_ms == run.now_ms


def test_an_output_comes_back() -> None:
    run = Driven(machine(S={"Type": "Succeed"}), {"x": BIG})
    assert round_trip(run.state).output == Payload({"x": BIG})


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"[2, []]", b"null", b"[1", b'["1"]'])
def test_what_it_cannot_read(body: bytes) -> None:
    with pytest.raises(Unreadable):
        Decoder(NO_TEXTS.__getitem__).execution(body)
    with pytest.raises(Unreadable):
        Decoder(NO_TEXTS.__getitem__).frame(body)


def test_a_value_that_must_be_there() -> None:
    with pytest.raises(Unreadable, match="missing"):
        Decoder(NO_TEXTS.__getitem__).frame(b'[1,"finished",1,0,0,null]')


def test_a_large_value_that_is_lost() -> None:
    body, frames, _ = encode(Driven(machine(W=wait()), BIG).state)
    with pytest.raises(KeyError):
        decode(body, frames.values(), {})


def test_what_came_later_is_written_only_where_it_is_needed_and_may_be_missing() -> None:
    # States of earlier versions have neither; executions that never queue or loop are still written as they were.
    state = Driven(machine(A=wait())).state
    frame = state.root
    body, frames, _ = encode(state)
    assert (len(orjson.loads(body)), len(orjson.loads(frames[0]))) == (20, 20)
    back = round_trip(state)
    assert (back.clock_ms, back.root.turns) == (None, None)
    state.clock_ms, frame.turns = 7, {"A": 3}
    back = round_trip(state)
    assert (back.clock_ms, back.root.turns) == (7, {"A": 3})
