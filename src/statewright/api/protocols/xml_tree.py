"""XML text to a plain tree, without the dangerous features of XML: no document types, no entities, no great depth, and
bounds on the number of elements and attributes, which hold while the text is read.

Namespaces are dropped: services ignore them. The meaning of elements is left to `xml_bodies.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

DEEPEST: Final = 32
MOST_ELEMENTS: Final = 100_000
"""The parts of the largest multipart upload, with their checksums, have half of it."""
MOST_CHILDREN: Final = 10_000
"""Source: service quotas, parts of an upload."""
MOST_ATTRIBUTES: Final = 10_000
_PART_BYTES: Final = 32 * 1024


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


def parse_xml(text: bytes, most_children: int = MOST_CHILDREN) -> Element:
    """Parse a document to its root element, of which each may have so many children. Raises: XmlError."""
    root = Element("", {})
    open_elements = [root]
    elements = attributes_seen = events = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements, attributes_seen, events
        elements += 1
        events += 1
        attributes_seen += len(attributes)
        if len(open_elements) > DEEPEST:
            raise XmlError(f"elements lie more than {DEEPEST} deep")
        if elements > MOST_ELEMENTS or attributes_seen > MOST_ATTRIBUTES:
            raise XmlError("there are too many elements or attributes")
        if len(open_elements[-1].children) >= most_children:
            raise XmlError(f"an element has more than {most_children} others")
        element = Element(name.rpartition(":")[2], attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def data(piece: str) -> None:
        nonlocal events
        events += 1
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
        before = -1
        for place in range(0, len(text), _PART_BYTES):
            parser.Parse(text[place : place + _PART_BYTES], False)
            if events == before:
                # One tag or comment: its attributes would all be built at once.
                raise XmlError("a tag is too long")
            before = events
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as problem:
        raise XmlError(str(problem)) from None
    return root.children[0]
