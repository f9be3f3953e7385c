"""Legacy codes of SQS's errors: those that its old query protocol has, and that SDKs show.

Source: service model (`awsQueryCompatible`); the others observed.
"""

from __future__ import annotations

from typing import Final

_OLD: Final = "AWS.SimpleQueueService."

LEGACY: Final = {
    "QueueDoesNotExist": _OLD + "NonExistentQueue",
    "QueueNameExists": "QueueAlreadyExists",
    "InvalidParameterValueException": "InvalidParameterValue",
    "MissingRequiredParameterException": "MissingParameter",
    **{
        name: _OLD + name
        for name in (
            "BatchEntryIdsNotDistinct",
            "BatchRequestTooLong",
            "EmptyBatchRequest",
            "InvalidBatchEntryId",
            "MessageNotInflight",
            "PurgeQueueInProgress",
            "QueueDeletedRecently",
            "TooManyEntriesInBatchRequest",
            "UnsupportedOperation",
        )
    },
}
"""Legacy code by the model's name; the others are the same in both."""
