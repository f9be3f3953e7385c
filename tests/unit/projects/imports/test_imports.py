"""What handlers import: read from the text, never run, and warned about where it cannot be found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from statewright.config import Config
from statewright.functions.node_sdk import NodeSdk
from statewright.projects.found import find_project
from statewright.projects.imports import node, python
from statewright.projects.imports.findings import with_missing_imports
from tests.unit.functions.running import RUNTIME

HANDLER = "def handler(event, context): return event\n"
NODE_HANDLER = "exports.handler = async (event) => event;\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def warned(root: Path, sdk: NodeSdk | None = None) -> list[str]:
    """The warnings about imports of a project, with file and line."""
    project = find_project(root, Config())
    found = with_missing_imports(project, "000000000000", sdk).findings[len(project.findings) :]
    return [f"{one.place.path.relative_to(root)}:{one.place.line} {one.message}" for one in found]


def template(root: Path, runtime: str, handler: str, **more: object) -> None:
    properties = {"Runtime": runtime, "Handler": handler, "CodeUri": "src/", **more}
    resources = {"F": {"Type": "AWS::Serverless::Function", "Properties": properties}}
    layer = {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "layer/"}}
    if "Layers" in more:
        resources["Shared"] = layer
    text = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    (root / "template.json").write_text(json.dumps(text))


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import numpy as np, os", ["numpy", "os"]),
        ("from numpy.linalg import norm", ["numpy.linalg"]),
        ("try:\n    import ujson\nexcept ImportError:\n    import json", []),
        ("if TYPE_CHECKING:\n    import mypy\nelse:\n    import late", ["late"]),
        ("def handler(e, c):\n    import lazy", []),
        ("class A:\n    import inner", ["inner"]),
    ],
)
def test_imports_that_python_makes_on_loading(text, found):
    assert [one.module for one in python.imports_of(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("const axios = require('axios')", ["axios"]),
        ('import a, { b as c } from "left-pad";', ["left-pad"]),
        ("import * as z from 'z'", ["z"]),
        ("import 'side'", ["side"]),
        ("export { x } from 'out'; export * from \"all\"", ["out", "all"]),
        ("const x = await import('late')", ["late"]),
        ("import {\n  one,\n  two,\n} from 'lines'", ["lines"]),
        ("// require('no')\n/* import 'no' */ const s = `require('no')`", []),
        ("const url = 'http://x//y'; require('yes')", ["yes"]),
        ("try { require('maybe') } catch {}", []),
        ("try {\n  sharp = require('maybe')\n} catch {}", []),
        ("module.require('no'); unrequire('no'); require(name)", []),
        ("console.log(\"from 'no'\", important('no'))", []),
    ],
)
def test_imports_that_node_names(text, found):
    assert [name for name, _ in node.imports_of(text)] == found


def test_lines_of_imports():
    assert node.imports_of("/* a\nb */\nconst a = `\n`\nrequire('x')") == [("x", 5)]


@pytest.mark.parametrize("piece", ["import a, ", "try {", "/*", "/**", "`", "'", "from ", "require(", "'\\", "a "])
def test_reading_takes_linear_time(piece):
    assert node.imports_of(piece * 100_000) == []


# ---------------------------------------------------------------------- Python


def test_python_functions_of_a_template(tmp_path):
    (tmp_path / "src").mkdir()
    template(tmp_path, RUNTIME, "app.handler")
    write(
        tmp_path / "src",
        {
            "app.py": "import os, boto3\nfrom helper import x\nfrom pack.deep import y\n" + HANDLER,
            "helper.py": "import nowhere1\nx = 1",
            "pack/__init__.py": "",
            "pack/deep.py": "from . import other\ny = 1",
            "pack/other.py": "import yaml\nimport nowhere2.inner\nimport nowhere3",
        },
    )
    found = sorted(warned(tmp_path))
    assert [one.partition(": ")[0] for one in found] == [
        "src/helper.py:1 F imports nowhere1",
        "src/pack/other.py:2 F imports nowhere2, nowhere3",
    ]
    assert "package or layers, nor installed beside Statewright. Try: pip install nowhere1 -t" in found[0]


def test_the_command_installs_what_is_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "src", {"app.py": "import nowhere\n" + HANDLER, "requirements.txt": "nowhere"})
    template(tmp_path, RUNTIME, "app.handler")
    (found,) = warned(tmp_path)
    assert found.endswith(" Try: pip install -r src/requirements.txt -t src")


def test_what_is_installed_into_the_package_is_found_and_not_followed(tmp_path):
    write(
        tmp_path / "src",
        {
            "app.py": "import nowhere, single\n" + HANDLER,
            "nowhere/__init__.py": "import optional_thing",
            "single.py": "import another_thing",
            "nowhere-1.dist-info/RECORD": "nowhere/__init__.py,,\nsingle.py,,\n",
        },
    )
    template(tmp_path, RUNTIME, "app.handler")
    assert warned(tmp_path) == []


@pytest.mark.parametrize("place", ["python/nowhere", f"python/lib/{RUNTIME}/site-packages/nowhere"])
def test_layers_are_looked_into(tmp_path, place):
    write(tmp_path, {"src/app.py": "import nowhere\n" + HANDLER, f"layer/{place}/__init__.py": ""})
    template(tmp_path, RUNTIME, "app.handler", Layers=[{"Ref": "Shared"}])
    assert warned(tmp_path) == []


def test_a_layer_that_the_server_may_have_says_nothing_and_a_foreign_one_is_missing(tmp_path):
    write(tmp_path, {"src/app.py": "import nowhere\n" + HANDLER, "layer/x": ""})
    arn = "arn:aws:lambda:us-east-1:{}:layer:x:1"
    template(tmp_path, RUNTIME, "app.handler", Layers=[arn.format("000000000000")])
    assert warned(tmp_path) == []
    template(tmp_path, RUNTIME, "app.handler", Layers=[arn.format("017000801446")])
    assert any("F imports nowhere" in one for one in warned(tmp_path))


def test_a_module_that_changes_the_path_may_find_anything(tmp_path):
    write(tmp_path, {"src/app.py": "import sys\nsys.path.append('x')\nimport nowhere\n" + HANDLER})
    template(tmp_path, RUNTIME, "app.handler")
    assert warned(tmp_path) == []


@pytest.mark.parametrize(("code", "count"), [(0, 0), (127, 1)], ids=["another Python", "a shim for none"])
def test_another_python_has_packages_of_its_own(tmp_path, monkeypatch, code, count):
    write(tmp_path, {"src/app.py": "import nowhere\n" + HANDLER, "bin/python3.99": f"#!/bin/sh\nexit {code}\n"})
    (tmp_path / "bin" / "python3.99").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    template(tmp_path, "python3.99", "app.handler")
    assert len(warned(tmp_path)) == count


def test_modules_beside_a_handler_in_a_folder(tmp_path):
    write(tmp_path, {"src/api/app.py": "import tools\n" + HANDLER, "src/api/tools.py": ""})
    template(tmp_path, RUNTIME, "api/app.handler")
    (found,) = warned(tmp_path)
    assert found.endswith("handlers look in the root of their code. Try: from api import tools")


def test_functions_of_a_plain_folder(tmp_path):
    write(
        tmp_path / "functions",
        {"price.py": "import common\nimport nowhere\n" + HANDLER, "common.py": "import os", "mail/mail.py": HANDLER},
    )
    (found,) = warned(tmp_path)
    assert found.startswith("functions/price.py:2 functions.price imports nowhere: not in")
    assert found.endswith(" Try: pip install nowhere")


def test_code_in_a_template(tmp_path):
    properties = {"Runtime": RUNTIME, "Handler": "index.handler", "InlineCode": "import nowhere\n" + HANDLER}
    resources = {"F": {"Type": "AWS::Serverless::Function", "Properties": properties}}
    (tmp_path / "template.json").write_text(json.dumps({"Resources": resources}))
    (found,) = warned(tmp_path)
    assert found.startswith("template.json:")
    assert "F imports nowhere" in found


# ---------------------------------------------------------------------- Node.js


@pytest.fixture
def sdk(tmp_path: Path) -> NodeSdk:
    write(
        tmp_path / "node-sdk",
        {f"v3/node_modules/@aws-sdk/{name}/package.json": '{"version": "3.1.0"}' for name in ("client-sfn", "core")},
    )
    write(tmp_path / "node-sdk", {"v2/node_modules/aws-sdk/package.json": "{}"})
    return NodeSdk(tmp_path / "node-sdk")


def test_node_functions_of_a_template(tmp_path, sdk, monkeypatch):
    root = tmp_path / "project"
    write(
        root,
        {
            "src/index.js": "const fs = require('fs'), p = require('node:path');\nrequire('./lib/api');\n"
            "require('@aws-sdk/client-sfn'); require('beside'); require('shared/part')\n" + NODE_HANDLER,
            "src/lib/api.js": "\nconst axios = require('axios'); import('lodash/get'); require('../data.json')",
            "src/data.json": "{}",
            "src/node_modules/beside/index.js": "require('never-looked-at')",
            "layer/nodejs/node20/node_modules/shared/part.js": "",
        },
    )
    monkeypatch.chdir(root)
    template(root, "nodejs20.x", "index.handler", Layers=[{"Ref": "Shared"}])
    assert warned(root, sdk) == [
        "src/lib/api.js:2 F imports axios, lodash: not in the function's package or layers. "
        "Try: npm install --prefix src axios"
    ]
    write(root, {"src/package.json": "{}"})
    (found,) = warned(root, sdk)
    assert found.endswith(" Try: npm install --prefix src")


def test_the_sdk_is_the_runtimes(tmp_path, sdk, monkeypatch):
    monkeypatch.delenv("NODE_PATH", raising=False)
    root = tmp_path / "project"
    write(root, {"src/index.mjs": "import a from 'aws-sdk'\nimport b from '@aws-sdk/client-glue'\n"})
    template(root, "nodejs20.x", "index.handler")
    third, missing = warned(root, sdk)
    assert "nodejs20.x brings version 3 of the SDK" in third
    assert missing.endswith(
        "imports @aws-sdk/client-glue: part of the SDK that the cloud's nodejs20.x brings, and not fetched here yet. "
        f"Try: statewright setup node-sdk --data {tmp_path} --package @aws-sdk/client-glue"
    )
    assert len(warned(root, None)) == 1
    template(root, "nodejs14.x", "index.handler")
    assert [one.partition(": ")[0] for one in warned(root, sdk)] == ["src/index.mjs:2 F imports @aws-sdk/client-glue"]
    none = warned(root, NodeSdk(Path(".statewright/node-sdk").absolute()))
    assert none[0].endswith("and not fetched here yet. Try: statewright setup node-sdk")


def test_bundles_and_handlers_that_are_not_there_say_nothing(tmp_path):
    write(tmp_path, {"src/index.js": "require('axios')\n" + "//" + "x" * 1024 * 1024})
    template(tmp_path, "nodejs20.x", "index.handler")
    assert warned(tmp_path) == []
    template(tmp_path, "nodejs20.x", "other.handler")
    assert warned(tmp_path) == []
