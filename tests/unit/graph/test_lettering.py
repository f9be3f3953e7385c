import pytest

from statewright.graph.lettering import cell_width, fit, fit_cells, printable, text_width, wrap


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("  two\n\tlines  ", "two lines"),
        ("\x1b[31mred", "�[31mred"),
        ("lone \ud800 half", "lone � half"),
        ("right\u202eleft", "right�left"),
        ("null\x00", "null�"),
    ],
)
def test_printable(text, clean):
    assert printable(text) == clean


def test_width_grows_with_text_and_size():
    assert text_width("", 13) == 0
    assert text_width("il", 13) < text_width("mw", 13)
    assert text_width("abc", 13) < text_width("abc", 20)
    assert text_width("日本", 13) > text_width("ab", 13)


def test_fit_keeps_short_text_and_cuts_long():
    assert fit("short", 100, 13) == "short"
    cut = fit("a rather long line of text", 100, 13)
    assert cut.endswith("…")
    assert text_width(cut, 13) <= 100
    assert fit("x" * 100_000, 100, 13).endswith("…")
    assert fit("abc", 1, 13) == "…"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ("short",)),
        ("several words in a row here", ("several words in", "a row here")),
        ("ProcessTheIncomingOrder", ("ProcessThe", "IncomingOrder")),
        ("a is present and b is 3", ("a is present", "and b is 3")),
    ],
)
def test_wrap(text, lines):
    assert wrap(text, 118, 13, 2) == lines


def test_wrap_ends_in_an_ellipsis():
    assert wrap("word " * 50, 100, 13, 2)[-1].endswith("…")
    assert len(wrap("x" * 100, 100, 13, 2)) == 1


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("…", 1), ("", 0)])
def test_cells(text, cells):
    assert cell_width(text) == cells


@pytest.mark.parametrize(
    ("text", "cells", "fitted"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("abc", 0, ""), ("abc", 1, "…")],
)
def test_fit_cells(text, cells, fitted):
    assert fit_cells(text, cells) == fitted


def test_a_wide_ellipsis_does_not_exceed_the_room():
    assert fit_cells("abcdef", 2, "...") == ".."
    assert fit_cells("abcdef", 5, "...") == "ab..."
    assert fit_cells("abcdef", -1, "...") == ""
