"""Reads definitions, JSON or YAML, text or bytes, into a `Document`.

Owns what both syntaxes share: size, encoding, and telling JSON from YAML. Leaves the grammars to `json_reader.py` and
`yaml_reader.py`, and checks of the value to `validate.py`.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.asl.text.document import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    Document,
    Finding,
    ReadError,
    SourceText,
    Syntax,
    empty,
)
from statewright.asl.text.json_reader import read_json

__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "Document", "ReadError", "SourceText", "Syntax", "read_document"]

_ENDINGS: Final[dict[str, Syntax]] = {".json": "json", ".asl": "json", ".yaml": "yaml", ".yml": "yaml"}
_JSON_START: Final = re.compile(r"\s*(?:[{\[}\]]|//|/\*)")
_QUOTED_START: Final = re.compile(r"""\s*"[^"\n]*"[ \t]*(?::[^\n]*[,{\[][ \t]*)?(?:\r?\n|$)""")
_NOT_UTF8: Final = "save the file as UTF-8"


def read_document(
    text: str | bytes,
    *,
    name: str = "definition",
    syntax: Syntax | None = None,
    max_characters: int = MAX_CHARACTERS,
    max_depth: int = MAX_DEPTH,
    placeholders: bool = True,
    template: bool = False,
    old_words: bool = False,
) -> Document:
    """Read a definition, or any other JSON value, with the position of every part.

    Bytes are UTF-8; a byte order mark is skipped. Without `syntax` the ending of `name` decides (`.json`, `.asl`,
    `.yaml`, `.yml`), else the first character: an opening bracket means JSON. `placeholders` says whether a bare
    `${Name}` may stand for a JSON value, as in templates; the paths of such values are noted in the document.
    `template` reads as CloudFormation does: YAML may have short tags, a name may be a number, and of a name that is
    repeated in an object the last value counts (`Document.repeated`). `old_words` says whether plain `yes` and `no` of
    YAML are truth values.

    Raises:
        ReadError: the text is longer than `max_characters`, nests deeper than `max_depth`, or breaks its syntax. Each
            diagnostic has line and column.
    """
    decoded = text if isinstance(text, str) else _decode(text, name, max_characters)
    source = SourceText(decoded, name)
    chosen = syntax or _syntax_of(name) or _sniff(decoded)
    if len(decoded) > max_characters:
        raise source.error([_too_long(max_characters, len(decoded))])
    if not decoded.isascii():
        _check_characters(source)
    if not decoded.strip("\ufeff \t\r\n"):
        raise source.error([empty(0)], chosen)
    if chosen == "json":
        return read_json(source, max_depth=max_depth, placeholders=placeholders, template=template)
    # Imported here: reading JSON does not need the YAML parser.
    from statewright.asl.text.yaml_reader import read_yaml

    return read_yaml(
        source,
        max_depth=max_depth,
        max_characters=max_characters,
        placeholders=placeholders,
        template=template,
        old_words=old_words,
    )


def _decode(data: bytes, name: str, max_characters: int) -> str:
    if len(data) > 4 * max_characters:
        # No character takes more than four bytes, so this is too long however it decodes.
        raise SourceText("", name).error([_too_long(max_characters, None)])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        readable = data[: error.start].decode("utf-8")
        source = SourceText(readable, name)
        hint = _NOT_UTF8
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            hint = "the file looks like UTF-16: save it as UTF-8"
        found = f"found the byte 0x{data[error.start]:02x} at byte offset {error.start}, expected UTF-8 text"
        raise source.error([Finding(len(readable), found, hint)]) from None


def _check_characters(source: SourceText) -> None:
    """Refuse surrogates: a text that holds one cannot be stored or sent."""
    try:
        source.text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = f"found half a character (U+{ord(source.text[error.start]):04X}), expected Unicode text"
        raise source.error([Finding(error.start, found, _NOT_UTF8)]) from None


def _too_long(limit: int, length: int | None) -> Finding:
    found = f"a text of {length:,} characters" if length else f"a text of more than {limit:,} characters"
    return Finding(
        0,
        f"found {found}, expected at most {limit:,}",
        "move parts into separate state machines, or large values out of the definition",
    )


def _syntax_of(name: str) -> Syntax | None:
    return next((syntax for ending, syntax in _ENDINGS.items() if name.lower().endswith(ending)), None)


def _sniff(text: str) -> Syntax:
    """Tell JSON from YAML by the start of the text.

    A text that starts with a quoted name may be either; JSON then shows by what its first line ends with.
    """
    body = text.removeprefix("\ufeff")
    return "json" if _JSON_START.match(body) or _QUOTED_START.match(body) else "yaml"
