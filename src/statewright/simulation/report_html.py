"""The result of a simulation, or of a comparison, as one HTML page that needs nothing else: no script, no font, no net.

Owns the page. Charts are `charts.py`'s, the document that is shown `outcomes.py`'s. Colours are those of the console,
light and dark by the reader's system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from statewright.cost.usage import ITEMS
from statewright.payload import JsonObject
from statewright.simulation.charts import chart_svg, legend, number_words, time_words

Document = JsonObject
MOST_ROWS: Final = 60
"""Points of a chart that its table shows; the JSON document has them all."""

STYLE: Final = """
:root{color-scheme:light dark;--page:#f6f7f9;--surface:#fff;--text:#14202e;--quiet:#566273;--border:#dde2e8;
--ok:#137a43;--fail:#c2261d;--run:#1b5fd0;--wait:#8a5a00;--caught:#a2480b;--idle:#566273;--accent:#0b7285;
--ok-fill:#e3f5ea;--fail-fill:#fdeae8;--run-fill:#e6effd;--wait-fill:#fdf1d8;--caught-fill:#fdecdf;--idle-fill:#eef1f4;
--accent-fill:#e3f4f6}
@media(prefers-color-scheme:dark){:root{--page:#0e141b;--surface:#151d27;--text:#e6edf4;--quiet:#9aa9ba;--border:#263241;
--ok:#4ccf86;--fail:#ff8077;--run:#7db1ff;--wait:#f0b94a;--caught:#f5a15e;--idle:#9aa9ba;--accent:#4cc3d6;
--ok-fill:#0f2e1f;--fail-fill:#3a1513;--run-fill:#12264a;--wait-fill:#33260a;--caught-fill:#362010;--idle-fill:#1d2733;
--accent-fill:#0f2f36}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--text);font:14px/20px system-ui,sans-serif}
main{max-width:1200px;margin:0 auto;padding:24px}h1{font-size:20px;line-height:28px;margin:0 0 4px}
h2{font-size:13px;margin:0 0 8px}p{margin:0 0 8px}.quiet{color:var(--quiet)}
.card{background:var(--surface);border:1px solid var(--border);border-radius:10px;padding:16px;margin:16px 0 0}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:16px}
.fact b{display:block;font-size:20px;line-height:28px;font-variant-numeric:tabular-nums}
.grid2{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:16px;margin-top:16px}
.grid2 .card{margin:0}.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}th{font-size:12px;text-align:left;color:var(--quiet);font-weight:600}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--border);vertical-align:top}tr:last-child td{border-bottom:0}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.mark{white-space:nowrap;font-weight:600}.mark svg{width:12px;height:12px;vertical-align:-1px;margin-right:6px}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12px;color:var(--quiet)}
.key{width:16px;height:4px;margin-right:6px;vertical-align:middle}.chart{display:block;width:100%;height:auto}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.area{stroke:none}
.grid{stroke:var(--border);stroke-width:1}.tick{fill:var(--quiet);font:11px system-ui,sans-serif}
.limit{stroke:var(--fail);stroke-width:1.5;stroke-dasharray:5 4}
.limit-text{fill:var(--fail);font:11px system-ui,sans-serif}
summary{cursor:pointer;font-size:12px;color:var(--quiet);margin-top:8px}:focus-visible{outline:2px solid var(--accent)}
ul{margin:0;padding-left:20px}code{font:12px/18px ui-monospace,monospace}
""" + "".join(
    f".line.{tone}{{stroke:var(--{tone})}}.area.{tone}{{fill:var(--{tone}-fill)}}.mark.{tone}{{color:var(--{tone})}}\n"
    for tone in ("ok", "fail", "run", "wait", "caught", "idle", "accent")
)  # fmt: skip

_ICONS: Final = {
    "ok": '<path d="M2 6.5 5 9.5 10.5 3" fill="none" stroke="currentColor" stroke-width="2"/>',
    "fail": '<path d="M2.5 2.5l7 7m0-7l-7 7" fill="none" stroke="currentColor" stroke-width="2"/>',
    "run": '<path d="M6 1.5a4.5 4.5 0 1 1-4.5 4.5" fill="none" stroke="currentColor" stroke-width="2"/>',
    "wait": '<path d="M6 1a5 5 0 1 0 .01 0M6 3v3.2l2 1.3" fill="none" stroke="currentColor" stroke-width="1.5"/>',
    "caught": '<path d="M7 .5 2 7h3.5L4.5 11.5 10 5H6.5z" fill="currentColor"/>',
    "idle": '<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5"/>',
}


def result_page(document: Document) -> str:
    """The page of one simulation."""
    body = [
        f"<h1>{escape(document['name'])}</h1>",
        f'<p class="quiet">{escape(document["description"])}</p>' if document["description"] else "",
        _facts(document),
        _notes(document),
        _outcomes(document),
        f'<div class="grid2">{"".join(_chart(chart, document) for chart in document["charts"])}</div>',
        _functions(document),
        _bill(document["cost"]),
    ]
    return _page(document["name"], body)


def comparison_page(name: str, table: Document) -> str:
    """The page of a comparison: one row a run."""
    columns = table["columns"]
    head = "".join(f'<th class="number">{escape(one["title"])}</th>' for one in columns)
    rows = []
    for row in table["rows"]:
        cells = "".join(f'<td class="number">{escape(cell)}</td>' for cell in row["cells"])
        rows.append(f"<tr><td>{escape(row['name'])}</td>{cells}</tr>")
    notes = "".join(f"<li>{escape(note)}</li>" for note in table["notes"])
    body = [
        f"<h1>{escape(name)}</h1>",
        f'<div class="card scroll"><table><tr><th>run</th>{head}</tr>{"".join(rows)}</table></div>',
        f'<div class="card"><h2>To know</h2><ul>{notes}</ul></div>' if notes else "",
    ]
    return _page(name, body)


def _page(title: str, body: Iterable[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main></body></html>\n"
    )


def _facts(document: Document) -> str:
    facts = [(time_words(document["virtualSeconds"]), "virtual time"), (document["ended"].split(":")[0], "ended by")]
    for function in document["functions"]:
        at = function["limitReachedAtSeconds"]
        if at is not None:
            facts.append((time_words(at), f"until {function['name']} ran {function['limit']:,} at once"))
        elif function["mostAtOnce"] > 1:
            facts.append((f"{function['mostAtOnce']:,}", f"of {function['name']} at once at most"))
    cost = document["cost"]
    digits = 2 if cost["usd"] >= 0.01 or not cost["usd"] else 6
    facts.append((f"{cost['usd']:,.{digits}f} USD", f"at prices of {cost['prices']['date']}"))
    shown = "".join(
        f'<div class="fact"><b>{escape(value)}</b><span class="quiet">{escape(words)}</span></div>'
        for value, words in facts
    )
    return f'<div class="card facts">{shown}</div>'


def _notes(document: Document) -> str:
    if not document["notes"]:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in document["notes"])
    return f'<div class="card"><h2>What is assumed</h2><ul>{items}</ul></div>'


def _outcomes(document: Document) -> str:
    rows = [
        f'<tr><td>{escape(row["what"])}</td><td><span class="mark {row["tone"]}">{_icon(row["tone"])}'
        f'{escape(row["outcome"])}</span></td><td class="number">{row["count"]:,}</td>'
        f"<td>{escape(row['reason'])}</td></tr>"
        for row in document["outcomes"]
    ]
    head = '<tr><th>of</th><th>outcome</th><th class="number">count</th><th>reason</th></tr>'
    return f'<div class="card scroll"><h2>Outcomes</h2><table>{head}{"".join(rows)}</table></div>'


def _icon(tone: str) -> str:
    return f'<svg viewBox="0 0 12 12" aria-hidden="true">{_ICONS.get(tone, _ICONS["idle"])}</svg>'


def _chart(chart: Document, document: Document) -> str:
    points = [line["points"] for line in chart["lines"]]
    return (
        f'<figure class="card"><h2>{escape(chart["title"])}</h2>{chart_svg(chart, document["virtualSeconds"])}'
        f'<div class="legend">{legend(chart)}<span>{escape(chart["unit"])}</span></div>'
        f"<details><summary>As a table</summary>{_points(chart, points)}</details></figure>"
    )


def _points(chart: Document, points: Sequence[Sequence[Sequence[float]]]) -> str:
    every = sorted({at for line in points for at, _ in line})
    thin = -(-len(every) // MOST_ROWS)
    values = [{one[0]: one[1] for one in line} for line in points]
    head = "".join(f'<th class="number">{escape(line["name"])}</th>' for line in chart["lines"])
    rows = []
    for at in every[::thin] if thin > 1 else every:
        cells = "".join(f'<td class="number">{number_words(line[at]) if at in line else ""}</td>' for line in values)
        rows.append(f"<tr><td>{time_words(at)}</td>{cells}</tr>")
    return f'<div class="scroll"><table><tr><th>after</th>{head}</tr>{"".join(rows)}</table></div>'


def _functions(document: Document) -> str:
    if not document["functions"]:
        return ""
    head = "".join(
        f'<th class="number">{words}</th>'
        for words in ("memory", "invocations", "errors", "throttles", "most at once", "average", "p95")
    )
    rows = []
    for one in document["functions"]:
        took = one["durationMs"]
        cells = (
            f"{one['memory']:,} MB", f"{one['invocations']:,}", f"{one['errors']:,}", f"{one['throttles']:,}",
            f"{one['mostAtOnce']:,} of {one['limit']:,}", *(
                time_words(took[name] / 1000) if name in took else "" for name in ("Average", "p95")
            ),
        )  # fmt: skip
        rows.append(
            f"<tr><td>{escape(one['name'])}</td>{''.join(f'<td class=number>{cell}</td>' for cell in cells)}</tr>"
        )
    table = f"<table><tr><th>function</th>{head}</tr>{''.join(rows)}</table>"
    return f'<div class="card scroll"><h2>Functions</h2>{table}</div>'


def _bill(cost: Document) -> str:
    rows = []
    for line in cost["lines"]:
        usd = "no price" if line["usd"] is None else f"{line['usd']:,.6f}" + (" a month" if line.get("monthly") else "")
        rows.append(
            f"<tr><td>{escape(line['service'])}</td><td class=number>{number_words(line['quantity'])}</td>"
            f"<td>{escape(ITEMS[line['item']].words)}</td><td class=number>{usd}</td></tr>"
        )
    monthly = f", and {cost['usdPerMonth']:,.2f} USD a month" if cost["usdPerMonth"] else ""
    notes = "".join(f"<li>{escape(one)}</li>" for one in (*cost["hints"], *cost["notes"]))
    prices = cost["prices"]
    return (
        '<div class="card scroll"><h2>What this would cost at the cloud service</h2>'
        '<table><tr><th>service</th><th class="number">quantity</th><th>of</th><th class="number">USD</th></tr>'
        f'{"".join(rows)}<tr><td><b>sum</b></td><td></td><td>{monthly.lstrip(", ")}</td><td class="number"><b>'
        f"{cost['usd']:,.6f}</b></td></tr></table>"
        f'<p class="quiet">List prices of {prices["date"]}, {prices["region"]}; an estimate.</p><ul>{notes}</ul></div>'
    )
