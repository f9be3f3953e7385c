"""`statewright setup node-sdk` with an npm of the test's own, which writes what it is asked for or fails."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from statewright.cli.serving import doctor
from statewright.cli.serving.sdk_fetching import MANIFESTS
from statewright.config import Config, FunctionSettings
from statewright.functions.node_sdk import NodeSdk
from tests.unit.cli.conftest import Run

NPM = """#!/usr/bin/env python3
import json, os, pathlib, sys
arguments = sys.argv[1:]
with open({calls!r}, "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
place = pathlib.Path(arguments[arguments.index("--prefix") + 1])
if {says!r}:
    (place / "node_modules").mkdir()
    print({says!r}, file=sys.stderr)
    sys.exit(1)
if arguments[0] == "ci":
    names = json.loads((place / "package.json").read_text())["dependencies"]
else:
    names = [name.rpartition("@")[0] for name in arguments if name.startswith("@aws-sdk/")]
for name in names:
    (place / "node_modules" / name).mkdir(parents=True)
    (place / "node_modules" / name / "package.json").write_text(json.dumps(dict(name=name, version="1.2.3")))
"""

Npm = Callable[[str], Callable[[], list[list[str]]]]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """Puts an npm first on the PATH; the answer lists its calls."""
    place, calls = tmp_path / "bin", tmp_path / "calls"

    def put(says: str = "") -> Callable[[], list[list[str]]]:
        place.mkdir(exist_ok=True)
        (place / "npm").write_text(NPM.format(calls=str(calls), says=says))
        (place / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
        return lambda: [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    return put


def test_what_is_fetched_is_pinned_and_names_no_address():
    for version in ("v3", "v2"):
        lock = json.loads((MANIFESTS / version / "package-lock.json").read_text())
        packages = {name: one for name, one in lock["packages"].items() if name}
        assert all("integrity" in one and "resolved" not in one for one in packages.values())
        wanted = json.loads((MANIFESTS / version / "package.json").read_text())["dependencies"]
        assert {f"node_modules/{name}" for name in wanted} <= packages.keys()


def test_both_versions_are_fetched_once(statewright: Run, folder: Path, npm: Npm):
    calls = npm("")
    first = statewright("setup", "node-sdk")
    assert first.code == 0
    assert first.out.splitlines()[:4] == [
        "version 3: fetching 24 packages with npm ...",
        "version 3: @aws-sdk/client-sfn 1.2.3 and others, 0 MB",
        "version 2: fetching 1 package with npm ...",
        "version 2: aws-sdk 1.2.3, 0 MB",
    ]
    sdk = NodeSdk(folder / ".statewright" / "node-sdk")
    assert sdk.versions() == {"v3": "1.2.3", "v2": "1.2.3"}
    # Fetched beside, then renamed: nothing is left there.
    assert sorted(path.name for path in sdk.folder.iterdir()) == ["v2", "v3"]
    assert sdk.folder.stat().st_mode & 0o077 == 0
    assert [call[0] for call in calls()] == ["ci", "ci"]
    assert all("--ignore-scripts" in call and "--omit-lockfile-registry-resolved" in call for call in calls())
    again = statewright("setup", "node-sdk")
    assert again.out.count("is there already") == 2
    assert len(calls()) == 2
    assert statewright("setup", "node-sdk", "--only", "v2", "--force").code == 0
    assert len(calls()) == 3


def test_another_package_stays(statewright: Run, folder: Path, npm: Npm):
    calls = npm("")
    statewright("setup", "node-sdk", "--only", "v3", "--package", "@aws-sdk/client-glue")
    assert [call[0] for call in calls()] == ["ci", "install"]
    assert "@aws-sdk/client-glue@^3" in calls()[1]
    sdk = NodeSdk(folder / ".statewright" / "node-sdk")
    assert sdk.has("@aws-sdk/client-glue", "nodejs20.x")
    statewright("setup", "node-sdk", "--only", "v3")
    assert len(calls()) == 2
    statewright("setup", "node-sdk", "--only", "v3", "--force")
    assert sdk.has("@aws-sdk/client-glue", "nodejs20.x")


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network no host",
         r"npm cannot reach its registry \(ENOTFOUND\): network no host\n  hint: try again with a network"),
        ("npm error code E404\nnpm error 404 Not Found", r"npm knows no such package: @aws-sdk/client-nowhere\."),
        ("npm error code ENOSPC\nnpm error nospc no space left", r"npm failed \(ENOSPC\): nospc no space left"),
        ("Segmentation fault", "npm failed: Segmentation fault"),
    ],
)  # fmt: skip
def test_a_failure_leaves_what_was_there(statewright: Run, folder: Path, npm: Npm, says: str, expected: str):
    npm("")
    statewright("setup", "node-sdk", "--only", "v3")
    npm(says)
    failed = statewright("setup", "node-sdk", "--package", "@aws-sdk/client-nowhere")
    assert failed.code == 1
    assert re.search(expected, failed.err), failed.err
    sdk = NodeSdk(folder / ".statewright" / "node-sdk")
    assert sdk.versions() == {"v3": "1.2.3"}
    assert [path.name for path in sdk.folder.iterdir()] == ["v3"]


def test_without_npm(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    result = statewright("setup", "node-sdk")
    assert result.code == 1
    assert result.err.startswith("Error: There is no npm on the PATH")
    assert "hint: install Node.js 20 or newer" in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--package", "axios"), "name it in full: @aws-sdk/client-textract"),
        (("--package", "@aws-sdk/client-glue", "--only", "v2"), "--package adds to version 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(statewright: Run, arguments: tuple[str, ...], said: str):
    result = statewright("setup", "node-sdk", *arguments)
    assert (result.code, said in result.err) == (2, True)


def test_a_folder_of_the_settings(statewright: Run, folder: Path, npm: Npm):
    npm("")
    (folder / "statewright.toml").write_text(f'[functions]\nnode_modules = "{folder}/shared"\n')
    assert statewright("setup", "node-sdk", "--only", "v2").code == 0
    assert NodeSdk(folder / "shared").versions() == {"v2": "1.2.3"}
    (folder / "statewright.toml").write_text(f'[functions]\nnode_modules = "{folder}/node_modules"\n')
    refused = statewright("setup", "node-sdk")
    assert (refused.code, "a folder of your own" in refused.err) == (2, True)


def test_the_doctor_says_whether_it_is_there(statewright: Run, folder: Path, npm: Npm, monkeypatch: pytest.MonkeyPatch):
    npm("")
    data = folder / ".statewright"
    (folder / "bin" / "node").write_text("#!/bin/sh\n")
    (folder / "bin" / "node").chmod(0o755)
    missing = doctor.check_node_sdk(Config(), data)
    assert (missing.status, missing.hint) == ("note", "fetch it: statewright setup node-sdk")
    elsewhere = doctor.check_node_sdk(Config(), folder / "other data")
    assert elsewhere.hint == f"fetch it: statewright setup node-sdk --data '{folder}/other data'"
    statewright("setup", "node-sdk", "--only", "v3")
    half = doctor.check_node_sdk(Config(), data)
    assert (half.status, half.message) == (
        "note",
        "of the SDK for JavaScript, which the cloud's runtimes bring, there is only version 3 (1.2.3)",
    )
    statewright("setup", "node-sdk")
    whole = doctor.check_node_sdk(Config(), data)
    assert (whole.status, whole.facts["versions"]) == ("ok", {"v3": "1.2.3", "v2": "1.2.3"})
    own = Config(functions=FunctionSettings(node_modules=str(data / "node-sdk" / "v2" / "node_modules")))
    assert doctor.check_node_sdk(own, data).message.startswith("functions for Node.js find version 2 (1.2.3) in")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "cannot run" in doctor.check_node_sdk(Config(), data).message
