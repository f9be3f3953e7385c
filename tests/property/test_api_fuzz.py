"""Whatever comes in over the wire, the API answers with an error of its own making, never with a fault of ours."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.api import operations
from statewright.api.auth import Request, verify
from statewright.api.guard import refuse_web_pages
from statewright.api.routing import route
from statewright.api.shapes import operation_names, validator
from statewright.arn import parse_arn
from statewright.errors import ApiError
from tests.thoroughness import examples
from tests.unit.api.asgi import call, make_api

EXAMPLES = settings(max_examples=examples(150))
NAMES = sorted(operation_names("states"))
LATIN = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An operation, and values of any kind for its members."""
    from statewright.api.models import load_model

    model = load_model("states")
    assert model is not None
    name = draw(st.sampled_from(NAMES))
    members = model["shapes"][model["operations"][name]["input"]["shape"]]["members"]
    return name, {member: draw(VALUES) for member in members if draw(st.booleans())}


@EXAMPLES
@given(requests())
def test_validators_refuse_in_words_of_the_service(given_):
    name, request = given_
    try:
        validator("states", name)(request)
    except ApiError as refused:
        assert refused.code in ("ValidationException", "SerializationException")  # noqa: PT017
        assert refused.message  # noqa: PT017


@pytest.fixture(scope="module", autouse=True)
def _operations():
    operations.load_all()


@EXAMPLES
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_body_gets_an_answer(body):
    reply = call(make_api(), "StartExecution", body)
    assert reply.status == 400
    assert set(reply.json) == {"__type", "message"}


def test_a_body_nested_without_end():
    for body in (b"[" * 100_000, b'{"a":' * 100_000, b'{"input":' + b"[" * 100_000):
        assert call(make_api(), "StartExecution", body).json["__type"] == "SerializationException"


@EXAMPLES
@given(st.dictionaries(st.sampled_from(["authorization", "x-amz-date", "x-amz-target", "host"]), LATIN), LATIN)
def test_any_head_is_judged(headers, query):
    with suppress(ApiError):
        route("POST", "/", query, headers)
    with pytest.raises(ApiError):
        verify(Request("POST", "/" + query, query, headers, b""), {"AKID": "secret"}, 1_700_000_000)


@EXAMPLES
@given(LATIN, LATIN, LATIN)
def test_signatures_of_any_form_are_refused(credential, names, signature):
    headers = {
        "authorization": f"AWS4-HMAC-SHA256 Credential=AKID/{credential}, SignedHeaders={names}, Signature={signature}",
        "x-amz-date": "20231114T221320Z",
    }
    with pytest.raises(ApiError):
        verify(Request("POST", "/", "", headers, b""), {"AKID": "secret"}, 1_700_000_000)


@EXAMPLES
@given(LATIN, LATIN, LATIN)
def test_any_origin_is_judged(origin, host, site):
    with pytest.raises(ApiError):
        refuse_web_pages({"origin": f"https://{origin}.example", "host": host, "sec-fetch-site": site})


@EXAMPLES
@given(st.text(max_size=40), st.text(max_size=20))
def test_any_arn_is_read_or_refused(text, name):
    for given_ in (text, f"arn:aws:states:us-east-1:000000000000:{text}", f"arn:aws:states:r:1:stateMachine:{name}"):
        try:
            assert str(parse_arn(given_)) == given_
        except ApiError as refused:
            assert refused.code == "InvalidArn"  # noqa: PT017
