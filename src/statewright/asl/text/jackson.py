"""The service's words for a broken JSON text.

The service reads JSON with Jackson and shows that parser's message, so this module reads a text as Jackson's reader for
strings does and stops at its first complaint. Only for messages: our own reader and our own texts are in
`json_reader.py` and `json_faults.py`.

Source: one message recorded from the service; the others from the parser's published code, versions 2.10 to 2.15.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, NoReturn

_VALUES: Final = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_SNIPPET: Final = 500
"""Characters of the text that a location quotes."""
_TOKEN: Final = 256
"""Characters of an unknown token that a message quotes."""
_STREAMED: Final = 0x8000
"""A longer text is read as a stream, and a location does not quote it."""

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(r"[0-9]*")
_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_WORDS: Final = {"t": "true", "f": "false", "n": "null", "N": "NaN", "I": "Infinity"}
_STARTS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_PARTS: Final = _STARTS | {"Nd", "Mn", "Mc", "Cf"}
_KINDS: Final = {"{": "Object", "[": "Array"}


@dataclass(frozen=True, slots=True)
class Fault:
    """The first complaint: its reason, and the line and column the service names (from 1, in UTF-16 units)."""

    reason: str
    line: int
    column: int
    source: str

    @property
    def location(self) -> str:
        """The place as the service writes it: `[Source: (String)"..."; line: 1, column: 4]`."""
        return f"[Source: {self.source}; line: {self.line}, column: {self.column}]"

    @property
    def message(self) -> str:
        """Reason and place, as the service writes them."""
        return f"{self.reason}\n at {self.location}"


def first_fault(text: str) -> Fault | None:
    """Return the service's complaint about a text, `None` if it would read it.

    Text after the first value and repeated names are ignored, as the service's parser ignores them.
    """
    walk = _Walk(text)
    try:
        walk.document()
    except _Complaint as complaint:
        line, column = walk.place(complaint.offset)
        return Fault(complaint.reason, line, column + complaint.after, walk.source)
    return None


def fault_at(text: str, reason: str, offset: int) -> Fault:
    """The service's message for a text that was valid JSON as far as it had been read when another fault was found."""
    walk = _Walk(text)
    return Fault(reason, *walk.place(offset), walk.source)


class _Complaint(Exception):
    """Ends the reading at a complaint; the place is `after` columns behind the offset."""

    def __init__(self, reason: str, offset: int, after: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        self.after = after


class _Walk:
    """One pass over a text. `at` is the offset after the last character read, from which locations are made."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[tuple[str, int]] = []
        self.started: list[bool] = []

    def document(self) -> None:
        char = self.next_token()
        if char:
            self.value(char)
        while self.open:
            char = self.next_token()
            kind = self.open[-1][0]
            if not char:
                self.fail(f"Unexpected end-of-input: expected close marker for {kind} (start marker at {self.start()})")
            if char in "]}":
                self.close(char)
            else:
                self.entry(char, kind)

    def entry(self, char: str, kind: str) -> None:
        """Take one array element or object member, the comma before it included."""
        if self.started[-1]:
            if char != ",":
                self.unexpected(char, f"was expecting comma to separate {kind} entries")
            char = self.next_token() or self.fail(f"Unexpected end-of-input within/between {kind} entries")
        self.started[-1] = True
        if kind == "Array":
            if char == "}":
                self.unexpected(char, "expected a value")
            self.value(char)
            return
        if char != '"':
            self.unexpected(char, "was expecting double-quote to start field name")
        self.string("name")
        between = f"Unexpected end-of-input within/between {kind} entries"
        char = self.next_token() or self.fail(between)
        if char != ":":
            self.unexpected(char, "was expecting a colon to separate field name and value")
        self.value(self.next_token() or self.fail(between))

    def close(self, char: str) -> None:
        kind = self.open[-1][0] if self.open else "root"
        if _KINDS["[" if char == "]" else "{"] != kind:
            expected = "}" if char == "]" else "]"
            self.fail(
                f"Unexpected close marker '{char}': expected '{expected}' (for {kind} starting at {self.start()})"
            )
        self.open.pop()
        self.started.pop()

    def value(self, char: str) -> None:
        if char in "{[":
            self.open.append((_KINDS[char], self.at - 1))
            self.started.append(False)
        elif char == '"':
            self.string("string value")
        elif char in _WORDS:
            self.word(_WORDS[char])
        elif char == "-" or "0" <= char <= "9":
            self.number(char)
        elif char in "]}" and not self.open:
            self.close(char)
        elif char == "+":
            self.infinity(self.take(), "+")
            self.fail_number(
                "+",
                "JSON spec does not allow numbers to have plus signs: enable "
                "`JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow",
            )
        elif _starts_name(char):
            self.unknown_token(char)
        else:
            self.unexpected(char, f"expected a valid value {_VALUES}")

    def word(self, word: str, taken: int = 1) -> None:
        for count, char in enumerate(word[taken:], taken):
            if self.peek() != char:
                self.unknown_token(word[:count])
            self.at += 1
        following = self.peek()
        if following >= "0" and _continues_name(following):
            self.unknown_token(word)
        if word[0] in "NI+-":
            self.fail(f"Non-standard token '{word}': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow")

    def string(self, what: str) -> None:
        while True:
            self.at = self.after(_PLAIN)
            char = self.take()
            if char == '"':
                return
            if not char:
                where = " in field name" if what == "name" else ": was expecting closing quote for a string value"
                self.fail(f"Unexpected end-of-input{where}")
            if char != "\\":
                reason = f"Illegal unquoted character ({_described(char)}): has to be escaped using backslash"
                # For the parser, a line break in a string does not start a line.
                raise _Complaint(f"{reason} to be included in {what}", self.at - 1, after=1)
            self.escape()

    def escape(self) -> None:
        ended = "Unexpected end-of-input in character escape sequence"
        char = self.take() or self.fail(ended)
        if char == "u":
            for _ in range(4):
                digit = self.take() or self.fail(ended)
                if digit not in _HEX:
                    self.unexpected(digit, "expected a hex-digit for character escape sequence")
        elif char not in '"\\/bfnrt':
            self.fail(f"Unrecognized character escape {_described(char)}")

    def number(self, char: str) -> None:
        if char == "-":
            char = self.take() or self.fail("Unexpected end-of-inputNo digit following minus sign")
            if not "0" <= char <= "9":
                char = self.infinity(char, "-")
                self.fail_number(char, "expected digit (0-9) to follow minus sign, for valid numeric value")
        if char == "0" and "0" <= self.peek() <= "9":
            self.fail("Invalid numeric value: Leading zeroes not allowed")
        self.at = self.after(_DIGITS)
        char = self.fraction(char)
        following = self.peek()
        if not self.open and following and following not in " \t\r\n":
            self.at += 1
            self.unexpected(following, "Expected space separating root-level values")

    def infinity(self, char: str, sign: str) -> str:
        """Take what follows a sign that starts no number; return the character to complain of."""
        ended = "Unexpected end-of-input in a Number value"
        if not char:
            self.fail(ended)
        if char != "I":
            return char
        char = self.take() or self.fail(ended)
        if char in "Nn":
            self.word(f"{sign}INF" if char == "N" else f"{sign}Infinity", 3)
        return char

    def fraction(self, first: str) -> str:
        """Take fraction and exponent. The parser reads a number that starts with 0 on its slow path, which moves the
        place of a fault."""
        char, slow = first, first == "0"
        kept = self.at + 1
        if self.peek() == ".":
            self.at += 1
            end = self.after(_DIGITS)
            char = self.text[end : end + 1]
            if end == self.at:
                self.at = min(end + 1, len(self.text)) if slow or not char else kept
                self.fail_number(char or ".", "Decimal point not followed by a digit")
            self.at = end
        if self.peek() in ("e", "E"):
            self.at += 1
            if self.peek() in ("+", "-"):
                self.at += 1
            end = self.after(_DIGITS)
            char = self.text[end : end + 1]
            if end == self.at:
                if not char:
                    self.fail("Unexpected end-of-inputexpected a digit for number exponent")
                self.at = end + 1 if slow else kept
                self.fail_number(char, "Exponent indicator not followed by a digit")
            self.at = end
        return char

    def next_token(self) -> str:
        """Take blanks and one character more; nothing at the end of the text."""
        self.at = self.after(_BLANK)
        char = self.take()
        if char == "/":
            self.unexpected(
                char,
                "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled "
                "for parser)",
            )
        if char and char < " ":
            self.fail(
                f"Illegal character ({_described(char)}): only regular white space (\\r, \\n, \\t) is allowed "
                "between tokens"
            )
        return char

    def take(self) -> str:
        char = self.peek()
        self.at += len(char)
        return char

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def after(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        return match.end() if match else self.at

    def unknown_token(self, matched: str) -> NoReturn:
        token = matched
        while (char := self.peek()) and _continues_name(char):
            self.at += 1
            token += char
            if len(token) >= _TOKEN:
                token += "..."
                break
        self.fail(f"Unrecognized token '{token}': was expecting {_VALUES}")

    def unexpected(self, char: str, comment: str) -> NoReturn:
        self.fail(f"Unexpected character ({_described(char)}): {comment}")

    def fail_number(self, char: str, comment: str) -> NoReturn:
        self.fail(f"Unexpected character ({_described(char)}) in numeric value: {comment}")

    def fail(self, reason: str) -> NoReturn:
        raise _Complaint(reason, self.at)

    def start(self) -> str:
        """The place where the innermost open object or array starts, as a message quotes it."""
        line, column = self.place(self.open[-1][1]) if self.open else (1, 0)
        return f"[Source: {self.source}; line: {line}, column: {column}]"

    def place(self, offset: int) -> tuple[int, int]:
        line, start = 1, 0
        for match in _LINE_BREAK.finditer(self.text, 0, offset):
            line, start = line + 1, match.end()
        return line, _units(self.text[start:offset]) + 1

    @property
    def source(self) -> str:
        """The excerpt of the text that the service shows in a location."""
        length = _units(self.text)
        if length > _STREAMED:
            return "(StringReader)"
        quoted = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04X}", self.text[:_SNIPPET])
        cut = f"[truncated {length - _SNIPPET} chars]" if length > _SNIPPET else ""
        return f'(String)"{quoted}"{cut}'


def _units(text: str) -> int:
    """Return the length in UTF-16 units, the parser's characters."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def _described(char: str) -> str:
    code = ord(char)
    if code < 32 or 127 <= code < 160:
        return f"(CTRL-CHAR, code {code})"
    if code > 0xFFFF:
        # The parser sees the first half of the pair, which cannot be written alone.
        code = 0xD800 + ((code - 0x10000) >> 10)
        return f"'?' (code {code} / 0x{code:x})"
    return f"'{char}' (code {code})" if code < 256 else f"'{char}' (code {code} / 0x{code:x})"


def _starts_name(char: str) -> bool:
    return char <= "\uffff" and unicodedata.category(char) in _STARTS


def _continues_name(char: str) -> bool:
    if unicodedata.category(char) == "Cc":
        return char <= "\x08" or "\x0e" <= char <= "\x1b" or char >= "\x7f"
    return char <= "\uffff" and unicodedata.category(char) in _PARTS
