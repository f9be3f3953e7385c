"""`--extensions`: definitions may use what only Statewright has. Also switched on by STATEWRIGHT_EXTENSIONS=1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

VARIABLE: Final = "STATEWRIGHT_EXTENSIONS"

Command = TypeVar("Command", bound=Callable[..., Any])


def extensions_option(command: Command) -> Command:
    """`--extensions`."""
    return click.option(
        "--extensions",
        is_flag=True,
        envvar=VARIABLE,
        expose_value=False,
        is_eager=True,
        callback=_switch,
        help="Accept Statewright's own extensions: deadlines and turns of loops.",
    )(command)


def _switch(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    from statewright.asl import extensions

    extensions.switch(wanted)
