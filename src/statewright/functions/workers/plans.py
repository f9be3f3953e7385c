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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.config import Config
from statewright.functions.records import Configuration
from statewright.functions.workers.fork_servers import RUNTIMES
from statewright.payload import JsonObject

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
    """Program for a runtime, the kind of worker, and a remark for its log that says which runtime runs."""

    kind: str
    program: str
    remark: str


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
            node = shutil.which("node")
            return None if node is None else Runtime("node", node, f"Runtime Version: {name} (run by {node})")
        if name.startswith("provided") or name in ("go1.x",):
            return Runtime("provided", sys.executable, f"Runtime Version: {name}")
        own = "python{}.{}".format(*sys.version_info)
        if name != own and re.fullmatch(r"python3\.\d+", name):
            other = shutil.which(name)
            if other is not None and await _works(other):
                return Runtime("python", other, f"Runtime Version: {name} (run by {other})")
        if name in (own, "python"):
            return Runtime("python", sys.executable, f"Runtime Version: {own}")
        remark = f"Runtime Version: {own} (this machine has no {name}: run by the server's own Python instead)"
        return Runtime("python", sys.executable, remark) if name.startswith("python") else None


def own_python() -> str:
    """The interpreter that the server runs on."""
    return sys.executable


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
    config: Config, name: str, version: str, settings: Configuration, root: Path, layers: list[Path], endpoint: str
) -> dict[str, str]:
    """The environment of a worker except for its log stream and its credentials."""
    python = [str(layer / sub) for layer in layers for sub in ("python", "") if sub]
    # The service's runtimes include an SDK; this machine's is among its packages.
    node = [*(str(layer / "nodejs" / "node_modules") for layer in layers), os.environ.get("NODE_PATH", "")]
    variables = {
        "LANG": "en_US.UTF-8",
        "PATH": ":".join([*(str(layer / "bin") for layer in layers), os.environ.get("PATH", os.defpath)]),
        "TZ": ":UTC",
        "PYTHONPATH": ":".join(python),
        "NODE_PATH": ":".join(place for place in node if place),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DISABLE_HOST_PREFIX_INJECTION": "true",
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
        "LAMBDA_TASK_ROOT": str(root),
        "LAMBDA_RUNTIME_DIR": str(RUNTIMES),
    }
    return {name: value for name, value in variables.items() if value or name == "_HANDLER"}


def spawn_message_of(runtime: Runtime, settings: Configuration, root: Path, variables: Mapping[str, str]) -> JsonObject:
    """The fork server's message to start a worker."""
    argv: list[str] | None = None
    if runtime.kind == "node":
        argv = [
            runtime.program, "--require", str(RUNTIMES / "node_endpoint.cjs"), str(RUNTIMES / "node_worker.mjs"),
        ]  # fmt: skip
    paths = [str(root), *(path for path in variables.get("PYTHONPATH", "").split(":") if path)]
    return {
        "kind": runtime.kind,
        "argv": argv,
        "env": dict(variables),
        "root": str(root),
        "paths": paths,
        "handler": settings.handler or "",
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
