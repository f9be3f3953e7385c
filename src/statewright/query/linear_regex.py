"""Regular expressions whose matching time is linear in the text: for `=~` in JSONPath, and for mapping templates.

A filter's pattern comes from the author of the definition and its text from the caller who starts the execution, so a
backtracking engine (Python's `re`, Java's `java.util.regex`) can be made to hang. Here a pattern becomes a
nondeterministic automaton whose subset construction is done lazily and remembered; no text makes it backtrack.

The syntax is the regular part of Java's: literals, `.`, classes, `\\d \\w \\s` and their negations (ASCII, as in Java),
groups, `|`, `* + ? {m,n}` greedy or lazy (the same thing when the whole text must match), `^` and `$`. A search finds
the match that Java's engine finds: threads of the automaton advance together, in the order of its preferences.
Back-references, lookaround, possessive quantifiers, `\\b` and `\\p{..}` are refused with a message that says so.
Sizes are bounded: `MAX_NODES` automaton nodes and `MAX_DEPTH` nested groups; the caller bounds the work on one text.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Final, NoReturn

MAX_NODES: Final = 2_000
MAX_DEPTH: Final = 30
MAX_REPEAT: Final = 1_000
MAX_REMEMBERED: Final = 20_000
"""Transitions that one pattern caches before it discards them all."""

CharTest = Callable[[str], bool]

_LINE_ENDS: Final = frozenset("\n\r\u0085\u2028\u2029")
_DIGITS: Final = frozenset(string.digits)
_WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
_SPACE: Final = frozenset(" \t\n\x0b\f\r")
_SHORTHANDS: Final[dict[str, tuple[frozenset[str], bool]]] = {
    "d": (_DIGITS, True),
    "D": (_DIGITS, False),
    "w": (_WORD, True),
    "W": (_WORD, False),
    "s": (_SPACE, True),
    "S": (_SPACE, False),
}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


class RegexSyntaxError(ValueError):
    """A pattern that is malformed, too large or not regular. `position` counts from 0 in the pattern."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at position {position}")
        self.message = message
        self.position = position


class LinearRegex:
    """A compiled pattern. Safe to share between threads: its cache is only added to or replaced."""

    __slots__ = ("_entry", "_nodes", "_remembered", "_start", "_states", "pattern")

    def __init__(self, pattern: str, nodes: list[_Node], entry: int) -> None:
        self.pattern = pattern
        self._nodes = nodes
        self._entry = entry
        self._states: dict[frozenset[int], _State] = {}
        self._remembered = 0
        members = self._reach([entry], at_start=True)
        self._start = _State(members, self._accepts(members, at_start=True))

    def fullmatch(self, text: str, spend: Callable[[int], None] = lambda _: None) -> bool:
        """True if the whole text matches.

        `spend` is called with the cost: automaton nodes visited for each step not yet remembered, and a sixteenth for
        each character. It may raise to stop.
        """
        spend(1 + len(text) // 16)
        state = self._start
        for char in text:
            following = state.next.get(char)
            if following is None:
                following = self._advance(state, char)
                spend(len(state.members) + 2 * len(following.members) + 1)
            if not following.members:
                return False
            state = following
        return state.accepts

    def find(self, text: str, start: int = 0, spend: Callable[[int], None] = lambda _: None) -> tuple[int, int] | None:
        """The first match from `start` on, as its start and end; of several there, the one that Java prefers.

        `spend` is called with the nodes visited for each character. It may raise to stop.
        """
        threads: list[tuple[int, int]] = []
        found: tuple[int, int] | None = None
        for position in range(start, len(text) + 1):
            seen = {index for index, _ in threads}
            if found is None:
                self._follow(threads, seen, self._entry, position, position == 0, position == len(text))
            spend(1 + len(seen))
            following: list[tuple[int, int]] = []
            reached: set[int] = set()
            for index, begun in threads:
                node = self._nodes[index]
                if node.test is None:
                    # What follows in the list is preferred less, and begins no earlier.
                    found = (begun, position)
                    break
                if position < len(text) and node.test(text[position]):
                    at_end = position + 1 == len(text)
                    self._follow(following, reached, node.first, begun, at_start=False, at_end=at_end)
            threads = following
            if not threads and found is not None:
                break
        return found

    def _follow(
        self, threads: list[tuple[int, int]], seen: set[int], entry: int, begun: int, at_start: bool, at_end: bool
    ) -> None:
        """Add the nodes that read a character or accept, reached without one, in the order of preference."""
        stack = [entry]
        while stack:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            node = self._nodes[index]
            if node.kind == "split":
                stack.append(node.second)
                stack.append(node.first)
            elif node.kind in ("start", "end"):
                if at_start if node.kind == "start" else at_end:
                    stack.append(node.first)
            else:
                threads.append((index, begun))

    def _advance(self, state: _State, char: str) -> _State:
        targets = []
        for index in state.members:
            node = self._nodes[index]
            if node.test is not None and node.test(char):
                targets.append(node.first)
        members = self._reach(targets, at_start=False)
        if self._remembered >= MAX_REMEMBERED:
            self._states = {}
            self._remembered = 0
            self._start = _State(self._start.members, self._start.accepts)
        following = self._states.get(members)
        if following is None:
            following = self._states[members] = _State(members, self._accepts(members, at_start=False))
        state.next[char] = following
        self._remembered += 1
        return following

    def _reach(self, entries: list[int], *, at_start: bool, at_end: bool = False) -> frozenset[int]:
        """The nodes in which a match can be: those that read a character, wait for the end, or accept."""
        seen: set[int] = set()
        standing: set[int] = set()
        stack = list(entries)
        while stack:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            node = self._nodes[index]
            if node.kind == "split":
                stack.append(node.second)
                stack.append(node.first)
            elif node.kind == "start":
                if at_start:
                    stack.append(node.first)
            elif node.kind == "end" and at_end:
                stack.append(node.first)
            else:
                standing.add(index)
        return frozenset(standing)

    def _accepts(self, members: frozenset[int], *, at_start: bool) -> bool:
        reached = self._reach(list(members), at_start=at_start, at_end=True)
        return any(self._nodes[index].kind == "accept" for index in reached)


def compile_regex(pattern: str, *, ignore_case: bool = False, dot_all: bool = False) -> LinearRegex:
    """Compile a pattern.

    `ignore_case` folds ASCII letters only, as Java does without its Unicode flag.
    Raises: `RegexSyntaxError`.
    """
    parser = _Parser(pattern, ignore_case=ignore_case, dot_all=dot_all)
    tree = parser.parse()
    builder = _Builder()
    entry = builder.build(tree, builder.add("accept"))
    return LinearRegex(pattern, builder.nodes, entry)


class _State:
    __slots__ = ("accepts", "members", "next")

    def __init__(self, members: frozenset[int], accepts: bool) -> None:
        self.members = members
        self.accepts = accepts
        self.next: dict[str, _State] = {}


class _Node:
    __slots__ = ("first", "kind", "second", "test")

    def __init__(self, kind: str, first: int = -1, second: int = -1, test: CharTest | None = None) -> None:
        self.kind = kind
        self.first = first
        self.second = second
        self.test = test


class _Tree:
    """A parsed piece: `char`, `start`, `end`, `cat`, `alt` or `repeat` (of its only part, `low` to `high` times)."""

    __slots__ = ("high", "kind", "lazy", "low", "parts", "test")

    def __init__(
        self, kind: str, parts: list[_Tree] | None = None, test: CharTest | None = None, low: int = 0, high: int = -1
    ) -> None:
        self.lazy = False
        self.kind = kind
        self.parts = parts or []
        self.test = test
        self.low = low
        self.high = high


class _Builder:
    """Turns a tree into nodes, each linked to the node that follows it."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []

    def add(self, kind: str, first: int = -1, second: int = -1, test: CharTest | None = None) -> int:
        if len(self.nodes) >= MAX_NODES:
            raise RegexSyntaxError(f"The regular expression needs more than {MAX_NODES} steps", 0)
        self.nodes.append(_Node(kind, first, second, test))
        return len(self.nodes) - 1

    def build(self, tree: _Tree, following: int) -> int:
        if tree.kind == "cat":
            # The extra node gives even an empty piece a cost, so that its repetition is bounded.
            following = self.add("split", following, following)
            for part in reversed(tree.parts):
                following = self.build(part, following)
            return following
        if tree.kind == "alt":
            entry = self.build(tree.parts[-1], following)
            for part in reversed(tree.parts[:-1]):
                entry = self.add("split", self.build(part, following), entry)
            return entry
        if tree.kind == "repeat":
            return self._repeat(tree, following)
        return self.add(tree.kind, following, test=tree.test)

    def _repeat(self, tree: _Tree, following: int) -> int:
        part = tree.parts[0]
        entry = following
        if tree.high < 0:
            entry = self.add("split", -1, following)
            self.nodes[entry].first = self.build(part, entry)
            self._prefer(entry, tree)
        else:
            for _ in range(tree.high - tree.low):
                entry = self.add("split", self.build(part, entry), following)
                self._prefer(entry, tree)
        for _ in range(tree.low):
            entry = self.build(part, entry)
        return entry

    def _prefer(self, entry: int, tree: _Tree) -> None:
        """A lazy repetition prefers what follows it."""
        node = self.nodes[entry]
        if tree.lazy:
            node.first, node.second = node.second, node.first


class _Parser:
    def __init__(self, pattern: str, *, ignore_case: bool, dot_all: bool) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0
        self.ignore_case = ignore_case
        self.dot_all = dot_all

    def parse(self) -> _Tree:
        tree = self.alternatives()
        if self.position < len(self.pattern):
            self.fail("Unexpected ')'")
        return tree

    def fail(self, message: str) -> NoReturn:
        raise RegexSyntaxError(message, self.position)

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.position):
            self.position += len(text)
            return True
        return False

    def alternatives(self) -> _Tree:
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Tree("alt", parts)

    def sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while (char := self.peek()) and char not in "|)":
            parts.append(self.quantified(self.atom()))
        return _Tree("cat", parts)

    def quantified(self, atom: _Tree) -> _Tree:
        char = self.peek()
        if char == "{":
            low, high = self.counts()
        elif char and char in "*+?":
            low, high = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[char]
            self.position += 1
        else:
            return atom
        lazy = self.take("?")
        if self.peek() and self.peek() in "*+?{":
            self.fail("Possessive and doubled quantifiers are not supported")
        tree = _Tree("repeat", [atom], low=low, high=high)
        tree.lazy = lazy
        return tree

    def counts(self) -> tuple[int, int]:
        end = self.pattern.find("}", self.position)
        low_text, comma, high_text = self.pattern[self.position + 1 : end].partition(",")
        good = low_text.isdecimal() and len(low_text) < 5 and (not high_text or high_text.isdecimal())
        if end < 0 or not good or len(high_text) > 4:
            self.fail(f"A repetition is written {{m}}, {{m,}} or {{m,n}} with numbers up to {MAX_REPEAT}")
        low = int(low_text)
        high = int(high_text) if high_text else -1 if comma else low
        if low > MAX_REPEAT or high > MAX_REPEAT or 0 <= high < low:
            self.fail(f"A repetition is written {{m}}, {{m,}} or {{m,n}} with numbers up to {MAX_REPEAT}")
        self.position = end + 1
        return low, high

    def atom(self) -> _Tree:
        char = self.peek()
        if char == "(":
            return self.group()
        if char == "[":
            return _Tree("char", test=self.folded(self.char_class()))
        if char in "*+?{":
            self.fail(f"Nothing to repeat before '{char}'")
        self.position += 1
        if char == ".":
            return _Tree("char", test=_anything if self.dot_all else _within_line)
        if char == "^":
            return _Tree("start")
        if char == "$":
            return _Tree("end")
        if char == "\\":
            return _Tree("char", test=self.folded(self.escape()))
        return _Tree("char", test=self.folded(_only(char)))

    def group(self) -> _Tree:
        self.position += 1
        if self.peek() == "?" and not self.take("?:"):
            self.fail("Only plain groups and (?:...) are supported; lookaround, names and inline flags are not")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"Groups are nested more than {MAX_DEPTH} deep")
        tree = self.alternatives()
        self.depth -= 1
        if not self.take(")"):
            self.fail("Missing ')'")
        return tree

    def folded(self, test: CharTest) -> CharTest:
        if not self.ignore_case:
            return test
        return lambda c: test(c) or (c.isascii() and test(c.swapcase()))

    def escape(self) -> CharTest:
        """Parse what follows a backslash, in a class or outside."""
        char = self.peek()
        self.position += 1
        if char in _SHORTHANDS and char:
            members, wanted = _SHORTHANDS[char]
            return lambda c: (c in members) is wanted
        literal = self.escaped_literal(char)
        return _only(literal)

    def escaped_literal(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu" and char:
            width = 2 if char == "x" else 4
            digits = self.pattern[self.position : self.position + width]
            if len(digits) != width or not all(digit in string.hexdigits for digit in digits):
                self.fail(f"\\{char} needs {width} hexadecimal digits")
            self.position += width
            return chr(int(digits, 16))
        if not char or (char.isascii() and char.isalnum()):
            self.position -= 1
            self.fail(f"The escape \\{char} is not supported")
        return char

    def char_class(self) -> CharTest:
        start = self.position
        self.position += 1
        wanted = not self.take("^")
        tests: list[CharTest] = []
        singles: set[str] = set()
        while self.peek() != "]" or self.position == start + (1 if wanted else 2):
            first = self.class_member(tests, start)
            if first is None:
                continue
            if self.peek() == "-" and self.pattern[self.position + 1 : self.position + 2] not in ("]", ""):
                self.position += 1
                last = self.class_member(tests, start)
                if last is None or last < first:
                    self.fail("A range in a character class goes from a lower to a higher character")
                tests.append(_between(first, last))
            else:
                singles.add(first)
        self.position += 1
        members = frozenset(singles)
        ranges = tuple(tests)
        return lambda c: (c in members or any(test(c) for test in ranges)) is wanted

    def class_member(self, tests: list[CharTest], start: int) -> str | None:
        """One character of a class, or None after a shorthand, whose test is added to `tests`."""
        char = self.peek()
        if not char:
            self.position = start
            self.fail("Missing ']'")
        if char == "[" or self.pattern.startswith("&&", self.position):
            self.fail("Nested classes and && are not supported; escape a literal '['")
        self.position += 1
        if char != "\\":
            return char
        if self.peek() in _SHORTHANDS and self.peek():
            tests.append(self.escape())
            return None
        char = self.peek()
        self.position += 1
        return self.escaped_literal(char)


def _only(char: str) -> CharTest:
    return lambda c: c == char


def _between(first: str, last: str) -> CharTest:
    return lambda c: first <= c <= last


def _anything(_: str) -> bool:
    return True


def _within_line(char: str) -> bool:
    return char not in _LINE_ENDS
