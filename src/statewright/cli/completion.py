"""`statewright completion SHELL`: the script that lets a shell complete commands, options and their values, and how to
install it. What is completed is `completion_values.py`'s, how with a shell `completion_shells.py`'s.
"""

from __future__ import annotations

from typing import Final

import click

from statewright.cli.output import stderr, stdout

_INSTALL: Final = {
    "bash": "statewright completion bash > ~/.local/share/bash-completion/completions/statewright",
    "zsh": 'statewright completion zsh > "${fpath[1]}/_statewright"',
    "fish": "statewright completion fish > ~/.config/fish/completions/statewright.fish",
}
VARIABLE: Final = "_STATEWRIGHT_COMPLETE"
"""The variable by which a shell asks for completions; Click's name for it."""


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script by which bash (4.4 or newer), zsh or fish completes commands, options and their values: files,
    and the names of machines, executions, functions, queues and the like that the server has.

    \b
    Examples:
      eval "$(statewright completion bash)"
      statewright completion bash > ~/.local/share/bash-completion/completions/statewright
      statewright completion zsh > "${fpath[1]}/_statewright"
      statewright completion fish > ~/.config/fish/completions/statewright.fish
    """
    from click.shell_completion import ShellComplete

    from statewright.cli.completion_shells import Bash, Fish, Zsh

    completers: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
    completer = completers[shell]
    # Click's own check of bash's version runs bash, which need not be there where the script is made.
    made = completer(context.find_root().command, {}, "statewright", VARIABLE)
    printer = stdout()
    printer.plain(made.source_template % made.source_vars())
    if printer.is_terminal:
        stderr().wrapped(f"To install it: {_INSTALL[shell]}", "", "idle")
