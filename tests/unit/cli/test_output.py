"""Printing: tones, widths, words, and readers that have gone."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from statewright.cli.output import Printer, count_words, duration_words, json_text, silence, visible
from tests.unit.cli.conftest import Terminal


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [
        (0, "0 s"),
        (1, "1 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (1_500, "1.5 s"),
        (59_999, "59.999 s"),
        (60_000, "1 min"),
        (61_500, "1 min 1 s"),
        (3_600_000, "1 h"),
        (3_600_000 + 59_000, "1 h"),
        (7_260_000, "2 h 1 min"),
        (90_000_000, "1 d 1 h"),
        (365 * 86_400_000, "365 d"),
    ],
)
def test_durations(duration_ms: int, words: str):
    assert duration_words(duration_ms) == words


def test_counts():
    assert [count_words(n, "entry", "entries") for n in (0, 1, 1000)] == ["0 entries", "1 entry", "1,000 entries"]


def test_visible():
    assert visible("a\x1b[2J\x9b\u202eé✓") == "a\\x1b[2J\\x9b\\u202eé✓"


def test_wrapping_on_a_terminal():
    page = Terminal()
    printer = Printer(page)
    printer.wrapped("word " * 20 + "\nnext", "    ", first="  hint: ")
    assert page.getvalue().splitlines() == [
        "  hint: " + "word " * 13 + "word",
        "    " + "word " * 5 + "word",
        "    next",
    ]


def test_folding_on_a_terminal():
    page = Terminal()
    printer = Printer(page)
    printer.folded([("place", "strong"), " ", "word " * 20], "  ")
    lines = page.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert [line.rstrip() for line in lines] == ["place " + "word " * 14 + "word", "  " + "word " * 4 + "word"]


def test_cropping():
    page = Terminal()
    printer = Printer(page)
    printer.cropped([["x" * 50, ("y" * 50, "ok")], ["short"]])
    lines = page.getvalue().splitlines()
    assert lines[0] == "x" * 50 + "\x1b[32m" + "y" * 29 + "…\x1b[0m"
    assert lines[1] == "short"


def test_json_on_a_terminal_is_coloured_and_harmless():
    page = Terminal()
    Printer(page).json({'a\\"b': [1.5, -2e9, True, None, "x\x9by"]})
    text = page.getvalue()
    assert '\x1b[36m"a\\\\\\"b"\x1b[0m' in text
    assert "\x1b[34m1.5\x1b[0m" in text
    assert "\x1b[33mtrue\x1b[0m" in text
    assert '\x1b[32m"x\\u009by"\x1b[0m' in text


def test_icons_where_they_cannot_be_encoded():
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    printer = Printer(page)
    printer.line("✓ é →")
    printer.flush()
    assert isinstance(page.buffer, io.BytesIO)
    assert page.buffer.getvalue() == b"+ \\xe9 ->\n"


def test_json_text():
    assert json_text({"a": [1]}, compact=True) == '{"a":[1]}'
    assert json_text(10**30, compact=True) == str(10**30)
    assert json_text("é", ascii_only=True) == '"\\u00e9"'
    deep: list[object] = []
    for _ in range(450):
        deep = [deep]
    assert json_text(deep) == "[" * 451 + "]" * 451


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_reader_that_has_gone():
    printer = Printer(Gone())
    printer.line("x")
    printer.flush()


def test_silence(tmp_path: Path):
    with (tmp_path / "file").open("w") as stream:
        silence(stream)
        stream.write("x")
    assert (tmp_path / "file").read_text() == ""


def test_closed_streams_are_no_terminals():
    stream = io.StringIO()
    stream.close()
    assert not Printer(stream).is_terminal


def test_nothing_follows_what_was_cut():
    printer = Printer(io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert printer.styled(["STATUS", "     ", "STARTED"], 9) == "STATUS…"
    assert printer.styled(["STATUS", "     ", "STARTED"], 14) == "STATUS     ST…"
