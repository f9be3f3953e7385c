"""Versions, and the aliases that route to them."""

from dataclasses import replace
from typing import Any

import pytest

from statewright.engine.machines.machines import Machines
from statewright.engine.machines.records import Machine
from statewright.engine.machines.views import MachineChange
from statewright.virtual_clock import VirtualClock
from tests.unit.engine.machines.catalogue import ARN, ROLE, definition, new_machine, on_catalogue, refusal

NOT_FOUND = ("ResourceNotFound", "Request references a resource that does not exist.")
ALIAS = f"{ARN}:live"


def routes(*weights: Any, of: Any = ARN) -> Any:
    return [{"stateMachineVersionArn": f"{of}:{i}", "weight": weight} for i, weight in enumerate(weights, 1)]


async def versioned(machines: Machines, count: Any = 2, **changes: Any) -> Any:
    """A machine with versions 1 to `count`, each of a revision of its own."""
    created = await machines.create(new_machine(publish=True, **changes))
    for number in range(2, count + 1):
        await machines.update(created.machine.arn, MachineChange(definition=definition(f"{number}"), publish=True))
    return created.machine.arn


# ------------------------------------------------------------------ versions


def test_a_version_is_made_once_for_a_revision() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        first = await machines.versions.publish(ARN, description="first")
        assert (first.arn, first.description, first.created_ms) == (f"{ARN}:1", "first", clock.now_ms())
        await clock.sleep_until(clock.now_ms() + 1_000)
        again = await machines.versions.publish(ARN, description="again")
        assert replace(again, stored=0) == first
        changed = await machines.update(ARN, MachineChange(definition=definition("two")))
        second = await machines.versions.publish(ARN, changed.revision_id)
        assert (second.arn, second.description) == (f"{ARN}:2", None)
        view = await machines.describe(f"{ARN}:2")
        assert view.version is not None
        assert (view.revision.shown_id, view.version.created_ms) == (changed.revision_id, second.created_ms)
        found, token = await machines.versions.list_versions(ARN, None, None)
        assert ([version.number for version in found], token) == ([2, 1], None)

    on_catalogue(test)


def test_publishing_another_revision_than_the_current_is_a_conflict() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        assert await refusal(machines.versions.publish(ARN, "r0")) == (
            "ConflictException",
            "Failed to publish the State Machine version for revision r0. "
            "The current State Machine revision is INITIAL.",
        )
        one = (await machines.update(ARN, MachineChange(definition=definition("two")))).revision_id
        two = (await machines.update(ARN, MachineChange(definition=definition("three")))).revision_id
        assert await refusal(machines.versions.publish(ARN, one)) == (
            "ConflictException",
            f"Failed to publish the State Machine version for revision {one}. "
            f"The current State Machine revision is {two}.",
        )
        assert await machines.versions.list_versions(ARN, None, None) == ([], None)

    on_catalogue(test)


def test_publishing_what_is_not_there() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        for arn in (ARN, f"{ARN}:1"):
            said = await refusal(machines.versions.publish(arn))
            assert said == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        said = await refusal(machines.versions.publish("x"))
        assert said == ("InvalidArn", "Invalid Arn: 'Invalid ARN prefix: x'")
        said = await refusal(machines.versions.list_versions(ARN, None, None))
        assert said == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{ARN}'")

    on_catalogue(test)


def test_numbers_are_never_used_again() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        await machines.versions.delete(f"{ARN}:2")
        await machines.versions.delete(f"{ARN}:2")
        assert (await machines.versions.publish(ARN)).number == 3
        found, _ = await machines.versions.list_versions(ARN, None, None)
        assert [version.number for version in found] == [3, 1]
        assert (await refusal(machines.resolve(f"{ARN}:2")))[0] == "StateMachineDoesNotExist"

    on_catalogue(test)


def test_versions_come_in_pages() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines, 5)
        first, token = await machines.versions.list_versions(ARN, None, 2)
        second, token = await machines.versions.list_versions(ARN, token, 3)
        assert ([v.number for v in first], [v.number for v in second], token) == ([5, 4], [3, 2, 1], None)
        said = await refusal(machines.versions.list_versions(ARN, "rubbish", 2))
        assert said == ("InvalidToken", "Invalid Token: 'Invalid token'")

    on_catalogue(test)


def test_a_version_that_an_alias_routes_to_stays() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        await machines.aliases.create("b", routes(100))
        await clock.sleep_until(clock.now_ms() + 1)
        await machines.aliases.create("a", routes(50, 50))
        said = await refusal(machines.versions.delete(f"{ARN}:1"))
        assert said == (
            "ConflictException",
            "Version to be deleted must not be referenced by an alias. "
            "Current list of aliases referencing this version: [b, a]",
        )
        await machines.aliases.delete(f"{ARN}:a")
        await machines.versions.delete(f"{ARN}:2")
        assert (await refusal(machines.versions.delete(f"{ARN}:1")))[1].endswith("[b]")

    on_catalogue(test)


@pytest.mark.parametrize("arn", [ARN, ALIAS, "x", "arn:aws:states:us-east-1:000000000000:activity:a"])
def test_only_versions_can_be_deleted_as_versions(arn: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        assert (await refusal(machines.versions.delete(arn)))[0] == "InvalidArn"
        await machines.versions.delete(f"{ARN}:7")

    on_catalogue(test)


def test_a_machine_has_at_most_a_thousand_versions_and_a_hundred_aliases() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines, 1)
        machine = await machines.records.get(Machine, ARN)
        assert machine is not None
        await machines.records.write(replace(machine, versions=1_000, aliases=100, published=None))
        code, _ = await refusal(machines.versions.publish(ARN))
        assert code == "ServiceQuotaExceededException"
        code, _ = await refusal(machines.update(ARN, MachineChange(role_arn=ROLE, publish=True)))
        assert code == "ServiceQuotaExceededException"
        code, _ = await refusal(machines.aliases.create("live", routes(100)))
        assert code == "ServiceQuotaExceededException"

    on_catalogue(test)


# ------------------------------------------------------------------ aliases


def test_an_alias_from_creation_to_deletion() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        alias = await machines.aliases.create("live", routes(100), "the live one")
        assert (alias.arn, alias.created_ms, alias.updated_ms) == (ALIAS, clock.now_ms(), clock.now_ms())
        await clock.sleep_until(clock.now_ms() + 1_000)
        again = await machines.aliases.create("live", routes(100), "the live one")
        assert replace(again, stored=0) == alias
        assert await machines.aliases.update(ALIAS, routes(30, 70)) == clock.now_ms()
        shown = await machines.aliases.get(ALIAS)
        assert shown.routes == ((f"{ARN}:1", 30), (f"{ARN}:2", 70))
        assert (shown.description, shown.created_ms) == ("the live one", alias.created_ms)
        assert shown.updated_ms == clock.now_ms()
        await machines.aliases.update(ALIAS, description="another")
        shown = await machines.aliases.get(ALIAS)
        assert (shown.description, len(shown.routes)) == ("another", 2)
        await machines.aliases.delete(ALIAS)
        await machines.aliases.delete(ALIAS)
        assert await refusal(machines.aliases.get(ALIAS)) == NOT_FOUND
        assert await refusal(machines.aliases.update(ALIAS, description="x")) == NOT_FOUND
        machine = await machines.records.get(Machine, ARN)
        assert machine is not None
        assert (machine.versions, machine.aliases) == (2, 0)

    on_catalogue(test)


@pytest.mark.parametrize("change", [{"routing": routes(1, 99)}, {"description": "other"}])
def test_another_alias_of_that_name_is_a_conflict(change: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        await machines.aliases.create("live", routes(100), "d")
        said = await refusal(
            machines.aliases.create("live", change.get("routing", routes(100)), change.get("description", "d"))
        )
        assert said == (
            "ConflictException",
            "Failed to create alias because an alias with the same name and a different routing configuration "
            "already exists.",
        )

    on_catalogue(test)


OTHER = ARN.replace("orders", "other")


@pytest.mark.parametrize(
    ("routing", "code", "message"),
    [
        (
            routes(70, 31),
            "ValidationException",
            "Sum of routing configuration weights must equal 100. Received: [70, 31]",
        ),
        (routes(99), "ValidationException", "Sum of routing configuration weights must equal 100. Received: [99]"),
        (
            routes(50) * 2,
            "ValidationException",
            f"Routing configuration must contain distinct state machine version ARNs. Received: [{ARN}:1, {ARN}:1]",
        ),
        (
            [{"stateMachineVersionArn": ARN, "weight": 100}],
            "ValidationException",
            f"Routing configuration must contain state machine version ARNs. Received: [{ARN}]",
        ),
        (
            [{"stateMachineVersionArn": ALIAS, "weight": 100}],
            "ValidationException",
            f"Routing configuration must contain state machine version ARNs. Received: [{ALIAS}]",
        ),
        (
            [*routes(50), *routes(50, of=OTHER)],
            "ValidationException",
            f"Routing configuration must contain versions of one state machine. Received: [{ARN}:1, {OTHER}:1]",
        ),
        ([{"stateMachineVersionArn": "x", "weight": 100}], "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: x'"),
        ([{"stateMachineVersionArn": f"{ARN}:9", "weight": 100}], *NOT_FOUND),
        ([{"stateMachineVersionArn": f"{ARN}2:1", "weight": 100}], *NOT_FOUND),
    ],
)
def test_bad_routes_are_refused(routing: Any, code: Any, message: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        await versioned(machines, name="other")
        assert await refusal(machines.aliases.create("live", routing)) == (code, message)
        await machines.aliases.create("live", routes(100))
        assert await refusal(machines.aliases.update(ALIAS, routing)) == (code, message)

    on_catalogue(test)


def test_bad_updates_of_an_alias() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        await versioned(machines, name="other")
        await machines.aliases.create("live", routes(100))
        code, message = await refusal(machines.aliases.update(ALIAS))
        assert (code, "must be specified" in message) == ("ValidationException", True)
        code, message = await refusal(machines.aliases.update(ALIAS, routes(100, of=OTHER)))
        assert (code, message) == (
            "ValidationException",
            f"Routing configuration must contain versions of the alias's state machine. Received: [{OTHER}:1]",
        )
        for arn in (ARN, f"{ARN}:1", "x"):
            assert (await refusal(machines.aliases.get(arn)))[0] == "InvalidArn"
            assert (await refusal(machines.aliases.delete(arn)))[0] == "InvalidArn"

    on_catalogue(test)


def test_aliases_are_listed_oldest_first_and_by_version() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await versioned(machines)
        for name, weights in (("c", (100,)), ("b", (50, 50)), ("a", (0, 100))):
            await machines.aliases.create(name, routes(*weights))
            await clock.sleep_until(clock.now_ms() + 1)
        await machines.aliases.create("d", [{"stateMachineVersionArn": f"{ARN}:2", "weight": 100}])
        first, token = await machines.aliases.list_aliases(ARN, None, 1)
        rest, end = await machines.aliases.list_aliases(ARN, token, None)
        assert ([a.name for a in first], [a.name for a in rest], end) == (["c"], ["b", "a", "d"], None)
        found, _ = await machines.aliases.list_aliases(f"{ARN}:1", None, 0)
        assert [alias.name for alias in found] == ["c", "b", "a"]
        bad = ("InvalidToken", "Invalid Token: 'Invalid token'")
        assert await refusal(machines.aliases.list_aliases(ARN, "InvalidToken", None)) == bad
        assert await refusal(machines.aliases.list_aliases(f"{ARN}:1", token, None)) == bad
        assert await refusal(machines.aliases.list_aliases(f"{ARN}:9", None, None)) == NOT_FOUND
        said = await refusal(machines.aliases.list_aliases(f"{ARN}2", None, None))
        assert said == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{ARN}2'")

    on_catalogue(test)
