"""The package's modules, each read and parsed once a run; the rules about them stand in the tests beside this file."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "statewright"


@dataclass(frozen=True)
class Module:
    """One module of the package, with its text and its syntax tree."""

    path: Path
    name: str
    """Its path below the package: `engine/runner.py`."""
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The room it lies in: `engine`, or its own name for a module at the top."""
        return self.name.partition("/")[0].removesuffix(".py")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree, in no particular order."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[str]:
        """The modules that it imports, wherever in it; a relative import is written `.name`."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append("." * node.level + (node.module or ""))
        return found


@cache
def modules() -> tuple[Module, ...]:
    """All of the package's modules, sorted by path."""
    paths = sorted(SOURCE.rglob("*.py"))
    texts = [path.read_text() for path in paths]
    # A million nodes that stay: collections while they are made take four times as long as making them, and each later
    # one would look at all of them.
    gc.disable()
    found = tuple(
        Module(path, path.relative_to(SOURCE).as_posix(), text, ast.parse(text))
        for path, text in zip(paths, texts, strict=True)
    )
    gc.freeze()
    gc.enable()
    return found


def broken(rule: Callable[[Module], Iterable[str]], among: Iterable[Module] | None = None) -> list[str]:
    """What a rule says of each module, as `module: what`; empty when it holds everywhere."""
    return [f"{module.name}: {what}" for module in (modules() if among is None else among) for what in rule(module)]
