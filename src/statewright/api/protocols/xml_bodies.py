"""XML bodies of the protocol rest-xml: read by the model's shapes; answers and errors written.

Owns names of elements, flattened lists, attributes and root elements. No shape is restated here except the names of the
roots, which the model does not have.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Final

from statewright.api.auth import presigned_hash
from statewright.api.models import load_model
from statewright.api.protocols.wire import Answer, Incoming
from statewright.api.protocols.xml_tree import MOST_CHILDREN, Element, XmlError, parse_xml
from statewright.errors import ApiError
from statewright.instants import http_date, iso_ms
from statewright.integrations.endpoints.service_models import Model
from statewright.objects.faults import malformed_xml, method_not_allowed
from statewright.payload import Json, JsonObject

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

ROOTS: Final = {
    "ListBuckets": "ListAllMyBucketsResult",
    "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult",
    "ListObjectVersions": "ListVersionsResult",
    "DeleteObjects": "DeleteResult",
    "CreateMultipartUpload": "InitiateMultipartUploadResult",
    "CompleteMultipartUpload": "CompleteMultipartUploadResult",
    "ListParts": "ListPartsResult",
    "ListMultipartUploads": "ListMultipartUploadsResult",
    "CopyObject": "CopyObjectResult",
    "UploadPartCopy": "CopyPartResult",
    "GetBucketLocation": "LocationConstraint",
    "GetBucketTagging": "Tagging",
    "GetObjectTagging": "Tagging",
    "GetObjectAttributes": "GetObjectAttributesResponse",
    "GetBucketVersioning": "VersioningConfiguration",
    "GetBucketAcl": "AccessControlPolicy",
    "GetObjectAcl": "AccessControlPolicy",
    "GetBucketRequestPayment": "RequestPaymentConfiguration",
    "GetBucketAccelerateConfiguration": "AccelerateConfiguration",
    "GetBucketLogging": "BucketLoggingStatus",
    "GetBucketNotificationConfiguration": "NotificationConfiguration",
    "GetBucketEncryption": "ServerSideEncryptionConfiguration",
    "GetPublicAccessBlock": "PublicAccessBlockConfiguration",
    "GetBucketPolicyStatus": "PolicyStatus",
    "GetBucketOwnershipControls": "OwnershipControls",
    "GetBucketCors": "CORSConfiguration",
    "GetBucketLifecycleConfiguration": "LifecycleConfiguration",
    "GetObjectLockConfiguration": "ObjectLockConfiguration",
    "GetObjectRetention": "Retention",
    "GetObjectLegalHold": "LegalHold",
}
"""Root elements of answers. Source: service API reference, "Response Syntax" of each operation."""

_SPECIAL: Final = re.compile('[&<>"\x00-\x08\x0b-\x1f\x7f]')
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_MOST_CHILDREN: Final = {"Delete": 1_001}
"""Children of an element, by the shape of the body: a thousand objects, and Quiet. Source: API reference."""
_SUMS: Final = ("x-amz-checksum-", "x-amz-content-sha256")
_XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"

Out = list[str]
WriteElement = Callable[[str, Json, Out], None]


class XmlBodies:
    """XML for one service, by signing name."""

    content_type = b"application/xml"
    binary_type = b"binary/octet-stream"

    def __init__(self, service: str) -> None:
        self._service = service

    def check(self, incoming: Incoming, body: bytes) -> None:
        """Compare a body with the digests that its request declares. Raises: ApiError (`BadDigest` and others)."""
        is_declared = any(name == "content-md5" or name.startswith(_SUMS) for name in incoming.headers)
        if not is_declared and presigned_hash(incoming.query) is None:
            return
        from statewright.api.s3.digests import check_body

        check_body(incoming, body)

    def read(self, shape_name: str, body: bytes) -> JsonObject:
        """Read members by name; instants as epoch seconds. Raises: ApiError (`MalformedXML`)."""
        try:
            most = _MOST_CHILDREN.get(shape_name, MOST_CHILDREN)
            found: JsonObject = read_xml(self._service, shape_name, parse_xml(body, most))
        except XmlError:
            raise malformed_xml() from None
        return found

    def write(self, operation: str, shape_name: str, value: Json) -> bytes:
        """Write a document; instants are epoch milliseconds. An answer without members is an empty body."""
        if operation not in ROOTS:
            return b""
        return write_xml(self._service, shape_name, ROOTS[operation], value or {})

    def no_operation(self, method: str, path: str) -> ApiError:
        """The error for a method and path that no operation has."""
        return method_not_allowed(method, path)

    def refusal(self, error: ApiError, status: int, request_id: str, _path: str) -> Answer:
        """Write the error as an XML document; a `304` has its members as headers, and no body."""
        from statewright.api.s3.errors import in_s3_words

        error = in_s3_words(error)
        status = error.status or status
        if status == 304:
            return Answer(status, b"", self.content_type, _not_modified_headers(error))
        details = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in error.details.items())
        text = (
            f"{HEAD}<Error><Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>{details}"
            f"<RequestId>{request_id}</RequestId><HostId>{request_id}</HostId></Error>"
        )
        headers = [(name.encode(), value.encode()) for name, value in error.headers.items()]
        return Answer(status, text.encode("utf-8", "backslashreplace"), self.content_type, headers)


def escape(text: str) -> str:
    """Escape a text for an element or attribute; control characters become references, as with the service."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0]) or f"&#x{ord(found[0]):x};", text)


# ------------------------------------------------------------------ reading


def read_xml(service: str, shape_name: str, element: Element) -> Json:
    """Read the value of an element by its shape. Raises: XmlError if it does not match the shape."""
    shapes = _shapes(service)
    return _read(shapes, shapes[shape_name], element)


def _read(shapes: Model, shape: Model, element: Element) -> Json:
    kind = shape["type"]
    if kind == "structure":
        return _read_structure(shapes, shape, element)
    if kind == "list":
        name = shape["member"].get("locationName", "member")
        inner = shapes[shape["member"]["shape"]]
        return [_read(shapes, inner, child) for child in element.children if child.name == name]
    if element.children:
        raise XmlError(f"{element.name} holds elements instead of a text")
    return _scalar(kind, element.text)


def _read_structure(shapes: Model, shape: Model, element: Element) -> JsonObject:
    by_name: dict[str, list[Element]] = {}
    for child in element.children:
        by_name.setdefault(child.name, []).append(child)
    if element.text.strip():
        raise XmlError(f"{element.name} holds a text instead of elements")
    found: JsonObject = {}
    for name, member in shape["members"].items():
        target = shapes[member["shape"]]
        wire_name = member.get("locationName", name)
        if member.get("xmlAttribute"):
            if wire_name in element.attributes:
                found[name] = element.attributes[wire_name]
            continue
        children = by_name.get(wire_name)
        if not children:
            continue
        if target["type"] == "list" and (target.get("flattened") or member.get("flattened")):
            inner = shapes[target["member"]["shape"]]
            found[name] = [_read(shapes, inner, child) for child in children]
        else:
            found[name] = _read(shapes, target, children[-1])
    return found


def _scalar(kind: str, text: str) -> Json:
    try:
        if kind in ("integer", "long", "short"):
            return int(text)
        if kind in ("float", "double"):
            return float(text)
        if kind == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[text.strip().lower()]
        if kind == "timestamp":
            moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        if kind == "blob":
            return base64.b64decode(text, validate=True)
    except (ValueError, KeyError, OverflowError):
        raise XmlError(f"{text[:100]!r} is no {kind}") from None
    return text


# ------------------------------------------------------------------ writing


def write_xml(service: str, shape_name: str, root: str, value: Json) -> bytes:
    """Write a document with a value of a shape under a root element; instants are epoch milliseconds."""
    out: Out = [HEAD]
    if root == "LocationConstraint":
        # The only answer whose root contains a text.
        where = value.get("LocationConstraint")
        inside = f">{escape(where)}</{root}>" if where else "/>"
        out.append(f'<{root} xmlns="{NAMESPACE}"{inside}')
    else:
        _writer(service, shape_name)(root, value, out)
        out[1] = f'<{root} xmlns="{NAMESPACE}">'
    return "".join(out).encode("utf-8", "backslashreplace")


@cache
def _writer(service: str, shape_name: str) -> WriteElement:
    shapes = _shapes(service)
    shape = shapes[shape_name]
    kind = shape["type"]
    if kind == "structure":
        return _structure_writer(service, shape)
    if kind == "list":
        item = _late_writer(service, shape["member"]["shape"])
        name = shape["member"].get("locationName", "member")
        if shape.get("flattened"):

            def flat(tag: str, value: Json, out: Out) -> None:
                for one in value:
                    item(tag, one, out)

            return flat

        def wrapped(tag: str, value: Json, out: Out) -> None:
            out.append(f"<{tag}>")
            for one in value:
                item(name, one, out)
            out.append(f"</{tag}>")

        return wrapped
    text_of = _TEXTS.get(kind, escape)
    return lambda tag, value, out: out.append(f"<{tag}>{text_of(value)}</{tag}>")


def _late_writer(service: str, shape_name: str, *, flat: bool = False) -> WriteElement:
    """The writer of a shape that may be recursive; `flat` for a list that is flattened as a member."""
    if flat:
        item = _shapes(service)[shape_name]["member"]["shape"]

        def each(tag: str, value: Json, out: Out) -> None:
            for one in value:
                _writer(service, item)(tag, one, out)

        return each
    return lambda tag, value, out: _writer(service, shape_name)(tag, value, out)


def _structure_writer(service: str, shape: Model) -> WriteElement:
    shapes = _shapes(service)
    attributes: dict[str, str] = {}
    members: list[tuple[str, str, WriteElement]] = []
    for name, member in shape["members"].items():
        wire_name = member.get("locationName", name)
        if member.get("xmlAttribute"):
            attributes[name] = wire_name
        elif "location" not in member:
            flat = bool(member.get("flattened")) and not shapes[member["shape"]].get("flattened")
            members.append((name, wire_name, _late_writer(service, member["shape"], flat=flat)))
    order = {name: (wire_name, write) for name, wire_name, write in members}

    def structure(tag: str, value: Json, out: Out) -> None:
        given = [(wire, value[name]) for name, wire in attributes.items() if value.get(name) is not None]
        said = "".join(f' {wire}="{escape(str(text))}"' for wire, text in given)
        out.append(f'<{tag} xmlns:xsi="{_XSI}"{said}>' if said else f"<{tag}>")
        # In the order of the answer, which is the service's.
        for name, one in value.items():
            found = order.get(name)
            if found is not None and one is not None:
                found[1](found[0], one, out)
        out.append(f"</{tag}>")

    return structure


_TEXTS: Final[dict[str, Callable[[Json], str]]] = {
    "integer": str,
    "long": str,
    "float": str,
    "double": str,
    "boolean": lambda value: "true" if value else "false",
    "timestamp": iso_ms,
    "blob": lambda value: base64.b64encode(value).decode(),
}


def _not_modified_headers(error: ApiError) -> list[tuple[bytes, bytes]]:
    headers = []
    for name, value in error.details.items():
        if name == "LastModified" and isinstance(value, int):
            headers.append((b"last-modified", http_date(value).encode()))
        else:
            headers.append((name.lower().encode(), str(value).encode("latin-1", "replace")))
    return headers


@cache
def _shapes(service: str) -> Model:
    model = load_model(service)
    assert model is not None, service
    shapes: Model = model["shapes"]
    return shapes
