"""`statewright graph`: three forms, to the terminal or to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("options", "start"),
    [((), "●"), (("--text",), "●"), (("--mermaid",), "flowchart TD"), (("--svg",), "<svg "), (("--ascii",), "o\n")],
)
def test_forms(statewright: Run, options: tuple[str, ...], start: str):
    result = statewright("graph", "order.asl.json", *options)
    assert result.code == 0
    assert result.out.startswith(start)
    assert "Reserve" in result.out


def test_ascii_where_nothing_else_can_be_encoded(statewright: Run):
    assert statewright("graph", "order.asl.json", encoding="ascii").out.isascii()
    assert statewright("graph", "order.asl.json", "--ascii").out.isascii()


def test_width(statewright: Run):
    result = statewright("graph", "order.asl.json", "--width", "40")
    assert max(len(line) for line in result.out.splitlines()) <= 40


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("a.svg", (), "<svg"),
        ("a.mmd", (), "flowchart"),
        ("a.txt", (), "●"),
        ("a.svg", ("--mermaid",), "flowchart"),
        ("a.md", ("--mermaid",), "flowchart"),
    ],
)
def test_to_a_file(statewright: Run, folder: Path, name: str, options: tuple[str, ...], start: str):
    result = statewright("graph", "order.asl.json", *options, "-O", name)
    assert (result.code, result.out, result.err) == (0, "", f"Wrote {name}\n")
    assert (folder / name).read_text("utf-8").startswith(start)


def test_an_image_of_another_kind(statewright: Run, folder: Path):
    result = statewright("graph", "order.asl.json", "-O", "a.PNG")
    assert (result.code, result.out) == (2, "")
    assert result.err == "Error: --out: drawings cannot be written as .png\n  hint: write an image as .svg\n"
    assert not (folder / "a.PNG").exists()


def test_from_the_standard_input(statewright: Run, folder: Path):
    drawn = statewright("graph", "order.asl.json").out
    assert statewright("graph", "-", stdin=(folder / "order.asl.json").read_text()).out == drawn
    refused = statewright("graph", "-", stdin="{")
    assert (refused.code, refused.out) == (1, "")


def test_colours_on_a_terminal(terminal: Run, statewright: Run, folder: Path):
    assert "\x1b[" in terminal("graph", "order.asl.json").out
    assert "\x1b[" not in terminal("graph", "order.asl.json", "--mermaid").out
    terminal("graph", "order.asl.json", "-O", "a.txt")
    assert "\x1b[" not in (folder / "a.txt").read_text()


def test_what_cannot_be_drawn(statewright: Run, folder: Path):
    (folder / "text.json").write_text("{nope")
    result = statewright("graph", "text.json")
    assert result.code == 1
    assert "text.json:1:2 ERROR INVALID_JSON_DESCRIPTION" in result.err
    assert statewright("graph", "nope.json").code == 3
    assert statewright("graph", ".").code == 3
    assert statewright("graph", "order.asl.json", "-O", "no/such/folder.svg").code == 3


def test_mistakes_are_drawn(statewright: Run, folder: Path):
    (folder / "bad.json").write_text('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}')
    result = statewright("graph", "bad.json")
    assert result.code == 0
    assert "B" in result.out
