"""Functions that lie in a folder."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from statewright.functions.folder import handler_in
from statewright.functions.functions import Functions
from tests.unit.functions.running import on_functions


@pytest.mark.parametrize(
    ("text", "handler"),
    [
        ("def handler(e, c): ...", "handler"),
        ("def lambda_handler(e, c): ...", "lambda_handler"),
        ("def lambda_handler(e, c): ...\nhandler = lambda_handler", "handler"),
        ("from other import run as handler", "handler"),
        ("def other(): ...", None),
        ("def handler(:", None),
    ],
)
def test_which_handler_a_module_holds(tmp_path, text, handler):
    (tmp_path / "f.py").write_text(text)
    assert handler_in(tmp_path / "f.py") == handler


def test_functions_follow_their_files(tmp_path):
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "shared.py").write_text("WORD = 'one'")
    (folder / "price.py").write_text("import shared\ndef handler(e, c):\n    return [shared.WORD, c.function_name]")

    async def answered(functions: Functions, expected: object) -> None:
        deadline = time.monotonic() + 20
        while json.loads((await functions.invoke("price", b"{}")).payload) != expected:
            assert time.monotonic() < deadline

    async def test(functions):
        await functions.stop()
        await functions.start(folder)
        await answered(functions, ["one", "price"])
        assert await functions.definitions.function("shared") is None
        (folder / "shared.py").write_text("WORD = 'another'")
        await answered(functions, ["another", "price"])
        (folder / "late.py").write_text("def lambda_handler(e, c):\n    return 'late'")
        deadline = time.monotonic() + 20
        while await functions.definitions.function("late") is None:
            assert time.monotonic() < deadline
            await asyncio.sleep(0)
        return json.loads((await functions.invoke("late", b"{}")).payload)

    assert on_functions(test) == "late"
