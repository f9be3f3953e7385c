"""Applications with only those parts that a test needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from statewright.api.building import Building
from statewright.api.operations import App
from statewright.api.services import PARTS, Services
from statewright.clock import Clock, RealClock
from statewright.config import Config
from statewright.engine.heavy.steps import HeavySteps


class NotGiven:
    """In place of a part that a test does without."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, member: str) -> Any:
        raise AssertionError(f"this test has no {self._name}, and {member} of it is asked for")


def services_of(**parts: Any) -> Services:
    """Services of which a test gives some."""
    sessions = SimpleNamespace(
        session_of=lambda _headers, _query: None, secrets=lambda config, _headers, _query: config.credentials
    )
    given = {"sessions": sessions, **parts}
    nothing: Any = None
    made = Services(Building(nothing))
    vars(made).update({one.name: given.get(one.name, NotGiven(one.name)) for one in PARTS})
    return made


def app_of(config: Config | None = None, clock: Clock | None = None, **parts: Any) -> App:
    """An application of which a test gives some parts, services among them by their names."""
    ours = {name: parts.pop(name, NotGiven(name)) for name in ("engine", "integrations")}
    return App(clock=clock or RealClock(), config=config or Config(), services=services_of(**parts), **ours)


def engine_of_heavy_steps(clock: Clock) -> Any:
    """An engine of which there are only the workers for heavy steps."""

    async def definition_of(machine: int, revision: str) -> str:
        raise AssertionError("this test has no machines")

    return SimpleNamespace(heavy=HeavySteps(clock, definition_of))
