"""One page's commands and programs, run in one shell as a reader would, from the top to the bottom."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.blocks import Block, blocks_of, pages
from tests.docs.not_run import reason_not_to_run
from tests.docs.shell import Shell, Step
from tests.docs.transcripts import Command, commands_of, missing_line

_ALONE: Final = re.compile(
    r"statewright (?:run \S*(?:/|\.)|run .*\.asl\.|test|validate|graph|export|simulate|init|completion|schedule next ')"
)
"""Commands that need no server; commands of the shell itself need none either."""
_ANOTHER_PROGRAM: Final = re.compile(r"^(?:aws|statewright|curl|python|docker)\b")
_OUTSIDE: Final = re.compile(
    r"^(?:sudo|docker|podman|pip|pipx|npm|git|make|systemctl|apt|apt-get|brew|python -m (?:pip|build))\b"
    r"|(?<![\w:.])/(?:var|etc|usr|opt|srv|home|root)/|https?://(?!127\.0\.0\.1|localhost)"
)
"""What a command must not do in a test: change the machine, or load something."""
_SETTINGS: Final = 'eval "$(statewright env)"'
_QUICK: Final = 2
"""Commands that a test in `make test` may run: each takes half a second on a busy machine."""


@dataclass(frozen=True, slots=True)
class Session:
    """The blocks of a page that are commands or programs."""

    page: str
    blocks: tuple[Block, ...]

    @property
    def has_server(self) -> bool:
        """True if a command or a program talks to a server."""
        return any(_needs_server(block) for block in self.blocks)

    @property
    def is_quick(self) -> bool:
        """True if the session may run in `make test`."""
        commands = [command.text for block in self.blocks for command in commands_of(block.text)]
        is_local = not self.has_server and all(block.kind == "commands" for block in self.blocks)
        return is_local and len(commands) <= _QUICK and not any("simulate" in text for text in commands)

    def run(self, folder: Path) -> list[str]:
        """Run the session in an empty folder; returns what went wrong, command by command."""
        shell = Shell(folder, self.page, self.has_server)
        shell.prepare()
        steps: list[tuple[str, Command | None, int]] = []
        for number, block in enumerate(self.blocks):
            if block.kind == "python":
                steps.append((block.place, None, shell.add(_program(block, number, folder))))
            else:
                for command in commands_of(block.text):
                    place = f"{block.page}:{block.line + command.line}"
                    steps.append((place, command, shell.add(command.text)))
        done = shell.run()
        return [
            f"{place}: {problem}\n  $ {done[number].text}\n{_indented(done[number].printed)}"
            for place, command, number in steps
            if (problem := _problem(command, done[number])) is not None
        ]


def sessions() -> list[Session]:
    """The session of each page that has one."""
    found = []
    for page in pages():
        run = [one for one in blocks_of(page) if one.kind in ("commands", "python") and reason_not_to_run(one) is None]
        if run:
            found.append(Session(page, tuple(run)))
    return found


def not_to_be_run(block: Block) -> str | None:
    """The first command of a block that would change the machine or load something; None if there is none."""
    return next((one.text for one in commands_of(block.text) if _OUTSIDE.search(one.text)), None)


def _needs_server(block: Block) -> bool:
    if block.kind == "python":
        return "boto3.client" in block.text
    texts = [command.text for command in commands_of(block.text)]
    return any(_ANOTHER_PROGRAM.match(text) and not _ALONE.match(text) for text in texts)


def _program(block: Block, number: int, folder: Path) -> str:
    """Write a block of Python into a file; the command that runs it."""
    is_test = re.search(r"^def test_", block.text, re.MULTILINE) is not None
    file = folder / (f"test_block_{number}.py" if is_test else f"block_{number}.py")
    file.write_text(block.text, encoding="utf-8")
    if is_test:
        return f"{sys.executable} -m pytest -q -p no:cacheprovider -p statewright.testing.plugin {file.name}"
    settings = f"{_SETTINGS} && " if _SETTINGS in block.text else ""
    return f"{settings}{sys.executable} {file.name}"


def _problem(command: Command | None, step: Step) -> str | None:
    if step.status is None:
        return "did not end"
    fails = command is not None and command.fails
    if (step.status != 0) != fails:
        return f"ended with {step.status}"
    missing = missing_line(command.shown, step.printed) if command is not None else None
    return f"did not print {missing!r}" if missing is not None else None


def _indented(text: str) -> str:
    lines = text.splitlines()
    shown = lines if len(lines) <= 60 else [*lines[:20], "...", *lines[-40:]]
    return "\n".join(f"    {line}" for line in shown)
