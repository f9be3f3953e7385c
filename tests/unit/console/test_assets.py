"""The files of the page: their size, what they may not contain, and their licences."""

from __future__ import annotations

import re

import pytest

from statewright.console.assets import FOLDER, assets

FIRST_LOAD_BYTES = 60 * 1024
PACKAGE_BYTES = 500 * 1024
EDITOR_BYTES = 130 * 1024
OWN = [name for name in assets() if name.endswith((".js", ".html")) and not name.startswith("vendor")]


def imported(name: str) -> set[str]:
    """A module and all that it needs before it runs."""
    found: set[str] = set()
    pending = [name]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += re.findall(r"(?:from|import) '\./([^']+)';", assets()[one].body.decode())
    return found


SHELL = {"index.html", "mark.svg", *re.findall(r"static/([\w.]+)", assets()["index.html"].body.decode())}
ENTRIES = re.findall(r"^  \S+: \{.*import\('\./([^']+)'\)", assets()["pages.js"].body.decode(), re.MULTILINE)
STYLES = re.findall(r"style: '([^']+)', load: \(\) => import\('\./([^']+)'\)", assets()["pages.js"].body.decode())
"""Pairs of a style sheet and the module of a page: several pages share one sheet."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_first_load_of_any_page_is_small(entry):
    styles = {style for style, module in STYLES if module == entry}
    for style in list(styles):
        styles |= set(re.findall(r'@import url\("([^"]+)"\)', assets()[style].body.decode()))
    needed = SHELL | imported("app.js") | imported(entry) | styles
    assert sum(len(assets()[name].packed) for name in needed) < FIRST_LOAD_BYTES


def test_every_page_is_there():
    assert len(ENTRIES) == assets()["pages.js"].body.decode().count("load: () => import")
    assert {style for style, _ in STYLES} | set(ENTRIES) <= set(assets())


def test_the_page_is_a_small_part_of_the_package():
    assert sum(len(asset.packed) for asset in assets().values()) < PACKAGE_BYTES


def test_the_editor_is_loaded_by_no_page_before_it_is_needed():
    assert len(assets()["vendor_editor.js"].packed) < EDITOR_BYTES
    for entry in ("app.js", *ENTRIES):
        assert "vendor_editor.js" not in imported(entry)


@pytest.mark.parametrize("name", OWN)
def test_no_file_makes_markup_from_text(name):
    text = assets()[name].body.decode()
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "style=",
    ):
        assert forbidden not in text, f"{name} has {forbidden}"
    assert not re.search(r"https?://", text), "the page loads nothing from elsewhere"


@pytest.mark.parametrize("name", OWN)
def test_files_are_short(name):
    assert assets()[name].body.count(b"\n") <= 400


def test_every_module_that_is_imported_is_there():
    for name in OWN:
        for found in re.findall(r"(?:from |import\()'\./([^']+)'", assets()[name].body.decode()):
            assert found in assets(), f"{name} imports {found}"


def test_what_others_wrote_has_its_licence():
    for file, names in {
        "vendor.LICENSES.txt": ("preact", "htm", "@preact/signals"),
        "vendor_editor.LICENSES.txt": ("@codemirror/view", "@codemirror/lang-json", "@lezer/yaml", "style-mod"),
    }.items():
        text = (FOLDER / file).read_text()
        for name in names:
            assert f"{name} " in text
