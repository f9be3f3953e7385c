"""`/time-scale`: shows and sets the factor by which a running server stretches waits.

With credentials configured it can only be shown, not set, because its requests are not signed.
"""

from __future__ import annotations

import orjson

from statewright.api.protocols.wire import Answer
from statewright.clock import Pauses
from statewright.config import MOST_TIME_SCALE
from statewright.errors import ApiError

PATH = "/time-scale"
LONGEST_BODY = 1_000


def show(pauses: Pauses) -> Answer:
    """Answer the current scale: `{"scale": 1.0}`."""
    return Answer(200, orjson.dumps({"scale": pauses.scale}) + b"\n")


def set_scale(pauses: Pauses, body: bytes) -> Answer:
    """Set the scale by `{"scale": 0.01}`. Waits that have begun keep their length. Raises: ApiError."""
    try:
        scale = orjson.loads(body)["scale"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        scale = None
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 <= scale <= MOST_TIME_SCALE:
        raise ApiError(
            "ValidationException", f'The body must be {{"scale": N}}, with a number from 0 to {MOST_TIME_SCALE}.'
        )
    pauses.scale = float(scale)
    return show(pauses)
