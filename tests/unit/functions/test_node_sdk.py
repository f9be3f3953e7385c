"""The SDK for JavaScript that the cloud's Node.js runtimes bring: which folder, and how handlers find it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from statewright.config import Config, FunctionSettings
from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.node_sdk import NodeSdk, node_sdk, version_for
from statewright.functions.outcomes import Invoked
from tests.unit.functions.running import ROLE, document, on_functions
from tests.unit.functions.test_other_runtimes import needs_node, package

REQUIRES = "const s = require('{name}'); exports.handler = async () => s.from"
IMPORTS = "import s from '{name}'; export const handler = async () => s.from"
LATE = "exports.handler = async () => (await import('{name}')).default.from"
EVERY_FORM = [("index.js", REQUIRES), ("index.mjs", IMPORTS), ("index.js", LATE)]


def put(folder: Path, name: str, text: str = "", version: str = "1.0.0") -> None:
    """Make a package that says which folder it is from."""
    place = folder / "node_modules" / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"name": name, "version": version}))
    (place / "index.js").write_text(text or f"exports.from = '{folder.name}'")


@pytest.fixture(autouse=True)
def no_packages_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test` offers packages by NODE_PATH, which come before the SDK."""
    monkeypatch.delenv("NODE_PATH", raising=False)


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """A data folder with both versions of an SDK."""
    folder = tmp_path / "data" / "node-sdk"
    put(folder / "v3", "@aws-sdk/client-sfn", "exports.from = require('@smithy/core').from + '+v3'")
    put(folder / "v3", "@smithy/core", "exports.from = 'core'")
    put(folder / "v2", "aws-sdk")
    return tmp_path / "data"


def answer(
    files: dict[str, str],
    data: Path | None,
    *,
    runtime: str = "nodejs20.x",
    layers: dict[str, str] | None = None,
    level: str = "hardened",
    node_modules: str = "",
) -> Invoked:
    """What a function of these files answers."""

    async def test(functions: Functions) -> Invoked:
        given: dict[str, Any] = {"Runtime": runtime, "Handler": "index.handler", "Role": ROLE, "Timeout": 20}
        if layers:
            layer = await functions.layers.publish("shared", Code(zip=package(layers)))
            given["Layers"] = [functions.layers.arn("shared", layer.number)]
        await functions.definitions.create("f", given, Code(zip=package(files)))
        return await functions.invoke("f", b"{}", log_tail=True)

    return on_functions(test, data, Config(functions=FunctionSettings(level, node_modules=node_modules)))


@pytest.mark.parametrize(
    ("runtime", "version"),
    [("nodejs24.x", "v3"), ("nodejs18.x", "v3"), ("nodejs16.x", "v2"), ("nodejs8.10", "v2"), ("nodejs", "v2")],
)
def test_the_version_that_a_runtime_brings(runtime, version):
    assert version_for(runtime) == version


def test_the_folder_of_the_settings_comes_before_that_of_the_data(tmp_path):
    assert node_sdk(Config(), tmp_path).folder == tmp_path / "node-sdk"
    assert node_sdk(Config(functions=FunctionSettings(node_modules="/srv/sdk")), tmp_path).folder == Path("/srv/sdk")


def test_the_versions_that_are_there(sdk, tmp_path):
    assert NodeSdk(sdk / "node-sdk").versions() == {"v3": "1.0.0", "v2": "1.0.0"}
    assert NodeSdk(tmp_path / "none").versions() == {}
    assert NodeSdk(sdk / "node-sdk").has("aws-sdk", "nodejs16.x")
    assert not NodeSdk(sdk / "node-sdk").has("aws-sdk", "nodejs20.x")


@needs_node
@pytest.mark.parametrize(("file", "text"), EVERY_FORM, ids=["require", "import", "import()"])
def test_handlers_find_the_sdk(sdk, file, text):
    found = answer({file: text.format(name="@aws-sdk/client-sfn")}, sdk)
    assert (found.function_error, document(found)) == (None, "core+v3")


@needs_node
def test_an_es_module_by_its_package_file_finds_the_sdk(sdk):
    files = {"index.js": IMPORTS.format(name="@aws-sdk/client-sfn"), "package.json": '{"type": "module"}'}
    assert document(answer(files, sdk)) == "core+v3"


@needs_node
def test_earlier_runtimes_bring_the_second_version(sdk):
    assert document(answer({"index.js": REQUIRES.format(name="aws-sdk")}, sdk, runtime="nodejs16.x")) == "v2"
    refused = answer({"index.js": REQUIRES.format(name="aws-sdk")}, sdk, runtime="nodejs20.x")
    # As in the cloud, in whose words the error is.
    assert document(refused)["errorMessage"].splitlines()[0] == "Error: Cannot find module 'aws-sdk'"


@needs_node
@pytest.mark.parametrize(("file", "text"), EVERY_FORM, ids=["require", "import", "import()"])
def test_own_packages_and_layers_win(sdk, file, text):
    name = "@aws-sdk/client-sfn"
    files = {file: text.format(name=name)}
    layer = {f"nodejs/node_modules/{name}/index.js": "exports.from = 'layer'"}
    assert document(answer(files, sdk, layers=layer)) == "layer"
    own = {f"node_modules/{name}/index.js": "exports.from = 'own'"}
    assert document(answer({**files, **own}, sdk, layers=layer)) == "own"


@needs_node
def test_a_layer_may_have_a_folder_for_each_runtime():
    layer = {"nodejs/node20/node_modules/left/index.js": "exports.from = 'layer'"}
    assert document(answer({"index.js": REQUIRES.format(name="left")}, None, layers=layer)) == "layer"


@needs_node
@pytest.mark.parametrize(("file", "text"), EVERY_FORM[:2], ids=["require", "import"])
def test_a_folder_of_the_settings_serves_every_runtime(tmp_path, file, text):
    put(tmp_path / "mine", "aws-sdk")
    place = str(tmp_path / "mine" / "node_modules")
    files = {file: text.format(name="aws-sdk")}
    assert document(answer(files, tmp_path / "data", node_modules=place)) == "mine"


@needs_node
@pytest.mark.parametrize(("file", "text"), EVERY_FORM[:2], ids=["require", "import"])
def test_the_error_for_a_missing_package_of_the_sdk_says_what_to_do(sdk, tmp_path, file, text):
    found = document(answer({file: text.format(name="@aws-sdk/client-glue")}, sdk))
    assert found["errorType"] == "Runtime.ImportModuleError"
    assert (
        "The cloud's nodejs20.x brings this package; to add it to the SDK here: "
        f"statewright setup node-sdk --data {sdk} --package @aws-sdk/client-glue" in found["errorMessage"]
    )
    nothing = document(answer({file: text.format(name="@aws-sdk/client-sfn")}, tmp_path / "other"))
    assert (
        f"; to fetch it: statewright setup node-sdk --data {tmp_path}/other" in nothing["errorMessage"].splitlines()[0]
    )
    plain = document(answer({file: text.format(name="aws-sdk")}, sdk, node_modules=str(tmp_path / "node_modules")))
    assert f"; to add it here: npm install --prefix {tmp_path} aws-sdk" in plain["errorMessage"].splitlines()[0]
    foreign = document(answer({file: text.format(name="axios")}, sdk))
    assert "statewright" not in foreign["errorMessage"].splitlines()[0]


@needs_node
@pytest.mark.skipif(shutil.which("unshare") is None, reason="there are no namespaces here")
@pytest.mark.parametrize("plain", [False, True], ids=["fetched", "node_modules"])
def test_handlers_in_namespaces_see_the_sdk_and_cannot_change_it(sdk, tmp_path, plain):
    from statewright.functions.workers.isolation import CannotIsolate, isolation

    try:
        isolation("namespaces")
    except CannotIsolate as problem:
        pytest.skip(str(problem))
    put(tmp_path / "mine", "@aws-sdk/client-sfn")
    text = (
        "import fs from 'node:fs'; import s from '@aws-sdk/client-sfn';"
        "const place = '/var/sdk/' + ('PLACE') + '/@aws-sdk/client-sfn/index.js';"
        "export const handler = async () => { let refused = ''; try { fs.appendFileSync(place, ' ') }"
        " catch (problem) { refused = problem.code } return [s.from, refused, fs.readdirSync('/var')] }"
    ).replace("PLACE", "node_modules" if plain else "v3/node_modules")
    place = str(tmp_path / "mine" / "node_modules") if plain else ""
    said = document(answer({"index.mjs": text}, sdk, level="namespaces", node_modules=place))
    assert said[:2] == ["mine" if plain else "core+v3", "EROFS"]
    assert "sdk" in said[2]


@needs_node
def test_an_sdk_that_is_fetched_while_the_server_runs_is_found(sdk, tmp_path):
    async def test(functions: Functions) -> list[Any]:
        given = {"Runtime": "nodejs20.x", "Handler": "index.handler", "Role": ROLE, "Timeout": 20}
        files = {"index.js": REQUIRES.format(name="@aws-sdk/client-sfn")}
        await functions.definitions.create("f", given, Code(zip=package(files)))
        before = await functions.invoke("f", b"{}")
        os.rename(sdk / "node-sdk", tmp_path / "late" / "node-sdk")
        return [document(before), document(await functions.invoke("f", b"{}"))]

    for level in ("hardened", "auto"):
        before, after = on_functions(test, tmp_path / "late", Config(functions=FunctionSettings(level)))
        assert before["errorType"] == "Runtime.ImportModuleError"
        assert after == "core+v3"
        os.rename(tmp_path / "late" / "node-sdk", sdk / "node-sdk")
