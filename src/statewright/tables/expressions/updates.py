"""Updates compiled for one request: functions from an item to the updated item. Only changed parts are copied.

Every operand is read from the original item. Actions are kept by their paths, so that overlapping ones are found
before anything is changed.

Source: developer guide, "Using update expressions in DynamoDB"; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import look_up, shown_path
from statewright.tables.expressions.parser import fault
from statewright.tables.expressions.tree import Action, Call, Literal, Operand, Path, Step, Sum
from statewright.tables.values import EXACT, LARGEST_ITEM_BYTES, Item, Value, invalid, kind_of, plain_text

PARAMETER: Final = "UpdateExpression"
TOO_LARGE: Final = "Item size to update has exceeded the maximum allowed size"
_MOST_APPENDED: Final = 4 * LARGEST_ITEM_BYTES
"""Elements of all lists that one update puts together. Ours: an item has one for each of its bytes at most."""
_SETS: Final = frozenset({"SS", "NS", "BS"})
_NAMES: Final = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}

Read = Callable[[Item], Value]
Change = Callable[[Item, Value | None], Value | None]
"""The new value at a path, computed from the whole original item and the old value."""
Tree = dict[Step, "Tree | Change"]


class Update:
    """A compiled update."""

    def __init__(self, actions: Sequence[Action], bindings: Bindings, keys: Sequence[str]) -> None:
        """Compile the actions. Raises: ApiError, also for a path that is part of the key."""
        compiler = self._compiler = _Compiler(bindings)
        self._tree: Tree = {}
        self.paths: list[tuple[Step, ...]] = []
        """The path of every action, in their order."""
        for action in actions:
            steps = bindings.path(PARAMETER, action.path)
            change = compiler.change(action)
            self._insert(steps, change)
            self.paths.append(steps)
        for steps in self.paths:
            if steps[0] in keys:
                raise invalid(
                    "One or more parameter values were invalid: "
                    f"Cannot update attribute {steps[0]}. This attribute is part of the key"
                )

    def _insert(self, steps: tuple[Step, ...], change: Change) -> None:
        node = self._tree
        for depth, step in enumerate(steps):
            if any(type(other) is not type(step) for other in node):
                raise self._meeting(steps, "conflict")
            inner = node.get(step)
            if depth == len(steps) - 1:
                if inner is not None:
                    raise self._meeting(steps, "overlap")
                node[step] = change
            elif inner is None:
                deeper: Tree = {}
                node[step] = deeper
                node = deeper
            elif isinstance(inner, dict):
                node = inner
            else:
                raise self._meeting(steps, "overlap")

    def _meeting(self, steps: tuple[Step, ...], how: str) -> ApiError:
        def meets(other: tuple[Step, ...]) -> bool:
            if how == "overlap":
                shorter = min(len(other), len(steps))
                return other[:shorter] == steps[:shorter]
            for one, two in zip(other, steps, strict=False):
                if type(one) is not type(two):
                    return True
                if one != two:
                    return False
            return False

        first = next(path for path in self.paths if meets(path))
        return fault(
            PARAMETER,
            f"Two document paths {how} with each other; must remove or rewrite one of these paths; "
            f"path one: {shown_path(first)}, path two: {shown_path(steps)}",
        )

    def __call__(self, item: Item) -> Item:
        """Return the updated item. Raises: ApiError."""
        self._compiler.appended = 0
        return _changed_members(item, self._tree, item)


def _changed_members(members: dict[str, Value], tree: Tree, item: Item) -> dict[str, Value]:
    found = dict(members)
    for step, node in tree.items():
        assert isinstance(step, str)
        value = _changed(members.get(step), node, item)
        if value is None:
            found.pop(step, None)
        else:
            found[step] = value
    return found


def _changed_elements(elements: list[Value], tree: Tree, item: Item) -> list[Value]:
    found: list[Value | None] = list(elements)
    for step, node in sorted(tree.items(), key=lambda entry: int(entry[0])):
        assert isinstance(step, int)
        value = _changed(elements[step] if step < len(elements) else None, node, item)
        if step < len(elements):
            found[step] = value
        elif value is not None:
            # An index beyond the end appends.
            found.append(value)
    return [value for value in found if value is not None]


def _changed(value: Value | None, node: Tree | Change, item: Item) -> Value | None:
    if not isinstance(node, dict):
        return node(item, value)
    if value is not None:
        into_list = isinstance(next(iter(node)), int)
        if into_list and "L" in value:
            return {"L": _changed_elements(value["L"], node, item)}
        if not into_list and "M" in value:
            return {"M": _changed_members(value["M"], node, item)}
    raise invalid("The document path provided in the update expression is invalid for update")


class _Compiler:
    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self.appended = 0
        """Elements of the lists that have been put together."""

    def change(self, action: Action) -> Change:
        if action.operand is None:
            return lambda _item, _before: None
        if action.section == "SET":
            read = self._read(action.operand)
            return lambda item, _before: read(item)
        assert isinstance(action.operand, Literal)
        value = self._bindings.value(PARAMETER, action.operand)
        kind = kind_of(value)
        if kind not in _SETS and (action.section == "DELETE" or kind != "N"):
            raise fault(
                PARAMETER,
                f"Incorrect operand type for operator or function; operator: {action.section}, "
                f"operand type: {_NAMES[kind]}, typeSet: ALLOWED_FOR_{action.section}_OPERAND",
            )
        changed = _added if action.section == "ADD" else _without
        return lambda _item, before: changed(before, value)

    # ------------------------------------------------------------------ operands

    def _read(self, operand: Operand) -> Read:
        if isinstance(operand, Literal):
            value = self._bindings.value(PARAMETER, operand)
            return lambda _item: value
        if isinstance(operand, Path):
            steps = self._bindings.path(PARAMETER, operand)
            return lambda item: _present(look_up(item, steps))
        if isinstance(operand, Sum):
            return self._sum(operand)
        return self._if_not_exists(operand) if operand.function == "if_not_exists" else self._list_append(operand)

    def _sum(self, operand: Sum) -> Read:
        left, right = (self._operand(operand.sign, side, "N") for side in (operand.left, operand.right))
        negative = operand.sign == "-"

        def total(item: Item) -> Value:
            one, other = Decimal(_of_kind(left(item), "N")), Decimal(_of_kind(right(item), "N"))
            return {"N": plain_text(EXACT.subtract(one, other) if negative else EXACT.add(one, other))}

        return total

    def _list_append(self, call: Call) -> Read:
        left, right = (self._operand("list_append", argument, "L") for argument in call.arguments)

        def append(item: Item) -> Value:
            one, other = _of_kind(left(item), "L"), _of_kind(right(item), "L")
            self.appended += len(one) + len(other)
            if self.appended > _MOST_APPENDED:
                raise invalid(TOO_LARGE)
            return {"L": [*one, *other]}

        return append

    def _if_not_exists(self, call: Call) -> Read:
        path, otherwise = call.arguments
        if not isinstance(path, Path):
            raise fault(PARAMETER, "Operator or function requires a document path; operator or function: if_not_exists")
        steps, default = self._bindings.path(PARAMETER, path), self._read(otherwise)

        def read(item: Item) -> Value:
            found = look_up(item, steps)
            return default(item) if found is None else found

        return read

    def _operand(self, operator: str, operand: Operand, wanted: str) -> Read:
        if isinstance(operand, Literal):
            kind = kind_of(self._bindings.value(PARAMETER, operand))
            if kind != wanted:
                raise fault(
                    PARAMETER,
                    "Incorrect operand type for operator or function; "
                    f"operator or function: {operator}, operand type: {kind}",
                )
        return self._read(operand)


def _present(value: Value | None) -> Value:
    if value is None:
        raise invalid("The provided expression refers to an attribute that does not exist in the item")
    return value


def _of_kind(value: Value, kind: str) -> Json:
    content = value.get(kind)
    if content is None:
        raise invalid("An operand in the update expression has an incorrect data type")
    return content


def _added(before: Value | None, value: Value) -> Value:
    """The value after ADD."""
    if before is None:
        return value
    kind = kind_of(value)
    content = _of_kind(before, kind)
    if kind == "N":
        return {"N": plain_text(EXACT.add(Decimal(content), Decimal(value["N"])))}
    there = set(content)
    return {kind: [*content, *(element for element in value[kind] if element not in there)]}


def _without(before: Value | None, value: Value) -> Value | None:
    """The value after DELETE; `None` for a set that is then empty."""
    if before is None:
        return None
    kind = kind_of(value)
    gone = set(value[kind])
    left = [element for element in _of_kind(before, kind) if element not in gone]
    return {kind: left} if left else None
