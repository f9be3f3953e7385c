"""No timer is started outside the clocks: code that needs one asks its clock, so that virtual time can skip it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from tests.architecture.source import broken, modules

CLOCKS = ("clock.py", "virtual_clock.py")
OTHER_PROCESSES = tuple(
    f"functions/runtimes/ray_{name}.py" for name in ("bridge", "bridge_jobs", "cluster", "host", "job_host")
)
"""Programs beside the server, for workers on a Ray cluster, which always runs in real time."""


def timers_started(nodes: Iterable[ast.AST]) -> list[str]:
    """What in a module starts a timer, as `line: what`."""
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in {"asyncio", "time"}:
            hidden = {"sleep", "wait_for", "wait", "timeout", "timeout_at"} & {alias.name for alias in node.names}
            found += [f"{node.lineno}: from {node.module} import {name}" for name in sorted(hidden)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            reason = _timer_started_by(node, node.func.attr, ast.unparse(node.func.value))
            if reason is not None:
                found.append(f"{node.lineno}: {reason}")
    return found


def _timer_started_by(call: ast.Call, method: str, owner: str) -> str | None:
    if method == "call_later" or (method == "call_at" and "loop" in owner):
        return f"{owner}.{method}"
    if owner == "time" and method == "sleep":
        return "time.sleep"
    if owner != "asyncio":
        return None
    named = [word.value for word in call.keywords if word.arg in {"timeout", "delay", "when"}]
    place = 0 if method in {"sleep", "timeout", "timeout_at"} else 1 if method == "wait_for" else None
    given = named + ([call.args[place]] if place is not None and len(call.args) > place else [])
    harmless = {"sleep": 0, "wait_for": None, "wait": None, "timeout": None, "timeout_at": None}
    if method in harmless and any(not _is_constant(value, harmless[method]) for value in given):
        return f"asyncio.{method} with a duration"
    return None


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def test_only_the_clock_starts_timers():
    others = [module for module in modules() if module.name not in (*CLOCKS, *OTHER_PROCESSES)]
    assert broken(lambda module: timers_started(module.nodes), others) == []


def test_the_search_sees_the_whole_package():
    found = {module.name: module for module in modules()}
    assert "errors.py" in found
    assert timers_started(found[CLOCKS[0]].nodes) != []


@pytest.mark.parametrize(
    "line",
    [
        "loop.call_later(5, f)",
        "asyncio.get_running_loop().call_later(0, f)",
        "self._loop.call_at(5, f)",
        "asyncio.sleep(1)",
        "asyncio.sleep(seconds)",
        "asyncio.sleep(delay=1)",
        "asyncio.wait_for(f(), 5)",
        "asyncio.wait_for(f(), timeout=seconds)",
        "asyncio.wait(tasks, timeout=1)",
        "asyncio.timeout(3)",
        "asyncio.timeout_at(when)",
        "time.sleep(0.1)",
        "from asyncio import sleep",
        "from asyncio import gather, wait_for",
        "from time import sleep",
    ],
)
def test_what_starts_a_timer_is_found(line):
    assert len(timers_started(ast.walk(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "clock.call_at(due_ms, f)",
        "self.clock.sleep_until(due_ms)",
        "asyncio.sleep(0)",
        "asyncio.wait_for(f(), None)",
        "asyncio.wait_for(f(), timeout=None)",
        "asyncio.wait(tasks)",
        "queue.wait(tasks, timeout=5)",
        "from asyncio import gather",
        "time.monotonic()",
    ],
)
def test_what_starts_no_timer_is_left_alone(line):
    assert timers_started(ast.walk(ast.parse(line))) == []
