"""Measures text, on paper and in a terminal, and cuts it to fit.

Owns estimated widths (the font of the reader is unknown, so they are those of a wide one), wrapping, and making any
JSON string harmless to print. Leaves escaping for a format to the module of that format.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

ELLIPSIS: Final = "…"
LONGEST: Final = 400
"""Characters of a line that are ever examined; hostile definitions hold longer ones."""

# Lone surrogates cannot be encoded, controls drive terminals and are illegal in XML, and bidirectional
# overrides make a name look like another one.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_BLANKS = re.compile(r"\s+")
# Places where a name may be broken: after blanks and punctuation, and before the capital of an inner word. A number
# (1.5, 2026-01-01) and the `$.` of a path stay whole.
_BREAKS = re.compile(
    r"(?<=\s)|(?<=[_\-./:,;>])(?!(?<=[0-9][\-./:,])[0-9])(?<!\$\.)|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
_ENDS: Final = 0.36
"""The share of a text that was cut which its end gets: names differ there as often as at their beginnings."""
_JOIN = re.compile(r"(?:and|or) ")

_WIDTHS: Final = {
    **dict.fromkeys("ijlI|'.,:;! ", 0.33),
    **dict.fromkeys('ftr()[]{}`"/\\-', 0.42),
    **dict.fromkeys("mwMW@%—…", 0.93),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ&#~^+=<>≤≥≠", 0.73),
}


def printable(text: str) -> str:
    """One line without characters that a terminal, an XML reader or an encoder rejects."""
    return _BLANKS.sub(" ", _UNPRINTABLE.sub("�", text)).strip()


@lru_cache(maxsize=8192)
def text_width(text: str, size: float) -> float:
    """Estimated pixels of a line in a sans-serif font of that size; an overestimate rather than an underestimate."""
    total = 0.0
    for char in text:
        if char in _WIDTHS:
            total += _WIDTHS[char]
        elif char < "\u0300":
            total += 0.62
        else:
            total += 0.52 * cell_width(char) + (0.1 if cell_width(char) == 1 else 0)
    return total * size


def fit(text: str, width: float, size: float) -> str:
    """The text, or as much of its beginning and end as fits, with an ellipsis between them."""
    if len(text) <= LONGEST and text_width(text, size) <= width:
        return text
    low, high = 0, min(len(text), LONGEST)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(_cut(text, middle, ELLIPSIS), size) <= width:
            low = middle
        else:
            high = middle - 1
    return _cut(text, low, ELLIPSIS)


def _cut(text: str, kept: int, ellipsis: str) -> str:
    """So many characters of a text, from both its ends."""
    end = int(kept * _ENDS)
    begin = _whole(text[: kept - end].rstrip())
    return f"{begin}{ellipsis}{_begun(text[len(text) - end :].lstrip()) if end else ''}"


def wrap(text: str, width: float, size: float, lines: int) -> tuple[str, ...]:
    """At most so many lines, broken between words and never within one; a last line that is too long is cut in its
    middle."""
    wrapped: list[str] = []
    rest = text if len(text) <= LONGEST else _cut(text, LONGEST, ELLIPSIS)
    while len(wrapped) < lines - 1 and text_width(rest, size) > width:
        cut = 0
        joined = False
        for match in _BREAKS.finditer(rest):
            if text_width(rest[: match.start()].rstrip(), size) > width:
                break
            # A condition is easiest to read if its second line begins with the conjunction.
            joins = _JOIN.match(rest, match.start()) is not None
            if joins or not joined:
                cut = match.start()
                joined = joins
        if cut == 0:
            break
        wrapped.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    wrapped.append(fit(rest, width, size))
    return tuple(wrapped)


def cell_width(text: str) -> int:
    """Terminal columns of a text: two for wide East Asian characters and emoji, none for combining marks."""
    if text.isascii():
        return len(text)
    cells = 0
    for char in text:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
            continue
        cells += 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
    return cells


def fit_cells(text: str, cells: int, ellipsis: str = ELLIPSIS) -> str:
    """The text, or as much of its beginning as fits into so many terminal columns, with an ellipsis."""
    if cell_width(text) <= cells:
        return text
    if cell_width(ellipsis) > cells:
        return ellipsis[: max(cells, 0)]
    room = cells - cell_width(ellipsis)
    kept = 0
    for index, char in enumerate(text):
        room -= cell_width(char)
        if room < 0:
            break
        kept = index + 1
    return _whole(text[:kept].rstrip()) + ellipsis


def cut_cells(text: str, cells: int, ellipsis: str = ELLIPSIS) -> str:
    """The text, or as much of its beginning and end as fits into so many terminal columns."""
    if cell_width(text) <= cells:
        return text
    if cell_width(ellipsis) >= cells:
        return fit_cells(text, cells, ellipsis)
    kept = min(len(text), cells)
    while kept and cell_width(_cut(text, kept, ellipsis)) > cells:
        kept -= 1
    return _cut(text, kept, ellipsis)


def _begun(text: str) -> str:
    """Without the marks and joiners that belong to a character before them."""
    start = 0
    while start < len(text) and (text[start] in "\u200d\ufe0f" or unicodedata.combining(text[start])):
        start += 1
    return text[start:]


def _whole(text: str) -> str:
    """Without the joiner that a cut emoji sequence would leave dangling."""
    return text.rstrip("\u200d\ufe0f")
