"""Every block of every page is run, or `not_run.py` says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import Block, every_block
from tests.docs.not_run import NOT_RUN, reason_not_to_run
from tests.docs.readers import read
from tests.docs.sessions import Session, not_to_be_run, sessions
from tests.docs.shell import Shell
from tests.docs.synopsis import mistakes


def of_kind(kind: str) -> list[Block]:
    return [block for block in every_block() if block.kind == kind and reason_not_to_run(block) is None]


def test_every_block_is_run_or_listed_with_a_reason() -> None:
    wrong = [
        f"{block.place} is of no kind that is run ({block.text.splitlines()[0]!r}): begin its commands with `$ `, name "
        "its language (python, json, yaml, toml), or say in tests/docs/not_run.py why it cannot be run"
        for block in of_kind("other")
    ]
    assert wrong == []


def test_no_command_changes_the_machine_or_loads_something() -> None:
    wrong = [
        f"{block.place}: {command!r} must not run in a test: say in tests/docs/not_run.py why the block is not run"
        for block in of_kind("commands")
        if (command := not_to_be_run(block)) is not None
    ]
    assert wrong == []


def test_every_entry_of_the_table_is_for_a_block() -> None:
    blocks = every_block()
    stale = [f"{entry.page}: {entry.beginning}" for entry in NOT_RUN if not any(entry.means(block) for block in blocks)]
    assert stale == []


@pytest.mark.parametrize("block", of_kind("data"), ids=str)
def test_data(block: Block, tmp_path: Path) -> None:
    Shell(tmp_path, block.page, has_server=False).prepare()
    read(block, tmp_path)


@pytest.mark.parametrize("block", of_kind("synopsis"), ids=str)
def test_synopsis(block: Block) -> None:
    assert mistakes(block) == []


@pytest.mark.parametrize(
    "session",
    [pytest.param(one, id=one.page, marks=[] if one.is_quick else [pytest.mark.slow]) for one in sessions()],
)
def test_commands_and_programs(session: Session, tmp_path: Path) -> None:
    problems = session.run(tmp_path)
    assert not problems, "\n\n".join(problems)
