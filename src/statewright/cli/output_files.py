"""Files that commands write for users: whole or not at all, and a sentence with an exit code when that fails.

`files/whole.py` writes them; which files and what is in them is the commands' business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from statewright.cli.output import FAILED, NOT_FOUND, Stop, reason_of
from statewright.files.whole import write_text, writing


def write_output(target: str | Path, text: str) -> None:
    """Write a text to the file that the user named. Raises: Stop."""
    try:
        write_text(Path(target), text)
    except OSError as problem:
        raise not_written(target, problem) from None


@contextmanager
def writing_output(target: str | Path) -> Iterator[BinaryIO]:
    """A file for what arrives in pieces. Raises: Stop."""
    try:
        with writing(Path(target)) as file:
            yield file
    except OSError as problem:
        raise not_written(target, problem) from None


def not_written(target: str | Path, problem: OSError) -> Stop:
    """The end of a command that could not write: 3 where the folder is missing, else 1."""
    if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
        return Stop(NOT_FOUND, f"{target} cannot be written: there is no folder '{Path(target).parent}'.")
    return Stop(FAILED, f"{target} cannot be written: {reason_of(problem)}")
