"""Texts with stars: escapes, and work in proportion to the texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.query.wildcards import Wildcards


def by_tokens(pattern: str, text: str) -> bool:
    """The definition, as a regular expression."""
    tokens: list[str] = re.findall(r"\\[*\\]|.", pattern, re.DOTALL)
    parts = [".*" if one == "*" else re.escape(one[1] if one in (r"\*", "\\\\") else one) for one in tokens]
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@given(st.text("ab*\\", max_size=8), st.text("ab*\\", max_size=8))
def test_it_is_what_its_tokens_say(pattern: str, text: str) -> None:
    assert Wildcards(pattern).matches(text) is by_tokens(pattern, text)


@pytest.mark.parametrize("ending", ["", "\\", "\\\\", "\\*", "\\\\*", "*"])
def test_what_a_pattern_may_end_with(ending: str) -> None:
    for text in ("x", "x\\", "x*", "x\\\\", "xy", "x\\y"):
        assert Wildcards("x" + ending).matches(text) is by_tokens("x" + ending, text)


def test_the_work_is_in_proportion_to_the_texts() -> None:
    assert not Wildcards("*a" * 20_000 + "*b").matches("a" * 200_000)
    assert not Wildcards("a*" * 30 + "b").matches("a" * 200_000)
    assert Wildcards("x" * 1_000_000).matches("x" * 1_000_000)
    assert Wildcards("*" * 500_000 + "\\*").matches("*")


def test_long_pieces_count_for_more_in_texts_of_moderate_length() -> None:
    text = "a" * 20_000
    assert Wildcards("*ab*").comparisons(text) == 20_000
    assert Wildcards("*" + "a" * 800 + "*").comparisons(text) == 101 * 20_000
    assert Wildcards("*" + "a" * 800 + "*").comparisons(text * 2) == 40_000
