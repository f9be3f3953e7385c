"""Custom resources, whose functions make them: the request to a function, and the wait for its answer.

A function gets a request with an address of this server's S3, where it puts its answer as an object. The operation
waits for the object. The request's id derives from the operation: after a restart an answer that is there already is
found, and otherwise the request is sent again under the same id.

Source: CloudFormation user guide, "Custom resource reference".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject, dump_json, parse_json
from statewright.projects.deploy.kinds import text_of
from statewright.stacks.records import Made, StackEntry, is_stopped
from statewright.stacks.threads import Invoke

log = logging.getLogger("statewright.stacks")
LONGEST_SECONDS: Final = 3_600
"""Source: custom resource reference, `ServiceTimeout`."""
_LOOK_MS: Final = 200
_MOST_ANSWER: Final = 4_096
"""Source: custom resource reference, "Response objects"."""
Sign = Callable[[str, str, int], str]
"""Makes the address of an object, by bucket and key, that may be put without credentials for some seconds."""


class Refused(Exception):
    """The answer of a provider that could not do what it was asked."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to the provider of a custom resource."""

    kind: str
    stack: StackEntry
    id: str
    made: Made
    before: Made | None = None

    @property
    def request_id(self) -> str:
        """The id of the request, the same after a restart."""
        operation = self.stack.operation
        under = f"{operation.id} {operation.phase}" if operation is not None else ""
        return chance.uuid_of_name(f"{under} {self.id} {self.kind} {self.made.ref}")


class Providers:
    """Asks the providers of custom resources."""

    def __init__(
        self,
        invoke: Invoke,
        clock: Clock,
        config: Config,
        sign: Sign,
        current: Callable[[str], Awaitable[StackEntry | None]],
    ) -> None:
        """`current` gives a stack as it is by now, by its id."""
        self._invoke = invoke
        self._clock = clock
        self._sign = sign
        self._current = current
        self._asked: set[str] = set()
        self._bucket = f"statewright-custom-resources-{config.account}-{config.region}"

    async def make(self, stack: StackEntry, id: str, target: Made, before: Made | None) -> Made:
        """Make or change a custom resource. Raises: Refused."""
        answer = await self._answer(_Request("Create" if before is None else "Update", stack, id, target, before))
        physical = answer.get("PhysicalResourceId")
        if not isinstance(physical, str) or not physical:
            raise Refused("Invalid PhysicalResourceId")
        data = answer.get("Data")
        return replace(target, ref=physical, attributes=dict(data) if isinstance(data, dict) else {}, lost="")

    async def delete(self, stack: StackEntry, id: str, made: Made) -> None:
        """Delete a custom resource. Raises: Refused."""
        await self._answer(_Request("Delete", stack, id, made, made))

    async def _answer(self, asked: _Request) -> JsonMapping:
        properties: JsonMapping = asked.made.resolved if isinstance(asked.made.resolved, dict) else {}
        token = properties.get("ServiceToken")
        if not isinstance(token, str) or ":lambda:" not in token:
            raise Refused("ServiceToken must be the ARN of a function of this server.")
        seconds = _seconds(properties.get("ServiceTimeout"))
        key = f"{asked.stack.id}/{asked.id}/{asked.request_id}"
        if not self._asked:
            await self._make_bucket()
            await self._forget_others()
        self._asked.add(asked.stack.id)
        found = await self._stored(key)
        if found is None:
            await self._ask(asked, token, self._sign(self._bucket, key, seconds))
            due_ms = self._clock.now_ms() + 1_000 * seconds
            while (found := await self._stored(key)) is None:
                if self._clock.now_ms() >= due_ms:
                    raise Refused("CloudFormation did not receive a response from your Custom Resource.")
                stack = await self._current(asked.stack.id)
                if asked.kind == "Create" and stack is not None and is_stopped(stack.operation, self._clock.now_ms()):
                    raise Refused("Resource creation cancelled")
                await self._clock.sleep_until(self._clock.now_ms() + _LOOK_MS)
        return _read(found)

    async def forget(self, stack: str) -> None:
        """Delete the answers to the operation of a stack, which has ended."""
        if stack in self._asked:
            self._asked.discard(stack)
            await self._delete(await self._keys(f"{stack}/"))

    async def _forget_others(self) -> None:
        """Delete the answers to operations that ended just before the server did."""
        left = []
        for key in await self._keys():
            stack = await self._current(key.partition("/")[0])
            if stack is None or stack.operation is None:
                left.append(key)
        await self._delete(left)

    async def _keys(self, prefix: str = "") -> list[str]:
        try:
            found = await self._invoke("s3", "ListObjectsV2", {"Bucket": self._bucket, "Prefix": prefix})
        except ApiError:
            # The bucket was deleted, and the answers with it.
            return []
        return [one["Key"] for one in found.get("Contents") or ()]

    async def _delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            try:
                await self._invoke("s3", "DeleteObject", {"Bucket": self._bucket, "Key": key})
            except ApiError as error:
                log.warning("the answer of a custom resource could not be deleted: %s", error.message)

    async def _ask(self, asked: _Request, token: str, url: str) -> None:
        event: JsonObject = {
            "RequestType": asked.kind, "ServiceToken": token, "ResponseURL": url, "StackId": asked.stack.arn,
            "RequestId": asked.request_id, "LogicalResourceId": asked.id, "ResourceType": asked.made.type,
            "ResourceProperties": _as_texts(asked.made.resolved),
        }  # fmt: skip
        if asked.before is not None:
            event["PhysicalResourceId"] = asked.before.ref
        if asked.kind == "Update" and asked.before is not None:
            event["OldResourceProperties"] = _as_texts(asked.before.resolved)
        request = {"FunctionName": token, "InvocationType": "Event", "Payload": dump_json(event).encode()}
        try:
            await self._invoke("lambda", "Invoke", request)
        except ApiError as error:
            raise Refused(error.message) from None

    async def _make_bucket(self) -> None:
        try:
            await self._invoke("s3", "CreateBucket", {"Bucket": self._bucket})
        except ApiError as error:
            if not error.code.startswith("BucketAlready"):
                raise Refused(error.message) from None

    async def _stored(self, key: str) -> bytes | None:
        try:
            found = await self._invoke("s3", "GetObject", {"Bucket": self._bucket, "Key": key})
        except ApiError as error:
            if error.code == "NoSuchKey":
                return None
            raise Refused(error.message) from None
        body = b""
        async for piece in found["Body"]:
            body += piece
            if len(body) > _MOST_ANSWER:
                raise Refused("Response object is too long.")
        return body


def _read(body: bytes) -> JsonMapping:
    """The answer of a provider. Raises: Refused."""
    try:
        answer = parse_json(body)
    except ValueError:
        raise Refused("Response is not valid JSON") from None
    if not isinstance(answer, dict):
        raise Refused("Response is not valid JSON")
    if answer.get("Status") != "SUCCESS":
        words = "Received response status [FAILED] from custom resource. Message returned:"
        raise Refused(f"{words} {answer.get('Reason')}")
    return answer


def _seconds(given: Json) -> int:
    try:
        return min(max(int(given), 1), LONGEST_SECONDS) if given is not None else LONGEST_SECONDS
    except (TypeError, ValueError):
        return LONGEST_SECONDS


def _as_texts(value: Json) -> Json:
    """Properties as providers get them: every scalar is a text."""
    if isinstance(value, dict):
        return {name: _as_texts(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_texts(part) for part in value]
    return text_of(value)
