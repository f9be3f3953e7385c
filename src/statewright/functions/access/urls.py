"""URLs of functions: their configurations, and the lookup of a URL by its id.

Owns what a configuration is, and whether the policy of its function lets callers in. Requests to URLs are answered by
`apis/function_urls.py`. Source: Lambda API reference; developer guide, "Lambda function URLs"; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from statewright import chance
from statewright.functions import names
from statewright.functions.access.policies import lets_everyone_in
from statewright.functions.definitions import Definitions
from statewright.functions.names import function_arn, not_found, refusal
from statewright.functions.records import FUNCTION, URL, Function, FunctionUrl
from statewright.payload import JsonMapping

BUFFERED: Final = "BUFFERED"
NONE: Final = "NONE"
AWS_IAM: Final = "AWS_IAM"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
_ID: Final = 32
"""Characters of a URL's id (observed)."""
_MOST_OPENED: Final = 10_000
"""URLs held in memory."""


@dataclass(frozen=True, slots=True)
class OpenedUrl:
    """A URL as requests find it. `target` names its function or alias; `is_public` if its policy lets everyone in."""

    url: FunctionUrl
    target: str
    is_public: bool


class Urls:
    """The URLs of one catalogue's functions. `endpoint` returns the address of this process."""

    def __init__(self, definitions: Definitions, endpoint: Callable[[], str]) -> None:
        self.definitions = definitions
        self.records = definitions.records
        self._endpoint = endpoint
        self._opened: dict[str, OpenedUrl] = {}
        self._changes = 0
        """Counts changes: what was read before the last one is out of date."""
        definitions.subscribe(self._changed)

    def host(self, url: FunctionUrl) -> str:
        """The host of a URL, without the port."""
        return f"{url.id}.lambda-url.{self.definitions.config.region}.localhost"

    def address(self, url: FunctionUrl) -> str:
        """`FunctionUrl`: the address of a URL behind a host of its own."""
        return f"http://{self.host(url)}:{urlsplit(self._endpoint()).port or 80}/"

    def arn(self, url: FunctionUrl) -> str:
        """The ARN of a URL's function, or of its alias."""
        return function_arn(self.definitions.config, url.name, url.qualifier or None)

    async def create(self, name_or_arn: str, qualifier: str | None, given: JsonMapping) -> FunctionUrl:
        """Give a function or an alias a URL, by the members of CreateFunctionUrlConfig.

        Raises: ApiError (`ResourceConflictException`, `ResourceNotFoundException`).
        """
        definitions = self.definitions
        async with definitions.changing:
            function, named = await self._named(name_or_arn, qualifier)
            arn = function_arn(definitions.config, function.name, named or None)
            if await self._find(function.name, named) is not None:
                raise refusal(
                    "ResourceConflictException",
                    f"Failed to create function url config for [functionArn = {arn}]. Error message:  "
                    "FunctionUrlConfig exists for this Lambda function",
                )
            now_ms = definitions.clock.now_ms()
            new_id = "".join(_LETTERS[one % len(_LETTERS)] for one in chance.random_bytes(_ID))
            url = FunctionUrl(
                new_id, function.name, named, given["AuthType"], now_ms, now_ms, given.get("Cors") or None,
                given.get("InvokeMode") or BUFFERED,
            )  # fmt: skip
            await self.records.write(FUNCTION.row(function), URL.row(url))
        return replace(url, stored=1)

    async def get(self, name_or_arn: str, qualifier: str | None) -> FunctionUrl:
        """The URL of a function or an alias. Raises: ApiError (`ResourceNotFoundException`)."""
        function, named = await self._named(name_or_arn, qualifier)
        found = await self._find(function.name, named)
        if found is None:
            raise refusal("ResourceNotFoundException", "The resource you requested does not exist.")
        return found

    async def update(self, name_or_arn: str, qualifier: str | None, given: JsonMapping) -> FunctionUrl:
        """Change a URL by the members of UpdateFunctionUrlConfig; its address stays. Raises: ApiError."""
        definitions = self.definitions
        async with definitions.changing:
            url = await self.get(name_or_arn, qualifier)
            after = replace(
                url,
                auth_type=given.get("AuthType") or url.auth_type,
                cors=url.cors if given.get("Cors") is None else given["Cors"] or None,
                invoke_mode=given.get("InvokeMode") or url.invoke_mode,
                modified_ms=definitions.clock.now_ms(),
            )
            await self.records.write(URL.row(after))
        self._changed(url.name)
        return after

    async def delete(self, name_or_arn: str, qualifier: str | None) -> None:
        """Delete the URL of a function or an alias. Raises: ApiError (`ResourceNotFoundException`)."""
        async with self.definitions.changing:
            url = await self.get(name_or_arn, qualifier)
            await self.records.urls.delete(url)
        self._changed(url.name)

    async def page(
        self, name_or_arn: str, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[FunctionUrl], tuple[int, str] | None]:
        """The URLs of a function and its aliases, and the start of the next page."""
        function, _ = await self.definitions.existing(name_or_arn)
        return await self.records.urls.page(function.name, after=after, limit=limit)

    async def opened(self, id: str) -> OpenedUrl | None:
        """The URL with an id. Raises: StoreError."""
        found = self._opened.get(id)
        if found is None:
            before = self._changes
            url = await self.records.urls.get(id)
            if url is None:
                return None
            policy = await self.records.policies.get(f"{url.name}:{url.qualifier}")
            is_public = policy is not None and any(lets_everyone_in(one, url.auth_type) for one in policy.statements)
            found = OpenedUrl(url, self.arn(url), is_public)
            if before == self._changes:
                if len(self._opened) >= _MOST_OPENED:
                    self._opened.clear()
                self._opened[id] = found
        return found

    def _changed(self, name: str, *, latest: bool = False, everything: bool = False) -> None:  # noqa: ARG002
        self._changes += 1
        for key in [key for key, one in self._opened.items() if one.url.name == name]:
            del self._opened[key]

    async def _find(self, name: str, qualifier: str) -> FunctionUrl | None:
        return next((one for one in await self.records.urls.all(name) if one.qualifier == qualifier), None)

    async def _named(self, name_or_arn: str, qualifier: str | None) -> tuple[Function, str]:
        """A function and the alias that is named; empty for none. Raises: ApiError (`ResourceNotFoundException`)."""
        function, named = await self.definitions.existing(name_or_arn, qualifier)
        if named is not None and (
            names.is_version(named) or await self.records.aliases.get(f"{function.name}:{named}") is None
        ):
            raise not_found(function_arn(self.definitions.config, function.name, named))
        return function, named or ""
