"""`[console]` of `statewright.toml`: who has to sign in to the console, and what it shows of payloads.

Owns the settings and the form of patterns of redaction. What a pattern hides is `console/redaction.py`'s, who signs in
`console/signing_in/sign_in.py`'s.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.config_tables import Keys, Reader
from statewright.payload import JsonObject

LOGINS: Final = ("auto", "always")
"""When the console asks users to sign in."""
_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")
_TAKEN_HEADERS: Final = frozenset({"authorization", "cookie", "host", "origin", "referer", "user-agent"})
"""Headers that browsers send themselves."""
PAYLOADS: Final = ("shown", "hidden")
MOST_PATTERNS: Final = 100
MOST_STEPS: Final = 20
_STEP: Final = re.compile(r"\*\*|[^.\[\]\s\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`login` is one of `LOGINS`: `auto` asks users to sign in on servers with credentials.

    `trust_header` is a header that names the user whom a proxy has signed in, in lower case; empty for none. It is
    believed from this machine and `proxies`, which are addresses and networks. `redact` are patterns of members whose
    values are shown as dots; with `payloads` `hidden` no payload is shown.
    """

    login: str = "auto"
    trust_header: str = ""
    proxies: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    payloads: str = "shown"


class ConsoleReader(Reader, Protocol):
    """Used by checks of this table: a reader that knows lists, too."""

    def list_of_texts(self, keys: Keys, value: object) -> list[str]:
        """A list of strings. Raises: ConfigError."""
        ...


def steps_of(pattern: str) -> tuple[str, ...]:
    """The steps of a pattern: names, in which `*` stands for any characters, and `**` for any number of steps.

    Raises: ValueError, which says what is wrong.
    """
    if not pattern:
        raise ValueError("it is empty")
    steps = tuple(pattern.split("."))
    if len(steps) > MOST_STEPS:
        raise ValueError(f"it has more than {MOST_STEPS} steps")
    for step in steps:
        if not step:
            raise ValueError("a step between its dots is empty")
        if _STEP.fullmatch(step) is None:
            raise ValueError(f"{step!r} is no name: lists need no brackets, their items have the path of the list")
        if "**" in step and step != "**":
            raise ValueError(f"'**' stands alone between dots, not within {step!r}")
    if set(steps) == {"**"}:
        raise ValueError('it would hide everything: payloads = "hidden" does that')
    return steps


def checked_console(reader: ConsoleReader, value: object) -> ConsoleSettings:
    """`[console]`. Raises: ConfigError, which names a pattern that is malformed."""
    table: JsonObject = reader.table(("console",), value, ("login", "trust_header", "proxies", "redact", "payloads"))
    patterns = reader.list_of_texts(("console", "redact"), table.get("redact", []))
    if len(patterns) > MOST_PATTERNS:
        reader.refuse(("console", "redact"), f"has {len(patterns)} patterns, of at most {MOST_PATTERNS}")
    for pattern in patterns:
        try:
            steps_of(pattern)
        except ValueError as problem:
            reader.refuse(("console", "redact"), f'has the pattern "{pattern[:200]}", which cannot be used: {problem}')
    payloads = table.get("payloads", "shown")
    if not isinstance(payloads, str) or payloads not in PAYLOADS:
        reader.refuse(("console", "payloads"), f"must be {' or '.join(PAYLOADS)}")
    login = table.get("login", "auto")
    if not isinstance(login, str) or login not in LOGINS:
        reader.refuse(("console", "login"), f"must be one of {', '.join(LOGINS)}")
    proxies = reader.list_of_texts(("console", "proxies"), table.get("proxies", []))
    return ConsoleSettings(login, _header(reader, table), tuple(_networks(reader, proxies)), tuple(patterns), payloads)


def _header(reader: ConsoleReader, table: JsonObject) -> str:
    header = table.get("trust_header", "")
    is_usable = isinstance(header, str) and (not header or _HEADER.fullmatch(header))
    header = str(header).lower()
    if not is_usable or header in _TAKEN_HEADERS or header.startswith("sec-"):
        reader.refuse(("console", "trust_header"), 'must be a header that the proxy sets, such as "X-Forwarded-User"')
    return header


def _networks(reader: ConsoleReader, proxies: list[str]) -> list[str]:
    for network in proxies:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            reader.refuse(("console", "proxies"), f'must be addresses or networks such as "10.0.0.7", not {network!r}')
    return proxies
