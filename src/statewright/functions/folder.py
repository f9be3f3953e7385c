"""Functions in a folder of this machine: `functions/NAME.py` is the function NAME, for as long as the server runs.

Owns finding them and noticing that a file has changed. The code is run where it lies: nothing is packed or copied.
"""

from __future__ import annotations

import ast
import asyncio
import logging
import re
import sys
from pathlib import Path
from typing import Final

from statewright.clock import Clock, Timer
from statewright.errors import ApiError, StoreError
from statewright.functions.definitions import Definitions

HANDLERS: Final = ("handler", "lambda_handler")
LOOK_MS: Final = 300
TIMEOUT_SECONDS: Final = 60
MEMORY_MIB: Final = 512
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

log = logging.getLogger("statewright.functions")


def handler_in(path: Path) -> str | None:
    """The first of `HANDLERS` that a module defines or imports; `None` where there is none."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return next((name for name in HANDLERS if name in names), None)


class Folder:
    """The functions of one folder, made and renewed as its files change."""

    def __init__(self, definitions: Definitions, clock: Clock, folder: Path, account: str) -> None:
        self._definitions = definitions
        self._clock = clock
        self._folder = folder.absolute()
        self._role = f"arn:aws:iam::{account}:role/functions"
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._timer: Timer | None = None
        self._loading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load every function, then watch."""
        self._stamps = self._look()
        await self._load()
        self._again()

    async def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    def _again(self) -> None:
        self._timer = self._clock.call_at(self._clock.now_ms() + LOOK_MS, self._watch)

    def _watch(self) -> None:
        found = self._look()
        if found != self._stamps and (self._loading is None or self._loading.done()):
            self._stamps = found
            # One file may be imported by another: whatever has changed, every function is renewed.
            self._loading = asyncio.get_running_loop().create_task(self._load())
        self._again()

    def _look(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for path in self._folder.rglob("*.py") if self._folder.is_dir() else ():
            try:
                stat = path.stat()
            except OSError:
                continue
            found[path] = (stat.st_mtime_ns, stat.st_size)
        return found

    async def _load(self) -> None:
        for path in sorted(self._stamps):
            handler = handler_in(path) if path.parent == self._folder and _NAME.fullmatch(path.stem) else None
            if handler is None:
                continue
            settings = {
                "Runtime": "python{}.{}".format(*sys.version_info), "Handler": f"{path.stem}.{handler}",
                "Role": self._role, "Timeout": TIMEOUT_SECONDS, "MemorySize": MEMORY_MIB,
            }  # fmt: skip
            try:
                changed = await self._definitions.put_folder(path.stem, self._folder, settings)
            except (ApiError, StoreError) as problem:
                log.warning("%s is no function: %s", path, problem)
            else:
                if changed:
                    log.info("function %s is %s", path.stem, path)
