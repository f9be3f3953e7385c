"""A graph as a Mermaid flowchart, for documents whose viewer renders it.

Owns escaping for Mermaid: every name and label is quoted, and every character that is not known to be harmless there is
written as a character code. Ids are generated, never names.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.graph.lettering import cut_cells, printable
from statewright.graph.model import Edge, Graph, Node, Scope

INDENT: Final = "    "
LONGEST: Final = 200
# Mermaid reads HTML, entities, comments, mathematics and icons even inside quotes; the rest of ASCII is only itself.
_HARMLESS: Final = frozenset(" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,.?!=/$'()+-:_")
_LIST: Final = re.compile(r"^(\d+[.)]|[-+])(?= )")
_SHAPES: Final = {
    "Choice": ("{", "}"),
    "Wait": ("([", "])"),
    "Succeed": ("([", "])"),
    "Fail": ("([", "])"),
    "Missing": ("[", "]"),
}
_CLASSES: Final = {"Succeed": "ok", "Fail": "fail", "Missing": "missing", "Unknown": "missing"}
_STYLES: Final = {
    "ok": "fill:#e3f5ea,stroke:#137a43,color:#137a43",
    "fail": "fill:#fdeae8,stroke:#c2261d,color:#c2261d",
    "run": "fill:#e6effd,stroke:#1b5fd0,color:#1b5fd0,stroke-dasharray:4 3",
    "wait": "fill:#fdf1d8,stroke:#8a5a00,color:#8a5a00",
    "caught": "fill:#fdecdf,stroke:#a2480b,color:#a2480b",
    "idle": "fill:#eef1f4,stroke:#566273,color:#566273",
    "missing": "fill:#fdeae8,stroke:#c2261d,color:#c2261d,stroke-dasharray:4 3",
}


def render_mermaid(graph: Graph) -> str:
    """Write a graph as `flowchart TD`; Parallel and Map become subgraphs, an overlay becomes classes."""
    lines = ["flowchart TD"]
    classes: dict[str, list[str]] = {}
    _scope(graph.root, "s0", INDENT, graph, lines, classes)
    for name, ids in classes.items():
        lines.append(f"{INDENT}classDef {name} {_STYLES[name]}")
        lines.append(f"{INDENT}class {','.join(ids)} {name}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text for a Mermaid string; characters with a meaning for Mermaid become `#code;`."""
    clean = printable(text)
    shown = clean if len(clean) <= LONGEST else cut_cells(clean, LONGEST)
    coded = "".join(char if char in _HARMLESS or not char.isascii() else f"#{ord(char)};" for char in shown)
    # `$$` begins mathematics, `:fa-` an icon, and a beginning like that of a list is refused.
    coded = coded.replace("$$", "$#36;").replace("://", "#58;//").replace(":fa-", "#58;fa-")
    return _LIST.sub(lambda match: f"{match[1][:-1]}#{ord(match[1][-1])};", coded)


def _scope(
    scope: Scope, start: str, indent: str, graph: Graph, lines: list[str], classes: dict[str, list[str]]
) -> None:
    """One scope; it recurses into subgraphs as deep as the graph is, which has a limit."""
    if scope.start is not None:
        lines.append(f'{indent}{start}((" ")) --> {scope.start}')
    for node in scope.nodes:
        _node(node, indent, graph, lines, classes)
    lines.extend(indent + _edge(edge) for edge in scope.edges)


def _node(node: Node, indent: str, graph: Graph, lines: list[str], classes: dict[str, list[str]]) -> None:
    name = _class(node, graph)
    if name is not None:
        classes.setdefault(name, []).append(node.id)
    text = escape(node.name) or "#160;"
    if not node.is_box:
        left, right = _SHAPES.get(node.kind, ("[", "]"))
        detail = f"<br/>{escape(node.detail)}" if node.detail else ""
        lines.append(f'{indent}{node.id}{left}"{text}{detail}"{right}')
    else:
        lines.append(f'{indent}subgraph {node.id}["{text}"]')
        lines.append(f"{indent}{INDENT}direction TB")
        for place, scope in enumerate(node.scopes):
            inner = f"{node.id}b{place + 1}"
            if len(node.scopes) == 1:
                _scope(scope, f"{inner}s", indent + INDENT, graph, lines, classes)
                continue
            lines.append(f'{indent}{INDENT}subgraph {inner}["branch {place + 1}"]')
            lines.append(f"{indent}{2 * INDENT}direction TB")
            _scope(scope, f"{inner}s", indent + 2 * INDENT, graph, lines, classes)
            lines.append(f"{indent}{INDENT}end")
        lines.append(f"{indent}end")
    if node.ends:
        lines.append(f'{indent}{node.id} --> {node.id}e((("#160;")))')


def _edge(edge: Edge) -> str:
    arrow = "-.->" if edge.kind == "catch" else "-->"
    label = "<br/>".join(escape(label) for label in edge.labels)
    return f'{edge.source} {arrow}|"{label}"| {edge.target}' if label else f"{edge.source} {arrow} {edge.target}"


def _class(node: Node, graph: Graph) -> str | None:
    if graph.overlay is None or node.kind in ("Missing", "Folded"):
        return _CLASSES.get(node.kind)
    return graph.overlay.status_of(node.name)
