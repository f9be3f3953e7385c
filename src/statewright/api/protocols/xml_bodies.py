"""XML bodies: the protocol rest-xml."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from statewright.api.protocols.wire import Answer
from statewright.errors import ApiError


class XmlBodies:
    """XML for one service, by signing name."""

    content_type = b"application/xml"
    binary_type = b"application/octet-stream"

    def __init__(self, service: str) -> None:
        self._service = service

    def read(self, _shape_name: str, _body: bytes) -> dict[str, Any]:
        """Raises: ApiError; XML bodies are not read yet."""
        raise ApiError("NotImplemented", "This version of Statewright does not read XML bodies yet.", status=501)

    def write(self, _operation: str, _shape_name: str, _value: Any) -> bytes:
        """Raises: ApiError; XML bodies are not written yet."""
        raise ApiError("NotImplemented", "This version of Statewright does not write XML bodies yet.", status=501)

    def refusal(self, error: ApiError, status: int, request_id: str, path: str) -> Answer:
        """The error as an XML document."""
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
            f"<Resource>{escape(path)}</Resource><RequestId>{request_id}</RequestId></Error>"
        )
        return Answer(status, text.encode("utf-8", "backslashreplace"), self.content_type)
