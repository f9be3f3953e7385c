"""Aliases: names that route to one or two versions by weight.

Owns their rules and the service's words for breaking them. Drawing a version is in `machines.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from statewright.arn import MACHINE, StatesArn, parse_arn
from statewright.engine.list_tokens import page_size, read_token, write_token
from statewright.engine.machines import records
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.records import (
    Alias,
    Machine,
    Version,
    again_on_conflict,
    is_deleting,
    no_such_resource,
)
from statewright.engine.machines.settings import MOST_ALIASES
from statewright.engine.machines.versions import Versions
from statewright.errors import ApiError
from statewright.payload import JsonMapping

Routes = tuple[tuple[str, int], ...]


class Aliases:
    """Aliases of the machines of one catalogue."""

    def __init__(self, catalogue: MachineCatalogue, versions: Versions) -> None:
        self.catalogue = catalogue
        self.records = catalogue.records
        self._versions = versions

    @again_on_conflict
    async def create(self, name: str, routing: Sequence[JsonMapping], description: str | None = None) -> Alias:
        """Create an alias of the machine whose versions it routes to; the same request again gives the same answer.

        Raises: ApiError (`ValidationException`, `InvalidArn`, `ResourceNotFound`, `ConflictException`,
            `ServiceQuotaExceededException`, `StateMachineDeleting`).
        """
        routes = routes_of(routing)
        machine = await self._machine_of(routes)
        arn = f"{machine.arn}:{name}"
        present = await self.records.get(Alias, arn)
        if present is not None:
            if (present.routes, present.description) != (routes, description):
                raise ApiError(
                    "ConflictException",
                    "Failed to create alias because an alias with the same name and a different routing "
                    "configuration already exists.",
                )
            return present
        if machine.aliases >= MOST_ALIASES:
            raise ApiError(
                "ServiceQuotaExceededException",
                f"The state machine '{machine.arn}' has {machine.aliases} aliases, which is the most there can be.",
            )
        now_ms = self.catalogue.clock.now_ms()
        alias = Alias(arn, machine.id, name, routes, now_ms, now_ms, description)
        await self.records.write(replace(machine, aliases=machine.aliases + 1), alias)
        return alias

    @again_on_conflict
    async def update(
        self, arn: str, routing: Sequence[JsonMapping] | None = None, description: str | None = None
    ) -> int:
        """Change where an alias routes to, its description, or both; returns when. What is `None` stays.

        Raises: ApiError (`ValidationException`, `InvalidArn`, `ResourceNotFound`, `StateMachineDeleting`).
        """
        alias = await self.get(arn)
        if routing is None and description is None:
            raise ApiError(
                "ValidationException", "Either the description or the routing configuration must be specified"
            )
        routes = alias.routes
        if routing is not None:
            routes = routes_of(routing)
            machine = await self._machine_of(routes)
            if machine.id != alias.machine:
                raise _bad_routing("Routing configuration must contain versions of the alias's state machine.", routes)
        else:
            machine = await self.catalogue.existing(parse_arn(arn, MACHINE).machine, shown=arn)
            if machine.deleting:
                raise is_deleting(machine.arn)
        now_ms = self.catalogue.clock.now_ms()
        changed = replace(
            alias,
            routes=routes,
            description=alias.description if description is None else description,
            updated_ms=now_ms,
        )
        await self.records.write(machine, changed)
        return now_ms

    async def get(self, arn: str) -> Alias:
        """An alias. Raises: ApiError (`InvalidArn`, `ResourceNotFound`). Source: observed."""
        _alias_arn(arn)
        alias = await self.records.get(Alias, arn)
        if alias is None:
            raise no_such_resource()
        return alias

    async def list_aliases(
        self, arn: str, token: str | None, max_results: int | None
    ) -> tuple[list[Alias], str | None]:
        """One page of the aliases of a machine, or of those that route to a version, oldest first (observed).

        Raises: ApiError (`InvalidArn`, `InvalidToken`, `StateMachineDoesNotExist`, `StateMachineDeleting`,
            `ResourceNotFound`).
        """
        parsed = parse_arn(arn, MACHINE)
        machine = await self.catalogue.existing(parsed.machine, shown=arn)
        if machine.deleting:
            raise is_deleting(arn)
        now_ms = self.catalogue.clock.now_ms()
        scope = f"aliases {arn}"
        after = read_token(scope, token, now_ms)
        if parsed.rest is None:
            found = await self.records.all(Alias, str(machine.id))
        else:
            if await self.records.get(Version, arn) is None:
                raise no_such_resource()
            found = await self._versions.referring(machine, arn)
        # A machine has so few aliases that pages are cut here.
        left = [alias for alias in found if after is None or (alias.created_ms, alias.arn) > after]
        shown = left[: page_size(max_results)]
        place = (shown[-1].created_ms, shown[-1].arn) if len(shown) < len(left) else None
        return shown, write_token(scope, place, now_ms)

    @again_on_conflict
    async def delete(self, arn: str) -> None:
        """Delete an alias; harmless if it does not exist. Raises: ApiError (`InvalidArn`)."""
        parsed = _alias_arn(arn)
        alias = await self.records.get(Alias, arn)
        machine = await self.catalogue.load(parsed.machine)
        if alias is None or machine is None or machine.deleting:
            return
        machine = replace(machine, aliases=machine.aliases - 1)
        await self.records.write(machine, delete=[(records.ALIAS.name, arn)])

    async def _machine_of(self, routes: Routes) -> Machine:
        """The one machine whose versions are routed to, all of which must exist."""
        arns = {parse_arn(arn, MACHINE).machine for arn, _ in routes}
        if len(arns) > 1:
            raise _bad_routing("Routing configuration must contain versions of one state machine.", routes)
        machine = await self.catalogue.load(arns.pop())
        if machine is None:
            raise no_such_resource()
        if machine.deleting:
            raise is_deleting(machine.arn)
        for arn, _ in routes:
            if await self.records.get(Version, arn) is None:
                raise no_such_resource()
        return machine


def routes_of(routing: Iterable[JsonMapping]) -> Routes:
    """A routing configuration, checked as far as that goes without looking versions up.

    Raises: ApiError (`InvalidArn`, `ValidationException`). Source: observed.
    """
    routes = tuple((route["stateMachineVersionArn"], route["weight"]) for route in routing)
    arns = [arn for arn, _ in routes]
    if not all(parse_arn(arn, MACHINE).is_version for arn in arns):
        raise _bad_routing("Routing configuration must contain state machine version ARNs.", routes)
    if len(set(arns)) < len(arns):
        raise _bad_routing("Routing configuration must contain distinct state machine version ARNs.", routes)
    weights = [weight for _, weight in routes]
    if sum(weights) != 100:
        listed = ", ".join(str(weight) for weight in weights)
        raise ApiError(
            "ValidationException", f"Sum of routing configuration weights must equal 100. Received: [{listed}]"
        )
    return routes


def _bad_routing(reason: str, routes: Routes) -> ApiError:
    return ApiError("ValidationException", f"{reason} Received: [{', '.join(arn for arn, _ in routes)}]")


def _alias_arn(arn: str) -> StatesArn:
    parsed = parse_arn(arn, MACHINE)
    if parsed.rest is None or parsed.is_version or parsed.label is not None:
        raise ApiError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {arn}'")
    return parsed
