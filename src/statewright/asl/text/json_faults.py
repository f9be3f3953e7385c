"""Messages for a JSON text that breaks the grammar: what was found, what was expected, and how to fix it.

`json_reader.py` knows where it stopped; each function here examines the text around that place and names the usual
mistake: a trailing comma, a comment, single quotes, a missing brace.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from statewright.asl.text.document import MAX_DIGITS, Finding, SourceText, shown

Explain = Callable[[SourceText, int, int | None], Finding]
"""Takes the text, the offset where reading stopped, and that of the innermost open bracket, if any."""

_WORD: Final = re.compile(r"[\w$@.+-]+")
_NUMBER_LIKE: Final = re.compile(r"[+-]?\.?[0-9][\w.+-]*|[+-]\w*|\.\w*")
_STRING_BODY: Final = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_PAIRS: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_ESCAPES: Final = {"\t": "\\t", "\b": "\\b", "\f": "\\f"}
_BARE_WORD: Final = re.compile(r"[A-Za-z_$][\w$.-]*(?=\s*:)")
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_CONSTANTS: Final = {
    "True": "write true",
    "TRUE": "write true",
    "False": "write false",
    "FALSE": "write false",
    "None": "write null",
    "NULL": "write null",
    "Null": "write null",
    "nil": "write null",
    "undefined": "write null, or leave the member out",
}
_NOT_NUMBERS: Final = frozenset({"nan", "inf", "infinity"})
_INVISIBLE: Final = {"\xa0": "a no-break space", "\u200b": "a zero-width space", "\ufeff": "a byte order mark"}
_CURLY_QUOTES: Final = frozenset("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb`")

_COMMENT_HINT: Final = 'JSON has no comments: remove it, use a "Comment" field, or write the definition in YAML'
_QUOTE_HINT: Final = 'write double quotes: "..."'
_NUMBER_HINT: Final = (
    "numbers look like 0, -12, 2.5 or 1e3: no leading zero or plus sign, digits on both sides of the decimal point"
)


class Fault(Exception):
    """Raised at the first break of the grammar; ends the reading."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def at_value(source: SourceText, at: int, opened: int | None) -> Finding:
    """Explain why no value starts here."""
    text = source.text
    char = text[at : at + 1]
    if not char:
        return _ended(source, opened, "a value")
    if char == '"':
        return _in_string(source, at)
    if char in "}]":
        if _before(text, at).endswith(","):
            return _trailing_comma(text, at, char)
        return Finding(at, f"found {shown(char)}, expected a value", "write the value, or null")
    if char == ",":
        return Finding(at, 'found ",", expected a value', "write the value, or remove the comma")
    if char == "$" and text.startswith("${", at):
        return Finding(
            at,
            "found a placeholder, expected a value",
            "replace it before this text is used, or put it in quotes if a string is meant",
        )
    return _odd(text, at, "a value") or _not_a_value(text, at)


def at_name(source: SourceText, at: int, opened: int | None) -> Finding:
    """Explain why no `"name":` starts here."""
    text = source.text
    char = text[at : at + 1]
    if not char:
        return _ended(source, opened, "a name in double quotes")
    if char == '"':
        end = _STRING_BODY.match(text, at + 1).end()  # type: ignore[union-attr]
        if text[end : end + 1] != '"':
            return _in_string(source, at)
        return _no_colon(source, at, end + 1, opened)
    if char == "}" and _before(text, at).endswith(","):
        return _trailing_comma(text, at, char)
    if char == ",":
        return Finding(at, 'found ",", expected a name in double quotes', "remove the comma")
    odd = _odd(text, at, "a name in double quotes")
    if odd:
        return odd
    word = _WORD.match(text, at)
    if word and _BARE_WORD.match(text, at):
        return Finding(
            at, f"found the bare word {shown(word[0])}, expected a name in double quotes", f'write "{word[0]}"'
        )
    return Finding(
        at,
        f"found {shown(word[0] if word else char)}, expected a name in double quotes",
        'an object holds members of the form "name": value',
    )


def after_value(source: SourceText, at: int, opened: int | None) -> Finding:
    """Explain why neither a comma nor the end follows a value."""
    text = source.text
    char = text[at : at + 1]
    if opened is None:
        return _after_end(source, at)
    closer = "}" if text[opened] == "{" else "]"
    expected = f'"," or "{closer}"'
    if not char:
        return _ended(source, opened, expected)
    odd = _comment(text, at, expected)
    if odd:
        return odd
    last = len(text[:at].rstrip())
    if char in "}]":
        return Finding(
            at,
            f'found "{char}", expected {expected} to end the "{text[opened]}" of {source.where(opened)}',
            f'close it with "{closer}" first, or change one of the two brackets',
        )
    if char in '"{[' and text.count("\n", last, at):
        return Finding(
            last, f"found no comma after this value, expected {expected}", 'write "," at the end of the line'
        )
    if char in '"{[':
        return Finding(at, f"found another value, expected {expected}", 'write "," between the two')
    word = _WORD.match(text, at)
    hint = f'write "," between two members, "{closer}" at the end'
    if text[last - 1] == '"' and word:
        hint = 'a quote inside a string is written \\"'
    return Finding(at, f"found {shown(word[0] if word else char)} after the value, expected {expected}", hint)


def long_number(source: SourceText, at: int, _opened: int | None) -> Finding:
    """Explain that a number has too many digits."""
    word = _WORD.match(source.text, at)
    length = len(word[0]) if word else 0
    return Finding(at, f"found a number of {length:,} characters, expected at most {MAX_DIGITS:,}", "put it in quotes")


def big_number(source: SourceText, at: int, _opened: int | None) -> Finding:
    """Explain that a number does not fit a double."""
    word = _WORD.match(source.text, at)
    return Finding(
        at, f"found {shown(word[0]) if word else 'a number'}, expected a number below 1.8e308", "put it in quotes"
    )


def half_pair(source: SourceText, at: int, _opened: int | None) -> Finding:
    """Explain that a string holds one half of a surrogate pair."""
    half = next(match for match in _PAIRS.finditer(source.text, at) if match[1])
    return Finding(
        half.start(),
        f"found {half[1]}, which is half a character, expected the other half beside it",
        "write the character itself, or both halves: \\ud83d\\ude00",
    )


def _ended(source: SourceText, opened: int | None, expected: str) -> Finding:
    text = source.text
    at = len(text.rstrip())
    if opened is None:
        return Finding(at, f"found the end of the text, expected {expected}", "write a JSON object: {...}")
    bracket = text[opened]
    return Finding(
        at,
        f'found the end of the text, expected {expected}: the "{bracket}" of {source.where(opened)} is still open',
        f'close it with "{"}" if bracket == "{" else "]"}"; the text may be cut off',
    )


def _after_end(source: SourceText, at: int) -> Finding:
    text = source.text
    odd = _comment(text, at, "nothing more")
    if odd:
        return odd
    char = text[at]
    if char in "}]":
        hint = f'there is one "{char}" too many; remove it, or check where an earlier one closes too soon'
    elif char in ",:":
        hint = "the text may lack the opening brace: a definition is one JSON object {...}"
    else:
        hint = "a text holds one value: remove the rest"
    word = _WORD.match(text, at)
    found = shown(word[0] if word else char)
    return Finding(at, f"found {found} after the end of the value, expected nothing more", hint)


def _no_colon(source: SourceText, name: int, end: int, opened: int | None) -> Finding:
    text = source.text
    at = _skip(text, end)
    char = text[at : at + 1]
    if not char:
        return _ended(source, opened, '":" and a value')
    odd = _comment(text, at, '":"')
    if odd:
        return odd
    label = shown(text[name + 1 : end - 1])
    if char == "=":
        return Finding(at, f'found "=" after the name {label}, expected ":"', 'write ":" instead')
    if char in ",}":
        return Finding(at, f'found "{char}" after the name {label}, expected ":" and a value', "write the value")
    return Finding(at, f'found {shown(char)} after the name {label}, expected ":"', 'write ":" between name and value')


def _in_string(source: SourceText, start: int) -> Finding:
    """Say why the string that starts here does not end."""
    text = source.text
    at = _STRING_BODY.match(text, start + 1).end()  # type: ignore[union-attr]
    char = text[at : at + 1]
    if not char:
        return Finding(start, "found a string without an end, expected a closing quote", "write the closing quote")
    if char in "\r\n":
        return Finding(
            start,
            "found a string without an end on its line, expected a closing quote",
            "write the closing quote; a line break inside a string is written \\n",
        )
    if char == "\\":
        escape = text[at : at + 2]
        if escape == "\\u":
            found = f"found {shown(text[at : at + 6])}, expected \\u and four hexadecimal digits"
            return Finding(at, found, "write all four digits: \\u00e9")
        return Finding(
            at,
            f"found the unknown escape {escape if escape.isprintable() else escape[0]} in a string, "
            'expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX',
            "write a backslash itself as two: \\\\",
        )
    found = f"found a raw control character (U+{ord(char):04X}) in a string, expected an escape"
    return Finding(at, found, "write " + _ESCAPES.get(char, f"\\u{ord(char):04x}"))


def _trailing_comma(text: str, at: int, char: str) -> Finding:
    comma = text.rindex(",", 0, at)
    return Finding(comma, f'found "," before "{char}", expected another entry', "remove the comma after the last entry")


def _odd(text: str, at: int, expected: str) -> Finding | None:
    """Recognise text that is not allowed anywhere in JSON."""
    char = text[at]
    if char == "'":
        return Finding(at, f"found a single quote, expected {expected}", _QUOTE_HINT)
    if char in _CURLY_QUOTES:
        return Finding(at, f"found the quote {char}, expected {expected}", _QUOTE_HINT)
    if char in _INVISIBLE:
        return Finding(at, f"found {_INVISIBLE[char]}, expected {expected}", "remove the invisible character")
    if not char.isprintable():
        return Finding(at, f"found U+{ord(char):04X}, expected {expected}", "remove the character")
    return _comment(text, at, expected)


def _comment(text: str, at: int, expected: str) -> Finding | None:
    if text[at] == "#" or text.startswith(("//", "/*"), at):
        return Finding(at, f"found a comment, expected {expected}", _COMMENT_HINT)
    return None


def _not_a_value(text: str, at: int) -> Finding:
    word = _WORD.match(text, at)
    found = word[0] if word else text[at]
    if found.strip("+-").lower() in _NOT_NUMBERS:
        return Finding(at, f"found {found}, expected a JSON value", "JSON has no such number: write null or a string")
    if found in _CONSTANTS:
        return Finding(at, f"found {found}, expected a JSON value", f"{_CONSTANTS[found]}")
    if _NUMBER_LIKE.match(found):
        return Finding(at, f"found the malformed number {shown(found)}, expected a JSON number", _NUMBER_HINT)
    if word:
        return Finding(at, f"found the bare word {shown(found)}, expected a value", "put strings in double quotes")
    return Finding(
        at,
        f"found {shown(found)}, expected a value",
        'a value is an object {...}, an array [...], a "string", a number, true, false or null',
    )


def _before(text: str, at: int) -> str:
    """Return the last character before an offset that is not a blank, or an empty text."""
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return text[max(at - 1, 0) : at]


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]
