"""A folder with definitions, mocks and cases, and a way to run commands in it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.commands import run_command

ORDER: dict[str, Any] = {
    "Comment": "Takes an order.",
    "StartAt": "Reserve",
    "States": {
        "Reserve": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl": "q", "MessageBody": "reserve"},
            "ResultPath": None,
            "Next": "Charge",
        },
        "Charge": {
            "Type": "Task",
            "Resource": "arn:aws:lambda:us-east-1:000000000000:function:Charge",
            "ResultPath": "$.charge",
            "Retry": [{"ErrorEquals": ["Declined"], "IntervalSeconds": 2}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Sorry"}],
            "Next": "Pause",
        },
        "Pause": {"Type": "Wait", "Seconds": 60, "Next": "Done"},
        "Sorry": {"Type": "Fail", "Error": "Refused", "Cause": "The card was declined."},
        "Done": {"Type": "Succeed"},
    },
}

MOCKS = """\
mocks:
  Reserve: {returns: {}}
  Charge:
    - {throws: {error: Declined, cause: no money}}
    - {returns: {id: 1}, delay: 1.5s}
"""

CASES = """\
input: {order: 7}
mocks:
  Reserve: {returns: {}}
cases:
  second try:
    mocks: {Charge: [{throws: Declined}, {returns: {id: 1}}]}
    expect:
      output: {order: 7, charge: {id: 1}}
      path: [Reserve, Charge, Pause, Done]
      attempts: {Charge: 2}
      duration: 62s
  refused:
    mocks: {Charge: {throws: Broken}}
    expect: {error: Refused, cause_contains: declined}
"""


@dataclass
class Result:
    """What a command has printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with an order's definition, mocks and cases."""
    (tmp_path / "order.asl.json").write_text(json.dumps(ORDER, indent=2))
    (tmp_path / "mocks.yaml").write_text(MOCKS)
    (tmp_path / "order.cases.yaml").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "STATEWRIGHT_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def statewright(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, with its streams caught."""

    def run(*arguments: str, stdin: str | bytes = b"", encoding: str = "utf-8") -> Result:
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
        given = stdin.encode() if isinstance(stdin, str) else stdin
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = run_command(list(arguments))
        printed = []
        for stream in streams.values():
            stream.flush()
            buffer = stream.buffer
            assert isinstance(buffer, io.BytesIO)
            printed.append(buffer.getvalue().decode(encoding))
        return Result(code, *printed)

    return run


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no file behind it")


@pytest.fixture
def terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command as on a terminal of 80 columns."""
    monkeypatch.setenv("TERM", "xterm-256color")

    def run(*arguments: str) -> Result:
        out, err = Terminal(), Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run_command(list(arguments))
        return Result(code, out.getvalue(), err.getvalue())

    return run
