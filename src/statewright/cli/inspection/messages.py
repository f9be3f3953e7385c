"""Messages on the command line: their texts and their attributes, for queues and topics."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statewright.cli.output import USAGE, Stop


def text_of(argument: str) -> str:
    """The text of an argument `TEXT|@FILE|-`. Raises: Stop; OSError."""
    if argument == "-":
        return sys.stdin.read()
    if not argument.startswith("@"):
        return argument
    try:
        return Path(argument[1:]).read_text("utf-8")
    except UnicodeDecodeError:
        raise Stop(USAGE, f"{argument[1:]} is not UTF-8 text") from None


def attributes_of(pairs: Sequence[str]) -> dict[str, Any]:
    """The member `MessageAttributes` of a request, from options `NAME=TEXT`; none without any. Raises: Stop."""
    found = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise Stop(USAGE, f"--attribute {pair}: write NAME=TEXT")
        found[name] = {"DataType": "String", "StringValue": value}
    return {"MessageAttributes": found} if found else {}
