from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.serving.dev import Loader
from statewright.config import Config
from statewright.projects.deploy.calls import CallRefused

HANDLER = "def handler(event, context):\n    return event\n"


class Functions:
    """A server that keeps functions."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.refusal: CallRefused | None = None

    def __call__(self, _service: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        members = dict(request)
        name = members.pop("FunctionName")
        if operation in ("GetFunctionConfiguration", "GetFunctionConcurrency"):
            if name not in self.kept:
                raise CallRefused("ResourceNotFoundException", name)
        elif self.refusal is not None:
            raise self.refusal
        elif operation == "CreateFunction":
            package = members.pop("Code")["ZipFile"]
            self.kept[name] = {**members, "CodeSha256": _sha(package)}
        elif operation == "UpdateFunctionCode":
            self.kept[name]["CodeSha256"] = _sha(members["ZipFile"])
        else:
            self.kept[name].update(members)
        return self.kept[name]


def _sha(package: bytes) -> str:
    return base64.b64encode(hashlib.sha256(package).digest()).decode()


@pytest.fixture
def functions() -> Functions:
    return Functions()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "price.py").write_text(HANDLER)
    return tmp_path / "functions"


def loading(folder: Path, functions: Functions, *, as_json: bool = False) -> Loader:
    made = Loader(folder.parent, Config(), frozenset(), as_json=as_json)
    made.attach(functions)
    return made


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_functions_are_loaded_and_not_twice(folder, functions, capsys):
    loader = loading(folder, functions)
    loader.load_all()
    assert said(capsys) == ["✓ price  function created from functions/price.py"]
    made = functions.kept["price"]
    assert (made["Handler"], made["Timeout"], made["MemorySize"]) == ("price.handler", 60, 512)
    assert made["Role"] == "arn:aws:iam::000000000000:role/functions"
    loader.load_all()
    assert said(capsys) == ["✓ price  function unchanged from functions/price.py"]


def test_a_change_is_loaded_where_it_matters(folder, functions, capsys):
    loader = loading(folder, functions)
    (folder / "other.py").write_text(HANDLER)
    loader.load_all()
    said(capsys)
    (folder / "price.py").write_text(HANDLER.replace("handler", "lambda_handler"))
    loader.changed([folder / "price.py"])
    assert said(capsys) == ["✓ price  function updated from functions/price.py"]
    assert functions.kept["price"]["Handler"] == "price.lambda_handler"
    (folder / "shared.py").write_text("RATE = 2")
    loader.changed([folder / "shared.py"])
    assert [line.split()[1:4] for line in said(capsys)] == [
        ["other", "function", "updated"],
        ["price", "function", "updated"],
    ]
    loader.changed([folder.parent / "order.asl.json"])
    assert said(capsys) == []


def test_settings_of_somebody_else_stay(folder, functions, capsys):
    loader = loading(folder, functions)
    loader.load_all()
    functions.kept["price"]["Timeout"] = 5
    (folder / "price.py").write_text(HANDLER + "\n")
    loader.changed([folder / "price.py"])
    assert functions.kept["price"]["Timeout"] == 5


def test_a_bad_file_keeps_the_last_good_code(folder, functions, capsys):
    loader = loading(folder, functions)
    (folder / "late.py").write_text("def handler(:")
    loader.load_all()
    assert said(capsys)[0] == "✗ late  functions/late.py:1: invalid syntax"
    good = functions.kept["price"]["CodeSha256"]
    (folder / "price.py").write_text("x = 1\n" + HANDLER + "x = [\n")
    loader.changed([folder / "price.py"])
    assert said(capsys) == ["✗ price  functions/price.py:4: '[' was never closed; the last good code stays in use"]
    assert functions.kept["price"]["CodeSha256"] == good


def test_what_the_server_refuses(folder, functions, capsys):
    functions.refusal = CallRefused("InvalidParameterValueException", "no")
    loading(folder, functions).load_all()
    assert said(capsys) == ["✗ price  functions/price.py: InvalidParameterValueException: no"]


def test_a_function_that_goes_stays_on_the_server(folder, functions, capsys):
    loader = loading(folder, functions)
    loader.load_all()
    said(capsys)
    (folder / "price.py").unlink()
    loader.changed([folder / "price.py"])
    text = " ".join(said(capsys))
    assert text.startswith("○ price  functions/price.py no longer has a handler; the function stays until:")
    assert text.endswith("lambda delete-function --function-name price")


def test_of_two_with_one_name_the_second_is_left_out(folder, functions, capsys):
    loader = loading(folder, functions)
    loader.load_all()
    said(capsys)
    (folder / "price").mkdir()
    (folder / "price" / "app.py").write_text(HANDLER)
    loader.changed([folder / "price" / "app.py"])
    assert said(capsys) == ["✗ functions/price is left out: functions/price.py has the same name"]


def test_what_happens_as_json(folder, functions, capsys):
    loader = loading(folder, functions, as_json=True)
    (folder / "bad.py").write_text("def handler(:")
    (folder / "price").mkdir()
    (folder / "price" / "app.py").write_text(HANDLER)
    loader.load_all()
    (folder / "bad.py").unlink()
    loader.changed([folder / "bad.py"])
    assert [json.loads(line) for line in said(capsys)] == [
        {"event": "failed", "function": "bad", "file": "functions/bad.py", "stays": False, "line": 1,
         "reason": "functions/bad.py:1: invalid syntax"},
        {"event": "loaded", "function": "price", "outcome": "created", "file": "functions/price.py"},
        {"event": "leftOut", "file": "functions/price", "sameNameAs": "functions/price.py"},
        {"event": "gone", "function": "bad", "file": "functions/bad.py", "stays": False},
    ]  # fmt: skip
