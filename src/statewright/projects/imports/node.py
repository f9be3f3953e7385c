"""Imports of handlers for Node.js: packages that are named literally in `require`, `import` and `export ... from`.

1. Comments and template literals are passed over. The handler's file is read, and every file of the function that it
   imports by a relative path; `node_modules` is not followed.
2. A `require` right after `try {` may fail and does not count.
3. A package is found in Node.js itself, in `node_modules` beside the file or above it in the function's package, in
   the layers, among the packages of NODE_PATH, or in the SDK that the runtime brings.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Final

from statewright.functions.node_sdk import NodeSdk, version_for
from statewright.projects.imports.code import MOST_FILES, Code, Gathering, Missing, read_text

_ENDINGS: Final = ("", ".js", ".mjs", ".cjs", "/index.js")
_BUILT_IN: Final = frozenset(
    {
        "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
        "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net",
        "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "sqlite", "stream",
        "string_decoder", "sys", "test", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi",
        "worker_threads", "zlib",
    }
)  # fmt: skip
"""Source: Node.js, `module.builtinModules`; sub-paths are theirs."""
_TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)|(?P<template>`(?:\\.|[^`\\])*`?)
    |'(?P<single>(?:\\.|[^'\\\n])*)'?|"(?P<double>(?:\\.|[^"\\\n])*)\"?""",
    re.DOTALL | re.VERBOSE,
)
_NAMES: Final = re.compile(r"(?<![\w.$])(?:require\s*\(|import\s*\(|import|from)\s*$")
"""The code in front of a string that names what is imported."""
_TRIED: Final = re.compile(r"\btry\s*\{\s*(?:(?:const|let|var)\s+)?(?:[\w$]{1,40}\s*=\s*)?(?:require|import)\s*\(\s*$")
_LOOK_BACK: Final = 100
"""Characters in front of a string that decide what it is."""


def imports_of(text: str) -> list[tuple[str, int]]:
    """The imports that a module names literally, with their lines. Takes linear time."""
    found: list[tuple[str, int]] = []
    before, end, line = "", 0, 1
    for token in _TOKEN.finditer(text):
        code = text[end : token.start()]
        before = (before + code)[-_LOOK_BACK:]
        line += code.count("\n")
        name = token["single"] or token["double"]
        if name and _NAMES.search(before) and not _TRIED.search(before):
            found.append((name, line))
        before += " " if token["comment"] is not None else "''"
        line += token[0].count("\n")
        end = token.end()
    return found


def missing_in_node(code: Code, sdk: NodeSdk | None) -> list[Missing]:
    """Packages that loading the handler's file would not find; without an `sdk` packages of the SDK count as found."""
    gathering = Gathering()
    queue = [code.entry]
    seen: set[str] = set()
    while queue and len(seen) < MOST_FILES:
        asked = queue.pop()
        name = next((asked + ending for ending in _ENDINGS if code.file(asked + ending) is not None), asked)
        path = code.file(name)
        text = code.text if code.text is not None and asked == code.entry else read_text(path) if path else None
        if name in seen or text is None or name.endswith(".json"):
            continue
        seen.add(name)
        for given, line in imports_of(text):
            if given.startswith("."):
                queue.append(posixpath.normpath(posixpath.join(posixpath.dirname(name), given)))
                continue
            package = _package(given)
            if package and not _is_found(code, name, package, sdk):
                gathering.add(path, line, package, *_words(code, package, sdk))
    return gathering.missing()


def _package(given: str) -> str:
    """The package of what is imported; empty for what is none."""
    parts = given.split("/")
    if given.startswith(("node:", "#", "/", "file:", "data:")) or parts[0] in _BUILT_IN or not parts[0]:
        return ""
    return "/".join(parts[:2]) if given.startswith("@") else parts[0]


def _is_found(code: Code, importer: str, package: str, sdk: NodeSdk | None) -> bool:
    folder = posixpath.dirname(importer)
    while True:
        if code.has(posixpath.join(folder, "node_modules", package)):
            return True
        if not folder:
            break
        folder = posixpath.dirname(folder)
    number = code.runtime.removeprefix("nodejs").removesuffix(".x")
    places = [
        layer / "nodejs" / below for layer in code.layers for below in ("node_modules", f"node{number}/node_modules")
    ]
    places += [Path(place) for place in os.environ.get("NODE_PATH", "").split(":") if place]
    if any((place / package).is_dir() for place in places):
        return True
    if _is_of_sdk(code, package) or package.startswith("@smithy/"):
        return sdk is None or sdk.has(package, code.runtime)
    return sdk is not None and sdk.is_plain and sdk.has(package, code.runtime)


def _is_of_sdk(code: Code, package: str) -> bool:
    return package == "aws-sdk" if version_for(code.runtime) == "v2" else package.startswith("@aws-sdk/")


def _words(code: Code, package: str, sdk: NodeSdk | None) -> tuple[str, str]:
    """The reason why a package is not found, and a remedy."""
    if _is_of_sdk(code, package):
        why = f"part of the SDK that the cloud's {code.runtime} brings, and not fetched here yet"
        return why, sdk.command_for(package, code.runtime) if sdk is not None else ""
    why = "not in the function's package or layers"
    if package == "aws-sdk":
        why += f"; {code.runtime} brings version 3 of the SDK (@aws-sdk/client-...)"
    if code.text is not None:
        return why, "put the code into a folder, with its node_modules"
    listed = code.file("package.json") is not None
    return why, f"npm install --prefix {code.shown}{'' if listed else ' ' + package}"
