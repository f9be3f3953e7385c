"""Requests to a bucket: botocore's client, its errors as the store's, and the outage that requests notice.

1. Every method blocks, and may be called in any thread.
2. An outage begins with the first request that fails, and is over once an object can be written again. A thread tries
   that each second meanwhile. So the log has one line for its beginning and one for its end, however many calls fail.
3. While the endpoint cannot be reached, requests fail at once: they would keep the few threads from all other bodies.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from statewright.errors import StoreError, Unavailable
from statewright.stores.bucket.address import BucketAddress

PROBE: Final = "statewright-probe"
"""The object, under the prefix, that is written and deleted to see whether the bucket can be used."""
PROBE_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 3
READ_SECONDS: Final = 60
"""A large copy inside the bucket is answered when it is done."""
ATTEMPTS: Final = 3
CONNECTIONS: Final = 16
DEFAULT_REGION: Final = "us-east-1"

_MISSING: Final = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound", "InvalidRange", "416"})
"""An object that ends before a range begins has nothing of it."""
_TEMPORARY: Final = (409, 412, 429)
"""Source: S3 API reference, error responses: OperationAborted, for one, asks for another try."""
_REASONS: Final = {
    "NoSuchBucket": "there is no such bucket",
    "AccessDenied": "access is denied",
    "403": "access is denied",
    "InvalidAccessKeyId": "the access key is unknown there",
    "SignatureDoesNotMatch": "the secret access key does not fit the access key",
    "PermanentRedirect": "it is in another region: name that with ?region=",
    "AuthorizationHeaderMalformed": "it is in another region: name that with ?region=",
    "IllegalLocationConstraintException": "it is in another region: name that with ?region=",
    "SlowDown": "too many requests",
}

log = logging.getLogger("statewright.bucket")


class Missing(LookupError):
    """There is no such object or upload."""


class Taken(Exception):
    """There is an object of that name already."""


class Refused(Unavailable):
    """The endpoint answers, and refuses: no such bucket, no right, no credentials."""


class Bucket:
    """A bucket under its prefix: keys are those of the callers, without the prefix."""

    def __init__(self, address: BucketAddress) -> None:
        """Nothing is sent yet."""
        self.address = address
        self.place = address.place
        self._client: Any = None
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._is_unreachable = False
        self._ended = threading.Event()
        self._prober: threading.Thread | None = None

    @property
    def state(self) -> str:
        """`ok`, or `unavailable` during an outage."""
        return "ok" if self._trouble is None else "unavailable"

    def close(self) -> None:
        """End the thread of an outage, and the connections; harmless when repeated. It can be used again afterwards."""
        self._ended.set()
        prober, self._prober = self._prober, None
        if prober is not None:
            prober.join()
        with self._lock:
            client, self._client = self._client, None
            self._trouble, self._is_unreachable = None, False
        if client is not None:
            client.close()

    def probe(self) -> None:
        """Write an object and delete it. Raises: Unavailable, Refused."""
        self._send("PutObject", Key=self.key(PROBE), Body=b"")
        self._send("DeleteObject", Key=self.key(PROBE))

    def key(self, name: str) -> str:
        """The key of a name in the bucket."""
        return self.address.prefix + name

    def send(self, operation: str, **given: Any) -> Mapping[str, Any]:
        """Call an operation on the bucket: its answer, with the whole body as `Body` where it has one.

        Raises: Missing; Taken, for a call with `IfNoneMatch`; Unavailable, Refused.
        """
        trouble = self._trouble
        if self._is_unreachable and trouble is not None:
            raise Unavailable(trouble)
        try:
            return self._send(operation, **given)
        except Unavailable as problem:
            self._begin_outage(problem)
            raise

    def pages(self, operation: str, **given: Any) -> Iterator[Mapping[str, Any]]:
        """All pages of ListObjectsV2 or ListMultipartUploads. Raises: as `send`."""
        more: dict[str, Any] = {}
        while True:
            page = self.send(operation, **given, **more)
            yield page
            if not page.get("IsTruncated"):
                return
            if operation == "ListObjectsV2":
                more = {"ContinuationToken": page["NextContinuationToken"]}
            else:
                more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page.get("NextUploadIdMarker", "")}

    def _send(self, operation: str, **given: Any) -> Mapping[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = self._connected()._make_api_call(operation, {"Bucket": self.address.name, **given})
            if "Body" in answer:
                answer["Body"] = answer["Body"].read()
        except ClientError as error:
            raise self._explained(error.response, is_conditional="IfNoneMatch" in given) from None
        except (BotoCoreError, OSError) as problem:
            raise self._unusable(problem) from None
        return answer

    def _explained(self, answer: Mapping[str, Any], *, is_conditional: bool) -> Exception:
        code = str(answer.get("Error", {}).get("Code", ""))
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _MISSING:
            return Missing(code)
        if status in (409, 412) and is_conditional:
            return Taken(code)
        words = " ".join(str(answer.get("Error", {}).get("Message") or "").split())
        reason = _REASONS.get(code) or f"{code or status}: {words}".rstrip(": .")
        text = f"the bucket {self.place}{self._where()} cannot be used: {reason}"
        return Refused(text) if 400 <= status < 500 and status not in _TEMPORARY else Unavailable(text)

    def _unusable(self, problem: Exception) -> Unavailable:
        from botocore.exceptions import (
            ConfigNotFound,
            CredentialRetrievalError,
            NoCredentialsError,
            PartialCredentialsError,
            ProfileNotFound,
        )

        if isinstance(problem, NoCredentialsError | PartialCredentialsError):
            return Refused(
                f"the bucket {self.place} cannot be used: there are no credentials for it in the environment "
                "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the machine)"
            )
        reason = " ".join(str(problem).split()).rstrip(".")
        if isinstance(problem, ProfileNotFound | ConfigNotFound | CredentialRetrievalError):
            return Refused(f"the bucket {self.place} cannot be used: {reason}")
        return _Unreachable(f"the bucket {self.place}{self._where()} does not answer: {reason}")

    def _where(self) -> str:
        url = self._client.meta.endpoint_url if self._client is not None else self.address.endpoint
        return f" at {url}" if url else ""

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _client_of(self.address)
                self._ended.clear()
            return self._client

    # ------------------------------------------------------------------ outages

    def _begin_outage(self, problem: Unavailable) -> None:
        with self._lock:
            is_new = self._trouble is None
            self._trouble = str(problem)
            self._is_unreachable = isinstance(problem, _Unreachable)
            if not is_new or self._ended.is_set():
                return
            log.warning("%s; what needs its bytes is answered with 503 until it can be used again", problem)
            self._prober = threading.Thread(target=self._await_end, name="statewright-bucket", daemon=True)
            self._prober.start()

    def _await_end(self) -> None:
        while not self._ended.wait(PROBE_SECONDS):
            try:
                self.probe()
            except _Unreachable as problem:
                self._trouble = str(problem)
            except (StoreError, Missing) as problem:
                # It answers: what can be read is read.
                self._trouble, self._is_unreachable = str(problem), False
            else:
                with self._lock:
                    self._trouble, self._is_unreachable = None, False
                log.info("the bucket %s can be used again", self.place)
                return


class _Unreachable(Unavailable):
    """Nothing answers at the endpoint."""


def _client_of(address: BucketAddress) -> Any:
    """A client with the credentials, the region and the endpoint of the environment, where the address names none.

    Raises: BotoCoreError.
    """
    import botocore.session
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    session = botocore.session.Session()

    def made(style: str) -> Any:
        settings = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=CONNECTIONS,
            # Other services than AWS's own do not know the checksums that botocore adds by itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": style},
        )
        region = address.region or session.get_config_variable("region") or DEFAULT_REGION
        return session.create_client("s3", region_name=region, endpoint_url=address.endpoint, config=settings)

    try:
        client = made("auto")
        if not _is_amazon(client.meta.endpoint_url):
            # Only AWS has a host name for each bucket.
            client = made("path")
    except ValueError as problem:
        raise BotoCoreError(error=str(problem)) from None
    client.meta.events.register("before-call.s3.DeleteObjects", _add_digest)
    return client


def _is_amazon(url: str) -> bool:
    host = url.partition("://")[2].partition("/")[0].partition(":")[0]
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def _add_digest(params: dict[str, Any], **_: Any) -> None:
    """Older services want this header, which botocore has replaced by a checksum."""
    body = params["body"]
    data = body if isinstance(body, bytes) else str(body).encode()
    params["headers"]["Content-MD5"] = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
