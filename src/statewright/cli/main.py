"""The command line's entry: runs a command, and ends quietly when it is interrupted, even before it has begun.

Imports nothing but `sys` itself: what takes time to import is imported where an interrupt is caught.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""The exit code that shells expect after Ctrl+C."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    try:
        from statewright.cli.commands import run_command

        code = run_command(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
