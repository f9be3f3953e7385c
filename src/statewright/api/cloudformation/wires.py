"""The query protocol of CloudFormation, and its refusal of requests that violate the service model."""

from __future__ import annotations

from statewright.api.iam.wires import in_query_words
from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire
from statewright.api.shapes import Problems, problem_text, refuse_with
from statewright.errors import ApiError


def _refusal(problems: Problems) -> ApiError:
    return ApiError("ValidationError", problem_text(problems))


def wire(service: str, _protocol: str) -> Wire:
    """The wire of its only protocol."""
    return QueryWire(service, legacy=in_query_words)


refuse_with("cloudformation", _refusal)
