"""Mapping templates: the part of the Velocity Template Language that templates of REST APIs use, compiled and bounded.

The parser (`parser.py`, `expressions.py`) makes a tree (`tree.py`), the compiler (`compiling.py`) closures over a
`Rendering` (`rendering.py`). Values and their texts are in `values.py`, methods of Java's types in `methods.py`, the
gateway's variables in `gateway.py`. `template.py` is the façade. Nothing here knows of HTTP or integrations.
"""
