"""The reader of `statewright.toml`: checks of single values, whose refusals name the file, the line and the key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from statewright.files.settings_lines import line_of
from statewright.payload import JsonObject

Keys = tuple[str, ...]
"""The way to a value: the names of tables, and its own."""


class ConfigError(Exception):
    """A setting that cannot be used. The text names the file, the line and the key, and says what is expected."""


class Reader:
    """Checks values of one file. Raises (all methods): ConfigError."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self.folder = Path(name).absolute().parent
        """The folder of the file, for relative paths."""

    def refuse(self, keys: Keys, reason: str) -> NoReturn:
        """Refuse the value of a key."""
        line = line_of(self._text, keys)
        where = f"{self._name}:{line}" if line else self._name
        raise ConfigError(f"{where}: {'.'.join(keys)} {reason}")

    def text(self, keys: Keys, value: object, expected: str = "a string in quotes") -> str:
        """A text."""
        if not isinstance(value, str):
            self.refuse(keys, f"must be {expected}")
        return value

    def table(self, keys: Keys, value: object, known: Keys | None = None) -> JsonObject:
        """A table, of known keys only if they are given."""
        if not isinstance(value, dict):
            self.refuse(keys, "must be a table")
        for key in value if known is not None else ():
            if known is not None and key not in known:
                self.refuse((*keys, key), f"is not a setting{meant(key, known)}")
        return value

    def texts(self, keys: Keys, value: object) -> dict[str, str]:
        """A table of texts."""
        return {key: self.text((*keys, key), item) for key, item in self.table(keys, value).items()}

    def list_of_texts(self, keys: Keys, value: object) -> list[str]:
        """A list of texts."""
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self.refuse(keys, "must be a list of strings")
        return value

    def url(self, keys: Keys, value: object) -> str:
        """An address over HTTP, without a slash at its end."""
        text = self.text(keys, value, 'an address such as "http://127.0.0.1:8000"')
        try:
            parts = urlsplit(text)
            sound = (
                parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            sound = False
        if not sound:
            self.refuse(keys, f'must be an address such as "http://127.0.0.1:8000", not {text!r}')
        return text.rstrip("/")


def meant(key: str, known: Iterable[str]) -> str:
    """The end of a refusal of an unknown key: the known one that it may stand for, or all of them."""
    close = difflib.get_close_matches(key, list(known), 1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are: {', '.join(sorted(known))}"
