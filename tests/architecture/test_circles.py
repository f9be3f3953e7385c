"""Modules form layers inside their packages, too: no import leads back to where it came from, in whatever way it is
written, and no folder is too full to be seen at a glance.

Imports inside functions and below `if TYPE_CHECKING:` count like any others. What two modules both need is a leaf.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from tests.architecture.source import Module, broken, modules

MOST_FILES = 20


def dotted(module: Module) -> str:
    """The name by which a module is imported."""
    name = "statewright/" + module.name.removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".").removesuffix(".__init__")


def targets(nodes: Iterable[ast.AST], known: Collection[str]) -> set[str]:
    """The modules among `known` that the nodes import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return {name for name in found if name in known}


def graph(among: Iterable[Module]) -> dict[str, set[str]]:
    """Which module imports which, in whatever way."""
    by_name = {dotted(module): module for module in among}
    return {name: targets(module.nodes, by_name.keys()) - {name} for name, module in by_name.items()}


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle, the first one twice; none when there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as problem:
        return [str(name) for name in reversed(problem.args[1])]
    return []


def imports_for_types(module: Module) -> Iterator[str]:
    """Imports from the module's own package that only the type checker sees.

    An `__init__.py` that loads its names when they are asked for has no other way to give them types.
    """
    if module.name.endswith("__init__.py"):
        return
    own = f"statewright.{module.package}."
    for node in module.nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for inner in (found for statement in node.body for found in ast.walk(statement)):
                if isinstance(inner, ast.ImportFrom) and f"{inner.module}.".startswith(own):
                    yield f"imports {inner.module} for its types only: what it needs of it belongs below both"


def test_no_import_leads_back() -> None:
    assert circle(graph(modules())) == []


def test_nothing_of_the_own_package_is_imported_for_types_only() -> None:
    assert broken(imports_for_types) == []


def test_folders_can_be_seen_at_a_glance() -> None:
    files = Counter(str(PurePosixPath(module.name).parent) for module in modules() if module.path.name != "__init__.py")
    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}


def module(name: str, text: str) -> Module:
    return Module(modules()[0].path, name, text, ast.parse(text))


def test_circles_are_found_however_they_are_written() -> None:
    leaf = module("queues/leaf.py", "import asyncio\n")
    user = module("queues/user.py", "from statewright.queues import leaf\n")
    later = module("queues/leaf.py", "def work():\n    from statewright.queues.user import use\n")
    typed = module("queues/leaf.py", "if TYPE_CHECKING:\n    from statewright.queues.user import User\n")
    assert graph([leaf, user])["statewright.queues.user"] == {"statewright.queues.leaf"}
    assert circle(graph([leaf, user])) == []
    for bad in (later, typed):
        assert sorted(set(circle(graph([bad, user])))) == ["statewright.queues.leaf", "statewright.queues.user"]
    assert list(imports_for_types(typed)) != []
    assert list(imports_for_types(module("cli/x.py", typed.text))) == []
