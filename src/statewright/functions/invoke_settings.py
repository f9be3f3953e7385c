"""Event invoke configurations and resource policies of functions, by qualifier.

`async_queue.py` applies the configurations. Policies are stored and shown, but not enforced.
Source: Lambda API reference; developer guide, "Capturing records of asynchronous invocations".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from statewright.functions import names
from statewright.functions.definitions import Definitions, check_revision
from statewright.functions.names import LATEST, function_arn, invalid, refusal
from statewright.functions.records import INVOKE_SETTINGS, POLICY, Function, InvokeSettings, Policy
from statewright.payload import Json, JsonMapping, JsonObject


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


class Policies:
    """The resource policies of one catalogue."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.records = definitions.records

    async def add(self, name_or_arn: str, qualifier: str | None, given: JsonMapping) -> dict[str, Json]:
        """Add a statement, given by the members of AddPermission. Raises: ApiError."""
        async with self.definitions.changing:
            function, named = await self._named(name_or_arn, qualifier)
            if named == LATEST:
                raise invalid("We currently do not support adding policies for $LATEST.")
            if named:
                # Raises for a version or alias that does not exist.
                await self.definitions.view(function.name, named)
            policy = await self.records.policies.get(f"{function.name}:{named}") or Policy(function.name, named, (), "")
            check_revision(given.get("RevisionId"), policy.revision_id)
            sid = given["StatementId"]
            if any(statement["Sid"] == sid for statement in policy.statements):
                raise refusal(
                    "ResourceConflictException",
                    f"The statement id ({sid}) provided already exists. Please provide a new statement id, or remove "
                    "the existing statement.",
                )
            arn = function_arn(self.definitions.config, function.name, named or None)
            statement = _statement(given, arn)
            await self._write(policy, [*policy.statements, statement])
        return statement

    async def get(self, name_or_arn: str, qualifier: str | None) -> Policy:
        """The policy. Raises: ApiError (`ResourceNotFoundException`)."""
        function, named = await self._named(name_or_arn, qualifier)
        found = await self.records.policies.get(f"{function.name}:{named}")
        if found is None or not found.statements:
            raise refusal("ResourceNotFoundException", "The resource you requested does not exist.")
        return found

    async def remove(self, name_or_arn: str, qualifier: str | None, sid: str, revision_id: str | None) -> None:
        """Remove a statement. Raises: ApiError (`ResourceNotFoundException`)."""
        async with self.definitions.changing:
            function, named = await self._named(name_or_arn, qualifier)
            policy = await self.records.policies.get(f"{function.name}:{named}")
            if policy is None or not policy.statements:
                raise refusal("ResourceNotFoundException", "No policy is associated with the given resource.")
            left = [one for one in policy.statements if one["Sid"] != sid]
            if len(left) == len(policy.statements):
                raise refusal("ResourceNotFoundException", f"Statement {sid} is not found in resource policy.")
            check_revision(revision_id, policy.revision_id)
            await self._write(policy, left)

    async def _write(self, policy: Policy, statements: list[dict[str, Json]]) -> None:
        changed = replace(policy, statements=statements, revision_id=self.definitions.entropy.uuid4())
        await self.records.write(POLICY.row(changed))

    async def _named(self, name_or_arn: str, qualifier: str | None) -> tuple[Function, str]:
        function, named = await self.definitions.existing(name_or_arn, qualifier)
        return function, named or ""


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


def _statement(given: JsonMapping, resource: str) -> dict[str, Json]:
    principal = given["Principal"]
    who: Json = principal
    if principal.isdigit() and len(principal) == 12:
        who = {"AWS": f"arn:aws:iam::{principal}:root"}
    elif principal.startswith("arn:"):
        who = {"AWS": principal}
    elif principal != "*":
        who = {"Service": principal}
    statement: dict[str, Json] = {
        "Sid": given["StatementId"], "Effect": "Allow", "Principal": who, "Action": given["Action"],
        "Resource": resource,
    }  # fmt: skip
    condition: dict[str, Json] = {}
    equal = {
        key: given[member]
        for member, key in (
            ("SourceAccount", "AWS:SourceAccount"), ("EventSourceToken", "lambda:EventSourceToken"),
            ("PrincipalOrgID", "aws:PrincipalOrgID"), ("FunctionUrlAuthType", "lambda:FunctionUrlAuthType"),
        )
        if given.get(member)
    }  # fmt: skip
    if equal:
        condition["StringEquals"] = equal
    if given.get("SourceArn"):
        condition["ArnLike"] = {"AWS:SourceArn": given["SourceArn"]}
    if condition:
        statement["Condition"] = condition
    return statement
