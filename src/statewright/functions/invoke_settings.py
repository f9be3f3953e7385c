"""Event invoke configurations of functions, by qualifier; `async_queue.py` applies them.

Source: Lambda API reference; developer guide, "Capturing records of asynchronous invocations".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from statewright.functions import names
from statewright.functions.definitions import Definitions
from statewright.functions.names import LATEST, function_arn, invalid, refusal
from statewright.functions.records import INVOKE_SETTINGS, Function, InvokeSettings
from statewright.payload import JsonMapping, JsonObject


class EventSettings:
    """The event invoke configurations of one catalogue."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.records = definitions.records

    async def put(self, name_or_arn: str, qualifier: str | None, given: JsonMapping, *, keep: bool) -> InvokeSettings:
        """Set a configuration; `keep` leaves missing members unchanged (update), otherwise they are reset (put).

        Raises: ApiError (`InvalidParameterValueException`, `ResourceNotFoundException`).
        """
        definitions = self.definitions
        async with definitions.changing:
            function, named = await self._settable(name_or_arn, qualifier)
            if all(given.get(member) is None for member in _SETTINGS):
                raise invalid("You must specify at least one of error handling or destination setting.")
            present = await self.records.invoke_settings.get(f"{function.name}:{named}")
            if present is None and keep:
                raise self._missing(function.name, named)
            now_ms = definitions.clock.now_ms()
            stored = present.stored if present is not None else 0
            after = InvokeSettings(function.name, named, now_ms, stored=stored)
            if keep and present is not None:
                after = replace(present, modified_ms=now_ms)
            after = self._merged(after, given)
            await self.records.write(INVOKE_SETTINGS.row(after))
        return after

    async def _settable(self, name_or_arn: str, qualifier: str | None) -> tuple[Function, str]:
        named = names.parse_name(name_or_arn, qualifier, self.definitions.config)
        if await self.definitions.function(named.name) is None:
            raise refusal("ResourceNotFoundException", "The function doesn't exist.")
        return await qualified(self.definitions, name_or_arn, qualifier)

    def _merged(self, before: InvokeSettings, given: JsonMapping) -> InvokeSettings:
        changes: JsonObject = {}
        if given.get("MaximumRetryAttempts") is not None:
            changes["most_retries"] = given["MaximumRetryAttempts"]
        if given.get("MaximumEventAgeInSeconds") is not None:
            changes["most_age_seconds"] = given["MaximumEventAgeInSeconds"]
        destinations = given.get("DestinationConfig") or {}
        for member, field in (("OnSuccess", "on_success"), ("OnFailure", "on_failure")):
            if member in destinations:
                arn = (destinations[member] or {}).get("Destination")
                own = function_arn(self.definitions.config, before.name)
                changes[field] = checked_destination(arn, own, failure=member == "OnFailure")
        return replace(before, **changes)

    async def get(self, name_or_arn: str, qualifier: str | None) -> InvokeSettings:
        """A configuration. Raises: ApiError (`ResourceNotFoundException`)."""
        function, named = await qualified(self.definitions, name_or_arn, qualifier)
        found = await self.records.invoke_settings.get(f"{function.name}:{named}")
        if found is None:
            raise self._missing(function.name, named)
        return found

    async def find(self, name: str, qualifier: str) -> InvokeSettings | None:
        """The configuration of a bare name and a qualifier, if it has one."""
        return await self.records.invoke_settings.get(f"{name}:{qualifier}")

    async def page(
        self, name_or_arn: str, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[InvokeSettings], tuple[int, str] | None]:
        """Configurations of a function, and the start of the next page."""
        function, _ = await self.definitions.existing(name_or_arn)
        return await self.records.invoke_settings.page(function.name, after=after, limit=limit)

    async def delete(self, name_or_arn: str, qualifier: str | None) -> None:
        """Delete a configuration. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self.get(name_or_arn, qualifier)
        await self.records.invoke_settings.delete(found)

    def _missing(self, name: str, qualifier: str) -> Exception:
        arn = function_arn(self.definitions.config, name, qualifier)
        return refusal("ResourceNotFoundException", f"The function {arn} doesn't have an EventInvokeConfig")


_SETTINGS: Final = ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")


def checked_destination(arn: str | None, own: str, *, failure: bool) -> str | None:
    """Check a destination's ARN; an empty one removes it. Raises: ApiError (`InvalidParameterValueException`)."""
    if not arn:
        return None
    service = arn.split(":")[2] if arn.startswith("arn:") and arn.count(":") >= 5 else ""
    allowed = ("sqs", "sns", "lambda", "events", "s3") if failure else ("sqs", "sns", "lambda", "events")
    if service not in allowed or arn.endswith(".fifo"):
        raise invalid(f"The provided destination config DestinationConfig is invalid: {arn} cannot be a destination.")
    if arn.removesuffix(f":{LATEST}") == own:
        raise invalid("You can't specify the function as a destination for itself.")
    return arn


async def qualified(definitions: Definitions, name_or_arn: str, qualifier: str | None) -> tuple[Function, str]:
    """A function and an existing qualifier of it. Raises: ApiError (`ResourceNotFoundException`)."""
    function, named = await definitions.existing(name_or_arn, qualifier)
    named = named or LATEST
    if names.is_version(named) or named == LATEST:
        exists = await definitions.settings_of(function, named) is not None
    else:
        exists = await definitions.records.aliases.get(f"{function.name}:{named}") is not None
    if not exists:
        raise names.not_found(function_arn(definitions.config, function.name, named))
    return function, named
