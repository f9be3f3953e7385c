"""Models in place of handlers: durations, outcomes, and how they are written in files."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson
import pytest

from statewright.functions.workers.models import (
    Distribution,
    Model,
    ModelRunner,
    exponential,
    lognormal,
    normal,
    percentiles,
    uniform,
)
from statewright.virtual_clock import VirtualClock, run_virtual


def runs(model: Model, events: list[Any], *, timeout_ms: int = 900_000, seed: int = 1) -> list[tuple[int, str, Any]]:
    """Length in milliseconds, kind and document of one invocation after the other."""

    async def main(clock: VirtualClock) -> list[tuple[int, str, Any]]:
        runner = ModelRunner(model, seed)
        found = []
        for event in events:
            before = clock.now_ms()
            outcome = await runner.run(clock, orjson.dumps(event), timeout_ms)
            assert outcome.duration_ns // 1_000_000 in (clock.now_ms() - before, clock.now_ms() - before - 1)
            document = orjson.loads(outcome.body) if outcome.body else None
            found.append((clock.now_ms() - before, outcome.kind, document))
        return found

    return run_virtual(main)


@pytest.mark.parametrize(
    ("duration", "milliseconds"),
    [
        (120, [120_000] * 3),
        ("1m30s", [90_000] * 3),
        ([1, "2s"], [1_000, 2_000, 1_000]),
        (lambda event: event["seconds"], [0, 7_000, 14_000]),
        (Distribution(lambda draws: -draws.random()), [0, 0, 0]),
    ],
    ids=["a number", "a text", "a list", "a function of the event", "never less than nothing"],
)
def test_durations(duration, milliseconds):
    found = runs(Model(duration), [{"seconds": 7 * number} for number in range(3)])
    assert [one[0] for one in found] == milliseconds


@pytest.mark.parametrize(
    ("distribution", "middle", "least", "most"),
    [
        (uniform(1, "3s"), 2.0, 1.0, 3.0),
        (normal(10, 1), 10.0, 4.0, 16.0),
        (lognormal("2s", 0.5), 2.0, 0.1, 40.0),
        (exponential(3), 3.0 * 0.693, 0.0, 60.0),
        (percentiles({50: 1, 95: "3s", 99: 10}), 1.0, 1.0, 10.0),
    ],
    ids=["uniform", "normal", "lognormal", "exponential", "percentiles"],
)
def test_distributions(distribution, middle, least, most):
    draws = random.Random(1)
    drawn = sorted(distribution.draw(draws) for _ in range(4_001))
    assert drawn[2_000] == pytest.approx(middle, rel=0.06)
    assert least <= drawn[0]
    assert drawn[-1] <= most


def test_percentiles_are_met():
    draws = random.Random(1)
    drawn = sorted(percentiles({10: 1, 50: 2, 90: 10}).draw(draws) for _ in range(10_001))
    assert [round(drawn[place * 100], 1) for place in (5, 10, 30, 50, 70, 90, 95)] == pytest.approx(
        [1, 1, 1.5, 2, 6, 10, 10], abs=0.25
    )


def test_outcomes():
    found = runs(Model(1, failure_rate=0.25, error="Flaky", answer={"a": 1}), [None] * 400)
    failed = [one for one in found if one[1] == "error"]
    assert 70 <= len(failed) <= 130
    assert failed[0][2]["errorType"] == "Flaky"
    assert next(one for one in found if one not in failed) == (1_000, "result", {"a": 1})


def test_the_same_seed_draws_the_same():
    model = Model(uniform(0, 100), failure_rate=0.5)
    assert runs(model, [None] * 20) == runs(model, [None] * 20)
    assert runs(model, [None] * 20) != runs(model, [None] * 20, seed=2)


def test_answers_may_be_made_of_the_event_plain_or_async():
    async def later(event):
        await asyncio.sleep(2)
        return event["x"] * 2

    def refuses(event):
        raise LookupError(f"no {event['x']}")

    assert runs(Model(1, answer=lambda event: event["x"] + 1), [{"x": 1}]) == [(1_000, "result", 2)]
    found = runs(Model(answer=refuses), [{"x": 1}])[0]
    assert (found[1], found[2]["errorType"], found[2]["errorMessage"]) == ("error", "LookupError", "no 1")

    async def main(clock):
        outcome = await ModelRunner(Model(1, answer=later), 1).run(clock, b'{"x": 4}', 900_000)
        return outcome.body, clock.now_ms() - clock.start_ms

    assert run_virtual(main) == (b"8", 3_000)


def test_what_takes_longer_than_the_timeout_times_out():
    assert runs(Model("31s"), [None], timeout_ms=30_000) == [(30_000, "timeout", None)]


def test_models_are_read_from_files():
    model = Model.read({"duration": {"percentiles": {"50": "1s", "99": "2s"}}, "failure_rate": 0.5, "answer": [1]})
    assert (model.failure_rate, model.answer, model.error) == (0.5, [1], "ModelledFailure")
    assert all(1_000 <= one[0] <= 2_000 for one in runs(model, [None] * 20))
    assert runs(Model.read({"duration": "3s"}), [None])[0][0] == 3_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"durations": 1}, "a model has no 'durations'"),
        ({"duration": "soon"}, "is not a length of time"),
        ({"duration": []}, "at least one"),
        ({"duration": {"gauss": {"mean": 1}}}, "there is no distribution 'gauss'"),
        ({"duration": {"norml": {"mean": 1}}}, "there is no distribution 'norml': did you mean normal\\?"),
        (
            {"duration": {"normal": {"mean": 1}}},
            "normal takes mean and deviation, as in .normal: .mean: 2s, deviation: 300ms..: deviation is missing",
        ),
        ({"duration": {"uniform": {"min": 1, "max": 2}}}, "uniform takes low and high, .*: low is missing"),
        ({"duration": {"exponential": {"mean": 1, "rate": 2}}}, "exponential takes mean, .*: it has no 'rate'"),
        ({"duration": {"exponential": {"mean": 0}}}, "exponential: mean is 0; it must be longer than 0"),
        ({"duration": {"lognormal": {"median": "0s", "sigma": 1}}}, "lognormal: median is 0s; it must be longer"),
        ({"duration": {"lognormal": {"median": 1, "sigma": "1s"}}}, "lognormal: sigma is 1s; it is a number"),
        ({"duration": {"uniform": {"low": "3s", "high": 1}}}, "uniform: low is 3s, which is longer than high, 1"),
        ({"duration": {"normal": {"mean": [1], "deviation": 1}}}, "normal: .* is not a length of time"),
        ({"duration": {"percentiles": {"p50": 1}}}, "'p50' is no number"),
        ({"duration": {}}, "a distribution is one name with its parameters|no distribution"),
        ({"duration": {"percentiles": {"120": 1}}}, "between 0 and 100"),
        ({"duration": {"percentiles": {"50": 2, "90": 1}}}, "cannot be shorter"),
        ({"failure_rate": 2}, "between 0 and 1"),
    ],
)
def test_models_that_cannot_be(given, words):
    with pytest.raises(ValueError, match=words):
        Model.read(given)
