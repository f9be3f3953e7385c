"""The query protocol: `Action=...` with flattened members in a form or query string, and XML answers.

Owns the conversion from a form to members by the model's names, and back to XML. Services whose model is of this
protocol (SNS) are read by their model. SQS spoke it before JSON, and old SDKs still do: its model describes JSON only,
so `_LEGACY` has the names that members have on this wire; a request may use the model's own names as well. The folder
of the service translates error codes.

Source: API reference of SQS of 2012-11-05, "Making requests" and "Interpreting responses"; service models before JSON;
the query protocol's serialization as the AWS SDKs have it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Final
from urllib.parse import parse_qsl

from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.protocols.bounds import apart
from statewright.api.protocols.wire import Answer, Incoming
from statewright.errors import ApiError
from statewright.instants import iso_ms
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonMapping, JsonObject

XML_TYPE: Final = b"text/xml"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
NAMESPACE: Final = "http://queue.amazonaws.com/doc/2012-11-05/"
"""The namespace of SQS; the other models have their own."""
MOST_FIELDS: Final = 20_000
"""Statewright's own limit: a batch of ten messages with ten attributes each has some 500."""

_LEGACY: Final = {
    "ActionNameList": "ActionName",
    "AttributeNameList": "AttributeName",
    "AWSAccountIdList": "AWSAccountId",
    "BatchResultErrorEntryList": "BatchResultErrorEntry",
    "BinaryList": "BinaryListValue",
    "ChangeMessageVisibilityBatchRequestEntryList": "ChangeMessageVisibilityBatchRequestEntry",
    "ChangeMessageVisibilityBatchResultEntryList": "ChangeMessageVisibilityBatchResultEntry",
    "DeleteMessageBatchRequestEntryList": "DeleteMessageBatchRequestEntry",
    "DeleteMessageBatchResultEntryList": "DeleteMessageBatchResultEntry",
    "ListMessageMoveTasksResultEntryList": "ListMessageMoveTasksResultEntry",
    "MessageAttributeNameList": "MessageAttributeName",
    "MessageBodyAttributeMap": "MessageAttribute",
    "MessageBodySystemAttributeMap": "MessageSystemAttribute",
    "MessageList": "Message",
    "MessageSystemAttributeList": "MessageSystemAttributeName",
    "MessageSystemAttributeMap": "Attribute",
    "QueueAttributeMap": "Attribute",
    "QueueUrlList": "QueueUrl",
    "SendMessageBatchRequestEntryList": "SendMessageBatchRequestEntry",
    "SendMessageBatchResultEntryList": "SendMessageBatchResultEntry",
    "StringList": "StringListValue",
    "TagKeyList": "TagKey",
    "TagMap": "Tag",
}
"""The name on the wire of a member that is a flattened list or map, by the name of its shape."""

_MAP_NAMES: Final = {"TagMap": ("Key", "Value")}
"""Names of an entry's key and value if they are not Name and Value."""

_UNKNOWN: Final = "UnknownOperationException"
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")
Tree = JsonObject
"""A form split at the dots of its names: texts, and trees by the next part of the name."""


class QueryWire:
    """The query protocol of one service, by signing name.

    `legacy` converts an error into that of this protocol; `at_path` names the member that a request's path provides if
    it has no such parameter.
    """

    def __init__(
        self, service: str, *, legacy: Callable[[ApiError], ApiError] | None = None, at_path: str | None = None
    ) -> None:
        self._service = service
        self._legacy = legacy or (lambda error: error)
        self._at_path = at_path

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """Read the action, and its members by the names of the model.

        Raises: ApiError.
        """
        if incoming.method not in ("GET", "POST"):
            raise ApiError("MethodNotAllowed", f"{incoming.method[:20]} is not a method of this service; POST is.")
        body = b""
        if incoming.method == "POST":
            media_type = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type not in (FORM_TYPE, ""):
                raise ApiError(
                    "UnsupportedMediaType", f"Content-Type is '{media_type}'; send Content-Type: {FORM_TYPE}."
                )
            body = await incoming.body()
        path = incoming.raw_path.partition("?")[0]
        try:
            operation, request = await apart(len(body), _read, self._service, incoming.query, body)
        except ApiError as problem:
            if problem.code == "MissingAction" and incoming.method == "GET" and self._at_path and path.strip("/"):
                raise ApiError(_UNKNOWN, "A GET names no Action.", status=404) from None
            raise
        if self._at_path is not None and self._at_path not in request and path.strip("/"):
            if incoming.method == "GET" and self._at_path not in _members(self._service, operation):
                raise _no_action(operation)
            request[self._at_path] = path
        return operation, request

    def answer(self, operation: str, result: Json, request_id: str) -> Answer:
        """Write the answer in XML."""
        return Answer(200, write_answer(self._service, operation, result, request_id), XML_TYPE)

    def refusal(self, error: ApiError, request_id: str, _path: str) -> Answer:
        """Write the error in XML, with its legacy code."""
        if error.code == _UNKNOWN and error.status == 404 and self._at_path is not None:
            # This answer has neither text nor request id (observed).
            return Answer(404, b"<UnknownOperationException/>", XML_TYPE)
        said = self._legacy(error)
        status = said.status or status_of(error, self._service)
        return Answer(status, write_error(said, status, request_id, self._service), XML_TYPE)


# ------------------------------------------------------------------ requests


def _read(service: str, query: str, body: bytes) -> tuple[str, JsonObject]:
    return read_form(service, "&".join(part for part in (query, body.decode("utf-8", "replace")) if part))


def read_form(service: str, text: str) -> tuple[str, JsonObject]:
    """Read the action of a form, and its members by the names of the model; numbers become numbers.

    Raises: ApiError.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise ApiError("MalformedQueryString", f"The request has more than {MOST_FIELDS} fields.") from None
    tree = _tree(pairs)
    action = tree.get("Action")
    if not isinstance(action, str) or not action:
        raise ApiError("MissingAction", "The request must contain the parameter Action.")
    model = _model(service)
    if action not in model["operations"]:
        raise _no_action(action)
    shape = model["operations"][action].get("input")
    return action, (_structure(model["shapes"], shape["shape"], tree) if shape else {})


def _no_action(action: str) -> ApiError:
    return ApiError("InvalidAction", f"The action {action[:100]} is not valid for this endpoint.")


def _members(service: str, operation: str) -> Collection[str]:
    model = _model(service)
    shape = model["operations"][operation].get("input")
    members: Collection[str] = model["shapes"][shape["shape"]]["members"] if shape else ()
    return members


def _tree(pairs: Iterable[tuple[str, str]]) -> Tree:
    root: Tree = {}
    for name, value in pairs:
        *before, last = name.split(".", 8)
        here = root
        for part in before:
            below = here.setdefault(part, {})
            if not isinstance(below, dict):
                # A name that is both a value and the prefix of another: the value came first, and wins.
                break
            here = below
        else:
            here.setdefault(last, value)
    return root


def _structure(shapes: Model, name: str, tree: Tree) -> JsonObject:
    found = {}
    for member, of in shapes[name]["members"].items():
        if member not in tree and _LEGACY.get(of["shape"]) not in tree:
            continue
        value = _member(shapes, member, of["shape"], tree)
        if value is not None:
            found[member] = value
    return found


def _member(shapes: Model, member: str, shape_name: str, tree: Tree) -> Json:
    shape = shapes[shape_name]
    kind = shape["type"]
    names = (_LEGACY.get(shape_name), member) if kind in ("list", "map") else (member,)
    given = next((tree[name] for name in names if name in tree), None)
    if given is None:
        return None
    if kind == "list":
        if given == "":
            # SDKs send an empty text for an empty list.
            return []
        return [_value(shapes, shape["member"]["shape"], one) for one in _numbered(given, "member")]
    if kind == "map":
        return dict(_entry(shapes, shape, one) for one in _numbered(given, "entry") if isinstance(one, dict))
    return _value(shapes, shape_name, given)


def _numbered(given: Json, level: str) -> list[Json]:
    """The values under 1, 2, 3 ..., in that order; `level` is the name that unflattened forms have in between."""
    if not isinstance(given, dict):
        return [given]
    below = given.get(level, given)
    if not isinstance(below, dict):
        return [below]
    numbers = sorted((int(key), key) for key in below if key.isascii() and key.isdigit() and len(key) < 10)
    return [below[key] for _, key in numbers]


def _entry(shapes: Model, shape: Model, given: Tree) -> tuple[str, Json]:
    key = next((given[name] for name in ("Name", "Key", "key") if isinstance(given.get(name), str)), "")
    value = next((given[name] for name in ("Value", "value") if name in given), None)
    if value is None:
        # The older form has the members of the value next to the name.
        value = "" if shapes[shape["value"]["shape"]]["type"] == "string" else given
    return key, _value(shapes, shape["value"]["shape"], value)


def _value(shapes: Model, name: str, given: Json) -> Json:
    kind = shapes[name]["type"]
    if kind == "structure":
        return _structure(shapes, name, given) if isinstance(given, dict) else {}
    if kind in ("list", "map"):
        return _member(shapes, "", name, {"": given})
    if not isinstance(given, str):
        return None
    if kind == "boolean":
        return {"true": True, "false": False}.get(given.lower(), given)
    if kind in ("integer", "long"):
        sign, digits = given[:1] if given[:1] in ("-", "+") else "", given.lstrip("+-")
        return int(sign + digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else given
    if kind in ("double", "float") and _NUMBER.fullmatch(given):
        return float(given)
    return _epoch_seconds(given) if kind == "timestamp" else given


def _epoch_seconds(given: str) -> float | str:
    """The instant in a form: ISO 8601, in UTC if without a zone, or a number of epoch seconds."""
    try:
        found = datetime.fromisoformat(given)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return float(given) if _NUMBER.fullmatch(given) else given


# ------------------------------------------------------------------ answers


def write_answer(service: str, operation: str, result: JsonMapping, request_id: str) -> bytes:
    """Write an answer in XML; blobs of the result are bytes."""
    model = _model(service)
    shape = model["operations"][operation].get("output")
    parts = [f'<?xml version="1.0"?><{operation}Response xmlns="{_namespace(service)}">']
    if shape:
        opened = len(parts)
        parts.append(f"<{operation}Result>")
        write = _write_structure if service == "sqs" else _write_modelled
        write(parts, model["shapes"], shape["shape"], result)
        if len(parts) == opened + 1:
            parts[opened] = f"<{operation}Result/>"
        else:
            parts.append(f"</{operation}Result>")
    parts.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>")
    return "".join(parts).encode("utf-8", "backslashreplace")


def write_error(error: ApiError, status: int, request_id: str, service: str) -> bytes:
    """Write an error in XML; its code is already the legacy one."""
    kind = "Sender" if status < 500 else "Receiver"
    detail = "<Detail/>" if service == "sqs" else ""
    return (
        f'<?xml version="1.0"?><ErrorResponse xmlns="{_namespace(service)}"><Error><Type>{kind}</Type>'
        f"<Code>{_escaped(error.code)}</Code><Message>{_escaped(error.message)}</Message>{detail}</Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode("utf-8", "backslashreplace")


def _write_structure(parts: list[str], shapes: Model, name: str, value: JsonMapping) -> None:
    for member, of in shapes[name]["members"].items():
        found = value.get(member)
        if found is not None:
            _write_member(parts, shapes, member, of["shape"], found)


def _write_member(parts: list[str], shapes: Model, member: str, shape_name: str, value: Json) -> None:
    shape = shapes[shape_name]
    tag = _LEGACY.get(shape_name, member)
    if shape["type"] == "list":
        for one in value:
            _write_element(parts, shapes, tag, shape["member"]["shape"], one)
    elif shape["type"] == "map":
        key_name, value_name = _MAP_NAMES.get(shape_name, ("Name", "Value"))
        for key, one in value.items():
            parts.append(f"<{tag}><{key_name}>{_escaped(key)}</{key_name}>")
            _write_element(parts, shapes, value_name, shape["value"]["shape"], one)
            parts.append(f"</{tag}>")
    else:
        _write_element(parts, shapes, member, shape_name, value)


def _write_element(parts: list[str], shapes: Model, tag: str, shape_name: str, value: Json) -> None:
    if shapes[shape_name]["type"] == "structure":
        parts.append(f"<{tag}>")
        _write_structure(parts, shapes, shape_name, value)
        parts.append(f"</{tag}>")
    else:
        parts.append(f"<{tag}>{_escaped(_text(value))}</{tag}>")


def _write_modelled(parts: list[str], shapes: Model, name: str, value: JsonMapping) -> None:
    """Write a structure of a service whose model is of this protocol."""
    for member, of in shapes[name]["members"].items():
        found = value.get(member)
        if found is not None:
            tag = of.get("locationName", member)
            inner = shapes[of["shape"]]
            if inner["type"] in ("list", "map") and inner.get("flattened"):
                for one in _elements(inner, found):
                    _write_value(parts, shapes, tag, *one)
            else:
                _write_value(parts, shapes, tag, of["shape"], found)


def _write_value(parts: list[str], shapes: Model, tag: str, shape_name: str | None, value: Json) -> None:
    """Write an element. Without a shape, `value` is the entry of a map: its shape, key and value."""
    if shape_name is None:
        of, key, one = value
        parts.append(f"<{tag}><{of['key'].get('locationName', 'key')}>{_escaped(key)}")
        parts.append(f"</{of['key'].get('locationName', 'key')}>")
        _write_value(parts, shapes, of["value"].get("locationName", "value"), of["value"]["shape"], one)
        parts.append(f"</{tag}>")
        return
    shape = shapes[shape_name]
    parts.append(f"<{tag}>")
    if shape["type"] == "structure":
        _write_modelled(parts, shapes, shape_name, value)
    elif shape["type"] in ("list", "map"):
        inner = shape["member"].get("locationName", "member") if shape["type"] == "list" else "entry"
        for one in _elements(shape, value):
            _write_value(parts, shapes, inner, *one)
    elif shape["type"] == "timestamp":
        parts.append(iso_ms(value))
    else:
        parts.append(_escaped(_text(value)))
    parts.append(f"</{tag}>")


def _elements(shape: Model, value: Json) -> list[tuple[str | None, Json]]:
    """The elements of a list or map, each with the name of its shape."""
    if shape["type"] == "list":
        return [(shape["member"]["shape"], one) for one in value]
    return [(None, (shape, key, one)) for key, one in value.items()]


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _escaped(text: str) -> str:
    # A bare carriage return would reach the caller as a line feed.
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("\r", "&#xD;")
    )


@cache
def _namespace(service: str) -> str:
    if service == "sqs":
        return NAMESPACE
    model = load_model(service)
    found: str = model["metadata"].get("xmlNamespace", "") if model is not None else ""
    return found


@cache
def _model(service: str) -> Model:
    model = load_model(service)
    assert model is not None, service
    return model
