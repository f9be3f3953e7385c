"""Drawings of state machines: a definition as a graph, a layout, and SVG, Mermaid or text. Standard library only."""
