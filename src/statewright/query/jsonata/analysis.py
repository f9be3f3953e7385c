"""Static facts about a JSONata tree: the names it reads, and its parts that the service does not accept.

Owns the scoping rules, the service's static rules, and the facts that `library` and `guards` ask for. It never
evaluates, and it walks with its own stack, so that a deep tree costs memory, not recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.query.jsonata.parser import Node, step_of

STATES_FIELDS: Final = frozenset(("input", "result", "context", "errorOutput"))

_BUILT_INS: Final = (
    "sum count max min average string substring substringBefore substringAfter lowercase uppercase length trim pad"
    " match contains replace split join formatNumber formatBase formatInteger parseInteger number floor ceil round abs"
    " sqrt power random boolean not map zip filter single reduce sift keys lookup append exists spread merge reverse"
    " each error assert type sort shuffle distinct base64encode base64decode encodeUrlComponent encodeUrl"
    " decodeUrlComponent decodeUrl toMillis fromMillis clone now millis"
)
BUILT_INS: Final = frozenset(_BUILT_INS.split())
"""The functions of JSONata 2.0.6 but for `$eval`, which the service does not have."""

ADDED: Final = frozenset(("partition", "range", "hash", "uuid", "parse"))
"""Functions that the service adds. JSONata has `$random` already; the service's takes a seed."""

HIGHER_ORDER: Final = frozenset(("map", "filter", "sift", "each", "sort", "single", "replace"))
"""Built-ins that call a function once for each item, without passing on earlier results."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Static facts about one expression.

    `variables` are the workflow variables it reads. `free` adds the names of functions and of its own assignments:
    every name that could be a variable of the workflow. `bare` are the uses of `$` outside any path. `has_functions`: a
    function may occur as a value. `loops`: a value can return to the code that made it, so that it may double
    repeatedly. `crosses`: it reads outside data once for each item of other data, so that its result may be as large as
    their product. `holds_functions`: a function may end up inside the result. `calls` and `values` are the free names
    that are called and those that are used otherwise.
    """

    variables: frozenset[str]
    free: frozenset[str]
    calls: frozenset[str]
    values: frozenset[str]
    states_fields: frozenset[str]
    problems: tuple[str, ...]
    bare: tuple[Node, ...]
    has_functions: bool
    holds_functions: bool
    loops: bool
    crosses: bool


def analyse(tree: Node) -> Facts:
    """The facts of a parsed expression."""
    walker = _Walker(tree)
    walker.run(tree)
    free = walker.calls | walker.values
    known = BUILT_INS | ADDED
    return Facts(
        variables=frozenset(walker.values - known - {"eval"}),
        free=frozenset(free | walker.assigned),
        calls=frozenset(walker.calls),
        values=frozenset(walker.values),
        states_fields=frozenset(walker.fields),
        problems=tuple(dict.fromkeys(walker.problems)),
        bare=tuple(walker.bare),
        has_functions=walker.has_functions or not known.isdisjoint(walker.values),
        holds_functions=walker.holds_functions,
        loops=walker.loops,
        crosses=walker.crosses,
    )


@dataclass(slots=True)
class _Frame:
    """Names bound in one block or lambda. `is_lambda` marks a body that may run later."""

    is_lambda: bool
    names: set[str] = field(default_factory=set)


_BIND, _CLOSE = "bind", "close"
_Action = tuple[Node, bool] | tuple[str, str]
"""Either a node to visit, with True if its `$` is an item of data, or an action on the frames."""


class _Walker:
    def __init__(self, tree: Node) -> None:
        self.assigned = {str(node.value) for node in tree.walk() if node.kind == "bind"}
        self.frames = [_Frame(is_lambda=False)]
        self.pending: list[_Action] = []
        self.calls: set[str] = set()
        self.values: set[str] = set()
        self.fields: set[str] = set()
        self.problems: list[str] = []
        self.bare: list[Node] = []
        self.has_functions = False
        self.holds_functions = False
        self.crosses = False
        self.loops = sum(node.kind == "bind" for node in tree.walk()) >= 8

    def run(self, tree: Node) -> None:
        self.pending = [(tree, False)]
        while self.pending:
            first, second = self.pending.pop()
            if isinstance(first, Node):
                self.visit(first, bool(second))
            elif first == _BIND:
                self.frames[-1].names.add(str(second))
            else:
                self.frames.pop()

    def push(self, *actions: _Action) -> None:
        """Schedule these next, in this order."""
        self.pending.extend(reversed(actions))

    def visit(self, node: Node, inner: bool) -> None:
        kind, items = node.kind, node.items
        if kind == "variable":
            self.read(str(node.value), node, inner)
        elif kind in ("name", "wildcard", "descendant", "parent"):
            self.top_level(str(node.value), inner)
        elif kind == "binary" and node.value == ".":
            self.path(node, inner)
        elif kind in ("filter", "group", "order"):
            self.push((items[0], inner), *((item, True) for item in items[1:]))
        elif kind == "transform":
            self.has_functions = True
            self.push(*((item, True) for item in items))
        elif kind == "bind":
            self.loops = self.loops or items[1].kind == "lambda"
            self.push((items[1], inner), (_BIND, str(node.value)))
        elif kind in ("focus", "index"):
            self.push((items[0], inner), (_BIND, str(node.value)))
        elif kind == "block":
            self.frames.append(_Frame(is_lambda=False))
            self.push(*((item, inner) for item in items), (_CLOSE, ""))
        elif kind == "lambda":
            self.has_functions = True
            self.frames.append(_Frame(True, {str(item.value) for item in items[:-1]}))
            self.push((items[-1], inner), (_CLOSE, ""))
        elif kind == "call":
            self.call(node, inner)
        else:
            if kind in ("array", "object", "condition"):
                self.holds_functions = self.holds_functions or any(_may_be_function(item) for item in items)
            self.has_functions = self.has_functions or kind in ("regex", "placeholder") or node.value == "~>"
            self.push(*((item, inner) for item in items))

    def top_level(self, name: str, inner: bool) -> None:
        if not inner:
            self.problems.append(f"Reference to '{name}' at the top level is not supported.")

    def path(self, node: Node, inner: bool) -> None:
        first, second = node.items
        step = step_of(second)
        if first.kind == "variable" and first.value == "states" and step.kind in ("name", "string"):
            self.field(str(step.value))
            self.crosses = self.crosses or self.repeats(inner)
            self.push((second, True))
            return
        literal = first.items[0] if first.kind == "filter" else first
        if literal.kind == "string":
            self.top_level(str(literal.value), inner)
        self.push((first, inner), (second, True))

    def field(self, name: str) -> None:
        if name in STATES_FIELDS:
            self.fields.add(name)
        else:
            self.problems.append(f"Field '$states.{name}' does not exist.")

    def call(self, node: Node, inner: bool) -> None:
        procedure, arguments = node.items[0], node.items[1:]
        name = str(procedure.value)
        if procedure.kind == "variable" and name in BUILT_INS | ADDED and not self.is_local(name):
            self.calls.add(name)
            if name == "reduce" or (
                name not in HIGHER_ORDER and any(argument.kind == "lambda" for argument in arguments)
            ):
                self.loops = True
        else:
            self.has_functions = True
            self.loops = True
            if procedure.kind == "variable" and name not in ("", "$", "states") and not self.is_local(name):
                self.unknown_function(name)
            else:
                self.push((procedure, inner))
        self.push(*((argument, inner) for argument in arguments))

    def unknown_function(self, name: str) -> None:
        """Fails when it is called; a workflow variable cannot hold a function."""
        self.calls.add(name)
        if name == "eval":
            self.problems.append("Reference to '$eval' is not supported.")

    def read(self, name: str, node: Node, inner: bool) -> None:
        if name == "$":
            self.problems.append("Reference to '$$' is not supported.")
        elif name == "":
            if not inner:
                self.bare.append(node)
        elif self.is_local(name):
            return
        elif name == "states":
            self.crosses = self.crosses or self.repeats(inner)
            self.fields.update(STATES_FIELDS)
        else:
            if name == "eval":
                self.problems.append("Reference to '$eval' is not supported.")
            self.crosses = self.crosses or (self.repeats(inner) and name not in BUILT_INS)
            self.values.add(name)

    def repeats(self, inner: bool) -> bool:
        """True if the visited code may run more than once."""
        return inner or any(frame.is_lambda for frame in self.frames)

    def is_local(self, name: str) -> bool:
        """True if the expression itself binds the name where it is read.

        A lambda's body runs later, and so sees assignments that follow it in the text; recursion needs that.
        """
        in_lambda = False
        for frame in reversed(self.frames):
            if name in frame.names:
                return True
            in_lambda = in_lambda or frame.is_lambda
        return in_lambda and name in self.assigned


def _may_be_function(node: Node) -> bool:
    """True if the node is a function itself: a lambda, or a built-in's name."""
    return node.kind in ("lambda", "regex", "transform") or (node.kind == "variable" and node.value in BUILT_INS)
