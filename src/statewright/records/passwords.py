"""Generated passwords: for GetRandomPassword, and for secrets that a template has generated.

Source: Secrets Manager API reference, GetRandomPassword.
"""

from __future__ import annotations

import string
from typing import Final

from statewright import chance
from statewright.payload import JsonMapping

DEFAULT_CHARACTERS: Final = 32
LONGEST: Final = 4096
_KINDS: Final = (
    ("ExcludeLowercase", string.ascii_lowercase),
    ("ExcludeUppercase", string.ascii_uppercase),
    ("ExcludeNumbers", string.digits),
    ("ExcludePunctuation", string.punctuation),
)


def generated_password(settings: JsonMapping) -> str:
    """A random password for the members of a request. Raises: ValueError, with a sentence for the caller."""
    length = settings.get("PasswordLength", DEFAULT_CHARACTERS)
    excluded = set(settings.get("ExcludeCharacters", ""))
    kinds = [characters for name, characters in _KINDS if not settings.get(name)]
    if settings.get("IncludeSpace"):
        kinds.append(" ")
    kinds = [left for one in kinds if (left := "".join(each for each in one if each not in excluded))]
    every = "".join(kinds)
    required = kinds if settings.get("RequireEachIncludedType", True) else []
    if not 1 <= length <= LONGEST:
        raise ValueError(f"PasswordLength must be between 1 and {LONGEST}.")
    if not every:
        raise ValueError("The password would have no characters: every type is excluded.")
    if length < len(required):
        raise ValueError("Password length is too short based on the required types.")
    drawn = [one[_below(len(one))] for one in required]
    drawn += [every[_below(len(every))] for _ in range(length - len(drawn))]
    for place in range(len(drawn) - 1, 0, -1):
        other = _below(place + 1)
        drawn[place], drawn[other] = drawn[other], drawn[place]
    return "".join(drawn)


def _below(count: int) -> int:
    # With 128 bits, the bias of the remainder is negligible.
    return int.from_bytes(chance.random_bytes(16), "big") % count
