"""The protocol of SNS, and its refusal of requests that violate the service model.

Source: texts observed by users of the service.
"""

from __future__ import annotations

from typing import Final

from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire
from statewright.api.shapes import Problems, problem_text, refuse_with
from statewright.errors import ApiError
from statewright.topics.refusals import invalid

_NULL: Final = "Member must not be null"
_MEMBERS: Final = {"topicArn": "TopicArn", "message": "Message", "awsAccountId": "AWSAccountId"}


def _refusal(problems: Problems) -> ApiError:
    """Report the first missing member by itself; all other violations are one validation error."""
    for _, path, what in problems:
        if what == _NULL and "." not in path:
            name = _MEMBERS.get(path, path[:1].upper() + path[1:])
            return invalid(f"{name} Reason: no value for required parameter")
    return ApiError("ValidationError", problem_text(problems))


def wire(service: str, _protocol: str) -> Wire:
    """The wire of SNS's only protocol."""
    return QueryWire(service)


refuse_with("sns", _refusal)
