from __future__ import annotations

from operator import itemgetter

import pytest

from statewright.errors import ApiError
from statewright.pages import PageTokens, page_behind, read_token, write_token

NAMES = PageTokens[str]("names", lambda token: ApiError("InvalidToken", token))


@pytest.mark.parametrize("place", ["a", 7, [3, "k"], {"lane": [1, 2]}, "ünïcode \x00"])
def test_a_place_comes_back_from_its_token(place: object) -> None:
    assert read_token("list", write_token("list", place)) == place


def test_places_that_are_tuples_come_back_as_tuples() -> None:
    tokens = PageTokens[tuple[int, str]]("pairs", NAMES.refusal)
    assert tokens.read(tokens.write((3, "k"))) == (3, "k")


def test_no_token_is_the_beginning_and_the_end() -> None:
    assert NAMES.write(None) is None
    assert NAMES.read(None) is None


@pytest.mark.parametrize(
    "token",
    ["", "%", "made up", "ünïcode", "YWJj", "\ud800", write_token("other list", "a"), write_token("names", "a")[:-4]],
)
def test_any_other_text_is_refused_by_the_service(token: str) -> None:
    with pytest.raises(ApiError) as refused:
        NAMES.read(token)
    assert (refused.value.code, refused.value.message) == ("InvalidToken", token)


def test_pages_behind_an_entry() -> None:
    found = [{"id": name} for name in "abcde"]
    key = itemgetter("id")
    assert page_behind(found, key, None, 2) == (found[:2], "b")
    assert page_behind(found, key, "b", 2) == (found[2:4], "d")
    assert page_behind(found, key, "d", 2) == (found[4:], None)
    assert page_behind(found, key, None, 5) == (found, None)
    assert page_behind([], key, None, 5) == ([], None)
    with pytest.raises(ValueError, match="not in list"):
        page_behind(found, key, "z", 2)
