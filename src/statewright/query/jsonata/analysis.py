"""Static facts about a JSONata tree: the names it reads, and its parts that the service does not accept.

Owns the scoping rules, the service's static rules, and the facts that `library` and `guards` ask for. It never
evaluates, and it walks with its own stack, so that a deep tree costs memory, not recursion.
"""

from __future__ import annotations

import re
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

PICTURES: Final = frozenset(("formatNumber", "formatInteger", "parseInteger", "fromMillis", "toMillis"))
"""Built-ins whose cost depends on a picture: quadratic in its length, or in a number inside it."""
_LONGEST_PICTURE: Final = 200
_BIG_NUMBER: Final = re.compile(r"\d{6}")
_COUNTED_OUT: Final = frozenset("AaIi")
"""Letters and Roman numerals: formatting a number takes time in proportion to the number."""
_MANY_JOINS: Final = 16
_SMALL_NUMBER: Final = 1_000
_COSTLY: Final = frozenset(("parent", "transform", "regex", "focus"))
"""Nodes that the library evaluates in more than linear time, inside one step, which it does not interrupt."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Static facts about one expression.

    `variables` are the workflow variables it reads. `free` adds the names of functions and of its own assignments:
    every name that could be a variable of the workflow. `bare` are the uses of `$` outside any path. `has_functions`: a
    function may occur as a value. `loops`: a value can return to the code that made it, so that it may double
    repeatedly. `crosses`: it reads outside data once for each item of other data, so that its result may be as large as
    their product. `costly`: it uses what the library evaluates out of proportion to the data. `unbounded`: it takes
    long for any data, because it computes a picture, or makes data itself for what is costly.
    `holds_functions`: a function may end up inside the result. `calls` and `values` are the free names that are called
    and those that are used otherwise.
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
    costly: bool
    unbounded: bool


def analyse(tree: Node) -> Facts:
    """The facts of a parsed expression."""
    walker = _Walker(tree)
    walker.run(tree)
    free = walker.calls | walker.values
    known = BUILT_INS | ADDED
    costs = _costs(tree)
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
        costly=costs.costly,
        unbounded=costs.unbounded or (costs.costly and costs.generates),
    )


@dataclass(slots=True)
class _Costs:
    costly: bool = False
    unbounded: bool = False
    generates: bool = False


def _costs(tree: Node) -> _Costs:
    """The parts that the library would need much time for, and those that make data of their own."""
    costs = _Costs()
    joins = descents = 0
    for node in tree.walk():
        kind = node.kind
        costs.costly = costs.costly or kind in _COSTLY
        joins += kind == "binary" and node.value == "&"
        descents += kind == "descendant"
        if kind == "range":
            costs.generates = costs.generates or not all(_is_small_number(item) for item in node.items)
        elif kind == "variable":
            # As a value, or applied to what it is not written with, a built-in takes any argument.
            name = str(node.value)
            costs.costly = costs.costly or name == "keys"
            costs.generates = costs.generates or name == "range"
            costs.unbounded = costs.unbounded or name in PICTURES
    for call in tree.walk():
        if call.kind == "call" and call.items[0].kind == "variable":
            costs.generates = costs.generates or (
                call.items[0].value == "pad" and not any(_is_small_number(item) for item in call.items[1:])
            )
    costs.costly = costs.costly or descents > 1 or joins > _MANY_JOINS
    costs.unbounded = costs.unbounded and not _pictures_are_plain(tree)
    return costs


def _is_small_number(node: Node) -> bool:
    negative = node.items[0] if node.kind == "negate" else node
    return negative.kind == "number" and isinstance(negative.value, float) and abs(negative.value) <= _SMALL_NUMBER


def _pictures_are_plain(tree: Node) -> bool:
    """True if every built-in that takes a picture is called, and with a short literal one or none."""
    procedures = [node.items[0] for node in tree.walk() if node.kind == "call"]
    called = {id(procedure) for procedure in procedures}
    if any(node.kind == "variable" and node.value in PICTURES and id(node) not in called for node in tree.walk()):
        return False
    return all(
        _is_plain_picture(str(node.items[0].value), node.items[1:])
        for node in tree.walk()
        if node.kind == "call" and node.items[0].kind == "variable" and node.items[0].value in PICTURES
    )


def _is_plain_picture(function: str, arguments: tuple[Node, ...]) -> bool:
    """The picture is the second argument, or the first where `~>` or the context gives the number."""
    first, *others = arguments or (None,)
    if first is not None and first.kind == "string":
        picture: Node | None = first
        # `$toMillis("2024", picture)`: then both are strings.
        others = [other for other in others if other.kind != "object"]
        if others:
            picture = others[0]
    else:
        picture = others[0] if others else None
    if picture is None:
        return first is None or function in ("fromMillis", "toMillis")
    text = picture.value
    if picture.kind != "string" or not isinstance(text, str) or len(text) > _LONGEST_PICTURE:
        return False
    if function == "formatInteger" and not _COUNTED_OUT.isdisjoint(text):
        return False
    return _BIG_NUMBER.search(text) is None


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
