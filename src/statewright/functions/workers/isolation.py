"""Levels of isolation between handlers, the server and the machine: which there are, and which this machine has.

`none`: a process of the same user. `hardened`: without privileges, with limits, unable to read the server's memory.
`namespaces`: in a file system and among processes of its own. What each of them holds back: docs/security.md. Leaves
the confinement itself to `runtimes/confinement.py`, which the fork servers load.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from statewright.functions.workers.fork_servers import RUNTIMES

NONE: Final = "none"
HARDENED: Final = "hardened"
NAMESPACES: Final = "namespaces"
_HIGHEST_FIRST: Final = (NAMESPACES, HARDENED)
_TRIAL_SECONDS: Final = 20


class CannotIsolate(Exception):
    """Raised when this machine does not have the level that the settings ask for; the text says why."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """A level, and why this machine has no higher one; empty for the highest, and for one that the settings chose."""

    level: str
    reason: str = ""


def isolation(wanted: str) -> Isolation:
    """The level to use for a setting: `auto` is the highest that this machine has.

    The first call takes some 50 ms for each level that it tries; later ones know. Raises: CannotIsolate.
    """
    if wanted == NONE:
        return Isolation(NONE)
    reasons: list[str] = []
    for level in _HIGHEST_FIRST if wanted == "auto" else (wanted,):
        problem = _problem_of(level)
        if not problem:
            return Isolation(level, "; ".join(reasons))
        reasons.append(f"no {level}: {problem}")
    if wanted != "auto":
        raise CannotIsolate(
            f"handlers cannot be isolated by {wanted} on this machine: {_problem_of(wanted)}. Allow a lower level: "
            'isolation = "auto" under [functions] in statewright.toml, or --isolation auto'
        )
    return Isolation(NONE, "; ".join(reasons))


@functools.cache
def _problem_of(level: str) -> str:
    """Why this machine does not have a level; empty if it has."""
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-S", str(RUNTIMES / "confinement.py"), level],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_TRIAL_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    if tried.returncode == 0:
        return ""
    return tried.stdout.strip() or (tried.stderr.strip().splitlines() or ["unknown"])[-1]
