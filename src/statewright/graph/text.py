"""A graph as text for a terminal: the states in reading order, with the lines that lead from one to the next.

Owns the arrangement: a chain runs down a rail, branches of a Choice are nested or, when they lead elsewhere, only
named, and a state with several ways to it is drawn once, below them. Leaves the look of each piece to `graph.glyphs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from statewright.graph.flow import Exit, Step, read_flow
from statewright.graph.glyphs import Pen, Row, Span
from statewright.graph.lettering import cell_width
from statewright.graph.model import DEFAULT, Graph, Node, Scope

DENSE: Final = 60
"""From this number of states on, chains are drawn without blank rails in between."""
SMALL_BRANCH: Final = 2
LARGE_BRANCH: Final = 12
NESTING_SHARE: Final = 0.4
"""Branches are nested until their rails take this share of the width."""


def render_text(graph: Graph, width: int = 100, color: bool = False, ascii_only: bool = False) -> str:
    """Draw a graph in at most `width` terminal columns (not fewer than 40), with ANSI colours if asked.

    `ascii_only` is for terminals without Unicode: lines of `|` and `-`, other characters escaped.
    """
    pen = Pen(max(40, width), color=color, ascii_only=ascii_only)
    sketch = _Sketch(graph, pen, spaced=sum(1 for _ in graph.nodes()) <= DENSE)
    sketch.scope(graph.root, ())
    return pen.print(sketch.rows)


@dataclass(slots=True)
class _Plan:
    """The arrangement of a step's exits: beside it, nested, or below it."""

    named: set[int] = field(default_factory=set)
    nested: set[int] = field(default_factory=set)
    following: Step | None = None
    """Drawn next on the same rail."""
    deferred: list[Step] = field(default_factory=list)
    """Drawn below on the same level, in this order; the first one on the rail if nothing else follows."""


class _Sketch:
    """The rows of a drawing, from the top down. A prefix is the rails left of a row."""

    def __init__(self, graph: Graph, pen: Pen, *, spaced: bool) -> None:
        self._overlay = graph.overlay
        self._pen = pen
        self._spaced = spaced
        self._drawn: set[str] = set()
        self.rows: list[Row] = []

    def scope(self, scope: Scope, prefix: tuple[Span, ...]) -> None:
        """Draw a whole scope: from its start, then the states to which nothing leads."""
        for place, root in enumerate(read_flow(scope).roots):
            if place == 0 and not prefix:
                self._row(prefix, [self._pen.mark("start", "strong")])
                self._rail(prefix)
            elif place > 0:
                self._row(prefix, [])
                if not root.node.reachable:
                    self._row(prefix, [self._pen.words("unreachable:", "wait")])
            self._block(root, prefix)

    def _block(self, first: Step, prefix: tuple[Span, ...]) -> None:
        """Draw a step and everything it dominates, along one rail as far as possible."""
        pending = [first]
        joined = True
        while pending:
            step: Step | None = pending.pop()
            if not joined:
                self._row(prefix, [])
            while step is not None:
                plan = self._plan(step, prefix)
                pending.extend(reversed(plan.deferred))
                onward = plan.following
                only = _only_next(step)
                if onward is None and only is not None and pending and pending[-1] is only.target:
                    plan.named.discard(id(only))
                    onward = pending.pop()
                choosing = plan.named or plan.nested
                joined = onward is None and bool(plan.deferred) and plan.deferred[0].calm and bool(choosing)
                self._step(step, plan, prefix, rail=onward is not None or joined, onward=onward)
                if onward is not None or joined:
                    self._rail(prefix, always=bool(choosing))
                step = onward

    def _plan(self, step: Step, prefix: tuple[Span, ...]) -> _Plan:
        """Decide where the exits of a step are drawn."""
        plan = _Plan()
        choosing = [out for out in step.exits if out.edge.kind != "catch"]
        branches = []
        for out in choosing:
            owned = not out.back and out.target.above is step
            if owned and out.edge.kind == "next" and plan.following is None:
                plan.following = out.target
            elif owned and out.target.entries == 1 and not _is_leaf(out.target):
                branches.append(out)
            else:
                plan.named.add(id(out))
        room = sum(cell_width(text) for text, _ in prefix) < NESTING_SHARE * self._pen.width
        if (
            branches
            and plan.following is None
            and (_size(branches) > LARGE_BRANCH or (len(branches) == 1 and branches[0].target.size > SMALL_BRANCH))
        ):
            # The last branch continues down the rail: chains of decisions do not drift to the right.
            last = branches.pop()
            plan.named.add(id(last))
            plan.deferred.append(last.target)
        for out in branches:
            if room:
                plan.nested.add(id(out))
            else:
                plan.named.add(id(out))
                plan.deferred.append(out.target)
        beside = {id(out.target) for out in step.exits if id(out) in plan.nested or self._is_inline(out)}
        taken = beside | {id(child) for child in plan.deferred} | {id(plan.following)}
        left_over = [child for child in step.children if id(child) not in taken]
        plan.deferred += sorted(left_over, key=lambda child: not child.calm)
        return plan

    def _step(self, step: Step, plan: _Plan, prefix: tuple[Span, ...], *, rail: bool, onward: Step | None) -> None:
        node = step.node
        self._drawn.add(node.id)
        self._state(node, prefix, [])
        choices = [
            out
            for out in step.exits
            if (id(out) in plan.named or id(out) in plan.nested) and (out.target is not onward or out.edge.labels)
        ]
        pen = self._pen
        beside = (*prefix, pen.rail(rail or bool(choices) or node.ends))
        for words in node.retries:
            self._row((*beside, pen.blank(2)), [pen.mark("retry", "wait"), pen.words(f" {words}", "dim")])
        for out in step.exits:
            if out.edge.kind == "catch":
                self._catch(out, (*beside, pen.blank(2)))
        if node.scopes:
            self._inner(node, beside)
        self._branches(choices, plan, prefix, rail=rail)
        if node.ends:
            self._row(prefix, [pen.mark("end", "strong")])

    def _state(self, node: Node, prefix: Iterable[Span], before: list[Span]) -> None:
        """The row of one state: marker, name, and at the right its type, detail and status."""
        pen = self._pen
        status = None if self._overlay is None else self._overlay.status_of(node.name)
        tone = "fail" if node.kind in ("Missing", "Unknown") else status if status else node.kind
        left = [
            *before,
            pen.mark(node.kind, tone),
            pen.words(f" {node.name or '(blank)'}", "fail" if node.kind == "Missing" else "strong"),
        ]
        kind = "" if node.kind in ("Missing", "Folded", "Unknown") else node.kind
        said = [word for word in (kind, node.detail) if word]
        right: list[Span] = []
        if self._overlay is not None and status is not None and node.kind not in ("Missing", "Folded"):
            right = pen.status(status, self._overlay.counts.get(node.name, 0))
        right.append(pen.words(pen.dot.join(said), "dim"))
        self._row(prefix, left, right)

    def _catch(self, out: Exit, prefix: tuple[Span, ...]) -> None:
        pen = self._pen
        label = [pen.mark("catch", "caught"), pen.words(f" {'; '.join(out.edge.labels)} ", "caught")]
        self._towards(out, prefix, label, pen.arrow(1))

    def _branches(self, exits: list[Exit], plan: _Plan, prefix: tuple[Span, ...], *, rail: bool) -> None:
        """The exits of a Choice, or the one exit of a state that leads elsewhere."""
        pen = self._pen
        labels = [
            _label(out.edge.labels, pen, pen.width if id(out) in plan.nested else pen.width // 2) for out in exits
        ]
        named = [label for label, out in zip(labels, exits, strict=True) if id(out) in plan.named]
        widest = max((cell_width(label) for label in named), default=0)
        for place, (out, label) in enumerate(zip(exits, labels, strict=True)):
            last = place == len(exits) - 1 and not rail
            corner = pen.corner(last=last, bare=not label and not out.back)
            if id(out) in plan.nested:
                self._row((*prefix, corner), [pen.words(label, "rule")])
                inside = (*prefix, pen.rail(not last), pen.blank(2))
                self._block(out.target, inside)
                if not last and self._spaced:
                    self._rail(prefix)
                continue
            said = [pen.words(label + " ", "rule")] if label else []
            self._towards(out, (*prefix, corner), said, pen.arrow(widest - cell_width(label) + 1 if label else 1))

    def _towards(self, out: Exit, prefix: tuple[Span, ...], label: list[Span], arrow: Span) -> None:
        """A row that names where an exit leads; a leaf that nothing else leads to is drawn right there."""
        pen = self._pen
        name = out.target.node.name
        if self._is_inline(out):
            self._drawn.add(out.target.node.id)
            self._state(out.target.node, prefix, [*label, arrow])
        elif out.back:
            loop = [pen.mark("loop", "run"), pen.words(" back to ", "dim"), pen.words(name, "strong")]
            self._row(prefix, [*label, arrow, *loop] if label else loop)
        else:
            up = out.target.node.id in self._drawn
            self._row(prefix, [*label, arrow, pen.words(f"{name} ", "strong"), pen.mark("up" if up else "down", "dim")])

    def _is_inline(self, out: Exit) -> bool:
        return not out.back and out.target.entries == 1 and out.edge.kind != "next" and _is_leaf(out.target)

    def _inner(self, node: Node, prefix: tuple[Span, ...]) -> None:
        """The scopes of a Parallel or Map, each behind a rail of its own."""
        pen = self._pen
        for place, scope in enumerate(node.scopes):
            title = f"branch {place + 1}" if node.kind == "Parallel" else "for each item"
            self._row((*prefix, pen.opening(first=place == 0)), [pen.words(title, "dim")])
            self.scope(scope, (*prefix, pen.inner_rail()))
        self._row((*prefix, pen.closing()), [])

    def _rail(self, prefix: tuple[Span, ...], *, always: bool = False) -> None:
        row = Row((*prefix, self._pen.rail(drawn=True)), ())
        if (self._spaced or always) and self.rows[-1] != row:
            self.rows.append(row)

    def _row(self, prefix: Iterable[Span], left: list[Span], right: list[Span] | None = None) -> None:
        self.rows.append(Row((*prefix, *left), tuple(right or ())))


def _only_next(step: Step) -> Exit | None:
    onward = [out for out in step.exits if out.edge.kind != "catch"]
    return onward[0] if len(onward) == 1 and onward[0].edge.kind == "next" and not onward[0].back else None


def _label(labels: tuple[str, ...], pen: Pen, cells: int) -> str:
    """When an exit is taken, in so many cells. Only the rules are cut, so that a Default is always shown."""
    *rules, last = labels or ("",)
    tail = f" or {last}" if rules and last == DEFAULT else ""
    said = " or ".join(rules if tail else labels)
    return pen.clip(said, cells - cell_width(tail)) + tail


def _is_leaf(step: Step) -> bool:
    return not step.exits and not step.node.scopes and not step.node.retries


def _size(branches: list[Exit]) -> int:
    return branches[-1].target.size
