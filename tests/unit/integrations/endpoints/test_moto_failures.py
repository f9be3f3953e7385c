"""Pages and exceptions of moto's application become errors that an SDK reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import botocore.parsers
import pytest

from statewright.integrations.endpoints.moto_failures import Failures

PAGE = b"<!doctype html><title>500 Internal Server Error</title>"
ADVICE = "Name an endpoint that has it in statewright.toml, under [endpoints]."


def signed(service: str, **more: str) -> dict[str, Any]:
    scope = f"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host"
    return {"REQUEST_METHOD": "POST", "HTTP_AUTHORIZATION": scope, **more}


def answered(
    environ: dict[str, Any], answer: Callable[[Failures, Any], Iterable[bytes]]
) -> tuple[int, dict[str, str], bytes]:
    """The answer to a request for which moto's application does this."""
    begun: list[Any] = []
    failures = Failures(lambda _environ, start_response: answer(failures, start_response))

    def begin(status: str, headers: list[tuple[str, str]], _problem: Any = None) -> Callable[[bytes], object]:
        begun.append((status, headers))
        return begun.append

    body = b"".join(failures(environ, begin))
    status, headers = begun[0]
    return int(status[:3]), dict(headers), body


def page(problem: BaseException | None, status: str = "500 INTERNAL SERVER ERROR") -> Any:
    def answer(failures: Failures, start_response: Any) -> list[bytes]:
        if problem is not None:
            failures.note(problem)
        start_response(status, [("Content-Type", "text/html; charset=utf-8")])
        return [PAGE]

    return answer


@pytest.mark.parametrize(
    ("protocol", "environ", "called"),
    [
        ("json", signed("glue", HTTP_X_AMZ_TARGET="AWSGlue.CreateBlueprint"), "glue CreateBlueprint"),
        ("rest-json", signed("mediaconvert"), "mediaconvert POST"),
        ("query", signed("cloudformation", CONTENT_TYPE="application/x-www-form-urlencoded"), "cloudformation POST"),
        ("ec2", signed("ec2", CONTENT_TYPE="application/x-www-form-urlencoded; charset=utf-8"), "ec2 POST"),
        ("query", signed("ses", QUERY_STRING="Action=SendEmail"), "ses POST"),
        ("rest-xml", signed("route53"), "route53 POST"),
    ],
)
def test_a_page_is_an_error_in_the_protocol_of_the_service(protocol: str, environ: dict[str, Any], called: str) -> None:
    for problem, status, code, message in (
        (KeyError("Ω<a>\n"), 500, "InternalFailure", f"failed ({called}): KeyError: 'Ω<a>\\n'"),
        (NotImplementedError(), 501, "NotImplemented", f"does not have this operation ({called}). {ADVICE}"),
    ):
        shown, headers, body = answered(environ, page(problem))
        parser = botocore.parsers.create_parser(protocol)
        parsed = parser.parse({"status_code": shown, "headers": headers, "body": body}, None)
        assert (shown, parsed["Error"]["Code"]) == (status, code)
        assert parsed["Error"]["Message"] == f"moto, which emulates other services here, {message}"
        assert b"<!doctype" not in body


def test_what_moto_does_not_know_at_all() -> None:
    def lost(_failures: Failures, _start_response: Any) -> list[bytes]:
        raise AttributeError("no such backend")

    for answer in (lost, page(None, "404 NOT FOUND")):
        status, _, body = answered(signed("translate"), answer)
        assert status == 501
        assert b"does not have this operation (translate POST)" in body
    unsigned = answered({"QUERY_STRING": "X-Amz-Credential=a%2F20260101%2Fus-east-1%2Fpolly%2Faws4_request"}, lost)
    assert b"(polly )" in unsigned[2]


def test_a_failure_that_is_raised_on() -> None:
    def failed(failures: Failures, _start_response: Any) -> list[bytes]:
        problem = KeyError("Resources")
        failures.note(problem)
        raise problem

    status, _, body = answered(signed("cloudformation", CONTENT_TYPE="application/x-www-form-urlencoded"), failed)
    assert (status, b"KeyError: 'Resources'" in body) == (500, True)


def test_answers_and_refusals_of_moto_pass() -> None:
    def refused(_failures: Failures, start_response: Any) -> list[bytes]:
        start_response("400 BAD REQUEST", [("Content-Type", "application/x-amz-json-1.1")])
        return [b'{"__type": "ResourceNotFoundException"}']

    def shown(_failures: Failures, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/html")])(b"<p>")
        return [b"a page"]

    assert answered(signed("kinesis"), refused)[::2] == (400, b'{"__type": "ResourceNotFoundException"}')
    assert answered(signed("kinesis"), shown) == (200, {"Content-Type": "text/html"}, b"<p>a page")


def test_a_problem_belongs_to_one_request() -> None:
    environ = signed("glue")
    assert b"KeyError" in answered(environ, page(KeyError("x")))[2]
    assert b"HTTP 500" in answered(environ, page(None))[2]
