"""Rewrites an expression's text so that the library runs it as JSONata 2.0.6 would, and within bounds.

Owns two kinds of edit. Spelling: names that JSONata's lexer accepts and the library's does not. Guards: the library
looks at the clock and at the length of sequences between steps, never inside one built-in, so a built-in that makes
much from little in one go is checked before it runs. Guarded are the width of `$pad`, the product of `$replace`, the
separators of `$join`, every step after the first of a join of sequences (`@`), and, where values can be fed back
(`Facts.loops`), the operands of `&`, the items of `[...]`, the arguments of functions that lengthen strings, and the
size of the result. Results that are large only because the data is large are left to the limits of the process."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from statewright.query.jsonata.analysis import Facts
from statewright.query.jsonata.parser import Node

MAX_SEQUENCE: Final = 500_000
"""The longest sequence an expression may make. Ours; the service's memory limit is not published."""

MAX_STRING: Final = 4_000_000
"""The longest string, in characters, that a guarded operation may take or make. Ours, as above."""

MEMORY_SIGNAL: Final = "statewright: memory"
"""The text of a guard's `$error`, by which `library` recognises it."""

NOTHING: Final = "nothing__"
"""A variable that is never bound: undefined."""

_SAFE_NAME: Final = re.compile(r"[^\W\d]\w*")
_LIBRARY_WORDS: Final = frozenset(("undefined", "function", "λ", "and", "or", "in"))
_SHORT: Final = 64
_LENGTHENING: Final = frozenset(("string", "base64encode", "encodeUrl", "encodeUrlComponent", "uppercase", "lowercase"))
_CONSTRUCTORS: Final = frozenset(("append", "merge", "zip", "spread"))
_PLAIN: Final = frozenset(("string", "number", "value", "regex", "array", "object", "range", "lambda", "negate"))

_FAIL: Final = f'$error("{MEMORY_SIGNAL}")'
_LAMBDAS: Final = {
    "few__": (
        'function($x){($t:=$type($x);$t="string"?($length($x)>' + str(MAX_STRING) + "?" + _FAIL + ":$x)"
        ':$t="array"?($count($x)>' + str(MAX_SEQUENCE) + "?" + _FAIL + ":$x):$x)}"
    ),
    "wide__": (f'function($x){{$type($x)="number"?($x>{MAX_STRING // 4} or $x< -{MAX_STRING // 4}?{_FAIL}:$x):$x}}'),
    "pad__": "function($s,$n,$c)<s-ns?:s>{$pad($s,$wide__($n),$c)}",
    "join__": (
        "function($a,$s)<a<s>s?:s>{$exists($s) and $count($a)*$length($s)>"
        + str(MAX_STRING)
        + "?"
        + _FAIL
        + ":$join($a,$s)}"
    ),
    "replace__": (
        "function($s,$p,$r,$n)<s-(sf)(sf)n?:s>{"
        f'$exists($s) and $type($r)="string"?($l:=$length($s);$k:=$length($r);$d:=$l*$count($split($r,"$"));'
        f'($l+1)*$k+$d<={MAX_STRING} or $p=""?$replace($s,$p,$r,$n):'
        "($c:=$count($split($s,$p));$c:=$exists($n) and $n<$c?$n:$c;"
        f"$c*$k+$d<={MAX_STRING}?$replace($s,$p,$r,$n):{_FAIL}))"
        ":$replace($s,$p,$r,$n)}"
    ),
    "nodes__": (
        'function($v){($t:=$type($v);$t="object"?1+$sum($each($v,$nodes__)):$t="array"?1+$sum($map($v,$nodes__)):1)}'
    ),
    "light__": "function($v){$nodes__($v)>" + str(MAX_SEQUENCE) + "?" + _FAIL + ":$v}",
}
_NEEDS: Final = {"pad__": ("wide__",), "light__": ("nodes__",)}


def rewrite(text: str, tree: Node, facts: Facts) -> tuple[str, str]:
    """The text for the library, and the assignments that must precede it, each ended by `;`."""
    return _Rewriter(text, tree, facts).rewrite()


class _Rewriter:
    def __init__(self, text: str, tree: Node, facts: Facts) -> None:
        self.text = text
        self.tree = tree
        self.facts = facts
        self.edits: list[tuple[int, int, int, int, str]] = []
        self.lambdas: set[str] = set()
        self.applied: set[int] = set()
        self.joins = 0

    def rewrite(self) -> tuple[str, str]:
        for node in self.facts.bare:
            self.replace(node, "$" + NOTHING)
        for node in self.tree.walk():
            handler = _HANDLERS.get(node.kind)
            if handler is not None:
                handler(self, node)
        if self.facts.loops and self.builds_on_itself():
            self.wrap(self.tree, "light__", first=True)
        names = {need for name in self.lambdas for need in _NEEDS.get(name, ())} | self.lambdas
        prelude = "".join(f"${name}:={_LAMBDAS[name]};" for name in _LAMBDAS if name in names)
        return self.apply(), prelude

    # Edits. At one place, closing precedes opening, inner closes before outer, and outer opens before inner.

    def replace(self, node: Node, new: str) -> None:
        self.edits.append((node.start, 1, len(self.edits), node.end, new))

    def surround(self, node: Node, opening: str, closing: str, *, first: bool = False) -> None:
        order = -1 if first else len(self.edits)
        self.edits.append((node.start, 1, order, node.start, opening))
        self.edits.append((node.end, 0, -order, node.end, closing))

    def wrap(self, node: Node, name: str, *, first: bool = False) -> None:
        """Passes the value of `node` through one of the lambdas."""
        self.lambdas.add(name)
        # The newline ends nothing but keeps the closing parenthesis clear of what the node's own text may end with.
        self.surround(node, f"${name}(", ")", first=first)

    def apply(self) -> str:
        parts: list[str] = []
        position = 0
        for start, _, _, end, new in sorted(self.edits):
            parts.append(self.text[position:start])
            parts.append(new)
            position = max(position, end)
        parts.append(self.text[position:])
        return "".join(parts)

    # Conditions of the edits

    def name(self, node: Node) -> None:
        name = str(node.value)
        if not node.quoted and (name in _LIBRARY_WORDS or _SAFE_NAME.fullmatch(name) is None):
            self.replace(node, f"`{name}`")

    def variable(self, node: Node) -> None:
        name = str(node.value)
        if name in ("pad", "join", "replace") and id(node) not in self.applied and name in self.facts.values:
            self.lambdas.add(name + "__")
            self.replace(node, f"${name}__")
        elif name and name != "$" and not _is_plain(name):
            self.replace(node, "$" + mangled(name))

    def binary(self, node: Node) -> None:
        if node.value == "&" and self.facts.loops:
            for operand in node.items:
                if operand.kind not in _PLAIN and not (operand.kind == "binary" and operand.value == "&"):
                    self.wrap(operand, "few__")
        elif node.value == "~>" and node.items[1].kind == "call":
            self.applied.add(id(node.items[1]))

    def array(self, node: Node) -> None:
        if self.facts.loops:
            for item in node.items:
                if item.kind not in _PLAIN:
                    self.wrap(item, "few__")

    def focus(self, node: Node) -> None:
        self.joins += 1
        if self.joins > 1 and node.items[0].kind == "name":
            self.surround(node.items[0], "(", ")")

    def call(self, node: Node) -> None:
        procedure, arguments = node.items[0], node.items[1:]
        name = str(procedure.value)
        if procedure.kind != "variable" or name not in self.facts.calls:
            return
        self.applied.add(id(procedure))
        if name == "pad":
            for argument in arguments:
                if not _is_small(argument) and argument.kind not in ("string", "placeholder"):
                    self.wrap(argument, "wide__")
        elif name == "join":
            if len(arguments) > 1 and not _is_small(arguments[1]):
                self.lambdas.add("join__")
                self.replace(procedure, "$join__")
        elif name == "replace":
            self.guard_replace(node, procedure, arguments)
        elif name in _LENGTHENING and self.facts.loops:
            for argument in arguments:
                if argument.kind not in _PLAIN and argument.kind != "placeholder":
                    self.wrap(argument, "few__")

    def guard_replace(self, node: Node, procedure: Node, arguments: tuple[Node, ...]) -> None:
        applied = id(node) in self.applied
        given = len(arguments) + applied
        with_context = given == 2 or (given == 3 and not applied and arguments[2].kind == "number")
        position = (1 if with_context else 2) - applied
        if not 0 <= position < len(arguments) or (_is_small(arguments[position]) and not self.facts.loops):
            return
        self.lambdas.add("replace__")
        self.replace(procedure, "$replace__")
        if with_context:
            # A lambda would take the context of its definition; the built-in takes that of the call.
            self.edits.append((arguments[0].start, 1, len(self.edits), arguments[0].start, "$,"))

    def builds_on_itself(self) -> bool:
        """True if some lambda makes arrays or objects and reads one of its names twice."""
        for function in self.tree.walk():
            if function.kind != "lambda":
                continue
            seen: set[object] = set()
            twice = builds = False
            for node in function.items[-1].walk():
                if node.kind == "variable" and node.value not in self.facts.calls:
                    twice = twice or node.value in seen
                    seen.add(node.value)
                builds = builds or node.kind in ("array", "object", "group") or node.value in _CONSTRUCTORS
            if twice and builds:
                return True
        return False


_HANDLERS: Final[dict[str, Callable[[_Rewriter, Node], None]]] = {
    "name": _Rewriter.name,
    "variable": _Rewriter.variable,
    "binary": _Rewriter.binary,
    "array": _Rewriter.array,
    "focus": _Rewriter.focus,
    "call": _Rewriter.call,
}


def mangled(name: str) -> str:
    """A variable's name in the library's spelling."""
    return name if _is_plain(name) else "v_" + name.encode("utf-8", "surrogatepass").hex()


def _is_plain(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").isalnum()


def _is_small(node: Node) -> bool:
    """A literal too small to be harmful: a short string, or a number that is a modest width."""
    if node.kind == "string":
        return len(str(node.value)) <= _SHORT
    return node.kind == "number" and isinstance(node.value, float) and abs(node.value) <= 100_000
