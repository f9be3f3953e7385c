"""Which of two errors S3 answers with: a missing bucket comes before a body that is not the expected XML (observed)."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from statewright.api.operations import App
from statewright.api.protocols.wire import Incoming
from statewright.api.s3.paths import path_of
from statewright.errors import ApiError

_OF_BODIES: Final = frozenset({"MalformedXML", "MissingRequestBodyError"})


async def first_error(app: App, incoming: Incoming, error: ApiError) -> ApiError:
    """The error of a refused call."""
    is_creation = incoming.method == "PUT" and not incoming.query
    if error.code not in _OF_BODIES or is_creation:
        return error
    bucket = unquote(path_of(incoming).lstrip("/").partition("/")[0])
    try:
        await app.services.objects.bucket(bucket)
    except ApiError as problem:
        # The bucket of another account is there.
        return problem if problem.code == "NoSuchBucket" else error
    return error
