"""Names and values of one request: resolves `#n` and `:v` in its expressions, and finds unused ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.expressions.parser import fault
from statewright.tables.expressions.tree import Literal, Path, Step
from statewright.tables.values import DETECTED, Value, checked, invalid

_ALIAS: Final = re.compile(r"#[A-Za-z0-9_]+")
_PLACEHOLDER: Final = re.compile(r":[A-Za-z0-9_]+")


class Bindings:
    """Resolves names and values, and remembers which were used."""

    def __init__(
        self,
        names: Mapping[str, str] | None,
        values: Mapping[str, Json] | None,
        expressions: Mapping[str, str | None],
        *,
        of_write: bool = False,
    ) -> None:
        """`expressions` are all that the operation accepts, by parameter; omitted ones are `None`.

        The errors of writes begin with other words than those of reads.

        Raises: ApiError for names and values that are empty, malformed, or given without an expression.
        """
        self._names = names or {}
        self._used: set[str] = set()
        self._before = DETECTED if of_write else ""
        self._values: Mapping[str, Value] = {}
        if names is None and values is None:
            return
        if names is not None:
            _check_names(names, expressions)
        if values is not None:
            self._values = _checked_values(values, expressions)

    @classmethod
    def of_checked(cls, names: Mapping[str, str], values: Mapping[str, Value]) -> Bindings:
        """Names and values that are checked already, by their placeholders."""
        bindings = cls(None, None, {})
        bindings._names, bindings._values = names, values
        return bindings

    def path(self, parameter: str, path: Path) -> tuple[Step, ...]:
        """The steps of a path, with placeholders resolved. Raises: ApiError."""
        steps = path.steps
        for step in steps:
            if type(step) is str and step[0] == "#":
                break
        else:
            return steps
        found: list[Step] = []
        for step in steps:
            if isinstance(step, str) and step[0] == "#":
                name = self._names.get(step)
                if name is None:
                    raise fault(
                        parameter,
                        "An expression attribute name used in the document path is not defined; "
                        f"attribute name: {step}",
                    )
                self._used.add(step)
                found.append(name)
            else:
                found.append(step)
        return tuple(found)

    def value(self, parameter: str, literal: Literal) -> Value:
        """The value of a placeholder. Raises: ApiError."""
        value = self._values.get(literal.name)
        if value is None:
            raise fault(
                parameter,
                f"An expression attribute value used in expression is not defined; attribute value: {literal.name}",
            )
        self._used.add(literal.name)
        return value

    def check_all_used(self) -> None:
        """Refuse names and values that no expression uses. Raises: ApiError."""
        for what, known in (("Names", self._names), ("Values", self._values)):
            unused = [name for name in known if name not in self._used]
            if unused:
                keys = ", ".join(unused)
                raise invalid(
                    f"{self._before}Value provided in ExpressionAttribute{what} unused in expressions: keys: {{{keys}}}"
                )


def _check_names(names: Mapping[str, str], expressions: Mapping[str, str | None]) -> None:
    if not any(text is not None for text in expressions.values()):
        raise _without_expression("Names", expressions)
    if not names:
        raise invalid("ExpressionAttributeNames must not be empty")
    for name in names:
        if _ALIAS.fullmatch(name) is None:
            raise invalid(f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{name}"')


def _checked_values(values: Mapping[str, Json], expressions: Mapping[str, str | None]) -> dict[str, Value]:
    holding = {name: text for name, text in expressions.items() if name != "ProjectionExpression"}
    if not any(text is not None for text in holding.values()):
        raise _without_expression("Values", holding)
    if not values:
        raise invalid(f"{DETECTED}ExpressionAttributeValues must not be empty")
    found = {}
    for name, given in values.items():
        if _PLACEHOLDER.fullmatch(name) is None:
            raise invalid(f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{name}"')
        try:
            found[name], _ = checked(given)
        except ApiError as problem:
            if problem.code != "ValidationException":
                raise
            message = problem.message.removeprefix(DETECTED)
            raise invalid(f"ExpressionAttributeValues contains invalid value: {message} for key {name}") from None
    return found


def _without_expression(what: str, expressions: Mapping[str, str | None]) -> ApiError:
    names = list(expressions)
    if names in ([], ["ProjectionExpression"]):
        return invalid(f"ExpressionAttribute{what} can only be specified when using expressions")
    listed = " and ".join(names)
    verb = "are" if len(names) > 1 else "is"
    return invalid(f"ExpressionAttribute{what} can only be specified when using expressions: {listed} {verb} null")
