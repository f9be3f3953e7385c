"""XML text to a plain tree, without the dangerous features of XML: no document types, no entities, no great depth.

Namespaces are dropped: services ignore them. The meaning of elements is left to `xml_bodies.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

DEEPEST: Final = 32


class XmlError(ValueError):
    """The text is not XML, or not of the accepted subset."""


@dataclass(slots=True)
class Element:
    """An element by its local name; attributes keep their prefixes."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside."""
        return "".join(self.pieces)


def parse_xml(text: bytes) -> Element:
    """Parse a document to its root element. Raises: XmlError."""
    root = Element("", {})
    open_elements = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > DEEPEST:
            raise XmlError(f"elements lie more than {DEEPEST} deep")
        element = Element(name.rpartition(":")[2], attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def data(piece: str) -> None:
        open_elements[-1].pieces.append(piece)

    def refuse(*_given: object) -> None:
        raise XmlError("document types are not read")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError) as problem:
        raise XmlError(str(problem)) from None
    return root.children[0]
