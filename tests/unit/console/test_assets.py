"""The files of the page: their size, what they may not contain, and their licences."""

from __future__ import annotations

import re

import pytest

from statewright.console.assets import FOLDER, assets

FIRST_LOAD_BYTES = 60 * 1024
OWN = [name for name in assets() if name.endswith((".js", ".html")) and name != "vendor.js"]


def test_a_first_load_is_small():
    assert sum(len(asset.packed) for asset in assets().values()) < FIRST_LOAD_BYTES


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
        for found in re.findall(r"from '\./([^']+)'", assets()[name].body.decode()):
            assert found in assets(), f"{name} imports {found}"


def test_what_others_wrote_has_its_licence():
    text = (FOLDER / "vendor.LICENSES.txt").read_text()
    for name in ("preact", "htm", "@preact/signals"):
        assert f"{name} " in text
