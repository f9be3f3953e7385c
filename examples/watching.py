"""Nodes of a cluster, watched from outside: which of them answer, the work of each, and whether calls are answered.

Used by `cluster_demo.py`. Asks as a load balancer and a monitor do: `GET /health` and `GET /metrics` of each node.
"""

from __future__ import annotations

import http.client
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from tests.crash.pairs import Node, answer_of

HEALTH_SECONDS = 2.0
"""A node that has not answered for so long gets no calls until it does."""
BETWEEN_LOOKS_SECONDS = 0.5
BETWEEN_CALLS_SECONDS = 0.1
CALLERS = 64
"""Calls under way at the most: each may wait for as long as a frozen node is trusted."""
_STEPS = re.compile(r"^statewright_transitions\S* (\S+)$", re.MULTILINE)


class Watched:
    """One node, as it is seen from outside."""

    def __init__(self, name: str, node: Node) -> None:
        self.name = name
        self.node = node
        self.is_ready = False
        self._counted = self._before = 0

    @property
    def steps(self) -> int:
        """The transitions of executions so far, as its metrics said at the last look."""
        return self._before + self._counted

    @property
    def state(self) -> str:
        """A remark for the line of progress: empty while the node is ready."""
        if self.node.process.poll() is not None:
            return " (gone)"
        return "" if self.is_ready else " (not ready)"

    def look(self) -> None:
        """Ask for its health and its metrics."""
        health = page(self.node, "/health")
        self.is_ready = health is not None
        found = _STEPS.search(page(self.node, "/metrics") or "") if health is not None else None
        if found is not None:
            count = int(float(found[1]))
            if count < self._counted:
                # It has lost the home, and begun anew as another image of its process.
                self._before += self._counted
            self._counted = count


def page(node: Node, path: str) -> str | None:
    """A page of a node; None without an answer of 200 in time."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return text if answer.status == 200 else None


class Watching:
    """Looks at every node for the time of a `with`."""

    def __init__(self) -> None:
        self.nodes: dict[str, Watched] = {}
        self._turns = itertools.count()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, name: str, node: Node) -> Watched:
        """Watch one more node, which serves."""
        one = self.nodes[name] = Watched(name, node)
        one.look()
        self._threads.append(threading.Thread(target=self._watch, args=(one,), daemon=True))
        self._threads[-1].start()
        return one

    def _watch(self, one: Watched) -> None:
        while one.node.process.poll() is None and not self._over.wait(BETWEEN_LOOKS_SECONDS):
            one.look()
        one.is_ready = False

    def living(self) -> list[Node]:
        """The nodes that answer, beginning with another one each time."""
        found = [one.node for one in list(self.nodes.values()) if one.is_ready]
        first = next(self._turns) % max(len(found), 1)
        return found[first:] + found[:first]

    def look(self) -> None:
        """Look at those that live once more, now."""
        for one in self.nodes.values():
            if one.node.process.poll() is None:
                one.look()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


class Asking:
    """Makes one call after another, each at the next living node, without waiting for answers to those before it."""

    def __init__(self, watching: Watching, question: Callable[[Callable[..., Any]], None]) -> None:
        """`question` makes one call with the function that it is given; that returns None if there is no answer."""
        self._watching = watching
        self._question = question
        self.answered: list[float] = []
        """When each answer came."""
        self.problems: list[BaseException] = []
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(CALLERS)
        self._free = threading.Semaphore(CALLERS)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Asking:
        self.answered.append(time.monotonic())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.answered.append(time.monotonic())
        self._pool.shutdown()

    def _run(self) -> None:
        while not self._over.wait(BETWEEN_CALLS_SECONDS):
            if self._free.acquire(blocking=False):
                self._pool.submit(self._ask)

    def _ask(self) -> None:
        try:
            self._question(self._call)
        except BaseException as problem:
            self.problems.append(problem)
        finally:
            self._free.release()

    def _call(self, target: str, **members: Any) -> Any:
        for node in self._watching.living()[:1]:
            found = answer_of(node, target, members)
            if found is not None:
                self.answered.append(time.monotonic())
            return found
        return None


def longest_gap(instants: Iterable[float]) -> float:
    """The longest time between one instant and the next."""
    ordered: Sequence[float] = sorted(instants)
    return max((after - before for before, after in pairwise(ordered)), default=0.0)
