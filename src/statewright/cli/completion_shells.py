"""Completion by shells: the script of bash, and the way words are exchanged with it; zsh and fish have Click's own.

Bash splits words at colons, equals signs and the like, and replaces only the last part of a word: what stands before it
is left out of each answer. Where nothing of ours can stand, bash completes as it always does.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from statewright.cli.completion_values import OPEN, prepare

_BASH: Final = """\
%(complete_func)s() {
    local kind value
    local -a files
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) printf -v value %%q "$value"; COMPREPLY+=("$value") ;;
            open) printf -v value %%q "$value"; COMPREPLY+=("$value"); compopt -o nospace ;;
            nothing) compopt +o bashdefault +o default ;;
            dir) compopt +o bashdefault +o default -o dirnames ;;
            file) files+=("$value") ;;
            at) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -P @ -f -- "${value#@}") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    # Files alone are left to bash, which knows how to quote them.
    if (( ${#files[@]} && ${#COMPREPLY[@]} )); then
        compopt -o filenames
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${files[0]}")
    fi
    return 0
}

complete -o bashdefault -o default -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Prepared:
    """Lets the parameters of a command complete what they take."""

    def __init__(
        self, cli: click.Command, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str
    ) -> None:
        prepare(cli)
        super().__init__(cli, ctx_args, prog_name, complete_var)  # type: ignore[call-arg]


class Bash(_Prepared, BashComplete):
    """Bash 4.4 or newer."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one at it."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        is_between = not line or line[-1].isspace()
        return (words[1:], "") if is_between else (words[1:-1], words[-1] if words else "")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """`type,value`, without what bash keeps of the word."""
        return f"{item.type},{item.value.removeprefix(self._kept())}"

    def _kept(self) -> str:
        """The part of the word at the cursor up to the last character that separates words for bash."""
        word = self.get_completion_args()[1]
        if word.startswith("--"):
            word = word.partition("=")[2]
        # The at sign begins a word for Readline.
        separators = os.environ.get("COMP_WORDBREAKS", "").replace("@", "")
        breaks = [place for place, one in enumerate(word) if one in separators]
        return word[: breaks[-1] + 1] if breaks else ""


class Zsh(_Prepared, ZshComplete):
    """Zsh."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """As Click writes it; it has no items that are the beginning of a word."""
        return super().format_completion(_closed(item))


class Fish(_Prepared, FishComplete):
    """Fish."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """As Click writes it; it has no items that are the beginning of a word."""
        return super().format_completion(_closed(item))


def _closed(item: CompletionItem[str]) -> CompletionItem[str]:
    return CompletionItem(item.value, help=item.help) if item.type == OPEN else item


def register() -> None:
    """Use these in place of Click's own."""
    for one in (Bash, Zsh, Fish):
        add_completion_class(one)
