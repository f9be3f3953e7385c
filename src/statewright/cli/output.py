"""Output of every command: lines of toned text, JSON, findings; and the ways in which a command ends.

Owns streams: colours only on a terminal, icons only where they can be encoded, no control characters of others, no
noise when the reader has gone. What is said is the commands' business.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from statewright.graph.lettering import cell_width, fit_cells

if TYPE_CHECKING:
    from statewright.errors import Diagnostic

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
UNREACHABLE: Final = 4
TIMED_OUT: Final = 5
INTERNAL: Final = 70
INTERRUPTED: Final = 130

Tone = Literal["", "strong", "ok", "fail", "run", "wait", "caught", "idle", "accent"]
Span = tuple[str, Tone] | str
Line = Sequence[Span]

_COLOURS: Final[dict[str, str]] = {
    "strong": "1", "ok": "32", "fail": "31", "run": "34", "wait": "33", "caught": "33", "idle": "2", "accent": "36",
}  # fmt: skip
"""As in the drawings of `graph`, in the terminal's own palette, so that they suit light and dark ones."""

_ASCII: Final = str.maketrans(
    {
        "✓": "+", "✗": "x", "↯": "!", "◷": "~", "◌": "~", "○": "-", "↻": "%", "↺": "^", "→": "->", "…": "...",
        "·": "-", "├": "|", "└": "`", "│": "|", "─": "-", "╭": "+", "╰": "+", "×": "x",
    }
)  # fmt: skip


_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Stop(Exception):
    """Ends a command with a message for the user and an exit code."""

    def __init__(self, code: int, message: str = "", hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Refused(Exception):
    """Ends a command because a file cannot be used, with all its findings."""

    def __init__(self, name: str, findings: list[Diagnostic]) -> None:
        super().__init__(name)
        self.name = name
        self.findings = findings


def said(span: Span) -> str:
    """The text of a span, without its tone."""
    return span if isinstance(span, str) else span[0]


class Printer:
    """One of the two streams. Nothing is coloured unless it is a terminal, and `NO_COLOR` is not set."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = _is_terminal(stream)
        self.coloured = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "").replace("_", "")
        self.encodes_all = encoding.startswith("utf")

    @property
    def width(self) -> int:
        """Columns of the terminal; without a terminal there is no limit."""
        if not self.is_terminal:
            return 10_000
        try:
            return max(os.get_terminal_size(self.stream.fileno()).columns or 80, 40)
        except (OSError, ValueError):
            return 80

    def line(self, *spans: Span) -> None:
        """Print one line as long as it is; a terminal may break it."""
        self.plain(self.styled(spans) + "\n")

    def folded(self, spans: Line, indent: str) -> None:
        """Print one line; a terminal that it does not fit into gets it broken between words, and indented."""
        if not self.is_terminal or cell_width(self.flat(spans)) <= self.width:
            self.line(*spans)
            return
        words: list[Span] = []
        room = self.width
        text: str
        tone: Tone
        for span in spans:
            text, tone = (span, "") if isinstance(span, str) else span
            for word in re.findall(r"\s+|\S+", text):
                cells = cell_width(word)
                if cells > room and not word.isspace() and words:
                    self.line(*words)
                    words, room = [indent], self.width - len(indent)
                if not (word.isspace() and words == [indent]):
                    words.append((word, tone))
                    room -= cells
        self.line(*words)

    def cropped(self, lines: Iterable[Line]) -> None:
        """Print lines of a drawing, which a terminal must not break: too long ones end in an ellipsis."""
        for line in lines:
            self.plain(self.styled(line, self.width) + "\n")

    def wrapped(self, text: str, indent: str, tone: Tone = "", *, first: str | None = None) -> None:
        """Print paragraphs, indented; `first` takes the place of the very first indent."""
        lead = indent if first is None else first
        for paragraph in text.splitlines() or [""]:
            for line in textwrap.wrap(
                paragraph,
                self.width,
                initial_indent=lead,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
                replace_whitespace=False,
            ) or [lead.rstrip()]:
                self.line((line, tone))
            lead = indent

    def json(self, value: object, *, compact: bool = False) -> None:
        """Print a JSON value, on one line if `compact`."""
        text = json_text(value, compact=compact, ascii_only=not self.encodes_all)
        if self.is_terminal:
            text = _CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        self.plain((_coloured_json(text) if self.coloured and not compact else text) + "\n")

    def plain(self, text: str) -> None:
        """Write a text as it is."""
        try:
            self.stream.write(text)
        except BrokenPipeError:
            silence(self.stream)

    def flush(self) -> None:
        """Flush the buffer."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            # The reader has closed the pipe. Further output is discarded; the exit code still reports the outcome.
            silence(self.stream)

    def styled(self, spans: Line, width: int | None = None) -> str:
        """A line as it is printed, cut to a width if one is given."""
        parts = []
        room = width
        for span in spans:
            text, tone = (span, "") if isinstance(span, str) else span
            shown = self.shown(text)
            if room is not None:
                whole, shown = shown, fit_cells(shown, room, self.shown("…"))
                # After the first cut nothing follows, though what was cut may have left a cell or two.
                room = room - cell_width(shown) if shown == whole else 0
            code = _COLOURS.get(tone) if self.coloured else None
            parts.append(f"\x1b[{code}m{shown}\x1b[0m" if code and shown.strip() else shown)
            if room is not None and room <= 0:
                break
        return "".join(parts).rstrip()

    def flat(self, spans: Line) -> str:
        """A line without its colours."""
        return "".join(self.shown(said(span)) for span in spans)

    def shown(self, text: str) -> str:
        """A text without control characters, and without icons where these cannot be encoded."""
        clean = visible(text)
        return clean if self.encodes_all or clean.isascii() else clean.translate(_ASCII)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # a closed stream
        return False


def silence(stream: TextIO) -> None:
    """Discard everything that is written to a stream from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):  # no file behind it, as in tests
        pass
    finally:
        os.close(nowhere)


def silence_full(stream: TextIO) -> None:
    """Silence a stream whose buffer cannot be flushed; one that can still be written stays as it is."""
    try:
        stream.flush()
    except (OSError, ValueError):
        silence(stream)


def open_closed_streams() -> None:
    """Put the empty device in place of standard streams that were closed before the start, as `>&-` does in a shell."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the end


def stdout() -> Printer:
    """The printer of results."""
    return Printer(sys.stdout)


def stderr() -> Printer:
    """The printer of everything that is not the result."""
    return Printer(sys.stderr)


def visible(text: str) -> str:
    """Foreign text with its control characters escaped, so that it cannot control a terminal."""
    return text if text.isprintable() else _CONTROL.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def json_text(value: object, *, compact: bool = False, ascii_only: bool = False) -> str:
    """A value as JSON text, indented unless `compact`; integers of any size keep their digits."""
    if not ascii_only:
        import orjson

        try:
            return orjson.dumps(value, option=None if compact else orjson.OPT_INDENT_2).decode()
        except TypeError:  # a long integer, or more levels than orjson writes
            pass
    if compact or _levels(value) < _MOST_INDENTED:
        return json.dumps(value, ensure_ascii=ascii_only, indent=None if compact else 2)
    # The standard writer indents by recursion, in Python.
    return json.dumps(value, ensure_ascii=ascii_only)


_MOST_INDENTED: Final = 200


def _levels(value: object) -> int:
    level, count = [value], 0
    while level and count < _MOST_INDENTED:
        count += 1
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    return count


_JSON_PART: Final = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")(?P<name>(?=\s*:))?|(?P<number>-?\d[\d.eE+-]*)|(?P<word>\btrue\b|\bfalse\b|\bnull\b)'
)


def _coloured_json(text: str) -> str:
    def colour(match: re.Match[str]) -> str:
        if match["text"] is not None:
            code = _COLOURS["accent"] if match["name"] is not None else _COLOURS["ok"]
        else:
            code = _COLOURS["run"] if match["number"] is not None else _COLOURS["wait"]
        return f"\x1b[{code}m{match[0]}\x1b[0m"

    return _JSON_PART.sub(colour, text)


# ------------------------------------------------------------------ words


def duration_words(duration_ms: int) -> str:
    """A length of time for people: `0 s`, `250 ms`, `7.5 s`, `12 min 5 s`, `3 d 4 h`."""
    if duration_ms < 1000:
        return f"{duration_ms} ms" if duration_ms else "0 s"
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:g} s"
    seconds = duration_ms // 1000
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    first = next(index for index, (_, size) in enumerate(units) if seconds >= size)
    parts = []
    for unit, size in units[first : first + 2]:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def count_words(count: int, noun: str, plural: str | None = None) -> str:
    """`1 state`, `2 states`, `1,000 entries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


# ------------------------------------------------------------------ findings


def print_findings(printer: Printer, name: str, findings: Iterable[Diagnostic]) -> None:
    """Print `file:line:col severity CODE message (pointer)` for each finding, its hint below."""
    for finding in findings:
        tone: Tone = "fail" if finding.severity == "ERROR" else "wait"
        where = f"{name}:{max(finding.line, 1)}:{max(finding.column, 1)}"
        # A finding is one line, even if it quotes several.
        message = " ".join(finding.message.splitlines())
        place: Span = (f" ({finding.pointer})", "idle") if finding.pointer else ""
        said: Line = [
            (where, "strong"),
            " ",
            (finding.severity, tone),
            " ",
            (finding.code, "accent"),
            " ",
            message,
            place,
        ]
        printer.folded(said, " " * 4)
        if finding.hint:
            printer.wrapped(finding.hint, " " * 10, "idle", first="    hint: ")


def finding_json(name: str, finding: Diagnostic) -> dict[str, Any]:
    """A finding as the JSON output of commands shows it."""
    return {
        "file": name,
        "line": max(finding.line, 1),
        "column": max(finding.column, 1),
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "pointer": finding.pointer,
        "hint": finding.hint,
    }


def reason_of(problem: OSError) -> str:
    """Why a file could not be used, in the words of the system."""
    return problem.strerror or type(problem).__name__
