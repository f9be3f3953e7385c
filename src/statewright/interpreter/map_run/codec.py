"""Encodes Map Runs to bytes and decodes them: one header, and one body for each child.

The header holds counters, limits and the batch that is still open, so it does not grow with the number of children.
Large values are named by hash, as in `interpreter/codec.py`. The rows tell which children wait for a redrive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from statewright.interpreter.codec import VERSION, Decoder, Encoder, Texts, read_row
from statewright.interpreter.map_run.state import MapChild, MapRunSettings, MapRunState
from statewright.interpreter.phases import OPEN
from statewright.payload import Json, JsonObject, Payload, dump_row


class MapRunEncoder(Encoder):
    """Turns a run into bodies and collects the large values that they name."""

    def map_run(self, state: MapRunState) -> bytes:
        """Everything but the children."""
        settings = state.settings
        return dump_row(
            [
                VERSION,
                [getattr(settings, name) for name in _SETTINGS],
                [self._value(getattr(settings, name)) for name in _SETTINGS_PAYLOADS],
                [self._value(Payload(getattr(settings, name))) for name in _SETTINGS_VALUES],
                [getattr(state, name) for name in _STATE],
                [state.entropy.seed.hex(), state.entropy.counter],
                self._value(Payload(state.batch)),
                self._value(state.output),
            ]
        )

    def child(self, child: MapChild) -> bytes:
        """One child."""
        fields = [getattr(child, name) for name in _CHILD]
        return dump_row([VERSION, fields, self._value(child.input), self._value(child.output)])


class MapRunDecoder(Decoder):
    """Reads bodies back."""

    def map_run(self, body: bytes) -> MapRunState:
        """The run, without its children. Raises: Unreadable."""
        _, plain, payloads, values, fields, entropy, batch, output = read_row(body)[:8]
        given: JsonObject = dict(zip(_SETTINGS, plain, strict=False))
        given.update((name, self._value(stored)) for name, stored in zip(_SETTINGS_PAYLOADS, payloads, strict=False))
        given.update((name, self._json(stored)) for name, stored in zip(_SETTINGS_VALUES, values, strict=False))
        state = MapRunState(MapRunSettings(**given), 0, bytes.fromhex(entropy[0]))
        state.entropy.counter = entropy[1]
        for name, value in zip(_STATE, fields, strict=False):
            setattr(state, name, tuple(value) if name in _TUPLES and value is not None else value)
        # The open batch grows in place, so it must not be shared with a value of the decoder.
        state.batch = list(self._json(batch))
        state.output = self._value(output)
        return state

    def child(self, body: bytes) -> MapChild:
        """One child. Raises: Unreadable."""
        _, fields, given, output = read_row(body)[:4]
        child = MapChild(0, Payload(None), 0)
        for name, value in zip(_CHILD, fields, strict=False):
            setattr(child, name, value)
        child.input, child.output = self._value(given), self._value(output)
        return child

    def _json(self, stored: Json) -> Json:
        payload = self._value(stored)
        return payload.value if payload is not None else None


def encode_map_run(state: MapRunState, children: Iterable[int] | None = None) -> tuple[bytes, dict[int, bytes], Texts]:
    """The run's body, the bodies of the named children (all by default), and the large values they name."""
    encoder = MapRunEncoder()
    wanted = range(len(state.children)) if children is None else children
    bodies = {index: encoder.child(state.children[index]) for index in wanted}
    return encoder.map_run(state), bodies, encoder.texts


def decode_map_run(body: bytes, children: Iterable[bytes], texts: Texts) -> MapRunState:
    """A state from everything that `encode_map_run` returned; `children` in the order of their indexes.

    Raises: Unreadable, KeyError for a missing large value.
    """
    decoder = MapRunDecoder(texts.__getitem__)
    state = decoder.map_run(body)
    state.children = [decoder.child(child) for child in children]
    if state.phase == OPEN and state.redrive_count:
        state.again.extend(child.index for child in state.children if state.waits_again(child))
    return state


_SETTINGS: Final = (
    "map_run_arn", "execution_arn", "state", "entered_event", "source", "max_items", "batch_items", "batch_bytes",
)  # fmt: skip
_SETTINGS_PAYLOADS: Final = ("items", "input", "variables", "context")
_SETTINGS_VALUES: Final = ("batch_input", "writer")
_STATE: Final = (
    "task_id", "status", "phase", "ending", "error", "cause", "started_ms", "stopped_ms", "redriven_ms",
    "redrivable_since_ms", "redrive_count", "redrive_waiting", "max_concurrency", "tolerated_count",
    "tolerated_percentage", "items_read", "total_items", "read_all", "reading", "batch_size", "executions", "items",
    "results_written", "not_redrivable", "next_pending",
)  # fmt: skip
_TUPLES: Final = frozenset({"redrive_waiting", "results_written", "not_redrivable"})
_CHILD: Final = (
    "index", "item_count", "status", "attempt", "redrives", "started_ms", "stopped_ms", "error", "cause", "redrivable",
)  # fmt: skip
