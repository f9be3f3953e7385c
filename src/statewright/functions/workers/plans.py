"""Plans of starting the workers of a function version: interpreter, environment, paths, limits.

Owns the choice of the program for each runtime, and the environment of a handler.
Source: Lambda developer guide, "Using Lambda environment variables", "Lambda runtimes".
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from statewright.config import Config
from statewright.credentials import RoleCredentials, endpoint_variables
from statewright.functions import node_sdk
from statewright.functions.logs import StreamLog
from statewright.functions.node_sdk import NodeSdk
from statewright.functions.records import Configuration
from statewright.functions.workers.fork_servers import RUNTIMES, ForkServer
from statewright.functions.workers.isolation import NONE
from statewright.payload import JsonMapping, JsonObject

RESERVED: Final = frozenset(
    {
        "_HANDLER", "_X_AMZN_TRACE_ID", "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT",
    }
)  # fmt: skip
"""Names that a function's environment may not set. Source: developer guide, "Reserved environment variables"."""

_PROBE_SECONDS: Final = 10.0
_SCANNED_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Runtime:
    """Program for a runtime, the kind of worker, and a remark for its log that says which runtime runs.

    `release` is the release of Python that the program is, such as `python3.12`; empty for other kinds.
    """

    kind: str
    program: str
    remark: str
    release: str = ""


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of a function's code as its workers see them: those of the service in namespaces, else this machine's."""

    root: str
    layers: tuple[str, ...]
    runtime: str = str(RUNTIMES)
    sdk: str | None = None
    """Path of the SDK for JavaScript as workers see it; `None` for its own path."""


SHOWN_ROOT: Final = "/var/task"
SHOWN_LAYERS: Final = "/opt"
"""Folders of the code and of layers in the service, and in the stack traces of every level of isolation."""
IN_NAMESPACES: Final = Folders(SHOWN_ROOT, (SHOWN_LAYERS,), "/var/runtime", node_sdk.IN_NAMESPACES)
XRAY_DAEMON: Final = "127.0.0.1:2000"
"""Address to which X-Ray clients send segments, unanswered: the default of these clients."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The package of all layers for workers in namespaces, and whether code or layers have shared libraries."""

    layers: str = ""
    has_libraries: bool = False


class Runtimes:
    """Runtimes of this machine; each name is looked up once."""

    def __init__(self) -> None:
        self._found: dict[str, Runtime] = {}

    async def find(self, name: str | None) -> Runtime | None:
        """Program for a runtime; `None` if this machine has none."""
        key = name or "python"
        if key not in self._found:
            found = await self._search(key)
            if found is None:
                return None
            self._found[key] = found
        return self._found[key]

    async def _search(self, name: str) -> Runtime | None:
        if name.startswith("nodejs"):
            node = _node()
            return None if node is None else Runtime("node", node, f"Runtime Version: {name} (run by {node})")
        if name.startswith("provided") or name in ("go1.x",):
            return Runtime("provided", sys.executable, f"Runtime Version: {name}")
        own = "python{}.{}".format(*sys.version_info)
        if name != own and re.fullmatch(r"python3\.\d+", name):
            other = shutil.which(name)
            if other is not None and await _works(other):
                return Runtime("python", other, f"Runtime Version: {name} (run by {other})", name)
        if name in (own, "python"):
            return Runtime("python", sys.executable, f"Runtime Version: {own}", own)
        remark = f"Runtime Version: {own} (this machine has no {name}: run by the server's own Python instead)"
        return Runtime("python", sys.executable, remark, own) if name.startswith("python") else None


def own_python() -> str:
    """The interpreter that the server runs on."""
    return sys.executable


def visible_folders(config: Config) -> tuple[str, ...]:
    """Folders that workers in namespaces see beside those of the system: of Node.js, and those of the settings."""
    node = _node()
    prefix = [str(Path(node).resolve().parents[1])] if node is not None else []
    packages = os.environ.get("NODE_PATH", "").split(":")
    return tuple(path for path in (*prefix, *packages, *config.functions.visible) if path)


def _node() -> str | None:
    """The program of Node.js; behind a link to it, which workers in namespaces may not see. Shims stay as they are."""
    found = shutil.which("node")
    behind = Path(found).resolve() if found is not None else None
    return str(behind) if behind is not None and behind.name == "node" else found


async def _works(program: str) -> bool:
    """True if an interpreter starts: a program on the path may be a shim for one that is not installed."""
    try:
        process = await asyncio.create_subprocess_exec(
            program, "-c", "import json, socket; socket.socket.recvmsg", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return False
    return await process.wait() == 0


def environment(
    config: Config,
    name: str,
    version: str,
    settings: Configuration,
    folders: Folders,
    runtime: Runtime,
    endpoint: str,
    machine: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The environment of a worker except for its log stream and its credentials.

    The programs of layers come first on the PATH, because this machine may have others of the same names, and last, as
    in the service. `machine` are the variables of the machine that the worker runs on.
    """
    python = [
        f"{layer}/{place}" for layer in folders.layers for place in _python_places(settings.runtime or "", runtime)
    ]
    node = [*_node_layers(settings.runtime or "", folders.layers), machine.get("NODE_PATH", "")]
    programs = [f"{layer}/bin" for layer in folders.layers]
    libraries = [folders.root, f"{folders.root}/lib", *(f"{layer}/lib" for layer in folders.layers)]
    variables = {
        "LANG": "en_US.UTF-8",
        "PATH": ":".join([*programs, machine.get("PATH", os.defpath), *programs]),
        "LD_LIBRARY_PATH": ":".join(libraries),
        "PWD": folders.root,
        "TZ": ":UTC",
        "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
        "AWS_XRAY_DAEMON_ADDRESS": XRAY_DAEMON,
        "PYTHONPATH": ":".join(python),
        "NODE_PATH": ":".join(place for place in node if place),
        **endpoint_variables(endpoint),
        **(settings.environment or {}),
        "_HANDLER": settings.handler or "",
        "AWS_REGION": config.region,
        "AWS_DEFAULT_REGION": config.region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{settings.runtime or 'python'}",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": version,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(settings.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "LAMBDA_TASK_ROOT": folders.root,
        "LAMBDA_RUNTIME_DIR": folders.runtime,
    }
    return {name: value for name, value in variables.items() if value or name == "_HANDLER"}


def _python_places(runtime: str, found: Runtime) -> list[str]:
    """Folders of modules in layers; packages for the release that runs come before those for the runtime's name."""
    releases = dict.fromkeys(name for name in (found.release, runtime) if name.startswith("python3."))
    return [*(f"python/lib/{release}/site-packages" for release in releases), "python"]


def has_libraries(root: Path, layers: Iterable[Path]) -> bool:
    """True if a function or one of its layers has shared libraries, which a process finds that starts with their path.

    A worker of Python is forked from a process that has started: with libraries, it starts anew.
    """
    places = [root, root / "lib", *(layer / "lib" for layer in layers)]
    return any(any(place.glob("lib*.so*")) for place in places)


def _node_layers(runtime: str, layers: tuple[str, ...]) -> list[str]:
    """Folders of packages in layers. Source: developer guide, "Packaging your layer content"."""
    number = runtime.removeprefix("nodejs").removesuffix(".x")
    names = [f"nodejs/node{number}/node_modules"] if number.isdigit() else []
    return [f"{layer}/{name}" for layer in layers for name in (*names, "nodejs/node_modules")]


def node_sdk_variables(sdk: NodeSdk, runtime: Runtime, settings: Configuration, folders: Folders) -> dict[str, str]:
    """The variables about the SDK for JavaScript, for workers of Node.js."""
    return sdk.variables(settings.runtime, folders.sdk) if runtime.kind == "node" else {}


def spawn_message_of(
    runtime: Runtime,
    settings: Configuration,
    folders: Folders,
    variables: Mapping[str, str],
    unpacked: Unpacked,
    *,
    ends_with_lease: bool = False,
) -> JsonObject:
    """The fork server's message to start a worker, which it ends with the lease of its node if that is asked for."""
    storage_mib = (settings.shown.get("EphemeralStorage") or {}).get("Size", 512)
    argv: list[str] | None = None
    if runtime.kind == "node":
        argv = [
            runtime.program, "--require", str(RUNTIMES / "node_packages.cjs"), "--require",
            str(RUNTIMES / "node_endpoint.cjs"), str(RUNTIMES / "node_worker.mjs"),
        ]  # fmt: skip
    paths = [folders.root, *(path for path in variables.get("PYTHONPATH", "").split(":") if path)]
    return {
        "kind": runtime.kind,
        "argv": argv,
        "env": dict(variables),
        "root": folders.root,
        "shown": [[folders.root, SHOWN_ROOT], *([layer, SHOWN_LAYERS] for layer in folders.layers)],
        "is_anew": runtime.kind == "python" and unpacked.has_libraries,
        "place": {"code": settings.code, "layers": unpacked.layers, "tmp_mib": storage_mib},
        "file_bytes": storage_mib * 1024 * 1024,
        "paths": paths,
        "handler": settings.handler or "",
        "ends_with_lease": ends_with_lease,
        # The pools check resident memory now and then; this limit stops a worker that exceeds its memory suddenly.
        "data_bytes": 0 if runtime.kind == "node" else (2 * settings.memory + 512) * 1024 * 1024,
    }


def mentions_boto3(root: Path) -> bool:
    """True if a function's code mentions boto3 without including it: then the fork server preloads boto3."""
    if (root / "boto3").is_dir() or (root / "botocore").is_dir():
        return False
    left = _SCANNED_BYTES
    for path in sorted(root.rglob("*.py"))[:200]:
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if b"boto3" in text:
            return True
        left -= len(text)
        if left < 0:
            return False
    return False


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Plan of starting the workers of a function version.

    `settings` are the version's. `spawn_message` is the message to the fork server; `open_log` opens the log of a
    stream, `remark` is its first line. `start_ms` is how long a worker may take until it is ready. A remote worker is
    one of a cluster, and may first wait for a place there; that machine watches its memory, and stops it while it is
    idle.
    """

    settings: Configuration
    spawn_message: JsonMapping
    fork_server: Callable[[], ForkServer]
    credentials: RoleCredentials
    open_log: Callable[[str], StreamLog]
    remark: bytes
    memory_bytes: int
    start_ms: int
    isolation: str = NONE
    virtual_time: bool = False
    is_remote: bool = False
    scratch: Path | None = None
    """Folder for the temporary folders of workers that have no `/tmp` of their own."""


def ahead(plan: WorkerPlan) -> WorkerPlan:
    """The plan for a worker that is started before an invocation needs it; its handler sees that."""
    env = {**plan.spawn_message["env"], "AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency"}
    return replace(plan, spawn_message={**plan.spawn_message, "env": env})


def in_virtual_time(message: JsonObject, number: int, now_ms: int) -> JsonObject:
    """A spawn message for a worker that follows the server's clock."""
    if message["kind"] != "node":
        return {**message, "worker": number, "now_ms": now_ms}
    program, *arguments = message["argv"]
    return {
        **message,
        "argv": [program, "--require", str(RUNTIMES / "node_time.cjs"), *arguments],
        "env": {**message["env"], "STATEWRIGHT_WORKER": str(number), "STATEWRIGHT_NOW_MS": str(now_ms)},
    }
