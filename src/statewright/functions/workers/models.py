"""Models in place of handlers: the duration and outcome of a function's invocations, without a process.

A function with a model keeps its timeout, its concurrency, its mappings and retries. Owns the distributions of
durations and the drawing of outcomes. A model draws from a seed, one invocation after the other, so that the same
invocations have the same outcomes.
"""

from __future__ import annotations

import inspect
import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import orjson

from statewright import chance
from statewright.asl.findings import did_you_mean
from statewright.clock import Clock
from statewright.functions.outcomes import Outcome
from statewright.instants import parse_duration_ms
from statewright.payload import Json, JsonMapping


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of durations in seconds."""

    draw: Callable[[chance.Draws], float]


Duration = float | str | Sequence[float | str] | Distribution | Callable[[Json], float]
"""A constant (`120`, `"2m"`), a list whose entries are used in turn, one of the distributions below, or a function of
the event that returns seconds."""
_P_LOW: Final = 0.0
_P_HIGH: Final = 100.0


def uniform(low: float | str, high: float | str) -> Distribution:
    """A uniform distribution between two durations. Raises: ValueError."""
    a, b = _seconds(low), _seconds(high)
    if a > b:
        raise ValueError(f"low is {low}, which is longer than high, {high}")
    return Distribution(lambda draws: draws.uniform(a, b))


def normal(mean: float | str, deviation: float | str) -> Distribution:
    """A normal distribution, with negative durations cut to 0."""
    mu, sigma = _seconds(mean), _seconds(deviation)
    return Distribution(lambda draws: draws.normalvariate(mu, sigma))


def lognormal(median: float | str, sigma: float) -> Distribution:
    """A log-normal distribution with a median; `sigma` is the standard deviation of the logarithm.

    Raises: ValueError.
    """
    if isinstance(sigma, bool) or not isinstance(sigma, int | float) or sigma < 0:
        raise ValueError(f"sigma is {sigma}; it is a number, 0 or more: the standard deviation of the logarithm")
    mu = math.log(_positive("median", median))
    return Distribution(lambda draws: draws.lognormvariate(mu, sigma))


def exponential(mean: float | str) -> Distribution:
    """An exponential distribution. Raises: ValueError."""
    rate = 1 / _positive("mean", mean)
    return Distribution(lambda draws: draws.expovariate(rate))


def percentiles(points: Mapping[float, float | str]) -> Distribution:
    """A measured distribution, `{50: "1s", 95: "3s", 99: "10s"}`, interpolated linearly; constant below the lowest.

    Raises: ValueError for a percentile outside of 0 to 100, or for decreasing durations.
    """
    known = sorted((float(percent), _seconds(length)) for percent, length in points.items())
    if not known or known[0][0] < _P_LOW or known[-1][0] > _P_HIGH:
        raise ValueError("percentiles are numbers between 0 and 100, at least one")
    if any(after[1] < before[1] for before, after in pairwise(known)):
        raise ValueError("a higher percentile cannot be shorter than a lower one")
    known = [(_P_LOW, known[0][1]), *known, (_P_HIGH, known[-1][1])]
    percents = [percent for percent, _ in known]

    def draw(draws: chance.Draws) -> float:
        at = draws.uniform(_P_LOW, _P_HIGH)
        above = max(1, bisect_left(percents, at))
        (p0, s0), (p1, s1) = known[above - 1], known[above]
        return s0 if p1 == p0 else s0 + (s1 - s0) * (at - p0) / (p1 - p0)

    return Distribution(draw)


@dataclass(frozen=True, slots=True)
class Model:
    """A function's behaviour without its handler.

    `duration` is how long an invocation takes. A share of `failure_rate` (0 to 1) of the invocations fails with
    `error`, an error's name. `answer` is the result, or a function of the event, plain or async, that is called at
    the end: an exception that it raises is the handler's.
    """

    duration: Duration = 0.0
    failure_rate: float = 0.0
    error: str = "ModelledFailure"
    answer: Json | Callable[[Json], Json | Awaitable[Json]] = None

    @staticmethod
    def read(given: JsonMapping) -> Model:
        """A model from a file: `{"duration": {"normal": {"mean": "2s", "deviation": "300ms"}}, "failure_rate": 0.01}`.

        Raises: ValueError, with a message for the author of the file.
        """
        unknown = set(given) - {"duration", "failure_rate", "error", "answer"}
        if unknown:
            raise ValueError(f"a model has no {sorted(unknown)[0]!r}: it has duration, failure_rate, error and answer")
        duration = given.get("duration", 0)
        if isinstance(duration, Mapping):
            duration = _read_distribution(duration)
        model = Model(duration, given.get("failure_rate", 0.0), given.get("error", Model().error), given.get("answer"))
        ModelRunner(model, 0)
        return model


class ModelRunner:
    """Runs invocations of one function by its model."""

    def __init__(self, model: Model, seed: int | None = None) -> None:
        """Raises: ValueError for an invalid model."""
        if not 0 <= model.failure_rate <= 1:
            raise ValueError(f"failure_rate is {model.failure_rate!r}; it must be between 0 and 1")
        self._model = model
        self._draws = chance.draws_of(chance.random_bits(64) if seed is None else seed)
        self._turn = 0
        self._seconds = _seconds_of(model)

    async def run(self, clock: Clock, payload: bytes, timeout_ms: int) -> Outcome:
        """Run one invocation: wait for its duration by the clock, then draw its outcome."""
        model = self._model
        turn, self._turn = self._turn, self._turn + 1
        event = orjson.loads(payload) if callable(model.duration) or callable(model.answer) else None
        took_ms = max(0.0, 1000 * self._seconds(turn, self._draws, event))
        fails = model.failure_rate > 0 and self._draws.random() < model.failure_rate
        if took_ms >= timeout_ms:
            await clock.sleep_until(clock.now_ms() + timeout_ms)
            return Outcome("timeout", duration_ns=timeout_ms * 1_000_000)
        await clock.sleep_until(clock.now_ms() + round(took_ms))
        outcome = (
            _failed(model.error, "The model says that this invocation fails.")
            if fails
            else await _answered(model, event)
        )
        outcome.duration_ns = round(took_ms * 1e6)
        return outcome


async def _answered(model: Model, event: Json) -> Outcome:
    if not callable(model.answer):
        return Outcome("result", orjson.dumps(model.answer))
    try:
        answer = model.answer(event)
        return Outcome("result", orjson.dumps(await answer if inspect.isawaitable(answer) else answer))
    except Exception as problem:
        return _failed(type(problem).__name__, str(problem))


def _failed(error: str, message: str) -> Outcome:
    return Outcome("error", orjson.dumps({"errorMessage": message, "errorType": error, "stackTrace": []}))


def _seconds_of(model: Model) -> Callable[[int, chance.Draws, Json], float]:
    duration = model.duration
    if isinstance(duration, Distribution):
        return lambda _turn, draws, _event: duration.draw(draws)
    if callable(duration):
        return lambda _turn, _draws, event: float(duration(event))
    if isinstance(duration, Sequence) and not isinstance(duration, str):
        lengths = [_seconds(one) for one in duration]
        if not lengths:
            raise ValueError("a list of durations needs at least one")
        return lambda turn, _draws, _event: lengths[turn % len(lengths)]
    constant = _seconds(duration)
    return lambda _turn, _draws, _event: constant


@dataclass(frozen=True, slots=True)
class _Kind:
    make: Callable[..., Distribution]
    parameters: tuple[str, ...]
    example: str


DISTRIBUTIONS: Final[Mapping[str, _Kind]] = {
    "uniform": _Kind(uniform, ("low", "high"), "{uniform: {low: 1s, high: 3s}}"),
    "normal": _Kind(normal, ("mean", "deviation"), "{normal: {mean: 2s, deviation: 300ms}}"),
    "lognormal": _Kind(lognormal, ("median", "sigma"), "{lognormal: {median: 2s, sigma: 0.5}}"),
    "exponential": _Kind(exponential, ("mean",), "{exponential: {mean: 3s}}"),
}
PERCENTILES: Final = "percentiles"
_MEASURED: Final = '{percentiles: {"50": 1s, "95": 3s}}'


def _read_distribution(given: JsonMapping) -> Distribution:
    (name, parameters), *more = given.items() if given else [("nothing", {})]
    if more or not isinstance(parameters, Mapping):
        raise ValueError("a distribution is one name with its parameters, as in {normal: {mean: 2s, deviation: 300ms}}")
    if name == PERCENTILES:
        return _read_percentiles(parameters)
    kind = DISTRIBUTIONS.get(name)
    if kind is None:
        hint = did_you_mean(str(name), [*DISTRIBUTIONS, PERCENTILES])
        known = f"; there are {', '.join(DISTRIBUTIONS)} and {PERCENTILES}"
        raise ValueError(f"there is no distribution {name!r}{known if hint is None else ': ' + hint}")
    needed = " and ".join(kind.parameters)
    missing = [one for one in kind.parameters if one not in parameters]
    foreign = [one for one in parameters if one not in kind.parameters]
    if missing or foreign:
        wrong = f"{missing[0]} is missing" if missing else f"it has no {foreign[0]!r}"
        raise ValueError(f"{name} takes {needed}, as in {kind.example}: {wrong}")
    try:
        return kind.make(**parameters)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"{name}: {problem}") from None


def _read_percentiles(parameters: JsonMapping) -> Distribution:
    points: dict[float, Json] = {}
    for percent, length in parameters.items():
        try:
            points[float(percent)] = length
        except ValueError:
            reason = f"percentiles are numbers with durations, as in {_MEASURED}: {percent!r} is no number"
            raise ValueError(reason) from None
    return percentiles(points)


def _positive(name: str, length: float | str) -> float:
    seconds = _seconds(length)
    if seconds <= 0:
        raise ValueError(f"{name} is {length}; it must be longer than 0")
    return seconds


def _seconds(length: float | str) -> float:
    return parse_duration_ms(length) / 1000
