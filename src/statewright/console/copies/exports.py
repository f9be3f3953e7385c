"""A run with its payloads inside: one document, and one HTML file that shows it without a server.

The document is the run as the page receives it, with the members of its events and its costs. The file is the page of
an execution with that document and the page's own scripts in it: it asks for nothing, its policy allows nothing else,
and data stand in it as text of JSON, in which no character can end the element around it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Final

from statewright import __version__
from statewright.console.asked import Asked, File, needed
from statewright.console.assets import assets
from statewright.console.context import Console
from statewright.console.copies.bundle import bundle
from statewright.console.drawings import icons
from statewright.console.figures.costs import of_run
from statewright.console.redaction import Redactor
from statewright.console.runs import ReadRun, run_document
from statewright.graph.svg import escape
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, dump_json

MOST_CHARACTERS: Final = 16 * 1024 * 1024
"""Of all payloads in one document; what exceeds it is left out, and the page says so."""
LONGEST: Final = 1024 * 1024
"""Of one payload."""
ENTRY: Final = "offline.js"
INSTEAD: Final = {
    "api.js": "offline_api.js",
    "live.js": "offline_live.js",
    "navigation.js": "offline_navigation.js",
    "run_actions.js": "offline_actions.js",
}
"""Modules that stand in for those that need a server, an address or the right to act."""
STYLES: Final = ("tokens.css", "shell.css", "run.css", "heat.css", "offline.css")


async def export(console: Console, asked: Asked) -> File:
    """One HTML file with a run inside."""
    arn = needed(asked.given, "arn")
    async with console.source_of(arn).reading(arn) as one:
        body = await asyncio.to_thread(_file, one, console.app.clock.now_ms(), console.redactor)
    # It is saved, never shown from here: its scripts would run with the rights of the page.
    return File("application/octet-stream", body)


def _file(one: ReadRun, now_ms: int, redactor: Redactor) -> bytes:
    return page(bundled(one, now_ms, redactor)).encode()


def bundled(one: ReadRun, now_ms: int, redactor: Redactor) -> JsonObject:
    """`{run, previous, details, costs, leftOut}`: the run's document, and for each event the number of the one before
    it and its members. `leftOut` is how many payloads were too long for the document.
    """
    details, left_out = _details(one.recorded.shown)
    return {
        "run": run_document(one, now_ms),
        "previous": [event.previous_id for event in one.recorded.shown],
        "details": details,
        "costs": of_run(one, now_ms, redactor),
        "leftOut": left_out,
    }


def _details(events: Sequence[HistoryEvent]) -> tuple[list[JsonObject | None], int]:
    found: list[JsonObject | None] = []
    room, left_out = MOST_CHARACTERS, 0
    for event in events:
        kept: JsonObject = {}
        for name, value in (event.details or {}).items():
            length = len(value) if isinstance(value, str) else len(dump_json(value))
            if length > LONGEST or length > room:
                left_out += 1
                kept[name] = f"Left out of this file: {length:,} characters"
                continue
            room -= length
            kept[name] = value
        found.append(kept or None)
    return found, left_out


def page(document: JsonObject) -> str:
    """The HTML file of a document that `bundled` made, or of another of that form."""
    script, style = _script(), _style()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    name = str(document["run"]["head"]["name"])
    data = {**document, "icons": icons(), "version": __version__}
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="content-security-policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(name)} · Statewright</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<div id="app"><noscript>This page needs JavaScript.</noscript></div>\n'
        f'<script type="application/json" id="run">{data_text(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def data_text(value: Json) -> str:
    """JSON that may stand in a script element: without any `<`, `>` or `&`, and without what ends lines in scripts."""
    text = dump_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _script() -> str:
    return bundle(ENTRY, INSTEAD)


@cache
def _style() -> str:
    return "\n".join(assets()[name].body.decode() for name in STYLES)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


READS: Final = {"run/export": export}
