"""The origin of the value at a place of a run, one step back, by the definition alone.

A step is exact path arithmetic: InputPath to OutputPath, and members of Parameters, ResultSelector, ItemSelector,
Arguments, Output and Assign that are a path and nothing else. Any other expression ends the way. Whether the value is
there is for `why.py` to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from statewright.asl.outline import nodes_by_name
from statewright.asl.program import MapDef
from statewright.asl.templates import expression_text, is_expression
from statewright.console.analysis.explain import Errands, way_taken
from statewright.console.analysis.spots import (
    Move,
    Scope,
    Source,
    Spot,
    ended,
    input_of,
    keys_of,
    lookup,
    renamed,
    texts_of,
)
from statewright.console.analysis.visited import History, item_around
from statewright.errors import TIMEOUT, ApiError, Failure
from statewright.interpreter.state import Identity
from statewright.payload import Json, JsonObject, parse_json
from statewright.query.jsonpath import compile_path
from statewright.query.jsonpath_parser import PathSyntaxError
from statewright.query.jsonpath_tree import plain_keys
from statewright.simulator.differences import ABSENT, Absent, Place
from statewright.simulator.story import Visit

MOST_READS: Final = 8
_WITH_RESULT: Final = ("Task", "Parallel", "Map")
_NAME: Final = r"(?:[A-Za-z_]\w*|`[^`]+`)"
_JSONATA_PATH: Final = re.compile(rf"\$(?P<root>{_NAME})(?P<rest>(?:\.{_NAME}|\[\d{{1,9}}\])*)")
_JSONATA_STEP: Final = re.compile(rf"\.(?P<name>{_NAME})|\[(?P<index>\d+)\]")
_NAMED: Final = re.compile(r"(?<![\w$`.])\$[\w$.]*(?:\[\d{1,9}\][\w.]*)*(?!\()\b")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|/\*.*?\*/", re.DOTALL)


class Sources:
    """The definition and the history of one run."""

    def __init__(
        self, heavy: Errands, visits: Sequence[Visit], history: History, text: str, identity: Identity
    ) -> None:
        self._heavy = heavy
        self._visits = visits
        self._history = history
        self._text = text
        self._identity = identity
        self._nodes = nodes_by_name(parse_json(text))
        self._previous: dict[int, Visit | None] = {}
        self._by_end: dict[int, Visit] = {}
        self._values: dict[tuple[int | None, str], Json] = {}

    def before(self, visit: Visit) -> Visit | None:
        """The visit before in the same strand: the last one that was left, for a redrive may enter a state again."""
        if id(visit) not in self._previous:
            earlier: Visit | None = None
            for one in visit.strand.visits:
                self._previous[id(one)] = earlier
                earlier = one if self._was_left(one) else earlier
        return self._previous.get(id(visit))

    def _node(self, visit: Visit) -> JsonObject:
        return self._nodes.get(visit.name, {})

    def value(self, spot: Spot) -> Json | Absent:
        """The value that the history holds at a place; `ABSENT` for none."""
        visit, path = spot.visit, spot.path
        if spot.where == "input":
            return lookup(self._payload(visit.entered_event, "input"), path)
        if spot.where == "output":
            return lookup(self._payload(visit.ended_event, "output"), path) if self._was_left(visit) else ABSENT
        assigned = self._history.assigned(visit).get(str(path[0]))
        return ABSENT if assigned is None else lookup(parse_json(assigned.text), path[1:])

    def _was_left(self, visit: Visit) -> bool:
        """False for a state that failed inside a Parallel or Map, too: it may be ended by the exit of that."""
        return self._history.details(visit.ended_event).get("name") == visit.name

    def _payload(self, event: int | None, member: str) -> Json | Absent:
        if not isinstance(self._history.details(event).get(member), str):
            return ABSENT
        key = (event, member)
        if key not in self._values:
            if len(self._values) > 4:
                # A way goes on from payload to payload, and seldom back.
                self._values.clear()
            self._values[key] = self._history.value(event, member)
        return self._values[key]

    async def move(self, spot: Spot) -> Move:
        """One step back from a place."""
        if spot.where == "input":
            return self._entered(spot.visit, spot.path)
        if spot.where == "output":
            return await self._left(spot.visit, spot.path)
        return await self._assigned(spot.visit, spot.path)

    # ------------------------------------------------------------------ into a state

    def _entered(self, visit: Visit, path: Place) -> Move:
        before = self.before(visit)
        if before is not None:
            return Move("previous", Spot(before, "output", path))
        owner = visit.strand.owner
        if owner is None:
            return self._started(path)
        if visit.strand.kind == "item":
            return self._selected(owner, visit.strand.index, path)
        name = "Arguments" if owner.definition.jsonata else "Parameters"
        scope = self._scope(owner)
        template = self._node(owner).get(name, ABSENT)
        if isinstance(template, Absent):
            return replace(self._effective(owner, path), how="branch")
        return renamed(self._template(template, path, name, scope), "branch")

    def _started(self, path: Place) -> Move:
        found = lookup(self._payload(1, "input"), path)
        if isinstance(found, Absent):
            return ended("unknown", reason="The execution's input has no such value.")
        return ended("start", path=path, event=1, found=found)

    def _selected(self, owner: Visit, index: int, path: Place) -> Move:
        """The input of an item."""
        node = self._node(owner)
        name = "ItemSelector" if "ItemSelector" in node else "Parameters"
        if name not in node:
            return self._item(owner, index, path)
        scope = replace(self._scope(owner), item=(owner, index))
        return self._template(node[name], path, name, scope)

    def _item(self, owner: Visit, index: int, path: Place) -> Move:
        """An item, before its ItemSelector."""
        node = self._node(owner)
        name = "Items" if owner.definition.jsonata else "ItemsPath"
        inner = (index, *path)
        if name not in node or node[name] == "$":
            found = self._effective(owner, inner)
        elif owner.definition.jsonata:
            found = self._template(node[name], inner, name, self._scope(owner))
        else:
            found = self._path(node[name], inner, self._scope(owner)).by(name, node[name])
        return renamed(found, "item")

    def _effective(self, visit: Visit, path: Place) -> Move:
        """The input after InputPath."""
        text = "$" if visit.definition.jsonata else self._node(visit).get("InputPath", "$")
        return self._through("InputPath", text, path, visit, input_of(visit))

    def _through(self, name: str, text: str | None, path: Place, visit: Visit, data: Source) -> Move:
        """InputPath and OutputPath."""
        if text is None:
            return ended("literal", found=lookup({}, path)).by(name, "null")
        if text == "$":
            return data(path)
        return self._path(text, path, Scope(visit, data, {})).by(name, text)

    # ------------------------------------------------------------------ out of a state

    async def _left(self, visit: Visit, path: Place) -> Move:
        if _is_caught(visit):
            return await self._caught(visit, path)
        node, definition = self._node(visit), visit.definition
        has_result = definition.type in _WITH_RESULT
        if definition.jsonata:
            rule = await self._rule(visit, "Output") if definition.type == "Choice" else node
            if rule is None:
                return ended("unknown", reason="It is not known which rule was true.")
            if "Output" in rule:
                return self._template(rule["Output"], path, "Output", self._scope(visit))
            return self._result(visit, path) if has_result else self._effective(visit, path)

        def inner(rest: Place) -> Move:
            if definition.type in ("Choice", "Wait", "Succeed", "Fail"):
                return self._effective(visit, rest)
            return self._placed(node.get("ResultPath", "$"), rest, visit, self._kept(visit))

        return self._through("OutputPath", node.get("OutputPath", "$"), path, visit, inner)

    def _placed(self, text: str | None, path: Place, visit: Visit, result: Source) -> Move:
        """After ResultPath: the result at its target, the state's own input elsewhere."""
        around = input_of(visit)
        if text is None:
            return around(path).by("ResultPath", "null")
        keys = keys_of(text)
        if keys is None or any(isinstance(key, int) and key < 0 for key in keys):
            return ended("unknown", reason=f"ResultPath {text} is not followed.")
        if not keys:
            return result(path)
        if path[: len(keys)] == keys:
            return result(path[len(keys) :]).by("ResultPath", text)
        if keys[: len(path)] == path:
            return ended("parts", reason="Its input, with the result in it.").by("ResultPath", text)
        return around(path)

    def _kept(self, visit: Visit) -> Source:
        """After ResultSelector."""
        node = self._node(visit)
        raw = partial(self._result, visit)
        if "ResultSelector" not in node:
            return raw
        scope = replace(self._scope(visit), data=raw)
        return lambda path: self._template(node["ResultSelector"], path, "ResultSelector", scope)

    def _result(self, visit: Visit, path: Place) -> Move:
        """A state's own result."""
        node, body = self._node(visit), visit.definition.body
        if visit.definition.type == "Pass":
            if "Result" in node:
                return ended("literal", found=lookup(node["Result"], path)).by("Result")
            if "Parameters" in node:
                return self._template(node["Parameters"], path, "Parameters", self._scope(visit))
            return self._effective(visit, path)
        if isinstance(body, MapDef) and body.distributed is not None:
            return ended("unknown", reason="The items ran in child executions, which are executions of their own.")
        attempt = visit.attempts[-1] if visit.attempts else None
        if visit.definition.type == "Task":
            answer = self._history.result(visit, attempt)
            if attempt is None or answer is None or isinstance(answer, Failure):
                return ended("unknown", reason="Its result is not in the history.")
            found = lookup(answer.value, path)
            if isinstance(found, Absent):
                return ended("unknown", reason="Its result has no such value.")
            return ended("result", event=attempt.ended_event, resource=node.get("Resource"), path=path, found=found)
        if not path or not isinstance(path[0], int):
            return ended("parts", reason="The outputs of its items or branches.")
        strand = next((one for one in visit.strands if one.index == path[0]), None)
        if strand is None or not strand.visits:
            return ended("unknown", reason="The item or branch is not in the history.")
        return Move("inside", Spot(strand.visits[-1], "output", path[1:]))

    async def _caught(self, visit: Visit, path: Place) -> Move:
        rule = await self._rule(visit, "Catch")
        if rule is None:
            return ended("unknown", reason="It is not known which Catch took the error.")
        error = partial(self._error, visit)
        if visit.definition.jsonata:
            if "Output" in rule:
                return self._template(rule["Output"], path, "Output", self._scope(visit)).by("Catch")
            return error(path).by("Catch")
        return self._placed(rule.get("ResultPath", "$"), path, visit, error).by("Catch")

    def _error(self, visit: Visit, path: Place) -> Move:
        attempt = visit.failure
        if attempt is None:
            return ended("error", path=path)
        # As `exit_by_catcher` has it.
        cause = "" if attempt.cause is None and attempt.error == TIMEOUT else attempt.cause
        known = attempt.error is not None
        found = lookup({"Error": attempt.error, "Cause": cause}, path) if known else ABSENT
        return ended("error", event=attempt.ended_event, path=path, found=found)

    async def _rule(self, visit: Visit, member: str) -> JsonObject | None:
        """The rule of a Choice that was true, the state itself for its Default; or the Catch that took an error.

        The target says which, unless several have the same one: then a trial of the state does. None if it cannot.
        """
        node = self._node(visit)
        is_catch = _is_caught(visit)
        rules: list[JsonObject] = node.get("Catch" if is_catch else "Choices", [])
        found = [rule for rule in rules if rule.get("Next") == visit.next]
        if not is_catch and node.get("Default") == visit.next:
            found.append(node)
        if len(found) == 1:
            return found[0]
        if not is_catch and found and all(member not in rule for rule in found):
            return found[0]
        try:
            choice, catch = await way_taken(self._heavy, visit, self._history, self._text, self._identity)
        except ApiError:
            return None
        index = catch if is_catch else choice
        one = node if index is None and not is_catch else None if index is None else rules[index]
        return one if any(one is rule for rule in found) else None

    # ------------------------------------------------------------------ variables and the context object

    async def _assigned(self, visit: Visit, path: Place) -> Move:
        rule: JsonObject | None = self._node(visit)
        if _is_caught(visit) or visit.definition.type == "Choice":
            rule = await self._rule(visit, "Assign")
        if rule is None or "Assign" not in rule:
            return ended("unknown", reason="It is not known what assigned it.")
        scope = self._scope(visit)
        if _is_caught(visit):
            scope = replace(scope, data=partial(self._error, visit))
        elif visit.definition.type in ("Pass", *_WITH_RESULT):
            scope = replace(scope, data=partial(self._result, visit))
        found = self._template(rule["Assign"], path, "Assign", scope)
        return found.by("Catch") if _is_caught(visit) else found

    def _variable(self, visit: Visit, name: str, path: Place) -> Move:
        assigned = self._history.variables(visit).get(name)
        if not self._by_end:
            self._by_end = {one.ended_event or 0: one for one in self._visits if self._history.assigned(one)}
        by = self._by_end.get(assigned.event) if assigned is not None else None
        if by is None:
            return ended("unknown", reason=f"The history does not say what assigned ${name}.")
        return Move("variable", Spot(by, "assigned", (name, *path)))

    def _context(self, scope: Scope, path: Place) -> Move:
        if path[:2] == ("Execution", "Input"):
            return self._started(path[2:])
        if path[:3] == ("Map", "Item", "Value"):
            around = scope.item
            if around is None and (one := item_around(scope.visit)) is not None:
                around = one[0], one[1].index
            if around is not None:
                return self._item(*around, path[3:])
        return ended("context", path=path)

    # ------------------------------------------------------------------ templates and expressions

    def _scope(self, visit: Visit) -> Scope:
        states: dict[str, Source] = {"input": input_of(visit)}
        if _is_caught(visit):
            states["errorOutput"] = partial(self._error, visit)
        elif visit.definition.type in _WITH_RESULT:
            states["result"] = partial(self._result, visit)
        return Scope(visit, partial(self._effective, visit), states)

    def _template(self, template: Json, path: Place, name: str, scope: Scope) -> Move:
        """A member of a template: what its expression reads, or what is written there."""
        jsonata = scope.visit.definition.jsonata
        part, rest = template, path
        while True:
            if jsonata and is_expression(part):
                return self._expression(part, rest, scope).by(name, part)
            if not rest:
                break
            step, rest = rest[0], rest[1:]
            if isinstance(part, dict) and isinstance(step, str):
                if not jsonata and f"{step}.$" in part:
                    text = part[f"{step}.$"]
                    return self._expression(text, rest, scope).by(name, text)
                part = part.get(step, ABSENT)
            else:
                part = lookup(part, (step,))
            if isinstance(part, Absent):
                return ended("unknown", reason=f"{name} has no such member.").by(name)
        if any(is_expression(text) if jsonata else is_key and text.endswith(".$") for text, is_key in texts_of(part)):
            return ended("parts", reason=f"The members that {name} has.").by(name)
        return ended("literal", found=part).by(name)

    def _expression(self, text: str, rest: Place, scope: Scope) -> Move:
        if not scope.visit.definition.jsonata:
            return self._path(text, rest, scope)
        found = self._jsonata(expression_text(text), rest, scope)
        if found is None or (isinstance(found.to, Spot) and isinstance(self.value(found.to), Absent)):
            return self._computed(text, scope)
        return found

    def _path(self, text: str, rest: Place, scope: Scope) -> Move:
        """A path of JSONPath, or an intrinsic."""
        found = self._jsonpath(text, rest, scope)
        return found if found is not None else self._computed(text, scope)

    def _jsonpath(self, text: str, rest: Place, scope: Scope) -> Move | None:
        try:
            path = compile_path(text)
        except PathSyntaxError:
            return None
        keys = plain_keys(path.steps)
        if keys is None or any(isinstance(key, int) and key < 0 for key in keys):
            return None
        if path.root == "data":
            return scope.data((*keys, *rest))
        if path.root == "context":
            return self._context(scope, (*keys, *rest))
        return self._variable(scope.visit, path.variable or "", (*keys, *rest))

    def _jsonata(self, text: str, rest: Place, scope: Scope) -> Move | None:
        """An expression that is a path and nothing else. Where it maps over a list, nothing is at its place."""
        path = _JSONATA_PATH.fullmatch(text)
        if path is None:
            return None
        found = _JSONATA_STEP.finditer(path["rest"])
        steps = [int(step["index"]) if step["index"] else step["name"].strip("`") for step in found]
        root = path["root"]
        if root != "states":
            return self._variable(scope.visit, root, (*steps, *rest))
        if not steps or not isinstance(steps[0], str):
            return None
        inner = (*steps[1:], *rest)
        if steps[0] == "context":
            return self._context(scope, inner)
        source = scope.states.get(steps[0])
        return source(inner) if source is not None else None

    def _computed(self, text: str, scope: Scope) -> Move:
        return ended("computed", expression=text, reads=tuple(self._reads(text, scope)))

    def _reads(self, text: str, scope: Scope) -> Iterator[tuple[str, Spot]]:
        """Values that the paths of an expression lead to, as far as they are plain."""
        seen: set[str] = set()
        follow = self._jsonata if scope.visit.definition.jsonata else self._jsonpath
        for found in _NAMED.finditer(_QUOTED.sub(" ", text)):
            name = found[0].rstrip(".")
            if name in seen or len(seen) >= MOST_READS:
                continue
            seen.add(name)
            move = follow(name, (), scope)
            if move is not None and isinstance(move.to, Spot) and not isinstance(self.value(move.to), Absent):
                yield name, move.to


def _is_caught(visit: Visit) -> bool:
    """Other states cannot catch: those that failed and were redriven count as caught, too."""
    return visit.status == "caught" and visit.definition.type in _WITH_RESULT
