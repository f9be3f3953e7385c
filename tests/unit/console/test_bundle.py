"""The page as one script, and data in it that can end nothing."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.console import assets
from statewright.console.assets import Asset
from statewright.console.copies import bundle as bundling
from statewright.console.copies.bundle import BundleError, bundle
from statewright.console.copies.exports import ENTRY, INSTEAD, STYLES, data_text, page
from tests.thoroughness import examples, scaled


def asset(text: str) -> Asset:
    return Asset(b"text/javascript", text.encode(), b"", b"")


@pytest.fixture
def modules(monkeypatch):
    """Modules in place of the page's own."""
    given: dict[str, Asset] = {}
    monkeypatch.setattr(bundling, "assets", lambda: given)
    return lambda **texts: given.update({f"{name}.js": asset(text) for name, text in texts.items()})


def test_the_page_of_a_file_has_all_that_it_needs():
    script = bundle(ENTRY, INSTEAD)
    assert "fetch(" not in script
    assert "modules['offline_api.js']" in script
    assert "modules['api.js']" not in script
    assert script.index("modules['offline.js'] = ") > script.index("modules['run.js'] = ")
    assert set(STYLES) <= set(assets.assets())


def exported(name: str) -> set[str]:
    return set(
        re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", assets.assets()[name].body.decode(), re.M)
    )


@pytest.mark.parametrize(("name", "other"), INSTEAD.items())
def test_what_stands_in_for_a_module_has_all_that_it_has(name, other):
    assert exported(name) <= exported(other)


def test_modules_stand_before_those_that_need_them(modules):
    modules(
        a="import { b as own, c } from './b.js';\n// a comment\nexport const a = own + c;",
        b="export function b() {}\nexport { b as other };\nexport const c = 1;",
    )
    assert bundle("a.js", {}) == (
        "'use strict';\nconst modules = {};\n"
        "modules['b.js'] = (() => {\nfunction b() {}\n;\nconst c = 1;\nreturn { b, c, other: b };\n})();\n"
        "modules['a.js'] = (() => {\nconst { b: own, c } = modules['b.js'];\nconst a = own + c;\nreturn { a };\n})();\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import { c } from './b.js';", "imports c of b.js, which has no such export"),
        ("import { b } from './none.js';", "there is no module none.js"),
        ("import { a } from './a.js';\nexport const a = 1;", "needs itself"),
        ("import x from './b.js';", "cannot be bundled"),
        ("export default 1;", "cannot be bundled"),
        ("const here = import.meta.url;", "cannot be bundled"),
        ("export const a = '</script>';", "would end the script"),
        ("export const a = '<!--';", "would end the script"),
    ],
)
def test_what_is_not_known_is_refused(modules, text, words):
    modules(a=text, b="export const b = 1;")
    with pytest.raises(BundleError, match=words):
        bundle("a.js", {})


def test_what_is_loaded_when_needed_is_in_it(modules):
    modules(a="export const load = () => import('./b.js');", b="export const b = 1;")
    script = bundle("a.js", {})
    assert "Promise.resolve(modules['b.js'])" in script
    assert "modules['b.js'] = " in script


@scaled
@settings(max_examples=examples(200), deadline=None)
@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner, max_size=3), max_leaves=5)
)
def test_data_are_json_without_any_markup(value):
    text = data_text(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_a_hostile_run_ends_no_element():
    hostile = "</script></style></title><script>alert(1)</script><!--<script>\u2028"
    head = {"name": hostile}
    text = page({"run": {"head": head}, "details": [{"input": hostile}], "costs": None, "previous": [0], "leftOut": 0})
    assert text.count("</script") == 2
    assert text.count("<script") == 2
    before = text.partition("<script")[0]
    assert before.count("</style") == before.count("</title") == 1
    assert "<!--" not in text
    assert "default-src &#39;none&#39;" in text
