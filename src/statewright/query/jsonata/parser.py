"""Parses JSONata 2.0.6 text into a tree of `Node`s, with the language's own syntax errors.

Owns the grammar (a Pratt parser), the checks that need only the shape of the tree, and the spans of nodes. Leaves the
meaning of names to `analysis`, and evaluation to `closures` (from the tree) and `library` (from the text).
Source: behaviour of the JSONata 2.0.6 parser. `?:` and `??` came later and are syntax errors here, as they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from statewright.query.jsonata.errors import JsonataSyntaxError
from statewright.query.jsonata.lexer import BINDING_POWER, END, Lexer, Token

MAX_NESTING: Final = 120
"""Deepest nesting of open expressions. Ours: it keeps the parser's own recursion small."""

MAX_DEPTH: Final = 900
"""Greatest depth of the tree, also through long chains such as `a & b & ...`. The library stops some chains at 500."""

_BINARY: Final = frozenset(
    ("+", "-", "*", "/", "%", "=", "<", ">", "!=", "<=", ">=", "&", "and", "or", "in", "~>", ".")
)
_WORDS: Final = frozenset(("and", "or", "in"))
_LITERALS: Final = frozenset(("number", "value"))
_LAMBDA: Final = frozenset(("function", "λ"))


class Node:
    """One node of the tree.

    `kind` is one of: name, variable, string, number, value, regex, wildcard, descendant, parent, end, placeholder;
    block, array, object, group, negate, binary, range, filter, keep, order, bind, focus, index, condition, call,
    lambda, transform. `value` is the literal, the name or the operator. `items` are the children in the order of the
    text: an object alternates keys and values; a group has its subject before those; a call has its procedure first;
    a lambda has its parameters first and its body last. `start` and `end` delimit the node's text.
    """

    __slots__ = ("depth", "end", "items", "kind", "quoted", "start", "value")

    def __init__(self, kind: str, value: object, items: tuple[Node, ...], start: int, end: int) -> None:
        self.kind = kind
        self.value = value
        self.items = items
        self.start = start
        self.end = end
        self.quoted = False
        self.depth: int = 1 + max((item.depth for item in items), default=0)
        if self.depth > MAX_DEPTH:
            raise JsonataSyntaxError("S0500", start)

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, in the order of the text, without recursion."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.items))


def parse(text: str) -> Node:
    """The tree of `text`. Raises: JsonataSyntaxError."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.lexer = Lexer(text)
        self.token = Token("end", END, 0, 0)
        self.last_end = 0
        self.nesting = 0

    def parse(self) -> Node:
        self.advance()
        tree = self.expression(0)
        if self.token.kind != "end":
            raise JsonataSyntaxError("S0201", self.token.start, token=self.token.value)
        _check(tree)
        return tree

    def advance(self, expected: str | None = None, *, after_operand: bool = False) -> None:
        """Check that the current token is `expected`, and move to the next one."""
        token = self.token
        if expected is not None and not self.at(expected):
            code = "S0203" if token.kind == "end" else "S0202"
            raise JsonataSyntaxError(code, token.start, token=token.value, value=expected)
        self.last_end = token.end
        self.token = self.lexer.next(after_operand=after_operand)
        if self.token.kind == "operator" and self.token.value in ("!", "~"):
            raise JsonataSyntaxError("S0204", self.token.start, token=self.token.value)

    def at(self, operator: str) -> bool:
        return self.token.kind == "operator" and self.token.value == operator

    def expression(self, power: int) -> Node:
        """The expression that starts at the current token, up to an operator that binds no tighter than `power`."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise JsonataSyntaxError("S0500", self.token.start)
        token = self.token
        self.advance(after_operand=True)
        left = self.prefix(token)
        while self.token.kind == "operator" and power < BINDING_POWER[str(self.token.value)]:
            token = self.token
            self.advance()
            left = self.infix(token, left)
        self.nesting -= 1
        return left

    def node(self, kind: str, value: object, items: tuple[Node, ...], start: int) -> Node:
        return Node(kind, value, items, start, self.last_end)

    def prefix(self, token: Token) -> Node:
        if token.kind != "operator":
            node = Node(token.kind, token.value, (), token.start, token.end)
            node.quoted = token.quoted
            return node
        operator = str(token.value)
        if operator in _WORDS:
            return Node("name", operator, (), token.start, token.end)
        handler = _PREFIX.get(operator)
        if handler is None:
            raise JsonataSyntaxError("S0211", token.start, token=operator)
        return handler(self, token)

    def infix(self, token: Token, left: Node) -> Node:
        operator = str(token.value)
        if operator in _BINARY:
            right = self.expression(BINDING_POWER[operator])
            return self.node("binary", operator, (left, right), left.start)
        return _INFIX[operator](self, left)

    def separated(self, close: str, element: Callable[[], tuple[Node, ...]]) -> tuple[Node, ...]:
        """Elements between commas; leaves `close` to the caller."""
        items: list[Node] = []
        if not self.at(close):
            items.extend(element())
            while self.at(","):
                self.advance(",")
                items.extend(element())
        return tuple(items)

    # Prefix forms

    def star(self, token: Token) -> Node:
        kind = {"*": "wildcard", "**": "descendant", "%": "parent"}[str(token.value)]
        return Node(kind, token.value, (), token.start, token.end)

    def negate(self, token: Token) -> Node:
        operand = self.expression(70)
        if operand.kind == "number" and isinstance(operand.value, float):
            return self.node("number", -operand.value, (), token.start)
        return self.node("negate", "-", (operand,), token.start)

    def block(self, token: Token) -> Node:
        items: list[Node] = []
        while not self.at(")"):
            items.append(self.expression(0))
            if not self.at(";"):
                break
            self.advance(";")
        self.advance(")", after_operand=True)
        return self.node("block", None, tuple(items), token.start)

    def array(self, token: Token) -> Node:
        items = self.separated("]", self.array_item)
        self.advance("]", after_operand=True)
        return self.node("array", None, items, token.start)

    def array_item(self) -> tuple[Node, ...]:
        item = self.expression(0)
        if self.at(".."):
            self.advance("..")
            last = self.expression(0)
            item = self.node("range", "..", (item, last), item.start)
        return (item,)

    def object(self, token: Token) -> Node:
        items = self.separated("}", self.pair)
        self.advance("}", after_operand=True)
        return self.node("object", None, items, token.start)

    def pair(self) -> tuple[Node, ...]:
        key = self.expression(0)
        self.advance(":")
        return (key, self.expression(0))

    def transform(self, token: Token) -> Node:
        items = [self.expression(0)]
        self.advance("|")
        items.append(self.expression(0))
        if self.at(","):
            self.advance(",")
            items.append(self.expression(0))
        self.advance("|")
        return self.node("transform", None, tuple(items), token.start)

    # Infix forms

    def group(self, left: Node) -> Node:
        items = self.separated("}", self.pair)
        self.advance("}", after_operand=True)
        return self.node("group", None, (left, *items), left.start)

    def filter(self, left: Node) -> Node:
        if self.at("]"):
            self.advance("]")
            return self.node("keep", None, (left,), left.start)
        predicate = self.expression(0)
        self.advance("]", after_operand=True)
        return self.node("filter", None, (left, predicate), left.start)

    def order(self, left: Node) -> Node:
        self.advance("(")
        terms = self.separated("", self.term)
        self.advance(")")
        return self.node("order", None, (left, *terms), left.start)

    def term(self) -> tuple[Node, ...]:
        if self.at("<"):
            self.advance("<")
        elif self.at(">"):
            self.advance(">")
        return (self.expression(0),)

    def bind(self, left: Node) -> Node:
        if left.kind != "variable":
            raise JsonataSyntaxError("S0212", left.start)
        value = self.expression(BINDING_POWER[":="] - 1)
        return self.node("bind", left.value, (left, value), left.start)

    def focus(self, left: Node) -> Node:
        return self.tuple_variable("focus", "@", left)

    def index(self, left: Node) -> Node:
        return self.tuple_variable("index", "#", left)

    def tuple_variable(self, kind: str, operator: str, left: Node) -> Node:
        variable = self.expression(BINDING_POWER[operator])
        if variable.kind != "variable":
            raise JsonataSyntaxError("S0214", variable.start, token=operator)
        return self.node(kind, variable.value, (left, variable), left.start)

    def condition(self, left: Node) -> Node:
        items = [left, self.expression(0)]
        if self.at(":"):
            self.advance(":")
            items.append(self.expression(0))
        return self.node("condition", None, tuple(items), left.start)

    def call(self, left: Node) -> Node:
        arguments = self.separated(")", self.argument)
        self.advance(")", after_operand=True)
        if left.kind != "name" or left.value not in _LAMBDA:
            return self.node("call", None, (left, *arguments), left.start)
        for position, argument in enumerate(arguments, 1):
            if argument.kind != "variable":
                raise JsonataSyntaxError("S0208", argument.start, value=position)
        if self.at("<"):
            self.signature()
        self.advance("{")
        body = self.expression(0)
        self.advance("}")
        return self.node("lambda", None, (*arguments, body), left.start)

    def argument(self) -> tuple[Node, ...]:
        if self.at("?"):
            token = self.token
            self.advance("?")
            return (Node("placeholder", "?", (), token.start, token.end),)
        return (self.expression(0),)

    def signature(self) -> None:
        start = self.token.start
        depth, text = 1, ""
        while depth > 0 and not self.at("{") and self.token.kind != "end":
            self.advance()
            if self.at(">"):
                depth -= 1
            elif self.at("<"):
                depth += 1
            text += str(self.token.value)
        self.advance(">")
        _check_signature(text, start)


_PREFIX: Final[dict[str, Callable[[_Parser, Token], Node]]] = {
    "*": _Parser.star,
    "**": _Parser.star,
    "%": _Parser.star,
    "-": _Parser.negate,
    "(": _Parser.block,
    "[": _Parser.array,
    "{": _Parser.object,
    "|": _Parser.transform,
}

_INFIX: Final[dict[str, Callable[[_Parser, Node], Node]]] = {
    "{": _Parser.group,
    "[": _Parser.filter,
    "^": _Parser.order,
    ":=": _Parser.bind,
    "@": _Parser.focus,
    "#": _Parser.index,
    "?": _Parser.condition,
    "(": _Parser.call,
}


def step_of(node: Node) -> Node:
    """The last step of a path, without the predicates and bindings that follow it."""
    while node.kind in ("filter", "keep", "focus", "index", "group", "order") or _is_path(node):
        node = node.items[1] if _is_path(node) else node.items[0]
    return node


def _is_path(node: Node) -> bool:
    return node.kind == "binary" and node.value == "."


def _check(tree: Node) -> None:
    """Refuse trees that only the grammar allows. Raises: JsonataSyntaxError."""
    pending, order = [tree], []
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(node.items)
    for node in reversed(order):  # children first, in the reference's order
        if node.kind == "end":
            raise JsonataSyntaxError("S0207", node.start, token=END)
        if _is_path(node):
            for side in node.items:
                _check_step(side)
        elif node.kind == "filter" and node.items[0].kind == "group":
            raise JsonataSyntaxError("S0209", node.start)
        elif node.kind == "group" and node.items[0].kind == "group":
            raise JsonataSyntaxError("S0210", node.start)
        elif node.kind == "focus":
            _check_focus(node.items[0])


def _check_step(side: Node) -> None:
    step = side
    while step.kind in ("filter", "keep", "focus", "index"):
        step = step.items[0]
    if step.kind in _LITERALS:
        raise JsonataSyntaxError("S0213", step.start, value=step.value)


def _check_focus(left: Node) -> None:
    while left.kind == "keep" or _is_path(left):
        left = left.items[0] if left.kind == "keep" else left.items[1]
    if left.kind == "filter":
        raise JsonataSyntaxError("S0215", left.start)
    if left.kind == "order":
        raise JsonataSyntaxError("S0216", left.start)


def _check_signature(text: str, start: int) -> None:
    """A lambda's signature, without its opening `<`. Raises: JsonataSyntaxError."""
    previous = ""
    position = 0
    while position < len(text) and text[position] not in ":>":
        symbol = text[position]
        if symbol == "(":
            close = text.find(")", position)
            close = len(text) if close < 0 else close
            if "<" in text[position:close]:
                raise JsonataSyntaxError("S0402", start + position + 1)
            previous, position = "(", close
        elif symbol == "<":
            if previous not in ("a", "f"):
                raise JsonataSyntaxError("S0401", start + position + 1)
            depth = 1
            while depth and position + 1 < len(text):
                position += 1
                depth += {"<": 1, ">": -1}.get(text[position], 0)
        elif symbol in "snblojaxf":
            previous = symbol
        position += 1
