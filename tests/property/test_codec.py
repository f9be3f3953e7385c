"""The codec with any state: what goes in comes out, byte for byte."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.errors import Unreadable
from statewright.interpreter import codec
from statewright.interpreter.codec import Decoder, decode, encode
from statewright.interpreter.state import Children, ExecutionState, Finished, Frame, Identity, OpenTask
from statewright.payload import Payload, dump_json, parse_json
from tests.thoroughness import examples

NO_TEXTS: dict[bytes, str] = {}

text = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
numbers = st.one_of(st.integers(-(2**80), 2**80), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)),
    max_leaves=12,
)
payloads = values.map(Payload)
ids = st.integers(0, 2**62)
small = st.integers(0, 2**40)
maybe_text = st.one_of(st.none(), text)

tasks = st.builds(OpenTask, ids, small, small)
identities = st.builds(
    Identity, *[text] * 6, st.sampled_from(["STANDARD", "EXPRESS"]), maybe_text, maybe_text, maybe_text
)


@st.composite
def children(draw: st.DrawFn) -> Children:
    items = draw(st.one_of(st.none(), payloads))
    made = Children(draw(small), draw(small), draw(small), draw(payloads), items, draw(small))
    made.next_index, made.open, made.done = draw(small), draw(small), draw(small)
    return made


@st.composite
def frames(draw: st.DrawFn) -> Frame | Finished:
    if draw(st.integers(0, 3)) == 0:
        return Finished(draw(small), draw(small), draw(small), draw(payloads))
    frame = Frame(draw(small), draw(st.integers(-1, 99)), draw(small), draw(small), draw(text), draw(payloads))
    frame.phase = draw(st.integers(0, 10))
    frame.variables = draw(st.dictionaries(text, values, max_size=3))
    frame.last_event, frame.entered_event, frame.entered_previous = draw(small), draw(small), draw(small)
    frame.entered_ms, frame.retry_count, frame.timer = draw(small), draw(small), draw(ids)
    frame.retries = draw(st.one_of(st.none(), st.lists(small, max_size=3)))
    frame.task = draw(st.one_of(st.none(), tasks))
    if frame.task is not None:
        frame.task.started, frame.task.submitted = draw(st.booleans()), draw(st.booleans())
        frame.task.timeout_timer, frame.task.heartbeat_timer = draw(ids), draw(ids)
    frame.children = draw(st.one_of(st.none(), children()))
    frame.map_run = draw(st.one_of(st.none(), st.tuples(text, small)))
    return frame


@st.composite
def states(draw: st.DrawFn) -> ExecutionState:
    state = ExecutionState(draw(identities), draw(payloads), draw(st.binary(min_size=1, max_size=80)))
    state.status = draw(st.sampled_from(["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"]))
    state.output = draw(st.one_of(st.none(), payloads))
    state.error, state.cause = draw(maybe_text), draw(maybe_text)
    state.stopped_ms, state.redriven_ms = draw(st.one_of(st.none(), small)), draw(st.one_of(st.none(), small))
    for name in ("started_ms", "redrive_count", "last_event_id", "next_frame_id", "next_serial", "transitions"):
        setattr(state, name, draw(small))
    state.timeout_timer, state.variables_bytes, state.entropy.counter = draw(ids), draw(small), draw(small)
    state.ready.extend(draw(st.lists(small, max_size=4)))
    state.frames.update({frame.id: frame for frame in draw(st.lists(frames(), max_size=4))})
    return state


def everything(thing: Any) -> Any:
    """All there is in an object, as plain values."""
    if isinstance(thing, Payload):
        return dump_json(thing.value)
    if isinstance(thing, (dict, list, tuple, str, int, float, bytes, type(None))):
        if isinstance(thing, dict):
            return {key: everything(value) for key, value in thing.items()}
        return [everything(item) for item in thing] if isinstance(thing, list) else thing
    if hasattr(thing, "__slots__"):
        names = [name for name in thing.__slots__ if name != "visible"]
        return type(thing).__name__, {name: everything(getattr(thing, name)) for name in names}
    return list(thing)


@settings(max_examples=examples(150))
@given(states(), st.sampled_from([1, 10, 4096]))
def test_round_trip(state: ExecutionState, large: int) -> None:
    with patch.object(codec, "LARGE_BYTES", large):
        body, rows, texts = encode(state)
        copy = decode(body, rows.values(), texts)
        assert encode(copy) == (body, rows, texts)
    assert everything(copy) == everything(state)


@settings(max_examples=examples(150))
@given(values)
def test_values_are_the_same_to_the_byte(value: Any) -> None:
    written = dump_json(value)
    assert dump_json(parse_json(written)) == written
    assert parse_json(written.encode()) == parse_json(written)


@settings(max_examples=examples(100))
@given(st.one_of(st.binary(max_size=30), values.map(lambda value: dump_json(value).encode())))
def test_rubbish_is_an_error_of_its_own(body: bytes) -> None:
    decoder = Decoder(NO_TEXTS.__getitem__)
    for read in (decoder.execution, decoder.frame):
        try:
            read(body)
        except Unreadable:
            continue
        raise AssertionError(f"{body!r} was read")
