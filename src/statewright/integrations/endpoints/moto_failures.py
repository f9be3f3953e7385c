"""The WSGI application of the child process: moto's, with its failures as errors of the called service.

Where moto crashes, or lacks a service or an operation, it answers with a page for people. No SDK can read that. Here it
becomes an error in the service's own protocol, which says what failed and that it was moto.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

import orjson

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NOT_IMPLEMENTED: Final = "NotImplemented"
FAILED: Final = "InternalFailure"
"""Source: EC2 API reference, "Common errors"; the same in the references of other services."""
LONGEST_REASON: Final = 500

_SCOPE: Final = re.compile(r"Credential=[^,\s]*/([A-Za-z0-9.-]+)/aws4_request|%2F([A-Za-z0-9.-]+)%2Faws4_request")
_XML_SERVICES: Final = frozenset({"route53", "cloudfront", "s3"})
"""Signing names of services with the protocol rest-xml. Source: their service models."""
_NAMED: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Failures:
    """Passes requests on to moto's application, and replaces its pages."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._raised = threading.local()

    def note(self, problem: BaseException) -> None:
        """Remember the exception with which a service failed in this thread; the page does not show it."""
        self._raised.problem = problem

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, as WSGI has it."""
        self._raised.problem = None
        begun: list[tuple[str, list[tuple[str, str]]]] = []
        written: list[bytes] = []

        def begin(status: str, headers: list[tuple[str, str]], _problem: object = None) -> Callable[[bytes], object]:
            begun[:] = [(status, headers)]
            return written.append

        try:
            answer = self._application(environ, begin)
        except Exception as problem:
            # Without a failure of a service, the search for the service has found none.
            return _refuse(environ, start_response, self._raised.problem or NotImplementedError(str(problem)))
        status, headers = begun[0] if begun else ("500", [])
        kind = next((value for name, value in headers if name.lower() == "content-type"), "")
        if int(status[:3]) >= 400 and kind.startswith("text/html"):
            if hasattr(answer, "close"):
                answer.close()
            return _refuse(environ, start_response, self._raised.problem, status)
        start_response(status, headers)
        return [*written, *answer] if written else answer


def _refuse(
    environ: WSGIEnvironment, start_response: StartResponse, problem: BaseException | None, status: str = ""
) -> list[bytes]:
    code, message = failure(environ, problem, status)
    kind, body = error_body(environ, code, message)
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("x-amzn-errortype", code)]
    start_response("501 Not Implemented" if code == NOT_IMPLEMENTED else "500 Internal Server Error", headers)
    return [body]


def failure(environ: WSGIEnvironment, problem: BaseException | None, status: str = "") -> tuple[str, str]:
    """The code and the message of an error for an exception in moto, or for a page with another status than 500."""
    service = service_of(environ) or "the service"
    target = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
    called = f"{service} {target}" if _NAMED.fullmatch(target) else f"{service} {environ.get('REQUEST_METHOD', '')}"
    if isinstance(problem, NotImplementedError) or status.startswith(("404", "405", "501")):
        return NOT_IMPLEMENTED, (
            f"moto, which emulates other services here, does not have this operation ({called}). Name an endpoint "
            "that has it in statewright.toml, under [endpoints]."
        )
    reason = f"{type(problem).__name__}: {problem}" if problem is not None else f"HTTP {status[:100]}"
    return FAILED, f"moto, which emulates other services here, failed ({called}): {reason[:LONGEST_REASON]}"


def service_of(environ: WSGIEnvironment) -> str | None:
    """The signing name of the called service; `None` for an unsigned request."""
    found = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", "")) or _SCOPE.search(environ.get("QUERY_STRING", ""))
    return found[1] or found[2] if found else None


def error_body(environ: WSGIEnvironment, code: str, message: str) -> tuple[str, bytes]:
    """The content type and the body of an error, in the protocol of the request."""
    service = service_of(environ)
    is_form = environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded")
    is_query = not environ.get("HTTP_X_AMZ_TARGET") and (is_form or "Action=" in environ.get("QUERY_STRING", ""))
    fields = f"<Code>{escape(code)}</Code><Message>{escape(_printable(message))}</Message>"
    if is_query and service == "ec2":
        return "text/xml", f"<Response><Errors><Error>{fields}</Error></Errors></Response>".encode()
    if is_query or service in _XML_SERVICES:
        return "text/xml", f"<ErrorResponse><Error><Type>Receiver</Type>{fields}</Error></ErrorResponse>".encode()
    body: dict[str, Any] = {"__type": code, "message": _printable(message)}
    return "application/json", orjson.dumps(body)


def _printable(text: str) -> str:
    """A text without characters that XML and JSON do not take."""
    return "".join(char if char.isprintable() else " " for char in text)
