"""Formats of stored values: what is written, what is read back, what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import pytest

from statewright.errors import Unreadable
from statewright.formats import Format, members_of


@dataclass(frozen=True, slots=True)
class Wheel:
    size: int
    spokes: int = 32


@dataclass(frozen=True, slots=True)
class Bicycle:
    name: str
    front: Wheel = Wheel(28)
    spare: Wheel | None = None
    wheels: tuple[Wheel, ...] = ()
    pair: tuple[str, int] | None = None
    routes: Sequence[tuple[str, int]] = field(default_factory=list)
    by_name: Mapping[str, Wheel] = field(default_factory=dict)
    photo: bytes = b""
    notes: dict[str, object] = field(default_factory=dict)
    stored: int = 0
    load: bytes = b""


FORMAT = Format("bicycle", Bicycle, apart=("stored",), tail="load")
FULL = Bicycle(
    "gazelle", Wheel(20), Wheel(24, 36), (Wheel(1), Wheel(2)), ("a", 1), [("north", 5)], {"left": Wheel(3)},
    b"\0\xff", {"any": [1, None]}, 7, b"\n\xff\n",
)  # fmt: skip


@pytest.mark.parametrize("value", [FULL, Bicycle("bare")])
def test_every_type_comes_back_as_it_was(value: Bicycle) -> None:
    assert FORMAT.read(FORMAT.write(value), "bicycle 1", stored=value.stored) == value


def test_the_first_format_says_nothing_of_itself_and_later_ones_do_first() -> None:
    one = Format("wheel", Wheel)
    two = Format("wheel", Wheel, version=2, upgrades={1: lambda members: members})
    assert one.write(Wheel(1)) == b'{"size":1,"spokes":32}'
    assert two.write(Wheel(1)) == b'{"format":2,"size":1,"spokes":32}'


def test_unknown_members_are_left_out_and_missing_ones_have_their_defaults() -> None:
    body = orjson.dumps({"name": "x", "colour": "red", "front": {"size": 26, "tyre": "wide"}})
    assert FORMAT.read(body, "bicycle 1") == Bicycle("x", Wheel(26))


def test_older_formats_pass_through_every_upgrade() -> None:
    three = Format(
        "wheel",
        Wheel,
        version=3,
        upgrades={1: lambda old: {"inches": old["inch"]}, 2: lambda old: {"size": 2 * old["inches"]}},
    )
    assert three.read(b'{"inch": 10}', "wheel 1") == Wheel(20)
    assert three.read(b'{"format": 2, "inches": 10}', "wheel 1") == Wheel(20)
    assert three.read(b'{"format": 3, "size": 10}', "wheel 1") == Wheel(10)


@pytest.mark.parametrize("found", [b"2", b'"two"', b"null"])
def test_a_newer_format_is_refused_by_name(found: bytes) -> None:
    with pytest.raises(Unreadable) as refused:
        FORMAT.read(b'{"format": ' + found + b', "name": "x"}', "bicycle 1")
    assert str(refused.value).startswith("bicycle 1 was written by a newer Statewright (format ")
    assert str(refused.value).endswith(
        "this one reads up to 1); start that version again or restore a backup"
    )  # fmt: skip


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{", b"{}", b'{"name": "x", "pair": 5}', b'{"name": "x", "front": []}']
)
def test_damage_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^bicycle 1 cannot be read \(.*\); restore a backup$"):
        FORMAT.read(body, "bicycle 1")


def test_a_format_without_an_upgrade_from_an_older_one_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="an upgrade is missing"):
        Format("wheel", Wheel, version=3, upgrades={1: lambda members: members})


def test_members_are_named_with_their_types() -> None:
    assert members_of(Bicycle, ("stored", "load")) == (
        "name: str, front: {size: int, spokes: int}, spare: {size: int, spokes: int} | NoneType, "
        "wheels: tuple[{size: int, spokes: int}, ...], pair: tuple[str, int] | NoneType, "
        "routes: Sequence[tuple[str, int]], by_name: Mapping[str, {size: int, spokes: int}], photo: bytes, "
        "notes: dict[str, object]"
    )
