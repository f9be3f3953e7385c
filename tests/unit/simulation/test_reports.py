from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from statewright.simulation.charts import chart_svg, number_words, time_words
from statewright.simulation.grid import table_of
from statewright.simulation.report_html import comparison_page, result_page
from tests.unit.simulation.test_run import BURST, played


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return played(tmp_path_factory.mktemp("burst"), BURST, name="<b> & 'burst'", description="x" * 3)


def test_the_page_needs_nothing_else(document):
    page = result_page(document)
    assert not re.search(r"<script|<link|<img|@import|url\(|https?://(?!www\.w3\.org)", page)
    assert "<b> &" not in page
    assert "&lt;b&gt; &amp;" in page
    assert "prefers-color-scheme:dark" in page
    assert page.count("<figure") == len(document["charts"])
    # Each chart has its numbers as a table, for those who do not see it.
    assert page.count("<details>") == len(document["charts"])


def test_charts_are_well_formed_and_stay_within_their_frame(document):
    for chart in document["charts"]:
        svg = ElementTree.fromstring(chart_svg(chart, document["virtualSeconds"]))
        _, _, width, height = map(float, svg.attrib["viewBox"].split())
        for path in svg.iter("path"):
            for letter, one, other in re.findall(r"([MLHV])\s*([-\d.]+)(?: ([-\d.]+))?", path.attrib["d"]):
                x, y = (one, other) if letter in "ML" else (one, None) if letter == "H" else (None, one)
                assert x is None or 0 <= float(x) <= width
                assert y is None or 0 <= float(y) <= height


def test_a_limit_that_is_near_is_drawn_and_one_that_is_far_is_not():
    line = {"name": "f", "tone": "run", "points": [[0, 1], [5, 90]]}
    chart = {"title": "t", "unit": "u", "steps": True, "lines": [line]}
    assert 'class="limit"' in chart_svg({**chart, "limit": 100}, 10)
    assert 'class="limit"' not in chart_svg({**chart, "limit": 1000}, 10)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.5, "0.5 s"), (40, "40 s"), (995, "16.6 min"), (5400, "1.5 h"), (172_800, "2 d")]
)
def test_times(seconds, words):
    assert time_words(seconds) == words


@pytest.mark.parametrize(
    ("value", "words"), [(1000, "1,000"), (0.25, "0.25"), (1234.5, "1,234"), (0.0000015, "1.5e-06")]
)
def test_numbers(value, words):
    assert number_words(value) == words


def test_a_comparison_has_only_columns_with_something_in_them(document):
    runs = [{**document, "variant": {"name": name, "changes": {}}} for name in ("one", "<two>")]
    table = table_of(runs)
    titles = [column["title"] for column in table["columns"]]
    assert {"over after", "dead", "USD"} <= set(titles)
    assert "transitions" not in titles
    assert len(table["rows"][0]["cells"]) == len(titles)
    page = comparison_page("all", table)
    assert "&lt;two&gt;" in page
    assert "fitted" in page
