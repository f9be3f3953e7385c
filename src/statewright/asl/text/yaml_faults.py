"""Messages for a text that PyYAML cannot parse, and for YAML that has no meaning in JSON."""

from __future__ import annotations

import re
from typing import Final

import yaml

from statewright.asl.text.document import Finding, Path, SourceText, shown

_JSONATA: Final = re.compile(r"(?:^|[:\-,\[])\s*\{%")
CLOUDFORMATION: Final = frozenset(
    ("Ref", "Sub", "GetAtt", "Join", "Select", "Split",
     "If", "ImportValue", "FindInMap", "Base64", "Cidr", "GetAZs", "Transform", "And", "Or",
     "Not", "Equals", "Condition", "ToJsonString", "Length")
)  # fmt: skip
"""Short tags of CloudFormation templates."""
_LOOK: Final = 200
"""Characters of a line that are searched for a hint; the patterns are not made for a line of a megabyte."""
_LIST_ITEM: Final = "expected '-' indicator"
_NAME: Final = re.compile(r"""\s*(?:- +)*("[^"]*"|'[^']*'|[^\s:#][^:#]*?)\s*:""")

_KNOWN: Final[tuple[tuple[str, str, str], ...]] = (
    ("found a tab character", "found a tab in the indentation, expected spaces", "indent with spaces"),
    (
        "mapping values are not allowed",
        'found ":" where no mapping may start, expected the end of the value',
        "quote the text if the colon belongs to it; otherwise check the indentation of this line",
    ),
    (
        "block sequence entries are not allowed",
        'found "-" where no list may start, expected a value',
        "put the list on the lines below the name, or quote the text if the dash belongs to it",
    ),
    (
        "could not find expected ':'",
        'found a line without ":" among the members of a mapping, expected "name: value"',
        "check the indentation of the line, and of multi-line strings",
    ),
    (
        "did not find expected key",
        "found something at this indentation that is not a member of the mapping, expected a name",
        "indent the line like its neighbours; quote a string that holds quotes or colons",
    ),
    (
        "did not find expected ',' or '}'",
        'found no "," or "}" after a member, expected one of them',
        'close "{" with "}", and quote strings that hold braces or commas',
    ),
    (
        "did not find expected ',' or ']'",
        'found no "," or "]" after an element, expected one of them',
        'close "[" with "]", and quote strings that hold brackets or commas',
    ),
    (
        "found unexpected end of stream",
        "found the end of the text inside quotes, expected a closing quote",
        "write the closing quote",
    ),
    (
        "found unexpected document indicator",
        "found --- inside quotes, expected a closing quote",
        "write the closing quote",
    ),
    (
        "found unknown escape character",
        "found an unknown escape in double quotes, expected one of YAML's",
        "write a backslash as two, or use single quotes",
    ),
    (
        "invalid Unicode character escape",
        "found an escape that is not a whole character, expected one",
        'write the character itself, or "\\U0001f600"',
    ),
    (
        "alphabetic or numeric character",
        "found * or & without a name, expected an alias or anchor",
        "quote the text if the character belongs to it",
    ),
    (
        "did not find expected node content",
        "found nothing that can be a value, expected a value",
        "write the value, or quote it",
    ),
    (
        "did not find expected <document start>",
        "found more text after the end of the value, expected one value",
        "check the indentation of this line",
    ),
)


def explain(source: SourceText, error: yaml.YAMLError, skipped: int, path: Path) -> Finding:
    """Return the finding for the parser's error; `skipped` is how many characters precede the text that it saw."""
    text = source.text
    problem = str(getattr(error, "problem", None) or error)
    mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    at = min(mark.index + skipped, len(text)) if mark else 0
    began = min(context_mark.index + skipped, at) if context_mark else at
    line = _line(text, at)
    if _JSONATA.search(line) or _JSONATA.search(_line(text, began)):
        found = "found {% outside quotes, which YAML reads as a mapping, expected a quoted expression"
        return Finding(at, found, "quote the JSONata expression: '{% ... %}'", path)
    if "cannot start any token" in problem:
        return _bad_start(text, at, path)
    if _LIST_ITEM in problem:
        return _no_item(source, at, began, path)
    for sign, message, hint in _KNOWN:
        if sign in problem:
            at = began if "inside quotes" in message else at
            return Finding(at, message, hint, path)
    context = getattr(error, "context", None)
    during = f" {context}" if context else ""
    return Finding(at, f"found invalid YAML{during}: {problem}", "check the indentation and quotes of this line", path)


def name_hint(source: SourceText, start: int) -> str:
    """Return the hint that turns the text at this place into a name."""
    match = _NAME.match(source.text[start : start + _LOOK])
    return f'write "{match[1]}" in quotes' if match and match[1].isalnum() else "put the name in quotes"


def about_tag(tag: str) -> tuple[str, str]:
    """Return message and hint about a tag that is not plain data."""
    message = f"found the tag {shown(tag)[1:-1]}, expected plain data"
    if tag.lstrip("!") in CLOUDFORMATION:
        return message, "CloudFormation resolves this tag, not the state machine: write ${Name} and pass a substitution"
    return message, "remove the tag; quote the text if the ! belongs to it"


def _bad_start(text: str, at: int, path: Path) -> Finding:
    char = text[at : at + 1]
    if char == "\t":
        return Finding(at, "found a tab in the indentation, expected spaces", "indent with spaces", path)
    return Finding(at, f"found {shown(char)} at the start of a value, expected text in quotes", "quote the text", path)


def _no_item(source: SourceText, at: int, began: int, path: Path) -> Finding:
    """The finding for a member among the items of a list: most often it belongs beside the list."""
    name = _NAME.match(_line(source.text, at))
    owner_line = source.text[: source.text.rfind("\n", 0, began) + 1].rstrip().rsplit("\n", 1)[-1][:_LOOK]
    owner = _NAME.match(owner_line)
    hint = 'start every item of the list with "- "'
    if name and owner:
        column = owner.start(1) + 1
        hint = f'move {shown(name[1])} to column {column} if it belongs beside {shown(owner[1])}, or start it with "- "'
    found = shown(name[1]) if name else "something else"
    return Finding(at, f'found {found} among the items of a list, expected "- "', hint, path)


def _line(text: str, at: int) -> str:
    """Return the start of the line around an offset."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + _LOOK].split("\n", 1)[0]
