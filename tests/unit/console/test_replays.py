"""Values that a replay shows: redacted by their places, and by what its history hides."""

from __future__ import annotations

from statewright.console.analysis.replays import Shown
from statewright.interpreter.history import HistoryEvent
from statewright.settings.server import ConsoleSettings
from statewright.simulator.differences import Difference

SETTINGS = ConsoleSettings(redact=("**.password",))
STARTED = HistoryEvent(1, 0, 0, "ExecutionStarted", {"input": '{"password": "hunter-22", "order": 7}'})


def test_a_difference_is_hidden_by_the_names_around_it():
    shown = Shown(SETTINGS)
    found = shown.difference(Difference(("user", "password"), "first-one", "second-one"))
    assert found == {"pointer": "$.user.password", "before": '"•••"', "after": '"•••"'}
    within = shown.difference(Difference(("password", "parts", 0), "first-one", "second-one"))
    assert within["before"] == '"•••"'
    assert shown.difference(Difference(("order",), 1, 2))["after"] == "2"


def test_a_value_that_the_history_hides_is_hidden_under_another_name():
    shown = Shown(SETTINGS, [STARTED])
    assert shown.difference(Difference(("copy",), "hunter-22", 1))["before"] == '"•••"'
    assert shown.text("refused hunter-22") == "refused •••"
    assert shown.value({"order": 7}) == '{"order":7}'
