"""REST protocols: members in path, query, headers and body according to the model's traits, with JSON or XML bodies.

Owns the conversion from an HTTP request to members by name, and back. `rest_routes.py` finds the operation, XML bodies
are left to `xml_bodies.py`, streamed ones to `uploads.py`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Protocol
from urllib.parse import parse_qsl

import orjson

from statewright.api import shapes
from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.protocols import rest_routes
from statewright.api.protocols.bounds import apart, refuse_dense_json
from statewright.api.protocols.json10 import sound
from statewright.api.protocols.uploads import upload_of
from statewright.api.protocols.wire import JSON_TYPE, Answer, Headers, Incoming
from statewright.errors import ApiError
from statewright.instants import http_date, iso_ms
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonObject, JsonTextError, parse_json


class Bodies(Protocol):
    """The encoding of a service's structured bodies: JSON or XML."""

    content_type: bytes
    binary_type: bytes
    """The content type of blobs without a type of their own."""

    def read(self, shape_name: str, body: bytes) -> JsonObject:
        """Read the members in a body, as JSON services have them: instants as epoch seconds. Raises: ApiError."""

    def check(self, incoming: Incoming, body: bytes) -> None:
        """Compare a body with the digests that its request declares, if the service has any. Raises: ApiError."""

    def write(self, operation: str, shape_name: str, value: Json) -> bytes:
        """Write the body of an answer; instants are epoch milliseconds. `shape_name`: the output's or its payload's."""

    def no_operation(self, method: str, path: str) -> ApiError:
        """The error for a method and path that no operation has."""

    def refusal(self, error: ApiError, status: int, request_id: str, path: str) -> Answer:
        """Write the answer to a request that failed."""


class RestWire:
    """REST for one service, by signing name.

    `path_of` returns the path of a request: S3 has part of it in the Host. `headers_of` has further headers of answers,
    by operation; `statuses` those that the model lacks.
    """

    def __init__(
        self,
        service: str,
        bodies: Bodies,
        path_of: Callable[[Incoming], str] | None = None,
        headers_of: Mapping[str, Headers] | None = None,
        statuses: Mapping[str, int] | None = None,
    ) -> None:
        self._service = service
        self._bodies = bodies
        self._path_of = path_of
        self._headers_of = headers_of or {}
        self._statuses = statuses or {}

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """Read the operation from method, path and query, and its members.

        Raises: ApiError.
        """
        query = _query(incoming.query)
        path = self._path_of(incoming) if self._path_of is not None else incoming.raw_path
        found = rest_routes.match(self._service, incoming.method, path, query, incoming.headers)
        if found is None:
            raise self._bodies.no_operation(incoming.method, path)
        shape = _input_shape(self._service, found.operation)
        if shape is None:
            return found.operation, {}
        request = _located(self._service, shape, found.places, query, incoming.headers)
        await self._read_body(shape, incoming, request)
        return found.operation, request

    async def _read_body(self, shape: Model, incoming: Incoming, request: JsonObject) -> None:
        shapes_of = _model(self._service)["shapes"]
        payload = shape.get("payload")
        if payload is not None:
            member = shape["members"][payload]
            target = shapes_of[member["shape"]]
            if target["type"] == "blob" and (member.get("streaming") or target.get("streaming")):
                request[payload] = upload_of(incoming)
                return
            body = await incoming.body()
            self._bodies.check(incoming, body)
            if target["type"] == "blob":
                request[payload] = body
            elif target["type"] == "string":
                request[payload] = body.decode("utf-8", "replace")
            elif body:
                request[payload] = await apart(len(body), self._bodies.read, member["shape"], body)
            return
        if not any("location" not in member for member in shape["members"].values()):
            return
        body = await incoming.body()
        self._bodies.check(incoming, body)
        if body:
            request.update(await apart(len(body), self._bodies.read, shape["name"], body))

    # -------------------------------------------------------------- answers

    def answer(self, operation: str, result: Json, _request_id: str = "") -> Answer:
        """Write headers, status and body as the model places them."""
        model = _model(self._service)
        trait = model["operations"][operation]
        status = self._statuses.get(operation) or trait["http"].get("responseCode", 200)
        if "output" not in trait:
            return Answer(status, b"")
        shape = model["shapes"][trait["output"]["shape"]]
        headers: list[tuple[bytes, bytes]] = [*self._headers_of.get(operation, ())]
        rest: JsonObject = {}
        for name, value in result.items():
            if value is None:
                continue
            member = shape["members"][name]
            where = member.get("location")
            if where == "statusCode":
                status = value
            elif where == "header":
                target = model["shapes"][member["shape"]]
                headers.append((member["locationName"].lower().encode(), _header_text(value, target, member)))
            elif where == "headers":
                prefix = member["locationName"].lower()
                headers.extend(((prefix + key).encode(), _latin(text)) for key, text in value.items())
            else:
                rest[name] = value
        if "ContentRange" in result and status == 200:
            status = 206
        return self._body(operation, shape, rest, status, headers)

    def _body(
        self, operation: str, shape: Model, rest: JsonObject, status: int, headers: list[tuple[bytes, bytes]]
    ) -> Answer:
        payload = shape.get("payload")
        kind = next((value for name, value in headers if name == b"content-type"), None)
        headers = [(name, value) for name, value in headers if name != b"content-type"]
        if payload is not None:
            target = _model(self._service)["shapes"][shape["members"][payload]["shape"]]
            value = rest.get(payload)
            if target["type"] in ("blob", "string"):
                body = value.encode() if isinstance(value, str) else (value if value is not None else b"")
                return Answer(status, body, kind or self._bodies.binary_type, headers)
            shape_name, content = shape["members"][payload]["shape"], value
        else:
            shape_name, content = shape["name"], rest
        if status == 204:
            return Answer(status, b"", kind or self._bodies.content_type, headers)
        written = self._bodies.write(operation, shape_name, content)
        return Answer(status, written, kind or self._bodies.content_type, headers)

    def refusal(self, error: ApiError, request_id: str, path: str) -> Answer:
        """Write the error in the form of the service."""
        return self._bodies.refusal(error, status_of(error, self._service), request_id, path)


class JsonBodies:
    """JSON bodies: the protocol rest-json."""

    content_type = JSON_TYPE
    binary_type = JSON_TYPE

    def __init__(self, service: str) -> None:
        self._service = service

    def check(self, _incoming: Incoming, _body: bytes) -> None:
        """Check nothing: JSON services have no digests of bodies beyond the signature."""

    def read(self, _shape_name: str, body: bytes) -> JsonObject:
        """Read one JSON object. Raises: ApiError (`SerializationException`)."""
        refuse_dense_json(body)
        try:
            value = parse_json(body)
        except JsonTextError as problem:
            raise ApiError(
                "SerializationException", f"Could not parse request body into json: {problem.message}"
            ) from None
        if not isinstance(value, dict):
            raise ApiError("SerializationException", "Could not parse request body into json: not a JSON object")
        return value

    def write(self, operation: str, _shape_name: str, value: Json) -> bytes:
        """Write one JSON object."""
        return orjson.dumps(shapes.writer(self._service, operation)(value or {}))

    def no_operation(self, method: str, path: str) -> ApiError:
        """The error for a method and path that no operation has."""
        said = f"{self._service} has no operation at {method[:20]} {path[:200]}."
        return ApiError("UnknownOperationException", said, status=404)

    def refusal(self, error: ApiError, status: int, _request_id: str, _path: str) -> Answer:
        """Write the error's code as a header, its members as the body."""
        members = _model(self._service)["shapes"].get(error.code, {"members": {}})["members"]
        body: JsonObject = {"Message" if "Message" in members else "message": sound(error.message)}
        headers = [(b"x-amzn-errortype", _latin(error.code))]
        for key, value in {"Type": "User" if status < 500 else "Service", **error.details}.items():
            member = members.get(key)
            if member is not None and member.get("location") == "header":
                headers.append((member["locationName"].lower().encode(), _latin(str(value))))
            else:
                body[key] = value
        return Answer(status, orjson.dumps(body), JSON_TYPE, headers)


# ------------------------------------------------------------------ members of the head


def members_in_headers(service: str, operation: str, headers: Mapping[str, str]) -> JsonObject:
    """The members of an operation's request that headers have; names of headers are in lower case. Raises: ApiError."""
    shape = _input_shape(service, operation)
    assert shape is not None, operation
    return _located(service, shape, {}, {}, headers)


def _located(
    service: str,
    shape: Model,
    places: Mapping[str, str],
    query: Mapping[str, Sequence[str]],
    headers: Mapping[str, str],
) -> JsonObject:
    """Read the members in path, query and headers, as JSON services would have them."""
    known = _model(service)["shapes"]
    request: JsonObject = {}
    for name, member in shape["members"].items():
        where = member.get("location")
        if where is None:
            continue
        # A map in the query has no name of its own: it takes the parameters that no other member has.
        key = member.get("locationName", "")
        target = known[member["shape"]]
        if where == "uri":
            if key in places:
                request[name] = _typed(places[key], target, name, "iso8601")
        elif where == "header":
            text = headers.get(key.lower())
            value = None if text is None else _header_value(text, target, member, name)
            if value is not None:
                request[name] = value
        elif where == "headers":
            prefix = key.lower()
            found = {header[len(prefix) :]: text for header, text in headers.items() if header.startswith(prefix)}
            if found:
                request[name] = found
        elif target["type"] == "list":
            if key in query:
                request[name] = list(query[key])
        elif target["type"] == "map":
            taken = {one.get("locationName") for one in shape["members"].values()}
            request[name] = {one: values[0] for one, values in query.items() if one not in taken}
        elif key in query:
            request[name] = _typed(query[key][0], target, name, "iso8601")
    return request


def _header_value(text: str, target: Model, member: Model, name: str) -> Json:
    if target["type"] == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    if member.get("jsonvalue"):
        return base64.b64decode(text).decode()
    if "enum" in target:
        return _enum_value(text, target["enum"])
    return _typed(text, target, name, "rfc822")


def _enum_value(text: str, values: Sequence[str]) -> str | None:
    """The value that a header means, which no service writes in another case; an unknown one stays, to be refused.

    A header that has a single value is a switch, and any other text leaves it off: `None`.
    """
    if text in values:
        return text
    lower = text.strip().lower()
    meant = next((value for value in values if value.lower() == lower), None)
    return meant or (None if len(values) == 1 else text)


def _typed(text: str, target: Model, name: str, timestamps: str) -> Json:
    """Convert a text of the head to its shape's type; a text of an unknown form stays one, and is refused later."""
    kind = target["type"]
    try:
        if kind in ("integer", "long", "short"):
            return int(text)
        if kind in ("float", "double"):
            return float(text)
        if kind == "timestamp":
            if target.get("timestampFormat", timestamps) == "iso8601" and text[:4].isdigit():
                return datetime.fromisoformat(text).timestamp()
            return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        raise ApiError("InvalidArgument" if kind == "timestamp" else "SerializationException",
                       f"The value '{text[:100]}' of {name} is not a {kind}.") from None  # fmt: skip
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def _header_text(value: Json, target: Model, member: Model) -> bytes:
    kind = target["type"]
    if kind == "timestamp":
        text = iso_ms(value) if target.get("timestampFormat") == "iso8601" else http_date(value)
        return text.encode()
    if kind == "boolean":
        return b"true" if value else b"false"
    if kind == "list":
        return _latin(",".join(value))
    if member.get("jsonvalue"):
        return base64.b64encode(orjson.dumps(value))
    return _latin(str(value))


def _latin(text: str) -> bytes:
    """The bytes of a header. Line breaks, which would end it, become spaces."""
    return text.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace")


def _query(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
    return found


@cache
def _model(service: str) -> Model:
    model = load_model(service)
    assert model is not None, service
    for name, shape in model["shapes"].items():
        shape["name"] = name
    return model


@cache
def _input_shape(service: str, operation: str) -> Model | None:
    model = _model(service)
    trait = model["operations"][operation]
    return model["shapes"][trait["input"]["shape"]] if "input" in trait else None
