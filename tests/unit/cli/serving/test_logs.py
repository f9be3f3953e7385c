from __future__ import annotations

import json
import logging
import sys

import pytest

from statewright.cli.serving.logs import JsonFormatter, TextFormatter, configure


@pytest.fixture(autouse=True)
def _as_before():
    root = logging.getLogger()
    ours = logging.getLogger("statewright")
    before = (list(root.handlers), root.level, ours.level)
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def record(**extra) -> logging.LogRecord:
    made = logging.LogRecord("statewright.executions", logging.INFO, "f", 1, "%s", ("SUCCEEDED",), None)
    made.created = 1_700_000_000.5
    for name, value in extra.items():
        setattr(made, name, value)
    return made


def test_lines_for_people():
    line = TextFormatter().format(record(execution_arn="arn:x", error=None))
    assert line == "22:13:20.500 info    executions  SUCCEEDED execution_arn=arn:x"


def test_lines_for_machines():
    shown = json.loads(JsonFormatter().format(record(execution_arn="arn:x", input="never shown")))
    assert shown == {
        "time": "2023-11-14T22:13:20.500Z",
        "level": "info",
        "logger": "statewright.executions",
        "message": "SUCCEEDED",
        "execution_arn": "arn:x",
    }


def test_tracebacks():
    try:
        raise ValueError("no")
    except ValueError:
        made = record(exc_info=sys.exc_info())
    assert TextFormatter().format(made).endswith("ValueError: no")
    assert "ValueError: no" in json.loads(JsonFormatter().format(made))["exception"]


@pytest.mark.parametrize(("form", "start"), [("text", "{"), ("json", "{")])
def test_configured_loggers(form, start, capsys):
    configure(form, "info")
    logging.getLogger("statewright.server").info("hello")
    logging.getLogger("statewright.server").debug("not this")
    logging.getLogger("somebody.else").info("nor this")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(start) is (form == "json")
    assert "hello" in lines[0]
