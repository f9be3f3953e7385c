"""What the harness of the documents reads in a page, and what it reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from statewright.errors import DefinitionError
from statewright.settings.reader import ConfigError
from tests.docs.blocks import Block, read_blocks
from tests.docs.readers import read
from tests.docs.sessions import Session, not_to_be_run
from tests.docs.synopsis import mistakes
from tests.docs.transcripts import commands_of, missing_line

PAGE = """\
# A page

Text, and an indented block:

    $ one
    two

    three

- an item
    that goes on

```yaml
a: 1
```

```
plain
```
"""


def block(text: str, language: str = "") -> Block:
    return Block("docs/page.md", 1, language, text)


def test_blocks_are_fenced_or_indented() -> None:
    found = [(one.line, one.language, one.text, one.kind) for one in read_blocks("p", PAGE)]
    assert found == [
        (5, "", "$ one\ntwo\n\nthree\n", "commands"),
        (14, "yaml", "a: 1\n", "data"),
        (18, "", "plain\n", "other"),
    ]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("$ a\nx\n\ny\n$ b\n", [("a", ("x", "y")), ("b", ())]),
        ("$ a \\\n    b\nx\n", [("a \\\n    b", ("x",))]),
        ("$ cat > f <<'END'\n$ no command\nEND\nx\n", [("cat > f <<'END'\n$ no command\nEND", ("x",))]),
        ("$ a '{\n  b}'\nx\n", [("a '{\n  b}'", ("x",))]),
    ],
    ids=["output", "continued", "a document", "quotes"],
)
def test_transcripts(text: str, commands: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(one.text, one.shown) for one in commands_of(text)] == commands


def test_numbers_ids_and_widths_are_not_compared() -> None:
    printed = "\x1b[1mrun 4f0c2b6e-1111-2222-3333-444455556666\x1b[0m  took 1.2 s,\n  in 12 events\n"
    assert missing_line(["run 62ee2c8a-ff18-48a1-81f3-2104535baaa1 took 250 ms, in 3 events"], printed) is None
    assert missing_line(["run ... events"], printed) is None
    assert missing_line(["took 1 s", "run"], printed) == "run"
    assert missing_line(["took 1 s, in 3 turns"], printed) == "took 1 s, in 3 turns"
    assert missing_line(["in 1 event"], printed) is None


def test_a_synopsis_names_commands_and_options_that_exist() -> None:
    right = "statewright test --case NAME    one case\nstatewright queue list, send    two\n"
    assert mistakes(block(right)) == []
    wrong = (
        "statewright tset    tests\nstatewright test --cases NAME    cases\nstatewright test -o json > report.json\n"
    )
    assert [found.partition(": ")[2] for found in mistakes(block(wrong))] == [
        "there is no command tset", "test has no --cases",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('{"StartAt": "A", "States": {"A": {"Type": "Pas", "End": true}}}', "json"),
        ('"A": {"Type": "Wait", "Next": "B"}', "json"),
        ("accout = '1'", "toml"),
        ("mocks:\n  A: {retruns: 1}", "yaml"),
        ("queues: {q: {visibilty: 1}}", "yaml"),
        ("something: else", "yaml"),
    ],
)
def test_data_with_a_mistake_is_reported(text: str, language: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ConfigError, DefinitionError)):
        read(block(text, language), tmp_path)


@pytest.mark.parametrize(
    "command", ["sudo ls", "pip install x", "cp a /etc/b", "curl https://example.com", "docker ps"]
)
def test_commands_that_must_not_run(command: str) -> None:
    assert not_to_be_run(block(f"$ echo a\n$ {command}\n")) == command


def test_a_session_says_which_command_went_wrong(tmp_path: Path) -> None:
    text = "$ echo right\nright\n$ echo wrong\nright\n$ false\n$ (exit 3)\n✗ Failed\n"
    problems = Session("docs/page.md", (block(text),)).run(tmp_path)
    assert [problem.splitlines()[0] for problem in problems] == [
        "docs/page.md:3: did not print 'right'",
        "docs/page.md:5: ended with 1",
        "docs/page.md:6: did not print '✗ Failed'",
    ]
