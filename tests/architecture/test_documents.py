"""What documents promise of themselves: links lead somewhere, the map is whole, decisions are numbered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "statewright"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def anchors(document: Path) -> set[str]:
    titles = re.findall(r"(?m)^#+ +(.*)$", document.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path):
    text = re.sub(r"(?s)```.*?```", "", document.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (document.parent / name) if name else document
        assert found.exists(), f"{document.name}: {target}"
        assert not anchor or anchor in anchors(found), f"{document.name}: {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_exist(document: Path):
    named = re.findall(r"\b(?:tests|bench|docs|examples)/[\w./\-]+", document.read_text())
    missing = {
        name
        for name in named
        if not (found := ROOT / name.rstrip(".")).exists() and not any(found.parent.glob(f"{found.name}*"))
    }
    assert missing == set()


def test_every_document_is_named_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    missing = [path.name for path in (ROOT / "docs").glob("*.md") if f"(docs/{path.name}" not in readme]
    assert missing == []


def test_the_map_names_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").is_file()]
    modules = [path.name for path in SOURCE.glob("*.py") if path.name != "__init__.py"]
    assert [name for name in packages + modules if f"`{name}`" not in text] == []


def test_decisions_are_numbered_without_gaps():
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [path.name[:4] for path in files]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    for path in files:
        lines = path.read_text().splitlines()
        assert lines[0].startswith(f"# {path.name[:4]} "), path.name
        assert len(lines) <= 60, f"{path.name}: one page"
