"""Pages of lists, previews of objects, and which of a bus's events a tap shows."""

from __future__ import annotations

import logging

import pytest

from statewright.console.asked import Asked, Caller
from statewright.console.services.lists import begin_write, newest_of, page_of
from statewright.console.services.objects import picture_of, text_in
from statewright.errors import ApiError

NAMES = ["beta", "Alpha", "alpine", "gamma", "delta"]


def test_a_list_is_filtered_and_continued_after_its_cursor():
    first, cursor = page_of(NAMES, str, {"limit": "2"})
    assert (first, cursor) == (["Alpha", "alpine"], "alpine")
    second, cursor = page_of(NAMES, str, {"limit": "2", "cursor": "alpine"})
    assert (second, cursor) == (["beta", "delta"], "delta")
    assert page_of(NAMES, str, {"limit": "2", "cursor": "delta"}) == (["gamma"], None)
    assert page_of(NAMES, str, {"q": " ALP "}) == (["Alpha", "alpine"], None)


def test_a_cursor_whose_row_is_gone_goes_on_after_its_place():
    assert page_of(["a", "c"], str, {"cursor": "b"}) == (["c"], None)


def test_a_limit_is_bounded():
    every = [f"{number:04}" for number in range(300)]
    assert len(page_of(every, str, {"limit": "100000"})[0]) == 100
    assert len(page_of(every, str, {"limit": "0"})[0]) == 1
    with pytest.raises(ApiError):
        page_of(every, str, {"limit": "-1"})


def test_the_newest_come_first_and_equal_instants_are_not_lost():
    rows = [(5, "a"), (5, "b"), (1, "c"), (9, "d")]
    first, cursor = newest_of(rows, lambda row: row, {"limit": "2"})
    assert (first, cursor) == ([(9, "d"), (5, "b")], "5:b")
    assert newest_of(rows, lambda row: row, {"limit": "2", "cursor": "5:b"}) == ([(5, "a"), (1, "c")], None)


def test_a_write_of_one_who_may_only_read_is_refused_and_others_are_logged(caplog):
    with pytest.raises(ApiError, match="may only read"):
        begin_write(Asked({}, Caller(may_write=False), "1", {}), "PutObject of b")
    with caplog.at_level(logging.INFO, "statewright.console"):
        begin_write(Asked({}, Caller("AKIA"), "r-1", {}), "PutObject of b")
    assert "PutObject of b by AKIA in the console, request r-1" in caplog.text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n0", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF0000WEBPVP8 ", "image/webp"),
        (b"RIFF0000WAVEfmt ", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(content, kind):
    assert picture_of(content) == kind


def test_text_may_be_cut_within_a_character():
    assert text_in("häß".encode()) == "häß"
    assert text_in("aß€".encode()[:-1]) == "aß"
    assert text_in("a😀".encode()[:-1]) == "a"
    assert text_in(b"a\xff" + b"b" * 10) is None
    assert text_in(b"a\0b") is None
    assert text_in(b"") == ""
