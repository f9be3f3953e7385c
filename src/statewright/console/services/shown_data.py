"""Users' data on pages of services: variables, values with a name, items of tables, lines of logs.

With hidden payloads none of it is shown. Otherwise the patterns hold for it (`redaction`). Variables whose names speak
of secrets, or whose values have a password in an address, are left out with any settings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from statewright.console.redaction import MASK, Redactor
from statewright.payload import Json, JsonObject

_SECRET: Final = re.compile(
    r"secret|passw|pwd|token|credential|private|api_?key|access_?key|_key$|^key$|dsn|auth", re.I
)
_PASSWORD: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def data(redactor: Redactor, value: Json) -> Json:
    """A document."""
    return MASK if redactor.is_hidden else redactor.answer(value)


def named(redactor: Redactor, name: str, value: Json) -> Json:
    """A value that has a name beside it: patterns see it as a member of this name."""
    shown = data(redactor, {name: value})
    return next(iter(shown.values())) if isinstance(shown, dict) else shown


def line(redactor: Redactor, text: str) -> str:
    """A line of a log."""
    return MASK if redactor.is_hidden else redactor.text(text)


def words(redactor: Redactor, command: Sequence[str]) -> list[Json]:
    """The words of a command."""
    return [line(redactor, one) for one in command]


def lines(redactor: Redactor, text: str) -> str:
    """A text of several lines, each of which is a document or a line of a log."""
    return MASK if redactor.is_hidden else "\n".join(redactor.text(one) for one in text.split("\n"))


def is_secret(name: str, value: str) -> bool:
    """True for a variable that is never shown."""
    return _SECRET.search(name) is not None or _PASSWORD.search(value) is not None


def described(redactor: Redactor, document: JsonObject) -> Json:
    """A resource as its service describes it, its lists of variables without secrets."""
    return MASK if redactor.is_hidden else redactor.answer(_without_secrets(redactor, document))


def _without_secrets(redactor: Redactor, value: Json) -> Json:
    if isinstance(value, list):
        return [_without_secrets(redactor, one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"name", "value"} and isinstance(value["name"], str):
        text = str(value["value"])
        return {**value, "value": MASK if is_secret(value["name"], text) else named(redactor, value["name"], text)}
    return {name: _without_secrets(redactor, member) for name, member in value.items()}


# ------------------------------------------------------------------ items of tables


def items(redactor: Redactor, found: Sequence[JsonObject]) -> list[Json]:
    """Items of a table in DynamoDB's JSON. Patterns are of their own names, without those of types."""
    if redactor.is_hidden:
        return [dict.fromkeys(one, MASK) for one in found]
    plain: Json = [_plain({"M": one}) for one in found]
    shown = redactor.answer(plain)
    assert isinstance(shown, list)
    return [_typed({"M": one}, new, old)["M"] for one, new, old in zip(found, shown, plain, strict=True)]


def items_and_key(redactor: Redactor, found: Sequence[JsonObject], key: JsonObject) -> tuple[list[Json], bool]:
    """Items of a page as `items` shows them, and whether something of the key after it must be hidden.

    What is hidden in an item is hidden in the key, too.
    """
    *shown, end = items(redactor, [*found, key])
    return shown, end != key


def _plain(attribute: JsonObject) -> Json:
    kind, value = next(iter(attribute.items()))
    if kind == "M":
        return {name: _plain(member) for name, member in value.items()}
    if kind == "L":
        return [_plain(member) for member in value]
    return None if kind == "NULL" else value


def _typed(attribute: JsonObject, new: Json, old: Json) -> Json:
    """An attribute with what was hidden in its plain value."""
    if new is old:
        return attribute
    kind, value = next(iter(attribute.items()))
    if kind == "M" and isinstance(new, dict):
        pairs = zip(value.items(), new.items(), old.values(), strict=True)
        return {"M": {name: _typed(member, one, before) for (_, member), (name, one), before in pairs}}
    if kind == "L" and isinstance(new, list):
        return {"L": [_typed(*one) for one in zip(value, new, old, strict=True)]}
    if kind in ("SS", "NS", "BS") and isinstance(new, list):
        return {kind: new}
    return {"S": new} if kind == "S" and new != MASK else MASK
