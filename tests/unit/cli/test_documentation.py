"""The examples of docs/cli.md print what they say."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

DOCS = Path(__file__).resolve().parents[3] / "docs"


def fenced(name: str, language: str) -> str:
    """The first block of a language in a document."""
    match = re.search(rf"```{language}\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)
    assert match is not None
    return match[1]


def examples() -> Iterator[tuple[str, str]]:
    """Every command of docs/cli.md, with what stands below it."""
    blocks = re.findall(r"(?m)^    \$ statewright .*\n(?:(?:    .*)?\n)*", (DOCS / "cli.md").read_text())
    for block in blocks:
        command, _, output = textwrap.dedent(block).partition("\n")
        yield command.removeprefix("$ "), output.strip("\n")


def same(text: str) -> str:
    """Without what differs from run to run: real times, blanks at ends of lines."""
    lines = [re.sub(r"\b\d+ ms\b", "0 ms", line).rstrip() for line in text.strip("\n").splitlines()]
    return "\n".join(lines)


@pytest.fixture
def documented(folder: Path) -> Path:
    (folder / "order.asl.json").write_text(fenced("cases.md", "json"))
    (folder / "order.cases.yaml").write_text(fenced("cases.md", "yaml"))
    (folder / "mocks.yaml").write_text(fenced("cli.md", "yaml"))
    return folder


@pytest.mark.parametrize(("command", "output"), list(examples()))
def test_examples(
    terminal: Run, statewright: Run, documented: Path, monkeypatch: pytest.MonkeyPatch, command: str, output: str
):
    monkeypatch.setenv("NO_COLOR", "1")
    arguments = shlex.split(command)[1:]
    piped = arguments[-1:] == ["cat"]
    if piped:
        arguments = arguments[: arguments.index("2>&1")]
    result = (statewright if piped else terminal)(*arguments)
    assert same(result.err + result.out) == same(output)


def test_there_are_examples():
    assert len(list(examples())) >= 5


def test_every_option_is_documented(statewright: Run):
    text = (DOCS / "cli.md").read_text()
    for command in ("run", "validate", "graph", "test", "export"):
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", statewright(command, "--help").out))
        # Those with a short form may be documented by it alone.
        options -= {"--help", "--input", "--output", "--quiet", "--text"}
        assert {option for option in options if option not in text} == set()
