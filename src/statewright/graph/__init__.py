"""State machines drawn: a definition to a graph, a layout, and SVG, Mermaid or text. Standard library only."""
