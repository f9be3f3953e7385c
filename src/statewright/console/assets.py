"""The files of the page: read once, compressed, named by their content.

The page is one document for every address below `/console`; its modules say what it shows. They are served as they are,
but for comments and types, which are a fifth of them.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "static"
PAGE: Final = "index.html"
_TYPES: Final = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_COMMENTS: Final = re.compile(rb"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""Comments that begin a line and end one. Texts of the page have no such lines."""
_TYPES_WITHIN: Final = re.compile(rb"/\*\* @(?:type|param) [^`*\n]*\*/ ?")
"""Types within a line, which only the checks of types read."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file. `packed` is its body in gzip."""

    type: bytes
    body: bytes
    packed: bytes
    tag: bytes


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page by its name."""
    return {path.name: _read(path) for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES}


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    if path.suffix == ".js" and not path.name.startswith("vendor"):
        body = _TYPES_WITHIN.sub(b"", _COMMENTS.sub(b"", body))
    digest = hashlib.sha256(body).hexdigest()[:20]
    return Asset(_TYPES[path.suffix], body, gzip.compress(body, 9, mtime=0), f'"{digest}"'.encode())
