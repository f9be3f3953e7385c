"""Plain English: the component that acts is named, and docstrings say what a thing is instead of asking.

House words that users and maintainers had to learn stand here so that they do not come back. Texts of the services are
quoted as they are; the places are named below.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source import SOURCE

ROOT = SOURCE.parents[1]

BANNED = re.compile(
    r"\b(whoever|whomever|somebody|nobody|anybody|is told|are told|was told|be told|told of|what came of|what comes of"
    r"|patiently|lets? go of|bugs? of ours|catalog)\b",
    re.IGNORECASE,
)
ASKING = re.compile(r'"""(Who|What|Whether|Where|Whom|Whose|Told)\b')
EXEMPT = {
    "src/statewright/tables/expressions/reserved_words.py": "a list of the service: CATALOG is a reserved word",
    "docs/decisions/0005-postgresql.md": "the user `nobody` of operating systems",
}


def texts() -> list[Path]:
    return [
        *sorted((ROOT / "src" / "statewright").rglob("*.py")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ]


def test_the_component_that_acts_is_named() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for path in texts()
        if (name := str(path.relative_to(ROOT))) not in EXEMPT
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BANNED.search(line) or (path.suffix == ".py" and ASKING.search(line))
    ]
    assert found == []
