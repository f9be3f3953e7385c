"""Operations that write statements into a queue's access policy, which is not enforced.

Source: API reference, AddPermission and RemovePermission; texts observed unless a comment says otherwise.
"""

from __future__ import annotations

import json
import re
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at
from statewright.api.sqs.errors import invalid_value, missing
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.queues.queues import Queue

MOST_ACTIONS: Final = 7
_label_matches: Final = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII).fullmatch
_account_matches: Final = re.compile(r"[0-9]{12}", re.ASCII).fullmatch
_SHARED: Final = frozenset(
    {
        "*",
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
        "ReceiveMessage",
        "SendMessage",
    }
)
"""Actions that accounts other than the owner may be allowed. Source: developer guide, "API permissions reference"."""


@operation("sqs", "AddPermission")
async def add_permission(app: App, _call: Call, request: Json) -> None:
    """Add a statement to the access policy of a queue."""
    queue = queue_at(app, request["QueueUrl"])
    label, accounts, actions = request["Label"], request["AWSAccountIds"], request["Actions"]
    if _label_matches(label) is None:
        # The text is Statewright's own.
        raise invalid_value(
            label, "Label", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
        )
    for name, listed in (("ActionName.1", actions), ("AWSAccountId.1", accounts)):
        if not listed:
            raise missing(name)
    if len(actions) > MOST_ACTIONS:
        raise ApiError("OverLimit", f"{len(actions)} Actions were found, maximum allowed is {MOST_ACTIONS}.")
    for action in actions:
        if action not in _SHARED:
            raise invalid_value(f"SQS:{action}", "ActionName", "Only the queue owner is allowed to invoke this action.")
    for account in accounts:
        if _account_matches(account) is None:
            raise invalid_value(f"[{account}]", "PrincipalId", "Unable to verify.")
    policy = _policy(queue)
    if any(statement.get("Sid") == label for statement in policy["Statement"]):
        raise invalid_value(label, "Label", "Already exists.")
    statement = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _one_or_all([f"arn:aws:iam::{account}:root" for account in accounts])},
        "Action": _one_or_all([f"SQS:{action}" for action in actions]),
        "Resource": queue.arn,
    }
    await _set(app, queue, {**policy, "Statement": [*policy["Statement"], statement]})


@operation("sqs", "RemovePermission")
async def remove_permission(app: App, _call: Call, request: Json) -> None:
    """Remove a statement from the access policy of a queue."""
    queue = queue_at(app, request["QueueUrl"])
    label = request["Label"]
    policy = _policy(queue)
    kept = [statement for statement in policy["Statement"] if statement.get("Sid") != label]
    if len(kept) == len(policy["Statement"]):
        raise invalid_value(label, "Label", "can't find label.")
    await _set(app, queue, {**policy, "Statement": kept} if kept else None)


def _policy(queue: Queue) -> JsonObject:
    text = queue.settings.policy
    if not text:
        return {"Version": "2008-10-17", "Id": f"{queue.arn}/SQSDefaultPolicy", "Statement": []}
    policy: JsonObject = json.loads(text)
    statements = policy.get("Statement", [])
    return {**policy, "Statement": statements if isinstance(statements, list) else [statements]}


async def _set(app: App, queue: Queue, policy: JsonObject | None) -> None:
    text = json.dumps(policy, separators=(",", ":")) if policy is not None else ""
    await app.services.queues.set_attributes(queue, {"Policy": text})


def _one_or_all(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values
