"""The line of a key in the text of a settings file, which readers of TOML do not tell."""

from __future__ import annotations

import re


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of a settings file that sets a key: below its table's header, or inside an inline table's line."""
    best = None
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header is not None:
            table = _parts(header[1])
            here = table
        else:
            named = re.match(r"\s*([^=#]+?)\s*=", line)
            if named is None:
                continue
            here = (*table, *_parts(named[1]))
        if here == keys[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best else None


def _parts(key: str) -> tuple[str, ...]:
    """The parts of a dotted key; a dot between quotes belongs to its part."""
    return tuple(part.strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.\s]+", key))
