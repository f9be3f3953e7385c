"""Resource policies of functions, by qualifier.

Owns the statements, and what they say about callers of URLs; nothing else is subject to them.
Source: Lambda API reference; developer guide, "Control access to Lambda function URLs".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from statewright.functions.definitions import Definitions, check_revision
from statewright.functions.names import LATEST, function_arn, invalid, refusal
from statewright.functions.records import POLICY, Function, Policy
from statewright.payload import Json, JsonMapping

_ACTIONS: Final = ("lambda:invokefunctionurl", "lambda:*", "*")


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
        self.definitions.announce(policy.name, latest=False)

    async def _named(self, name_or_arn: str, qualifier: str | None) -> tuple[Function, str]:
        function, named = await self.definitions.existing(name_or_arn, qualifier)
        return function, named or ""


def lets_everyone_in(statement: JsonMapping, auth_type: str) -> bool:
    """True if a statement of a function's policy lets every caller invoke the function's URL.

    A condition that is not known here is not met.
    """
    actions = statement.get("Action")
    listed: list[Json] = actions if isinstance(actions, list) else [actions]
    if not any(str(one).lower() in _ACTIONS for one in listed):
        return False
    if statement.get("Effect") != "Allow" or statement.get("Principal") not in ("*", {"AWS": "*"}):
        return False
    condition = dict(statement.get("Condition") or {})
    equal = condition.pop("StringEquals", {})
    return not condition and all(
        name == "lambda:FunctionUrlAuthType" and value == auth_type for name, value in equal.items()
    )


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
    if given.get("InvokedViaFunctionUrl") is not None:
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": str(given["InvokedViaFunctionUrl"]).lower()}
    if condition:
        statement["Condition"] = condition
    return statement
