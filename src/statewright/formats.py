"""Formats of stored values: JSON derived from a dataclass, with a version, read with tolerance.

1. The members are the fields, by name. Those stored elsewhere in a row (its key, its version) are `apart`.
2. Format 1 has no member that says so; from format 2 on `format` is the first member.
3. A reader leaves out members that it does not know and gives missing ones their defaults.
4. A value of an older format passes through the upgrades, one for each step; one of a newer format is refused by name,
   because ignoring members would lose data of the newer program.

Any change of a dataclass's fields or their types is a new format with an upgrade from the one before; a test derives
the fields from the dataclasses and fails without one. Bytes that are read often have compact forms of their own, which
raise the same refusals. Owns no rows: the stores decide where values are kept.
"""

from __future__ import annotations

import base64
import dataclasses
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson

from statewright.errors import Unreadable
from statewright.payload import Json, JsonObject, dump_row

FORMAT: Final = "format"
"""The member that names the format."""

Upgrade = Callable[[dict[str, Json]], dict[str, Json]]
"""Turns the members of one format into those of the next one."""

Members = JsonObject
Reader = Callable[[Json], Any]
Shape = tuple[frozenset[str], list[tuple[str, Reader]]]
"""The members of a dataclass, and what reads those that are not as in JSON."""
Value = TypeVar("Value")


def newer(what: str, found: object, known: int) -> Unreadable:
    """The error for a row that a newer program has written; `what` names the row."""
    return Unreadable(
        f"{what} was written by a newer Statewright (format {found}, this one reads up to {known}); "
        "start that version again or restore a backup"
    )


def damaged(what: str, problem: object) -> Unreadable:
    """The error for a row that no program could have written; `what` names the row."""
    return Unreadable(f"{what} cannot be read ({problem}); restore a backup")


class Format(Generic[Value]):
    """The format of one dataclass's values. `name` appears in refusals and in the list of formats.

    `tail` names a field of bytes that follow the JSON after a line feed. `upgrades` are by the format they start from,
    `names` those of members that differ from their field's.
    """

    def __init__(
        self,
        name: str,
        of: type[Value],
        *,
        version: int = 1,
        apart: Collection[str] = (),
        tail: str = "",
        upgrades: Mapping[int, Upgrade] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        assert dataclasses.is_dataclass(of)
        self.name = name
        self.of = of
        self.version = version
        self.upgrades = upgrades or {}
        self._tail = tail
        self._fields = [one.name for one in dataclasses.fields(of) if one.name not in (*apart, tail)]
        self._names = names or {}
        self._shape: Shape | None = None
        assert sorted(self.upgrades) == list(range(1, version)), f"{name}: an upgrade is missing"
        assert FORMAT not in self._fields, f"{name}: {FORMAT} is the member of the format's version"

    def write(self, value: Value) -> bytes:
        """A value as stored."""
        members: Members = {} if self.version == 1 else {FORMAT: self.version}
        for name in self._fields:
            members[self._names.get(name, name)] = getattr(value, name)
        body = orjson.dumps(members, default=_plain)
        return body if not self._tail else body + b"\n" + getattr(value, self._tail)

    def read(self, body: bytes, what: str, **apart: object) -> Value:
        """A value as it was stored; `what` names it, `apart` are the fields that stand elsewhere.

        Raises: Unreadable.
        """
        rest = b""
        if self._tail:
            body, _, rest = body.partition(b"\n")
            apart[self._tail] = rest
        members = members_in(body, what, self.version)
        version = members.pop(FORMAT, 1)
        try:
            for step in range(version, self.version):
                members = self.upgrades[step](members)
            return self._built(members, apart)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise damaged(what, problem) from None

    def _built(self, members: Members, apart: Mapping[str, object]) -> Value:
        shape = self._shape
        if shape is None:
            # Resolved on first use: annotations may name types defined after the format.
            shape = self._shape = _shape(self.of, self._fields)
        for name, member in self._names.items():
            if member in members:
                members[name] = members.pop(member)
        return self.of(**_known(members, shape), **apart)


class Compact(Generic[Value]):
    """A format of few bytes for one dataclass's values: an array of the version, then the fields in their order.

    A reader leaves out what stands behind the fields that it knows, and gives those that are missing at the end their
    defaults. So new fields go to the end, and still are a new version. `parse` reads the JSON.
    """

    def __init__(
        self, name: str, of: type[Value], *, version: int = 1, parse: Callable[[bytes], Json] = orjson.loads
    ) -> None:
        assert dataclasses.is_dataclass(of)
        self.name = name
        self.of = of
        self.version = version
        self._parse = parse
        self._fields = [one.name for one in dataclasses.fields(of)]
        self._reads: list[tuple[int, Reader]] | None = None

    def write(self, value: Value) -> bytes:
        """A value as stored."""
        return dump_row([self.version, *[getattr(value, name) for name in self._fields]])

    def read(self, body: bytes) -> Value:
        """A value as it was stored. Raises: Unreadable."""
        try:
            values = array_in(self._parse(body), self.name, self.version)[1 : len(self._fields) + 1]
            reads = self._reads
            if reads is None:
                every = enumerate(_readers(self.of).values())
                reads = self._reads = [(place, read) for place, read in every if read is not _as_is]
            for place, read in reads:
                if place < len(values):
                    values[place] = read(values[place])
            return self.of(*values)
        except (TypeError, ValueError) as problem:
            raise damaged(self.name, problem) from None


def members_in(body: bytes, what: str, known: int) -> Members:
    """The members of a JSON object that a program of a format up to `known` has written; `what` names the row.

    Raises: Unreadable.
    """
    try:
        members: Members = orjson.loads(body)
        version = members.get(FORMAT, 1)
    except (ValueError, AttributeError) as problem:
        raise damaged(what, problem) from None
    if not isinstance(version, int) or version > known:
        raise newer(what, version, known)
    return members


def array_in(array: object, what: str, known: int) -> list[Json]:
    """A compact value, an array whose first member is its version; up to `known`. `what` names the row.

    Raises: Unreadable.
    """
    if not isinstance(array, list) or not array or not isinstance(array[0], int) or array[0] < 1:
        raise damaged(what, "it has no version")
    if array[0] > known:
        raise newer(what, array[0], known)
    return array


def _shape(of: type, fields: Iterable[str]) -> Shape:
    every = _readers(of)
    return frozenset(fields), [(name, every[name]) for name in fields if every[name] is not _as_is]


def _known(members: Members, shape: Shape) -> Members:
    """The members that a dataclass has, read; may change what it is given."""
    names, reads = shape
    if not members.keys() <= names:
        members = {name: value for name, value in members.items() if name in names}
    for name, read in reads:
        if name in members:
            members[name] = read(members[name])
    return members


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no stored type")


# ------------------------------------------------------------------ types


def _readers(of: type) -> dict[str, Reader]:
    hints = get_type_hints(of)
    return {one.name: _reader(hints[one.name]) for one in dataclasses.fields(of)}


def _reader(hint: object) -> Reader:
    """The function that turns JSON into a value of a type; `_as_is` where they are the same."""
    if dataclasses.is_dataclass(hint):
        shape = _shape(cast(type, hint), [one.name for one in dataclasses.fields(hint)])
        made = cast(Callable[..., object], hint)
        return lambda members: made(**_known(members, shape))
    if hint is bytes:
        return base64.b64decode
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        reads_one = [read for read in map(_reader, of) if read is not _as_is]
        assert len(reads_one) <= 1, f"{hint}: JSON does not say which of them a value is"
        return _unless_none(reads_one[0]) if reads_one else _as_is
    if origin is tuple:
        if len(of) == 2 and of[1] is Ellipsis:
            return _each(_reader(of[0]), tuple)
        reads_each = list(map(_reader, of))
        return lambda items: tuple(read(item) for read, item in zip(reads_each, items, strict=True))
    if origin in (list, Sequence):
        read = _reader(of[0])
        return _as_is if read is _as_is else _each(read, list)
    if origin in (dict, Mapping):
        read = _reader(of[1])
        return _as_is if read is _as_is else lambda items: {name: read(item) for name, item in items.items()}
    return _as_is


def _as_is(value: object) -> object:
    return value


def _unless_none(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _each(read: Reader, made: Callable[[Iterator[Json]], object]) -> Reader:
    return made if read is _as_is else lambda items: made(map(read, items))


def members_of(of: type, leaving_out: Collection[str] = ()) -> str:
    """The fields of a dataclass with their types as text, nested dataclasses in braces: what a format is made of."""
    hints = get_type_hints(of)
    found = [f"{one.name}: {_shown(hints[one.name])}" for one in dataclasses.fields(of) if one.name not in leaving_out]
    return ", ".join(found)


def _shown(hint: object) -> str:
    if dataclasses.is_dataclass(hint):
        return f"{{{members_of(cast(type, hint))}}}"
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(map(_shown, of))
    if of:
        return f"{getattr(origin, '__name__', str(origin))}[{', '.join(_shown(one) for one in of)}]"
    return "..." if hint is Ellipsis else str(getattr(hint, "__name__", hint))
