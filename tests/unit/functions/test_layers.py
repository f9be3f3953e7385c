"""What layers offer to handlers at every level of isolation, and the environment that handlers see."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from statewright.config import Config, FunctionSettings
from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.layers import fitting
from statewright.functions.outcomes import Invoked
from tests.attack.test_isolation import LEVELS
from tests.unit.functions.running import ROLE, RUNTIME, document, on_functions
from tests.unit.functions.test_other_runtimes import needs_node, package

LOOKS = """
import importlib, os, subprocess

def found(name):
    try:
        return importlib.import_module(name).WORD
    except ImportError:
        return None

def handler(event, context):
    if event.get("fail"):
        importlib.import_module("shared").fail()
    words = [found(name) for name in ("shared", "packed", "named", "elsewhere")]
    return {"words": words, "said": subprocess.check_output(["speak"], text=True), "environment": dict(os.environ)}
"""
FIRST = {
    "python/shared.py": "WORD = 'first'",
    f"python/lib/{RUNTIME}/site-packages/packed.py": "WORD = 'packed'",
    f"python/lib/{RUNTIME}/site-packages/more.pth": "more\n",
    f"python/lib/{RUNTIME}/site-packages/more/named.py": "WORD = 'named in a file'",
    "python/lib/python3.1/site-packages/elsewhere.py": "WORD = 'for another release'",
    "bin/speak": "#!/bin/sh\necho first\n",
}
SECOND = {
    "python/shared.py": "WORD = 'second'\ndef fail():\n    raise LookupError('in a layer')\n",
    "bin/speak": "#!/bin/sh\necho second\n",
}


def answers(
    level: str, files: dict[str, str], layers: Sequence[bytes], *events: Any, runtime: str = RUNTIME
) -> list[Any]:
    """What a function of these files and layers answers to some events."""

    async def test(functions: Functions) -> list[Invoked]:
        arns = []
        for number, content in enumerate(layers):
            layer = await functions.layers.publish(f"layer{number}", Code(zip=content))
            arns.append(functions.layers.arn(layer.name, layer.number))
        given = {"Runtime": runtime, "Handler": "app.handler", "Role": ROLE, "Timeout": 60, "Layers": arns}
        await functions.definitions.create("f", given, Code(zip=package(files)))
        return [await functions.invoke("f", json.dumps(event).encode()) for event in events]

    return [document(one) for one in on_functions(test, None, Config(functions=FunctionSettings(level)))]


@pytest.mark.parametrize("level", LEVELS)
def test_layers_offer_modules_packages_and_programs_and_the_last_layer_wins(level: str) -> None:
    layers = [package(FIRST), package(SECOND)]
    found, failed = answers(level, {"app.py": LOOKS}, layers, {}, {"fail": True})
    assert found["words"] == ["second", "packed", "named in a file", None]
    assert found["said"] == "second\n"
    places = [re.findall(r'File "([^"]+)", line (\d+)', line) for line in failed["stackTrace"]]
    assert places[0] == [("/var/task/app.py", "12")]
    assert places[-1] == [("/opt/python/shared.py", "3")]


@pytest.mark.parametrize("level", LEVELS)
def test_handlers_see_the_environment_of_the_service(level: str) -> None:
    looks = "import os\ndef handler(event, context):\n    return [context.aws_request_id, dict(os.environ)]"
    (id_, found), (other, later) = answers(level, {"app.py": looks}, [], {}, {})
    root = found["LAMBDA_TASK_ROOT"]
    assert found["LD_LIBRARY_PATH"].startswith(f"{root}:{root}/lib")
    assert found["PWD"] == root
    expected = {
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR", "TZ": ":UTC",
        "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000",
    }  # fmt: skip
    assert expected.items() <= found.items()
    assert "AWS_SESSION_TOKEN" in found
    if level == "namespaces":
        assert (root, found["LD_LIBRARY_PATH"]) == ("/var/task", "/var/task:/var/task/lib:/opt/lib")
        assert found["PATH"].endswith(":/opt/bin")
    traces = [found["_X_AMZN_TRACE_ID"], later["_X_AMZN_TRACE_ID"]]
    assert all(re.fullmatch(r"Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0", one) for one in traces)
    assert [id_.replace("-", "")[:24] in traces[0], other.replace("-", "")[:24] in traces[1]] == [True, True]


def library() -> bytes:
    """Some shared library of this machine that is small and needs no other."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if re.search(r"/lib(m|z|ffi|crypt)[.-][^/]*$", line):
            return Path(line.split()[-1]).read_bytes()
    pytest.skip("no small shared library is loaded")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory map of Linux")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("place", ["layer", "code"])
def test_handlers_load_the_shared_libraries_of_layers_and_of_their_own(level: str, place: str) -> None:
    source = """
import ctypes, sys, shared

def handler(event, context):
    return [bool(ctypes.CDLL("libofmine.so")), shared.WORD, context.function_name, sys.path[0]]
"""
    own: dict[str, Any] = {"app.py": source, "shared.py": "WORD = 'own'"}
    content: dict[str, Any] = {"lib/libofmine.so": library()}
    files, layers = (own, [package(content)]) if place == "layer" else ({**own, **content}, [])
    [found] = answers(level, files, layers, {})
    assert found[:3] == [True, "own", "f"]
    assert "runtimes" not in found[3]


@needs_node
@pytest.mark.parametrize("level", LEVELS)
def test_stack_traces_of_node_name_the_folder_of_the_service(level: str) -> None:
    source = "exports.handler = async () => { throw new Error(process.env._X_AMZN_TRACE_ID) }"
    [found] = answers(level, {"app.js": source}, [], {}, runtime="nodejs20.x")
    assert found["trace"][1].strip() == "at exports.handler (/var/task/app.js:1:39)"
    assert found["errorMessage"].startswith("Root=1-")


def test_a_trace_header_of_the_caller_reaches_the_handler() -> None:
    looks = "import os\ndef handler(event, context):\n    return os.environ['_X_AMZN_TRACE_ID']"

    async def test(functions: Functions) -> list[Invoked]:
        given = {"Runtime": RUNTIME, "Handler": "app.handler", "Role": ROLE}
        await functions.definitions.create("f", given, Code(zip=package({"app.py": looks})))
        return [await functions.invoke("f", b"{}", trace_header=one) for one in ("Root=1-a-b;Sampled=1", None)]

    first, second = on_functions(test)
    assert document(first) == "Root=1-a-b;Sampled=1"
    assert document(second) != document(first), "the header of one invocation is not that of the next"


def test_layers_are_listed_newest_first_by_runtime_and_architecture_in_pages() -> None:
    async def test(functions: Functions) -> None:
        layers = functions.layers
        for number in range(1, 6):
            await layers.publish(
                "many", Code(zip=package({"a": "x"})), runtimes=[f"python3.1{number % 2}"], architectures=["arm64"]
            )
        await layers.publish("other", Code(zip=package({"a": "x"})), runtimes=["nodejs20.x"])
        every = fitting(None, None)
        first, place = await layers.versions("many", None, 3, every)
        rest, end = await layers.versions("many", place, 3, every)
        assert [one.number for one in (*first, *rest)] == [5, 4, 3, 2, 1]
        assert end is None
        odd, _ = await layers.versions("many", None, 9, fitting("python3.11", "arm64"))
        assert [one.number for one in odd] == [5, 3, 1]
        none, _ = await layers.versions("many", None, 9, fitting(None, "x86_64"))
        assert none == []
        newest, place = await layers.newest(None, 1, every)
        more, end = await layers.newest(place, 1, every)
        assert [(one.name, one.number) for one in (*newest, *more)] == [("many", 5), ("other", 1)]
        assert end is None
        matching, _ = await layers.newest(None, 9, fitting("python3.10", None))
        assert [(one.name, one.number) for one in matching] == [("many", 4)], "the latest version that matches"

    on_functions(test)
