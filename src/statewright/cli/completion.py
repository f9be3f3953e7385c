"""`statewright completion SHELL`: the script that lets a shell complete commands and options, and how to install it."""

from __future__ import annotations

from typing import Final

import click

from statewright.cli.output import stderr, stdout

_INSTALL: Final = {
    "bash": "statewright completion bash > ~/.local/share/bash-completion/completions/statewright",
    "zsh": 'statewright completion zsh > "${fpath[1]}/_statewright"',
    "fish": "statewright completion fish > ~/.config/fish/completions/statewright.fish",
}


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script by which bash (4.4 or newer), zsh or fish completes commands, options and their values.

    \b
    Examples:
      eval "$(statewright completion bash)"
      statewright completion bash > ~/.local/share/bash-completion/completions/statewright
      statewright completion zsh > "${fpath[1]}/_statewright"
      statewright completion fish > ~/.config/fish/completions/statewright.fish
    """
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    assert completer is not None, "the choices are Click's own"
    # Click's own check of bash's version runs bash, which need not be there where the script is made.
    made = completer(context.find_root().command, {}, "statewright", "_STATEWRIGHT_COMPLETE")
    printer = stdout()
    printer.plain(made.source_template % made.source_vars())
    if printer.is_terminal:
        stderr().wrapped(f"To install it: {_INSTALL[shell]}", "", "idle")
