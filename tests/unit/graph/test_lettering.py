import pytest

from statewright.graph.lettering import cell_width, cut_cells, fit, fit_cells, printable, text_width, wrap


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
    assert cut == "a rather…text"
    assert text_width(cut, 13) <= 100
    assert fit("x" * 100_000 + "end", 100, 13).endswith("end")
    assert fit("abc", 1, 13) == "…"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ("short",)),
        ("several words in a row here", ("several words in", "a row here")),
        ("ProcessTheIncomingOrder", ("ProcessThe", "IncomingOrder")),
        ("a is present and b is 3", ("a is present", "and b is 3")),
        ("orders.shipping.status", ("orders.shipping.", "status")),
        ("ServesHTTPRequestsNow", ("ServesHTTP", "RequestsNow")),
        ("order_of_the_customer", ("order_of_the_", "customer")),
        ("the version 12.345.67890", ("the version", "12.345.67890")),
        ("when it is $.application", ("when it is", "$.application")),
    ],
)
def test_wrap(text, lines):
    assert wrap(text, 118, 13, 2) == lines


def test_wrap_cuts_what_is_left_over_in_its_middle():
    assert wrap("word " * 50 + "end", 100, 13, 2) == ("word word", "word wor…end")
    assert wrap("Ask for approval of an application by mail", 130, 13, 2)[0] == "Ask for approval of"


def test_wrap_never_breaks_within_a_word():
    (line,) = wrap("x" * 100, 100, 13, 2)
    assert "…" in line
    assert wrap("x" * 100_000 + "end", 100, 13, 2)[0].endswith("end")


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("…", 1), ("", 0)])
def test_cells(text, cells):
    assert cell_width(text) == cells


@pytest.mark.parametrize(
    ("text", "cells", "fitted"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("abc", 0, ""), ("abc", 1, "…")],
)
def test_fit_cells(text, cells, fitted):
    assert fit_cells(text, cells) == fitted


@pytest.mark.parametrize(
    ("text", "cells", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcdefghij", 7, "abcd…ij"),
        ("日本語日本語", 7, "日本…語"),
        ("abc", 1, "…"),
        ("abcdef", 0, ""),
    ],
)
def test_cut_cells(text, cells, cut):
    assert cut_cells(text, cells) == cut


def test_a_wide_ellipsis_does_not_exceed_the_room():
    assert fit_cells("abcdef", 2, "...") == ".."
    assert fit_cells("abcdef", 5, "...") == "ab..."
    assert fit_cells("abcdef", -1, "...") == ""
