"""A Python without jsonatapy: plain expressions work, the others are refused before anything runs."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from statewright.query.jsonata.library import REQUIREMENT

SCRIPT = """
import json, sys

sys.modules["jsonatapy"] = None
import statewright.server
from statewright.asl.validate import validate_value
from statewright.query.jsonata import JsonataError, JsonataSyntaxError, compile_expression
from statewright.query.scope import Scope

found = {}
for text in json.loads(sys.argv[1]):
    try:
        found[text] = compile_expression(text).evaluate(Scope({"n": [1], "m": 2}))
    except JsonataSyntaxError as problem:
        found[text] = f"refused: {problem}"
    except JsonataError as problem:
        found[text] = f"failed: {problem}"
state = {"Type": "Pass", "Output": "{% $uppercase('a') %}", "End": True}
definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": state}}
found["definition"] = [[one.code, one.message, one.path] for one in validate_value(definition)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    texts = ["$states.input.m + 1", "$uppercase('a')", "$map([1..3], function($x) {$x})", "$states.input.n + 1"]
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(texts)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def sentence(expression: str) -> str:
    return (
        f"The expression {expression} needs the library jsonatapy, which is not installed in this Python; "
        f"install it with: pip install '{REQUIREMENT}'"
    )


def test_a_plain_expression_needs_no_library(found):
    assert found["$states.input.m + 1"] == 3


@pytest.mark.parametrize("text", ["$uppercase('a')", "$map([1..3], function($x) {$x})"])
def test_another_is_refused_when_it_is_compiled(found, text):
    assert found[text] == "refused: " + sentence(text)


def test_a_definition_is_refused_by_the_state_and_the_expression(found):
    ((code, message, path),) = found["definition"]
    assert (code, message) == ("INVALID_JSONATA_EXPRESSION", sentence("$uppercase('a')"))
    assert path == ["States", "A", "Output"]


def test_data_that_the_plain_tier_is_unsure_of_fails_with_the_same_sentence(found):
    assert found["$states.input.n + 1"] == "failed: " + sentence("$states.input.n + 1")


def test_the_sentence_names_what_the_project_declares():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert f"{REQUIREMENT}; python_version < '3.14'" in project["dependencies"]
