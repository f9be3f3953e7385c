"""Whatever users write, a command says what is wrong and never fails by a mistake of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.cli.commands import run_command
from tests.thoroughness import examples

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
MACHINE = {
    "StartAt": "A",
    "TimeoutSeconds": 100,
    "States": {
        "A": {"Type": "Task", "Resource": FUNCTION, "Next": "B"},
        "B": {"Type": "Wait", "Seconds": 1, "Next": "C"},
        "C": {
            "Type": "Map",
            "ItemsPath": "$.x",
            "ItemProcessor": {"StartAt": "D", "States": {"D": {"Type": "Pass", "End": True}}},
            "End": True,
        },
    },
}
CASES = {"mocks": {"A": {"returns": {"x": [1]}}}, "cases": {"one": {"expect": {"output": [1], "path": ["A", "B"]}}}}

words = st.sampled_from(
    ["", "A", "returns", "throws", "times", "expect", "path", "output", "cases", "mocks", "input", "start", "limits",
     "visits", "duration", "at_least", "refused", "code", "1s", "{% $states.input %}", "{% ( %}", "open", "2026-01-01"]
)  # fmt: skip
leaves = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | words | st.text(max_size=4)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=12
)


@st.composite
def changed(draw: st.DrawFn, whole: Any) -> Any:
    """A value in which some part, or several, are something else."""
    value = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(0, 3))):
        node, key = None, None
        below = value
        while isinstance(below, (dict, list)) and below and (node is None or draw(st.integers(0, 3))):
            node = below
            key = draw(st.sampled_from(list(below) if isinstance(below, dict) else range(len(below))))
            below = node[key]
        if node is None or key is None:
            break
        if isinstance(node, dict) and draw(st.booleans()):
            node[draw(words)] = node.pop(key)
        else:
            node[key] = draw(values)
    return value


def code_of(*arguments: str) -> int:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        code = run_command(list(arguments))
        if code == 70:
            streams[1].seek(0)
            raise AssertionError(streams[1].read())
    return code


@settings(max_examples=examples(150))
@given(changed(MACHINE), changed(CASES), values, st.binary(max_size=20) | st.none())
def test_no_file_makes_a_command_fail_by_its_own_mistake(
    machine: Any, cases: Any, value: Any, raw: bytes | None
) -> None:
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {"STATEWRIGHT_DEBUG": "1"}):
        folder = Path(name)
        definition = folder / "m.asl.json"
        for path, content in ((definition, machine), (folder / "m.cases.json", cases), (folder / "in.json", value)):
            path.write_text(json.dumps(content))
        if raw is not None:
            (folder / "in.json").write_bytes(raw)
        (folder / "mocks.json").write_text(json.dumps({"mocks": cases.get("mocks", value)}))
        assert code_of("validate", str(folder)) in (0, 1)
        assert code_of("graph", str(definition)) in (0, 1)
        assert code_of("test", str(folder)) in (0, 1, 3)
        codes = (0, 1, 2, 3, 5)
        mocks = str(folder / "mocks.json")
        assert code_of("run", str(definition), "--case", "one", "-o", "json") in codes
        assert code_of("run", str(definition), "--mock", mocks, "-i", f"@{folder / 'in.json'}") in codes
        assert code_of("run", str(definition), "--mock", str(folder / "in.json")) in codes
        assert code_of("run", str(folder / "in.json"), "-i", json.dumps(value), "-o", "jsonl") in codes


arguments = st.sampled_from(
    ["run", "test", "graph", "validate", "x.json", "-i", "{", "--case", "-o", "json", "--nope", "-q", "--history", "-",
     "--svg", "-O", "/", "--seed", "--start", "2026", "--width", "50", "a#b"]
)  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(arguments, max_size=6))
def test_no_arguments_make_a_command_fail_by_its_own_mistake(typed: list[str]) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"{}"))
    with mock.patch.object(sys, "stdin", stdin), tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        assert code_of(*typed) in (0, 1, 2, 3, 4)
