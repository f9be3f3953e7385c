"""The functions of a folder that `statewright dev` serves: created, given new code, told about.

Owns what becomes of a function's files. What is a function, and what is in its package, is `projects.functions`'; when
to look is `dev.py`'s. Packages go through the API, so that running invocations keep the code they began with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from statewright.cli.client import ApiProblem, Server
from statewright.cli.output import NOT_FOUND, Printer, reason_of

if TYPE_CHECKING:
    from statewright.projects.functions import FunctionFolder, FunctionSource, Package

TIMEOUT_SECONDS: Final = 60
MEMORY_MIB: Final = 512


class FunctionLoader:
    """Keeps the functions of a server like the files of a folder.

    `tell` prints an event as JSON where that is wanted, and says whether it has.
    """

    def __init__(self, root: Path, account: str, tell: Callable[..., bool], printer: Callable[[], Printer]) -> None:
        self._root = root
        self._role = f"arn:aws:iam::{account}:role/functions"
        self._tell = tell
        self._printer = printer
        self._server: Server | None = None
        self._before: FunctionFolder | None = None

    def attach(self, server: Server) -> None:
        """Say where the functions go: a client of Lambda."""
        self._server = server

    def close(self) -> None:
        """Let go of the server."""
        if self._server is not None:
            self._server.close()

    def load_all(self) -> int:
        """Load every function; returns how many there are."""
        found = self._find()
        for source in found.functions.values():
            self._load(source)
        for path, first in found.clashes.items():
            self._clash(path, first)
        return len(found.functions)

    def changed(self, paths: Iterable[Path]) -> None:
        """Load the functions that the changed files are part of, or were."""
        touched = set(paths)
        before, found = self._before, self._find()
        for source in found.functions.values():
            old = before.functions.get(source.name) if before is not None else None
            files = {*source.files.values(), *(old.files.values() if old is not None else ())}
            if files & touched:
                self._load(source)
        for path, first in found.clashes.items():
            if any(path == one or path in one.parents for one in touched):
                self._clash(path, first)
        for name, source in (before.functions if before is not None else {}).items():
            if name not in found.functions:
                self._gone(name, source.path)

    def _find(self) -> FunctionFolder:
        from statewright.projects.functions import find_functions

        self._before = find_functions(self._root)
        return self._before

    def _load(self, source: FunctionSource) -> None:
        from statewright.projects.functions import CodeError, pack

        name = source.name
        try:
            package = pack(source)
            outcome = self._put(name, package)
        except CodeError as problem:
            place = self._shown(problem.path) + (f":{problem.line}" if problem.line else "")
            self._bad(source, f"{place}: {problem}", line=problem.line)
        except ApiProblem as problem:
            self._bad(source, f"{self._shown(source.path)}: {problem.message}")
        except OSError as problem:
            self._bad(source, f"{self._shown(source.path)}: {reason_of(problem)}")
        else:
            if self._tell("loaded", function=name, outcome=outcome, file=self._shown(source.path)):
                return
            self._printer().line(
                ("✓ ", "ok"), (name, "strong"), f"  function {outcome}", (f" from {self._shown(source.path)}", "idle")
            )

    def _bad(self, source: FunctionSource, reason: str, **more: Any) -> None:
        known = self._described(source.name) is not None
        if self._tell(
            "failed", function=source.name, file=self._shown(source.path), reason=reason, stays=known, **more
        ):
            return
        stays = "; the last good code stays" if known else ""
        self._printer().line(("✗ ", "fail"), (source.name, "strong"), f"  {reason}{stays}")

    def _clash(self, path: Path, first: Path) -> None:
        if self._tell("leftOut", file=self._shown(path), sameNameAs=self._shown(first)):
            return
        self._printer().line(("✗ ", "fail"), f"{self._shown(path)} is left out: {self._shown(first)} has the same name")

    def _gone(self, name: str, path: Path) -> None:
        known = self._described(name) is not None
        if self._tell("gone", function=name, file=self._shown(path), stays=known):
            return
        stays = (
            f"; the function stays until: statewright aws lambda delete-function --function-name {name}"
            if known
            else ""
        )
        self._printer().line(("○ ", "idle"), (name, "strong"), f"  {self._shown(path)} has no handler any more{stays}")

    def _put(self, name: str, package: Package) -> str:
        """Create a function or give it new code; what was done. Raises: ApiProblem."""
        from statewright.projects.functions import RUNTIME

        shown = self._described(name)
        if shown is None:
            self._api().call(
                "create_function", FunctionName=name, Runtime=RUNTIME, Handler=package.handler, Role=self._role,
                Timeout=TIMEOUT_SECONDS, MemorySize=MEMORY_MIB, Code={"ZipFile": package.zip},
            )  # fmt: skip
            return "created"
        outcome = "unchanged"
        if shown["CodeSha256"] != package.sha256:
            self._api().call("update_function_code", FunctionName=name, ZipFile=package.zip)
            outcome = "updated"
        if (shown.get("Handler"), shown.get("Runtime")) != (package.handler, RUNTIME):
            self._api().call(
                "update_function_configuration", FunctionName=name, Handler=package.handler, Runtime=RUNTIME
            )
            outcome = "updated"
        return outcome

    def _described(self, name: str) -> dict[str, Any] | None:
        try:
            return self._api().call("get_function_configuration", FunctionName=name)
        except ApiProblem as problem:
            if problem.code == NOT_FOUND:
                return None
            raise

    def _api(self) -> Server:
        assert self._server is not None, "attach comes first"
        return self._server

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self._root))
