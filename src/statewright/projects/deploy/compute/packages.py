"""The code of functions and layers as packages: the same bytes for the same files.

Owns what goes into a package. A plain folder's functions are packed by `projects.functions`, which knows handlers.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from statewright.projects.deploy.kinds import CannotApply

_DATE: Final = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT: Final = frozenset({"__pycache__", "cdk.out", "venv"})
_INLINE: Final = {"python": "index.py", "nodejs": "index.js"}
"""Source: template reference, AWS::Lambda::Function Code, `ZipFile`."""
_TOKEN: Final = re.compile(r"\*\*/|\*\*|.", re.DOTALL)
_GLOB: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
MOST_BYTES: Final = 250 * 1024 * 1024
"""Source: Lambda quotas: deployment package, unzipped."""


def sha256_of(package: bytes) -> str:
    """The `CodeSha256` that the API shows for a package."""
    return base64.b64encode(hashlib.sha256(package).digest()).decode()


def package_of(path: Path, patterns: tuple[str, ...] = ()) -> bytes:
    """A folder as a zip, of what `patterns` leave of it; a zip as it is, a single file as a zip of it.

    Raises: CannotApply; OSError.
    """
    if path.is_file():
        return path.read_bytes() if zipfile.is_zipfile(path) else zipped({path.name: path})
    if not path.is_dir():
        raise CannotApply(f"its code does not exist: {path}")
    files = {str(found.relative_to(path)): found for found in code_files(path, patterns)}
    if not files:
        raise CannotApply(f"there is no code in {path}")
    if sum(found.stat().st_size for found in files.values()) > MOST_BYTES:
        raise CannotApply(f"the code in {path} is larger than 250 MiB")
    return zipped(files)


def code_files(path: Path, patterns: tuple[str, ...] = ()) -> list[Path]:
    """The files that a code's package is made of, in order; hidden ones and caches are left out.

    Of `patterns` the last that fits a file's path decides, and `!` in front leaves the file out.
    """
    if path.is_file():
        return [path]
    found: list[Path] = []
    for place, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        found += [Path(place, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".pyc")]
    rules = [(not pattern.startswith("!"), _expression(pattern.removeprefix("!"))) for pattern in patterns]
    return [file for file in found if _is_wanted(file.relative_to(path).as_posix(), rules)] if rules else found


def _is_wanted(name: str, rules: list[tuple[bool, re.Pattern[str]]]) -> bool:
    return next((is_in for is_in, rule in reversed(rules) if rule.fullmatch(name)), True)


def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern of paths: `*` within a name, `**` across folders, `{a,b}` for either."""
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.findall(pattern.removeprefix("./")):
        if token == "{" or (token == "}" and depth):
            depth += 1 if token == "{" else -1
            parts.append("(?:" if token == "{" else ")")
        elif token == "," and depth:
            parts.append("|")
        else:
            parts.append(_GLOB.get(token) or re.escape(token))
    return re.compile("".join(parts) + ")" * depth, re.DOTALL)


def zipped(files: Mapping[str, Path]) -> bytes:
    """Files as a zip, the same bytes whenever and wherever it is made. Raises: OSError."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = (0o755 if os.access(path, os.X_OK) else 0o644) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def inline_package(text: str, runtime: str) -> bytes:
    """Code written in a template, as a package. Raises: CannotApply."""
    name = next((name for prefix, name in _INLINE.items() if runtime.startswith(prefix)), None)
    if name is None:
        raise CannotApply(f"code in a template is for python and nodejs runtimes, not {runtime or 'none'}")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name, _DATE)
        entry.external_attr = 0o644 << 16
        archive.writestr(entry, text.encode(), zipfile.ZIP_DEFLATED)
    return made.getvalue()
