"""State machines: create, update, describe, list, delete, and what an ARN resolves to."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.program import Program
from statewright.engine.list_tokens import LIFETIME_MS
from statewright.engine.machines import definitions, programs
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Machines
from statewright.engine.machines.records import INITIAL, RECENT_MS, Machine, Revision
from statewright.engine.machines.views import MachineChange
from statewright.limits import OPEN
from statewright.query.scope import Entropy
from statewright.virtual_clock import VirtualClock
from tests.unit.engine.machines.catalogue import (
    ARN,
    GROUP,
    OTHER_ROLE,
    ROLE,
    definition,
    new_machine,
    on_catalogue,
    put_execution,
    refusal,
)

MISSING = ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{ARN}'")


# ------------------------------------------------------------------ create


def test_a_new_machine_has_no_revision_id_and_the_defaults() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        created = await machines.create(new_machine())
        assert (created.machine.arn, created.version_arn, created.revision_id) == (ARN, None, None)
        assert created.machine.created_ms == clock.now_ms()
        view = await machines.describe(ARN)
        assert view.revision.shown_id is None
        assert view.revision.logging == {"level": "OFF", "includeExecutionData": False}
        assert view.revision.tracing == {"enabled": False}
        assert view.revision.encryption == {"type": "AWS_OWNED_KEY"}
        assert (view.definition, view.machine.type, view.label, view.version) == (definition(), "STANDARD", None, None)

    on_catalogue(test)


def test_creating_the_same_again_gives_the_same_answer() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        first = await machines.create(new_machine())
        await clock.sleep_until(clock.now_ms() + 5_000)
        again = await machines.create(new_machine(role_arn=OTHER_ROLE, tags=({"key": "k", "value": "v"},)))
        assert (again.machine.id, again.machine.created_ms) == (first.machine.id, first.machine.created_ms)
        assert (await machines.describe(ARN)).revision.role_arn == ROLE
        assert await machines.tags.of(ARN) == {}

    on_catalogue(test)


@pytest.mark.parametrize(
    "changes",
    [
        {"definition": definition() + " "},
        {"type": "EXPRESS"},
        {"logging": {"level": "ALL", "destinations": [GROUP]}},
        {"tracing": {"enabled": True}},
        {"encryption": {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k"}},
        {"publish": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_creating_something_else_of_that_name_is_refused(changes: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        said = await refusal(machines.create(new_machine(**changes)))
        assert said == ("StateMachineAlreadyExists", f"State Machine Already Exists: '{ARN}'")

    on_catalogue(test)


def test_another_version_description_is_something_else() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True, version_description="a"))
        same = await machines.create(new_machine(publish=True, version_description="a"))
        assert same.version_arn == f"{ARN}:1"
        code, _ = await refusal(machines.create(new_machine(publish=True, version_description="b")))
        assert code == "StateMachineAlreadyExists"

    on_catalogue(test)


def test_two_creates_at_once_make_one_machine() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        one, two = await asyncio.gather(machines.create(new_machine()), machines.create(new_machine()))
        assert one.machine.id == two.machine.id
        found, _ = await machines.list_machines(None, None)
        assert len(found) == 1

    on_catalogue(test)


def test_a_machine_can_be_published_at_its_creation() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        created = await machines.create(new_machine(publish=True, version_description="first"))
        assert created.version_arn == f"{ARN}:1"
        view = await machines.describe(f"{ARN}:1")
        assert view.version is not None
        assert view.version.description == "first"
        assert view.revision.shown_id is None

    on_catalogue(test)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"name": "a<b"}, "InvalidName", "Invalid Name: 'a<b'"),
        ({"name": "a b"}, "InvalidName", "Invalid Name: 'a b'"),
        ({"name": "a\x00"}, "InvalidName", "Invalid Name: 'a\x00'"),
        ({"role_arn": "nobody"}, "InvalidArn", "Invalid Role Arn: 'nobody'"),
        (
            {"role_arn": "arn:aws:iam::aws:policy/Everything"},
            "InvalidArn",
            "Invalid Role Arn: 'arn:aws:iam::aws:policy/Everything'",
        ),
        (
            {"version_description": "x"},
            "ValidationException",
            "Version description can only be set when publish is true",
        ),
        (
            {"logging": {"level": "FATAL"}},
            "InvalidLoggingConfiguration",
            "Invalid Logging Configuration: Must specify exactly one Log Destination.",
        ),
        (
            {"logging": {"level": "ALL", "destinations": [GROUP, GROUP]}},
            "InvalidLoggingConfiguration",
            "Invalid Logging Configuration: Must specify exactly one Log Destination.",
        ),
        (
            {"logging": {"level": "ALL", "destinations": [{}]}},
            "InvalidLoggingConfiguration",
            "Invalid Logging Configuration: Log Destination not found.",
        ),
        (
            {"encryption": {"type": "CUSTOMER_MANAGED_KMS_KEY"}},
            "InvalidEncryptionConfiguration",
            "Invalid Encryption Configuration: The type CUSTOMER_MANAGED_KMS_KEY needs kmsKeyId.",
        ),
        (
            {"encryption": {"type": "AWS_OWNED_KEY", "kmsKeyId": "k"}},
            "InvalidEncryptionConfiguration",
            "Invalid Encryption Configuration: kmsKeyId and kmsDataKeyReusePeriodSeconds need the type "
            "CUSTOMER_MANAGED_KMS_KEY.",
        ),
        (
            {"definition": "[]"},
            "InvalidDefinition",
            "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: Definition must be a valid JSON object "
            "at null'",
        ),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(changes: Any, code: Any, message: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        assert await refusal(machines.create(new_machine(**changes))) == (code, message)
        assert await machines.list_machines(None, None) == ([], None)

    on_catalogue(test)


def test_a_customer_key_is_kept_with_its_default_period() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(encryption={"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k"}))
        assert (await machines.describe(ARN)).revision.encryption == {
            "type": "CUSTOMER_MANAGED_KMS_KEY",
            "kmsKeyId": "k",
            "kmsDataKeyReusePeriodSeconds": 300,
        }

    on_catalogue(test)


def test_an_empty_list_of_destinations_is_shown_as_given() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(logging={"destinations": []}))
        shown = (await machines.describe(ARN)).revision.logging
        assert shown == {"level": "OFF", "includeExecutionData": False, "destinations": []}

    on_catalogue(test)


# ------------------------------------------------------------------ update


def test_a_change_makes_a_revision_and_a_repetition_does_not() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        await clock.sleep_until(clock.now_ms() + 1_000)
        first = await machines.update(ARN, MachineChange(role_arn=OTHER_ROLE))
        assert first.revision_id is not None
        assert first.at_ms == clock.now_ms()
        same = await machines.update(ARN, MachineChange(definition=definition(), role_arn=OTHER_ROLE))
        assert same.revision_id == first.revision_id
        view = await machines.describe(ARN)
        assert (view.revision.role_arn, view.revision.shown_id) == (OTHER_ROLE, first.revision_id)
        other = await machines.update(ARN, MachineChange(definition=definition("two")))
        assert other.revision_id not in (None, first.revision_id)
        assert (await machines.describe(ARN)).revision.role_arn == OTHER_ROLE

    on_catalogue(test)


def test_an_update_that_changes_nothing_leaves_the_first_revision() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        changed = await machines.update(ARN, MachineChange(definition=definition(), publish=True))
        assert (changed.revision_id, changed.version_arn) == (None, f"{ARN}:1")
        again = await machines.update(ARN, MachineChange(encryption={"type": "AWS_OWNED_KEY"}, publish=True))
        assert (again.revision_id, again.version_arn) == (None, f"{ARN}:1")
        said = MachineChange(definition=definition(), publish=True, version_description="said")
        again = await machines.update(ARN, said)
        assert (again.revision_id, again.version_arn) == (None, f"{ARN}:1")
        assert (await machines.update(ARN, replace(said, version_description=None))).version_arn == f"{ARN}:1"
        version = (await machines.describe(f"{ARN}:1")).version
        assert version is not None
        assert version.description == "said"

    on_catalogue(test)


@pytest.mark.parametrize(
    "change",
    [
        MachineChange(logging={"level": "ERROR", "destinations": [GROUP]}),
        MachineChange(tracing={"enabled": True}),
        MachineChange(encryption={"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k"}),
        MachineChange(definition=definition("two")),
    ],
)
def test_every_part_can_be_changed_alone(change: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        before = (await machines.describe(ARN)).revision
        assert (await machines.update(ARN, change)).revision_id is not None
        after = (await machines.describe(ARN)).revision
        changed = {
            name
            for name in ("logging", "tracing", "encryption", "definition", "role_arn")
            if getattr(before, name) != getattr(after, name)
        }
        assert len(changed) == 1

    on_catalogue(test)


def test_running_executions_keep_the_old_revision() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        old = await machines.resolve(ARN)
        changed = await machines.update(ARN, MachineChange(definition=definition("two")))
        assert old.revision_id == INITIAL
        assert (await machines.programs.program_of(old.machine_id, INITIAL)).comment == "one"
        assert changed.revision_id is not None
        assert (await machines.programs.program_of(old.machine_id, changed.revision_id)).comment == "two"
        view = await machines.describe_revision(old.machine_id, INITIAL)
        assert view.definition == definition("one")

    on_catalogue(test)


@pytest.mark.parametrize(
    ("arn", "change", "code", "message"),
    [
        (
            ARN,
            MachineChange(),
            "MissingRequiredParameter",
            "Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be "
            "specified",
        ),
        (
            ARN,
            MachineChange(role_arn=ROLE, version_description="x"),
            "ValidationException",
            "Version description can only be set when publish is true",
        ),
        (ARN, MachineChange(role_arn="r"), "InvalidArn", "Invalid Role Arn: 'r'"),
        (
            ARN,
            MachineChange(definition="{}"),
            "InvalidDefinition",
            "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: These fields are required: "
            "[States, StartAt] at /'",
        ),
        (
            f"{ARN}2",
            MachineChange(role_arn=ROLE),
            "StateMachineDoesNotExist",
            f"State Machine Does Not Exist: '{ARN}2'",
        ),
        (
            f"{ARN}:1",
            MachineChange(role_arn=ROLE),
            "StateMachineDoesNotExist",
            f"State Machine Does Not Exist: '{ARN}:1'",
        ),
        ("orders", MachineChange(role_arn=ROLE), "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: orders'"),
        (
            f"{ARN}/label",
            MachineChange(role_arn=ROLE),
            "ValidationException",
            f"API does not support labeled ARNs: {ARN}/label",
        ),
    ],
)
def test_bad_updates_are_refused(arn: Any, change: Any, code: Any, message: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        assert await refusal(machines.update(arn, change)) == (code, message)
        assert (await machines.describe(ARN)).revision.id == INITIAL

    on_catalogue(test)


# ------------------------------------------------------------------ describe


def test_describe_knows_no_alias_and_nothing_that_is_not_there() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        await machines.aliases.create("live", [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}])
        for arn in (f"{ARN}:live", f"{ARN}:2", f"{ARN}/label", f"{ARN}2"):
            said = await refusal(machines.describe(arn))
            assert said == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        code, _ = await refusal(machines.describe("arn:aws:states:us-east-1:000000000000:activity:a"))
        assert code == "InvalidArn"

    on_catalogue(test)


def test_a_label_stands_for_the_definition_of_the_children() -> None:
    text = json.dumps(
        {
            "QueryLanguage": "JSONata",
            "StartAt": "P",
            "States": {
                "P": {
                    "Type": "Parallel",
                    "End": True,
                    "Branches": [
                        {"StartAt": "M", "States": {"M": _distributed("inner", Label="files")}},
                        {"StartAt": "N", "States": {"N": _distributed("other")}},
                    ],
                }
            },
        }
    )

    async def test(machines: Machines, clock: VirtualClock) -> None:
        created = await machines.create(new_machine(definition=text))
        view = await machines.describe(f"{ARN}/files")
        assert (view.arn, view.label) == (f"{ARN}/files", "files")
        assert json.loads(view.definition)["States"].keys() == {"inner"}
        assert json.loads(view.definition)["QueryLanguage"] == "JSONata"
        made_up = await machines.describe_revision(created.machine.id, INITIAL, "0b7c")
        assert json.loads(made_up.definition)["States"].keys() == {"other"}
        whole = await machines.describe_revision(created.machine.id, INITIAL)
        assert whole.definition == text

    on_catalogue(test)


def _distributed(state: Any, **more: Any) -> Any:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": state,
        "States": {state: {"Type": "Pass", "End": True}},
    }
    return {"Type": "Map", "ItemProcessor": processor, "End": True, **more}


def test_variables_are_listed_by_the_states_that_read_them() -> None:
    text = json.dumps(
        {
            "StartAt": "A",
            "States": {
                "A": {"Type": "Pass", "Assign": {"b": 1, "a": 2}, "Next": "B"},
                "B": {"Type": "Pass", "Parameters": {"x.$": "$b", "y.$": "$a"}, "End": True},
            },
        }
    )

    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(definition=text))
        assert (await machines.describe(ARN)).variable_references == {"B": ["a", "b"]}

    on_catalogue(test)


# ------------------------------------------------------------------ list


def test_machines_are_listed_by_name_in_pages() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        for name in ("m_2_x", "m_10_x", "m_0_x", "m_1_x", "m_11_x"):
            await machines.create(new_machine(name=name))
        names, token = [], None
        for size in (2, 2, 1):
            page, token = await machines.list_machines(token, 2)
            assert len(page) == size
            names += [machine.name for machine in page]
        assert (names, token) == (["m_0_x", "m_10_x", "m_11_x", "m_1_x", "m_2_x"], None)
        everything, token = await machines.list_machines(None, 0)
        assert (len(everything), token) == (5, None)

    on_catalogue(test)


def test_machines_and_activities_of_an_earlier_version_are_brought_into_order() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        store = machines.catalogue.store.catalogue
        for name in ("b", "a", "c"):
            await machines.create(new_machine(name=name))
            await machines.activities.create(name)
        for kind in ("machine", "activity"):
            rows = await store.list_entries(kind, "", after=None, limit=9, newest_first=False)
            old = [replace(row, sort=number, version=row.version + 1) for number, row in enumerate(rows[::-1], 1)]
            assert await store.write(old)
        await machines.catalogue.recover()
        assert [one.name for one in (await machines.list_machines(None, 9))[0]] == ["a", "b", "c"]
        assert [one.name for one in (await machines.activities.list_activities(None, 9))[0]] == ["a", "b", "c"]
        assert (
            await machines.update(ARN.rpartition(":")[0] + ":a", MachineChange(role_arn=OTHER_ROLE))
        ).revision_id is not None

    on_catalogue(test)


def test_a_token_is_good_for_a_day_and_for_its_own_list() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        for number in range(3):
            await machines.create(new_machine(name=f"m{number}"))
            await machines.activities.create(f"a{number}")
        _, token = await machines.list_machines(None, 1)
        assert token is not None
        bad = ("InvalidToken", "Invalid Token: 'Invalid token'")
        for wrong in ("InvalidToken", "!", "é", token[:-4], token[:-1] + "B", ""):
            assert await refusal(machines.list_machines(wrong, 1)) == bad
        assert await refusal(machines.activities.list_activities(token, 1)) == bad
        await clock.sleep_until(clock.now_ms() + LIFETIME_MS)
        assert len((await machines.list_machines(token, 1))[0]) == 1
        await clock.sleep_until(clock.now_ms() + 1)
        assert await refusal(machines.list_machines(token, 1)) == bad

    on_catalogue(test)


# ------------------------------------------------------------------ delete


def test_a_deleted_machine_is_gone_with_all_that_it_had_and_its_name_is_free() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        first = await machines.create(new_machine(publish=True, tags=({"key": "k", "value": "v"},)))
        await machines.aliases.create("live", [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}])
        await machines.delete(ARN)
        await machines.delete(ARN)
        assert await refusal(machines.describe(ARN)) == MISSING
        assert await refusal(machines.resolve(ARN)) == MISSING
        assert (await refusal(machines.aliases.get(f"{ARN}:live")))[0] == "ResourceNotFound"
        assert await machines.list_machines(None, None) == ([], None)
        # Its revision stays, for executions that ran it.
        assert (await machines.programs.program_of(first.machine.id, INITIAL)).comment == "one"
        second = await machines.create(new_machine(definition=definition("two"), publish=True))
        assert second.machine.id != first.machine.id
        assert second.version_arn == f"{ARN}:1"
        assert await machines.tags.of(ARN) == {}
        assert (await machines.resolve(f"{ARN}:1")).program.comment == "two"

    on_catalogue(test)


def test_a_machine_with_running_executions_is_deleting_until_they_end() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        created = await machines.create(new_machine(publish=True))
        await put_execution(machines, created.machine.id, "RUNNING")
        await machines.delete(ARN)
        await machines.delete(ARN)
        assert (await machines.describe(ARN)).machine.deleting
        assert machines.catalogue.deleting == {created.machine.id}
        found, _ = await machines.list_machines(None, None)
        assert [machine.deleting for machine in found] == [True]
        says = ("StateMachineDeleting", f"State Machine is being deleted: '{ARN}'")
        assert await refusal(machines.resolve(ARN)) == says
        assert await refusal(machines.create(new_machine())) == says
        assert await refusal(machines.update(ARN, MachineChange(role_arn=OTHER_ROLE))) == says
        assert await refusal(machines.versions.publish(ARN)) == says
        assert await refusal(machines.aliases.list_aliases(ARN, None, None)) == says
        route = [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}]
        assert await refusal(machines.aliases.create("live", route)) == says
        assert (await refusal(machines.tags.of(ARN)))[0] == "ResourceNotFound"
        assert (await refusal(machines.describe(f"{ARN}:1")))[0] == "StateMachineDoesNotExist"
        restarted = Machines(MachineCatalogue(machines.catalogue.store, clock))
        await restarted.catalogue.recover()
        assert restarted.catalogue.deleting == {created.machine.id}
        await put_execution(machines, created.machine.id, "ABORTED", expected=1)
        assert await machines.list_machines(None, None) == ([], None)
        assert machines.catalogue.deleting == set()
        assert await refusal(machines.describe(ARN)) == MISSING
        restarted = Machines(MachineCatalogue(machines.catalogue.store, clock))
        await restarted.catalogue.recover()
        assert restarted.catalogue.deleting == set()

    on_catalogue(test)


def test_who_finishes_a_deletion_late_leaves_the_new_machine_alone() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        created = await machines.create(new_machine())
        await put_execution(machines, created.machine.id, "RUNNING")
        await machines.delete(ARN)
        late = await machines.records.get(Machine, ARN)
        assert late is not None
        await put_execution(machines, created.machine.id, "ABORTED", expected=1)
        await machines.create(new_machine(definition=definition("two")))
        await machines.catalogue.remove(late)
        assert (await machines.describe(ARN)).definition == definition("two")

    on_catalogue(test)


def test_revisions_of_deleted_machines_go_once_no_execution_needs_them() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        with_executions = (await machines.create(new_machine(name="a"))).machine
        await machines.update(with_executions.arn, MachineChange(definition=definition("two")))
        await put_execution(machines, with_executions.id, "SUCCEEDED")
        plain = [(await machines.create(new_machine(name=name))).machine for name in ("b", "c", "d")]
        kept = (await machines.create(new_machine(name="kept"))).machine
        for machine in (with_executions, *plain):
            await machines.delete(machine.arn)
        assert await machines.forget_deleted(clock.now_ms(), 10) == 0
        await clock.sleep_until(clock.now_ms() + 1)
        assert await machines.forget_deleted(clock.now_ms(), 2) == 2
        assert await machines.forget_deleted(clock.now_ms(), 2) == 1
        assert await machines.forget_deleted(clock.now_ms(), 2) == 0
        left = [
            machine.id
            for machine in (with_executions, *plain, kept)
            if await machines.records.all(Revision, str(machine.id))
        ]
        assert left == [with_executions.id, kept.id]
        assert await machines.catalogue.store.executions.forget(clock.now_ms(), 10) == 1
        assert await machines.forget_deleted(clock.now_ms(), 10) == 1
        assert await machines.records.all(Revision, str(with_executions.id)) == []

    on_catalogue(test)


def test_deleting_by_another_arn() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        await machines.delete(f"{ARN}:1")
        assert (await machines.describe(f"{ARN}:1")).version is not None
        assert (await refusal(machines.delete("orders")))[0] == "InvalidArn"
        assert (await refusal(machines.delete(f"{ARN}/label")))[0] == "ValidationException"

    on_catalogue(test)


# ------------------------------------------------------------------ resolve


def test_what_an_arn_resolves_to() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        await machines.update(ARN, MachineChange(definition=definition("two"), role_arn=OTHER_ROLE))
        await machines.aliases.create("live", [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}])
        target = await machines.resolve(ARN)
        assert (target.program.comment, target.role_arn) == ("two", OTHER_ROLE)
        assert (target.version_arn, target.alias_arn) == (None, None)
        target = await machines.resolve(f"{ARN}:1")
        assert (target.program.comment, target.role_arn) == ("one", ROLE)
        assert (target.machine_arn, target.version_arn, target.alias_arn) == (ARN, f"{ARN}:1", None)
        target = await machines.resolve(f"{ARN}:live")
        assert (target.machine_arn, target.version_arn, target.alias_arn) == (ARN, f"{ARN}:1", f"{ARN}:live")
        assert target.program is (await machines.resolve(f"{ARN}:1")).program
        for arn in (f"{ARN}:2", f"{ARN}:dead", f"{ARN}2"):
            said = await refusal(machines.resolve(arn))
            assert said == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        assert (await refusal(machines.resolve(f"{ARN}/x")))[0] == "ValidationException"
        assert (await refusal(machines.resolve("x")))[0] == "InvalidArn"

    on_catalogue(test)


def test_an_alias_draws_versions_by_weight() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        await machines.update(ARN, MachineChange(definition=definition("two"), publish=True))
        routes = [
            {"stateMachineVersionArn": f"{ARN}:1", "weight": 90},
            {"stateMachineVersionArn": f"{ARN}:2", "weight": 10},
        ]
        await machines.aliases.create("live", routes)
        drawn = [(await machines.resolve(f"{ARN}:live")).version_arn for _ in range(1_000)]
        assert 860 < drawn.count(f"{ARN}:1") < 940
        assert set(drawn) == {f"{ARN}:1", f"{ARN}:2"}
        routes = [{**routes[0], "weight": 0}, {**routes[1], "weight": 100}]
        await machines.aliases.update(f"{ARN}:live", routes)
        assert {(await machines.resolve(f"{ARN}:live")).version_arn for _ in range(100)} == {f"{ARN}:2"}

    on_catalogue(test)


def test_limits_go_with_the_type_and_the_profile() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(name="s"))
        await machines.create(new_machine(name="e", type="EXPRESS"))
        prefix = ARN.removesuffix("orders")
        assert (await machines.resolve(prefix + "s")).limits.history_events == 25_000
        limits = (await machines.resolve(prefix + "e")).limits
        assert (limits.history_events, limits.execution_ms) == (None, 300_000)
        opened = Machines(MachineCatalogue(machines.catalogue.store, clock), limits=OPEN)
        limits = (await opened.resolve(prefix + "e")).limits
        assert (limits.payload_bytes, limits.execution_ms) == (None, None)

    on_catalogue(test)


def test_programs_are_compiled_once_and_the_oldest_are_dropped(monkeypatch: Any) -> None:
    texts: list[str] = []

    def counted(text: str) -> Program:
        texts.append(text)
        return definitions.compiled(text)

    monkeypatch.setattr(programs, "compiled", counted)
    monkeypatch.setattr(programs, "PROGRAMS_KEPT", 2)

    async def test(machines: Machines, clock: VirtualClock) -> None:
        for name in ("a", "b", "c"):
            await machines.create(new_machine(name=name, definition=definition(name)))
        prefix = ARN.removesuffix("orders")
        for name in ("a", "a", "b", "a", "c", "a", "b"):
            await machines.resolve(prefix + name)
        assert texts == [definition(name) for name in ("a", "b", "c", "b")]
        with pytest.raises(KeyError):
            await machines.programs.program_of(99, INITIAL)

    on_catalogue(test)


def test_a_catalogue_outlives_its_process() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True, tags=({"key": "k", "value": "v"},)))
        changed = await machines.update(ARN, MachineChange(definition=definition("two")))
        other = Machines(MachineCatalogue(machines.catalogue.store, clock), entropy=Entropy(b"other"))
        view = await other.describe(ARN)
        assert (view.definition, view.revision.shown_id) == (definition("two"), changed.revision_id)
        assert await other.tags.of(ARN) == {"k": "v"}

    on_catalogue(test)


def test_a_change_that_never_gets_through_says_so() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        async def never(put, delete=()):
            return False

        await machines.create(new_machine())
        setattr(machines.records.catalogue, "write", never)  # noqa: B010
        code, message = await refusal(machines.update(ARN, MachineChange(role_arn=OTHER_ROLE)))
        assert (code, message) == (
            "ConflictException",
            "The resource is being changed by other requests. Try again.",
        )

    on_catalogue(test)


def test_updates_at_once_both_happen() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        await asyncio.gather(
            machines.update(ARN, MachineChange(role_arn=OTHER_ROLE)),
            machines.update(ARN, MachineChange(definition=definition("two"))),
            *(machines.versions.publish(ARN) for _ in range(3)),
        )
        view = await machines.describe(ARN)
        assert (view.revision.role_arn, view.definition) == (OTHER_ROLE, definition("two"))

    on_catalogue(test)


# ------------------------------------------------------------------ what starts read again and again


def test_starts_see_a_change_at_once_and_another_nodes_within_a_second() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        other = Machines(MachineCatalogue(machines.catalogue.store, clock), entropy=Entropy(b"other"))
        await machines.create(new_machine())
        assert (await machines.resolve(ARN)).role_arn == (await other.resolve(ARN)).role_arn == ROLE
        await other.update(ARN, MachineChange(role_arn=OTHER_ROLE))
        assert (await other.resolve(ARN)).role_arn == OTHER_ROLE
        await clock.sleep_until(clock.now_ms() + RECENT_MS)
        assert (await machines.resolve(ARN)).role_arn == OTHER_ROLE
        await machines.delete(ARN)
        assert await refusal(machines.resolve(ARN)) == MISSING
        await clock.sleep_until(clock.now_ms() + RECENT_MS)
        assert await refusal(other.resolve(ARN)) == MISSING

    on_catalogue(test)


def test_starts_see_a_change_of_another_node_once_this_one_knows_of_it() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        other = Machines(MachineCatalogue(machines.catalogue.store, clock), entropy=Entropy(b"other"))
        machines.records.subscribe(other.records.forget)
        await machines.create(new_machine())
        assert (await other.resolve(ARN)).role_arn == ROLE
        await machines.update(ARN, MachineChange(role_arn=OTHER_ROLE))
        assert (await other.resolve(ARN)).role_arn == OTHER_ROLE
        await machines.delete(ARN)
        assert await refusal(other.resolve(ARN)) == MISSING

    on_catalogue(test)


def test_what_is_read_during_a_change_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        get = machines.records.get
        gate = asyncio.Event()

        async def slow(body_type: Any, key: str) -> Any:
            found = await get(body_type, key)
            await gate.wait()
            return found

        monkeypatch.setattr(machines.records, "get", slow)
        late = asyncio.ensure_future(machines.records.recent(Machine, ARN))
        await asyncio.sleep(0)
        monkeypatch.setattr(machines.records, "get", get)
        await machines.update(ARN, MachineChange(role_arn=OTHER_ROLE))
        gate.set()
        await late
        assert (await machines.resolve(ARN)).role_arn == OTHER_ROLE

    on_catalogue(test)
