"""CBOR against the examples of its RFC and against botocore's own writer and reader."""

from __future__ import annotations

import asyncio
import contextlib
import math
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import given
from hypothesis import strategies as st

from statewright.api.cloudwatch.service import SERVICE as MONITORING
from statewright.api.protocols.cbor import DEEPEST, CborError, decode, encode, instants
from statewright.api.protocols.wire import Incoming
from statewright.api.routing import Route, route
from statewright.api.service import CBOR
from statewright.api.wires import wire_of
from statewright.errors import ApiError

MODEL = ServiceModel(Loader().load_service_model("cloudwatch", "service-2"), "cloudwatch")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1b000000e8d4a51000", 10**12), ("3903e7", -1000),
        ("f90000", 0.0), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1), ("f97bff", 65504.0), ("fa47c35000", 100000.0),
        ("f4", False), ("f5", True), ("f6", None), ("c11a514b67b0", 1363896240), ("4401020304", b"\x01\x02\x03\x04"),
        ("6449455446", "IETF"), ("62c3bc", "ü"), ("83010203", [1, 2, 3]), ("a26161016162820203", {"a": 1, "b": [2, 3]}),
        ("5f42010243030405ff", b"\x01\x02\x03\x04\x05"), ("7f657374726561646d696e67ff", "streaming"),
        ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]), ("bf6346756ef563416d7421ff", {"Fun": True, "Amt": -2}),
        ("c249010000000000000000", 18446744073709551616),
    ],
)  # fmt: skip
def test_examples_of_the_rfc(text: str, value: Any) -> None:
    found = decode(bytes.fromhex(text))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["", "18", "62c3", "8301", "ff", "9f01", "a1", "0000", "a10102", "c101020", "1c", "9bffffffffffffffff", "f0"],
)
def test_malformed_cbor_is_refused(text: str) -> None:
    with pytest.raises(CborError):
        decode(bytes.fromhex(text + "0" * (len(text) % 2)))
    with pytest.raises(CborError):
        decode(b"\x81" * 500 + b"\x00")


@pytest.mark.parametrize(
    "value", [0, 23, 24, 255, 256, 65536, 2**32, 2**63, -1, -500, 1.5, "", "ü" * 300, [1, [None]], {"a": {"b": False}}]
)
def test_values_round_trip(value: Any) -> None:
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "c074323031332d30332d32315432303a30343a30305a", "c48201196ab3", "c5821b000000003b9aca0001", "d81c81d81d00",
        "d81e820102", "d8235f41ff", "d82363282a29", "d9010281f5", "d90100626161", "d9d9f700", "d9ffff00", "c1f5",
        "c16161", "c26161", "a1410102", "a1820102f5", "a1f501", "81f820", "a16161f0",
    ],
)  # fmt: skip
def test_other_tags_keys_and_simple_values_are_refused(text: str) -> None:
    for sent in (text, "82f6" + text, "a16161" + text):
        with pytest.raises(CborError):
            decode(bytes.fromhex(sent))


@pytest.mark.parametrize("text", ["9a", "ba", "5a", "7a", "9b00000001", "bb00000001", "5b00000001", "7b00000001"])
def test_a_declared_length_takes_no_memory(text: str) -> None:
    tracemalloc.start()
    with pytest.raises(CborError):
        decode(bytes.fromhex(text + "ffffffff") + b"\x00" * 100)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_are_refused(content: bytes) -> None:
    with contextlib.suppress(CborError):
        encode(decode(content))


def test_the_levels_of_a_value_are_bounded() -> None:
    assert decode(b"\x81" * DEEPEST + b"\x00") is not None
    with pytest.raises(CborError):
        decode(b"\x81" * (DEEPEST + 1) + b"\x00")


def test_undefined_is_null() -> None:
    assert decode(bytes.fromhex("83f7a16161f7a16161f6")) == [None, {"a": None}, {"a": None}]


def test_half_of_a_surrogate_pair_is_written_as_json_escapes_it() -> None:
    assert decode(encode({"a": ["\ud800b"], "c": instants()(1.5)})) == {"a": ["\\ud800b"], "c": 1.5}


def test_an_instant_is_a_double_with_a_tag() -> None:
    assert encode(instants()(1.5)).hex() == "c1fb3ff8000000000000"


def incoming(sent: dict[str, Any]) -> Incoming:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": sent["body"], "more_body": False}

    headers = {name.lower(): value for name, value in sent["headers"].items()}
    return Incoming(sent["method"], sent["url_path"], "", headers, receive, 1 << 20)


def test_requests_of_botocore_are_read_and_answers_understood() -> None:
    operation = MODEL.operation_model("GetMetricData")
    members = {
        "StartTime": datetime(2026, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC),
        "EndTime": datetime(2026, 1, 2, tzinfo=UTC),
        "MetricDataQueries": [{"Id": "a", "Expression": "b + 1", "ReturnData": False, "Period": 60}],
    }
    sent = create_serializer("smithy-rpc-v2-cbor").serialize_to_request(members, operation)
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    assert route("POST", sent["url_path"], "", headers) == Route("monitoring", CBOR)
    name, request = asyncio.run(wire_of(MONITORING, CBOR).read(incoming(sent)))
    assert name == "GetMetricData"
    assert request == {
        "StartTime": 1_767_268_800.5,
        "EndTime": 1_767_312_000,
        "MetricDataQueries": [{"Id": "a", "Expression": "b + 1", "ReturnData": False, "Period": 60}],
    }
    answer = wire_of(MONITORING, CBOR).answer(
        name,
        {
            "MetricDataResults": [
                {"Id": "a", "Timestamps": [1_767_268_800_000], "Values": [3], "StatusCode": "Complete"}
            ]
        },
        "r",
    )
    parsed = create_parser("smithy-rpc-v2-cbor").parse(
        {"status_code": 200, "headers": {"smithy-protocol": "rpc-v2-cbor"}, "body": answer.body}, operation.output_shape
    )
    (result,) = parsed["MetricDataResults"]
    assert result["Values"] == [3.0]
    assert isinstance(result["Values"][0], float)
    assert result["Timestamps"][0].timestamp() == 1_767_268_800


def test_errors_are_understood() -> None:
    answer = wire_of(MONITORING, CBOR).refusal(ApiError("InvalidParameterValueException", "no"), "r", "/")
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    assert isinstance(answer.body, bytes)
    parsed = create_parser("smithy-rpc-v2-cbor").parse(
        {"status_code": answer.status, "headers": headers, "body": answer.body},
        MODEL.operation_model("ListMetrics").output_shape,
    )
    assert answer.status == 400
    assert parsed["Error"]["Message"] == "no"
    assert parsed["Error"]["Code"] == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [("text/plain", b"\xa0", "UnsupportedMediaType"), ("application/cbor", b"\xff", "SerializationException"),
     ("application/cbor", b"\x01", "SerializationException")],
)  # fmt: skip
def test_malformed_bodies_are_refused(content_type: str, body: bytes, code: str) -> None:
    sent = {
        "method": "POST", "url_path": "/service/GraniteServiceVersion20100801/operation/ListMetrics", "body": body,
        "headers": {"content-type": content_type},
    }  # fmt: skip
    with pytest.raises(ApiError) as refused:
        asyncio.run(wire_of(MONITORING, CBOR).read(incoming(sent)))
    assert refused.value.code == code


def test_numbers_keep_their_types() -> None:
    assert math.isnan(decode(bytes.fromhex("f97e00")))
