"""Functions on an empty store in real time, with real workers, for the tests of this folder."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import textwrap
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from statewright.clock import RealClock
from statewright.config import Config, FunctionSettings
from statewright.credentials import Issue, dummies
from statewright.errors import ApiError
from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.outcomes import Invoked
from statewright.stores.memory.store import MemoryStore

T = TypeVar("T")

ROLE = "arn:aws:iam::000000000000:role/functions"
ARN = "arn:aws:lambda:us-east-1:000000000000:function:"
SHARING = Config(functions=FunctionSettings("hardened"))
"""Settings of most tests, whose handlers write files for them and whose processes they look at."""
RUNTIME = "python{}.{}".format(*sys.version_info)


def zipped(**files: str) -> bytes:
    """A zip of files whose dots are written as double underscores."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), textwrap.dedent(text))
    return made.getvalue()


async def create(functions: Functions, name: str, source: str, **settings: Any) -> None:
    """Create a Python function from the text of its only module, `app`."""
    given = {"Runtime": RUNTIME, "Handler": "app.handler", "Role": ROLE, "Timeout": 300, **settings}
    await functions.definitions.create(name, given, Code(zip=zipped(app__py=source)))


def on_functions(
    test: Callable[[Functions], Awaitable[T]],
    data: Path | None = None,
    config: Config | None = None,
    issue: Issue = dummies,
) -> T:
    """Run a test against new functions."""

    async def main() -> T:
        store = MemoryStore()
        await store.open("tests")
        functions = Functions(
            store, RealClock(), config or SHARING, data, endpoint=lambda: "http://127.0.0.1:1", issue=issue
        )
        await functions.start()
        try:
            return await test(functions)
        finally:
            await functions.stop()

    return asyncio.run(main())


def invoked(source: str, event: Any = None, **settings: Any) -> Invoked:
    """What one invocation of a new function gives."""

    async def test(functions: Functions) -> Invoked:
        await create(functions, "f", source, **settings)
        return await functions.invoke("f", json.dumps(event).encode(), log_tail=True)

    return on_functions(test)


def document(answer: Invoked) -> Any:
    """The payload of an answer."""
    return json.loads(answer.payload)


async def refusal(call: Awaitable[Any]) -> ApiError:
    """The error that a call ends with."""
    try:
        answer = await call
    except ApiError as error:
        return error
    raise AssertionError(f"the call succeeded: {answer}")
