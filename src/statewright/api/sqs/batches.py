"""Rules shared by the three batch operations: for entries and their ids, and for the answer in two halves.

Source: API reference; texts observed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.queues.legacy_codes import LEGACY

MOST_ENTRIES: Final = 10

Failures = list[tuple[str, ApiError]]
"""Errors, with the id of the entry."""

_id_matches: Final = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII).fullmatch


def check_entries(entries: Sequence[Json], kind: str) -> list[str]:
    """Check a batch's entries and return their ids, in order; `kind` is the service's name for an entry.

    Raises: ApiError, which refuses the whole request.
    """
    if not entries:
        raise ApiError("EmptyBatchRequest", f"There should be at least one {kind} in the request.")
    if len(entries) > MOST_ENTRIES:
        raise too_many(len(entries))
    ids: list[str] = []
    for entry in entries:
        name = entry["Id"]
        if _id_matches(name) is None:
            raise ApiError(
                "InvalidBatchEntryId",
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
                "It can be at most 80 letters long.",
            )
        if name in ids:
            raise ApiError("BatchEntryIdsNotDistinct", f"Id {name} repeated.")
        ids.append(name)
    return ids


def too_many(count: int) -> ApiError:
    """The error for a batch with too many entries."""
    return ApiError(
        "TooManyEntriesInBatchRequest",
        f"Maximum number of entries per request are {MOST_ENTRIES}. You have sent {count}.",
    )


def outcome(successful: list[Json], failures: Iterable[tuple[str, ApiError]]) -> Json:
    """The answer: entries that succeeded, and entries that failed, with legacy codes as the service has them here."""
    failed = [
        {"Id": name, "SenderFault": True, "Code": LEGACY.get(error.code, error.code), "Message": error.message}
        for name, error in failures
    ]
    answer: JsonObject = {}
    if successful or not failed:
        answer["Successful"] = successful
    if failed:
        answer["Failed"] = failed
    return answer
