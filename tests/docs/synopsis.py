"""Lines of a synopsis: each names a command that exists, with options that it has."""

from __future__ import annotations

import re
import shlex
from typing import Final

import click

from statewright.cli.commands import commands
from tests.docs.blocks import Block

_REMARK: Final = re.compile(r"\s{2,}(?=\S)| > ")


def mistakes(block: Block) -> list[str]:
    """The lines that name a command or an option that does not exist."""
    context = click.Context(commands)
    found = []
    for line in block.text.splitlines():
        if line.startswith("statewright "):
            problem = _mistake(context, shlex.split(_words(line).replace("[", " ").replace("]", " "))[1:])
            if problem is not None:
                found.append(f"{line}: {problem}")
    return found


def _words(line: str) -> str:
    """The command of a line, without the remark behind it."""
    return _REMARK.split(line, maxsplit=1)[0].replace("...", "")


def _mistake(context: click.Context, words: list[str]) -> str | None:
    names = words[0].split(",") if words else []
    problems = [_mistake_of(context, [name, *words[1:]]) for name in names]
    return next((problem for problem in problems if problem is not None), None)


def _mistake_of(context: click.Context, words: list[str]) -> str | None:
    command: click.Command = commands
    rest = [word.rstrip(",") for word in words if word]
    while isinstance(command, click.Group) and rest:
        inner = command.get_command(context, rest[0])
        if inner is None:
            if command is commands:
                return f"there is no command {rest[0]}"
            break
        command, rest = inner, rest[1:]
    if command.name == "aws":
        return None
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    wrong = [word for word in rest if word.startswith("-") and word != "-" and word.partition("=")[0] not in known]
    return f"{command.name} has no {wrong[0]}" if wrong else None
