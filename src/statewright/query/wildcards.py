r"""Texts with stars: `*` is any run of characters, `\*` a star and `\\` a backslash. Used by Choice rules and patterns.

Each piece between stars is searched once, after the one before it, so the time is linear in the text.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

_QUADRATIC_CHARACTERS: Final = 30_000
"""CPython searches longer texts for any text in linear time."""


MOST_ALIKE: Final = 4
"""Pieces after a star that may begin with the same character. Ours: the service's rule is not published, and refuses
`*:*:*:*:*:event-bus/*` (observed)."""


def is_complex(pattern: str) -> bool:
    """True if more than `MOST_ALIKE` of the pieces that follow a star begin with the same character."""
    starts = Counter(piece[0] for piece in _pieces(pattern)[1:] if piece)
    return max(starts.values(), default=0) > MOST_ALIKE


class Wildcards:
    """The compiled text: `wildcards.matches(text)`."""

    __slots__ = ("_first", "_last", "_middle", "_whole", "weight")

    def __init__(self, pattern: str) -> None:
        pieces = _pieces(pattern)
        self._first, self._last = pieces[0], pieces[-1]
        self._whole = len(pieces) == 1
        self._middle = [piece for piece in pieces[1:-1] if piece]
        self.weight: Final = 1 + max(map(len, self._middle), default=0) // 8
        """How often a character is compared at most, roughly, in a text of moderate length."""

    def matches(self, text: str) -> bool:
        """True if the whole text matches."""
        first, last = self._first, self._last
        if self._whole:
            return text == first
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for piece in self._middle:
            at = text.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True

    def comparisons(self, text: str) -> int:
        """The characters that matching a text may compare, roughly."""
        length = len(text)
        return length * self.weight if length < _QUADRATIC_CHARACTERS else length


def _pieces(pattern: str) -> list[str]:
    """The literal pieces between the unescaped stars."""
    pieces = pattern.split("*")
    if "\\" not in pattern:
        return pieces
    joined: list[str] = []
    parts: list[str] = []
    for piece in pieces:
        if "\\" in piece:
            bare = piece.rstrip("\\")
            if (len(piece) - len(bare)) % 2:
                # The last backslash escapes the star.
                parts.append(piece[:-1].replace("\\\\", "\\") + "*")
                continue
            piece = piece.replace("\\\\", "\\")
        joined.append("".join([*parts, piece]))
        parts = []
    if parts:
        # The pattern ends with a backslash that escapes nothing.
        joined.append("".join(parts)[:-1] + "\\")
    return joined
