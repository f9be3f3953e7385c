"""The targets of fuzzing: one function of bytes for each reader, with the errors that it may raise.

A target raises nothing for whatever input: the errors of its reader are expected, every other exception is a finding. A
round trip that does not come back, or pieces that give another result than the whole, are findings, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

from statewright.api.apigateway.patches import patched
from statewright.api.protocols.aws_chunked import KINDS, Decoder
from statewright.api.protocols.cbor import CborError, decode, encode
from statewright.api.protocols.multipart_form import Form, FormError, FormTooLong
from statewright.api.protocols.query import read_form
from statewright.api.protocols.xml_bodies import read_xml
from statewright.api.protocols.xml_tree import XmlError, parse_xml
from statewright.apis.body_models import check_schema, fits
from statewright.apis.openapi.documents import Home, read_openapi
from statewright.apis.openapi.rest import rest_definition
from statewright.apis.routing import Router
from statewright.apis.templates.failures import RenderingFailed, TemplateSyntaxError
from statewright.apis.templates.rendering import Inputs
from statewright.apis.templates.template import compile_template
from statewright.asl.reader import read_document
from statewright.asl.text.document import ReadError
from statewright.engine.heavy.steps import on_loop
from statewright.engine.machines.definitions import compiled, findings_of
from statewright.errors import ApiError, ExecutionFailure
from statewright.functions.workers.frames import BrokenFrame, FrameBuffer, header_of
from statewright.payload import JsonTextError, parse_json
from statewright.projects.cloudformation import Identity
from statewright.query.event_pattern import PatternError, compile_pattern
from statewright.query.fence import LeavesTheLoop
from statewright.query.intrinsics import IntrinsicSyntaxError, compile_intrinsic
from statewright.query.jsonata import JsonataError, JsonataSyntaxError, compile_expression
from statewright.query.jsonpath import PathNotFound, PathSyntaxError, compile_path
from statewright.query.matching import Matching
from statewright.query.scope import Scope
from statewright.records import log_patterns
from statewright.stacks.planning.plans import Circumstances, plan_of
from statewright.stacks.planning.templates import read_template
from statewright.tables.expressions import parser as dynamodb
from statewright.tables.partiql import parser as partiql
from statewright.topics.filters import ATTRIBUTES, BODY, Candidate, compile_filter

LONGEST: Final = 4_096
"""Bytes of an input."""

DOCUMENT: Final[dict[str, Any]] = {
    "a": 1,
    "b": [1, 2.5, "x", None, True, {"a": "y", "c": [3]}],
    "c": {"d": {"a": "ab", "e": ""}, "f": []},
    "t": "2024-01-02T03:04:05Z",
    "detail": {"state": "running", "n": 5, "tags": ["x", "y"]},
}

STAGE_TYPES: Final[dict[str, type]] = {
    "deploymentId": str, "variables": dict, "tracingEnabled": bool, "canarySettings": dict, "description": str,
}  # fmt: skip
"""Members of a stage that patches may change, and the types of their values."""

Target = Callable[[bytes], None]


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def definition(data: bytes) -> None:
    text = text_of(data)
    findings = findings_of(text, "STANDARD")
    assert all(finding["severity"] in ("ERROR", "WARNING") for finding in findings)
    if not any(finding["severity"] == "ERROR" for finding in findings):
        compiled(text)


def yaml_definition(data: bytes) -> None:
    with suppress(ReadError):
        read_document(data, syntax="yaml")


def jsonpath(data: bytes) -> None:
    with suppress(PathSyntaxError, PathNotFound, ExecutionFailure, LeavesTheLoop):
        path = compile_path(text_of(data))
        on_loop(path.read, Scope(DOCUMENT, {"v": [1]}))


def jsonata(data: bytes) -> None:
    with suppress(JsonataSyntaxError, JsonataError, LeavesTheLoop):
        on_loop(compile_expression(text_of(data)).evaluate, Scope(DOCUMENT, {"v": [1]}))


def intrinsic(data: bytes) -> None:
    with suppress(IntrinsicSyntaxError, PathNotFound, ExecutionFailure, LeavesTheLoop):
        on_loop(compile_intrinsic(text_of(data)).evaluate, Scope(DOCUMENT, {"v": [1]}))


def event_pattern(data: bytes) -> None:
    """The pattern of a rule; the event stands on a second line."""
    first, _, second = data.partition(b"\n")
    with suppress(JsonTextError, PatternError):
        matches = compile_pattern(parse_json(first))
        assert matches(DOCUMENT, Matching()) in (True, False)
        assert matches(parse_json(second), Matching()) in (True, False)


def filters(data: bytes) -> None:
    """A filter policy of a subscription, and a filter pattern of a log group."""
    text = text_of(data)
    for scope in (ATTRIBUTES, BODY):
        with suppress(ApiError):
            accepts = compile_filter(text, scope)
            if accepts is not None:
                attributes = {"a": {"DataType": "String", "StringValue": "x"}}
                accepts(Candidate(attributes, Matching()), json.dumps(DOCUMENT))
    with suppress(ApiError):
        log_patterns.compile_pattern(text)(json.dumps(DOCUMENT))


def table_expression(data: bytes) -> None:
    text = text_of(data)
    for read in (dynamodb.condition, dynamodb.projection, dynamodb.update):
        with suppress(ApiError):
            read("FilterExpression", text)


def statement(data: bytes) -> None:
    with suppress(ApiError):
        partiql.statement(text_of(data), [{"S": "x"}])


def mapping_template(data: bytes) -> None:
    """A mapping template of a REST API."""
    with suppress(TemplateSyntaxError, RenderingFailed, LeavesTheLoop):
        template = compile_template(text_of(data))
        inputs = Inputs(json.dumps(DOCUMENT), {"header": {"a": "x"}}, {"stage": "s"}, {"v": "1"})
        on_loop(template.render, inputs)


def route(data: bytes) -> None:
    """Routes of an API, one a line, and the path of a request in the last."""
    *paths, path = text_of(data).split("\n")
    router: Router[str] = Router()
    for one in paths:
        router.add("GET", one, one)
    found = router.find("GET", path)
    if found is not None:
        assert found.target in paths
        assert all(value in path for value in found.parameters.values())


def patch(data: bytes) -> None:
    """Patch operations of a stage: what they leave is of the types of the service's model."""
    with suppress(JsonTextError, ApiError):
        given = parse_json(data)
        if not isinstance(given, list) or not all(map(_is_patch, given)):
            return  # The service's model refuses it.
        before = {"deploymentId": "d", "variables": {"a": "b"}, "canarySettings": {"percentTraffic": 5.0}}
        found = patched(before, given, tuple(STAGE_TYPES), "Stage")
        assert all(isinstance(value, STAGE_TYPES[name]) for name, value in found.items())


def _is_patch(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def body_model(data: bytes) -> None:
    """The schema of a model, and a body."""
    text, _, body = data.partition(b"\n")
    with suppress(ApiError, JsonTextError):
        check_schema(text_of(text))
        schema = parse_json(text)
        fits(schema if isinstance(schema, dict) else {}, body, {})


def openapi(data: bytes) -> None:
    """An OpenAPI document of a REST API."""
    with suppress(ApiError):
        rest_definition(read_openapi(data, Home("000000000000", "us-east-1")), "api")


def stack_template(data: bytes) -> None:
    """A template of a stack, and its plan."""
    with suppress(ApiError):
        template = read_template(text_of(data))
        plan_of(template, Circumstances(Identity("stack", "000000000000", "us-east-1"), {"P": "v"}, {}, {"e": "x"}, {}))


def cbor(data: bytes) -> None:
    with suppress(CborError):
        value = decode(data)
        # What is not a number is not equal to itself; the text of both is.
        assert repr(decode(encode(value))) == repr(value)


def query_form(data: bytes) -> None:
    for service in ("sqs", "sns"):
        with suppress(ApiError):
            action, members = read_form(service, text_of(data))
            assert action
            assert isinstance(members, dict)


XML_SHAPES: Final = ("CompletedMultipartUpload", "Delete", "Tagging", "BucketLifecycleConfiguration")


def xml(data: bytes) -> None:
    with suppress(XmlError):
        root = parse_xml(data)
        for shape in XML_SHAPES:
            with suppress(XmlError):
                read_xml("s3", shape, root)


def chunked_body(data: bytes) -> None:
    """Chunks of every kind, as a whole and in pieces of some length, which the first byte gives."""
    size = 1 + (data[0] if data else 0)
    for kind in sorted(KINDS):
        whole = _chunks(kind, [data[1:]])
        parts = _chunks(kind, [data[at : at + size] for at in range(1, len(data), size)])
        assert whole == parts, kind


def _chunks(kind: str, pieces: list[bytes]) -> object:
    decoder = Decoder(kind)
    content = bytearray()
    try:
        for piece in pieces:
            for part in decoder.feed(piece):
                content += part
    except ApiError as refusal:
        return refusal.code
    return bytes(content), decoder.is_complete, decoder.trailers


def html_form(data: bytes) -> None:
    """A form with a file, as a whole and in pieces."""
    size = 1 + (data[0] if data else 0)
    whole = asyncio.run(_form([data[1:]]))
    parts = asyncio.run(_form([data[at : at + size] for at in range(1, len(data), size)]))
    assert whole == parts


async def _form(pieces: list[bytes]) -> object:
    async def sent() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    form = Form("multipart/form-data; boundary=B", sent())
    try:
        await form.read_fields()
        content = b"".join([piece async for piece in form.file()])
    except (FormError, FormTooLong) as refusal:
        return type(refusal)
    return form.fields, form.filename, form.head_bytes, content


def worker_frame(data: bytes) -> None:
    """Frames of a worker, as a whole and in pieces."""
    size = 1 + (data[0] if data else 0)
    whole = _frames([data[1:]])
    assert whole == _frames([data[at : at + size] for at in range(1, len(data), size)])


def _frames(pieces: list[bytes]) -> object:
    buffer = FrameBuffer()
    found: list[tuple[bytes, bytes]] = []
    try:
        for piece in pieces:
            while piece:
                space = buffer.space()
                count = min(len(space), len(piece))
                space[:count] = piece[:count]
                space.release()
                found += buffer.added(count)
                piece = piece[count:]
    except BrokenFrame:
        return "broken"
    for header, _ in found:
        with suppress(BrokenFrame):
            header_of(header)
    return found


TARGETS: Final[dict[str, Target]] = {
    target.__name__: target
    for target in (
        definition, yaml_definition, jsonpath, jsonata, intrinsic, event_pattern, filters, table_expression, statement,
        mapping_template, route, patch, body_model, openapi, stack_template, cbor, query_form, xml, chunked_body,
        html_form, worker_frame,
    )
}  # fmt: skip
