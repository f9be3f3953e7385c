"""Policies that are accepted and stored but never enforced: one warning in the log for each kind.

Owns the list of the operations that store them. Policies that would protect data, and that could not be enforced, are
refused by their operations instead (data protection policies of topics, for example).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from statewright.payload import Json

AppT = TypeVar("AppT")
CallT = TypeVar("CallT")

log = logging.getLogger("statewright.api")


def _always(_request: Json) -> bool:
    return True


def _in_attributes(request: Json) -> bool:
    return bool((request.get("Attributes") or {}).get("Policy"))


def _of_session(request: Json) -> bool:
    return bool(request.get("Policy") or request.get("PolicyArns"))


def _in_patches(request: Json) -> bool:
    return any(one.get("path") == "/policy" and one.get("value") for one in request.get("patchOperations") or ())


def _in_document(request: Json) -> bool:
    return bool(b"x-amazon-apigateway-policy" in (request.get("body") or b""))


@dataclass(frozen=True, slots=True)
class Unenforced:
    """A kind of policy, in the plural, and which requests of an operation store one."""

    kind: str
    stores: Callable[[Json], bool] = _always


_QUEUE, _TOPIC, _IAM = "queue policies", "topic policies", "IAM policies"
_TRUST, _SESSION, _REST = "trust policies of roles", "session policies", "policies of REST APIs"
_IAM_OPERATIONS: Final = (
    "CreatePolicy", "CreatePolicyVersion", "SetDefaultPolicyVersion",
    "PutRolePolicy", "PutUserPolicy", "PutGroupPolicy", "AttachRolePolicy", "AttachUserPolicy", "AttachGroupPolicy",
    "PutRolePermissionsBoundary", "PutUserPermissionsBoundary",
)  # fmt: skip

UNENFORCED: Final[dict[tuple[str, str], Unenforced]] = {
    ("s3", "PutBucketPolicy"): Unenforced("bucket policies"),
    ("sqs", "AddPermission"): Unenforced(_QUEUE),
    ("sqs", "CreateQueue"): Unenforced(_QUEUE, _in_attributes),
    ("sqs", "SetQueueAttributes"): Unenforced(_QUEUE, _in_attributes),
    ("sns", "AddPermission"): Unenforced(_TOPIC),
    ("sns", "CreateTopic"): Unenforced(_TOPIC, _in_attributes),
    ("sns", "SetTopicAttributes"): Unenforced(_TOPIC, lambda request: request["AttributeName"] == "Policy"),
    ("lambda", "AddPermission"): Unenforced(
        "function policies", lambda request: not request.get("FunctionUrlAuthType")
    ),
    ("events", "PutPermission"): Unenforced("event bus policies"),
    ("secretsmanager", "PutResourcePolicy"): Unenforced("policies of secrets"),
    ("ecr", "SetRepositoryPolicy"): Unenforced("policies of repositories"),
    ("apigateway", "CreateRestApi"): Unenforced(_REST, lambda request: bool(request.get("policy"))),
    ("apigateway", "UpdateRestApi"): Unenforced(_REST, _in_patches),
    ("apigateway", "ImportRestApi"): Unenforced(_REST, _in_document),
    ("apigateway", "PutRestApi"): Unenforced(_REST, _in_document),
    **{("iam", name): Unenforced(_IAM) for name in _IAM_OPERATIONS},
    ("iam", "CreateRole"): Unenforced(_TRUST),
    ("iam", "UpdateAssumeRolePolicy"): Unenforced(_TRUST),
    ("sts", "AssumeRole"): Unenforced(_SESSION, _of_session),
    ("sts", "AssumeRoleWithWebIdentity"): Unenforced(_SESSION, _of_session),
    ("sts", "GetFederationToken"): Unenforced(_SESSION, _of_session),
}
"""By service and operation."""

_warned: Final[set[str]] = set()
"""Kinds that this process has warned of."""


def warning(
    function: Callable[[AppT, CallT, Json], Awaitable[Json]], what: Unenforced
) -> Callable[[AppT, CallT, Json], Awaitable[Json]]:
    """An operation that warns once it has stored a policy, the first of its kind in this process."""

    @functools.wraps(function)
    async def perform(app: AppT, call: CallT, request: Json) -> Json:
        answer = await function(app, call, request)
        if what.kind not in _warned and what.stores(request):
            _warned.add(what.kind)
            log.warning("%s are stored but never enforced: every accepted caller may do everything", what.kind)
        return answer

    return perform
