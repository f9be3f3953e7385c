"""Tags of machines and activities, and activities as names."""

from typing import Any

import pytest

from statewright.engine.machines.machines import Machines
from statewright.engine.machines.settings import check_name
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock
from tests.unit.engine.machines.catalogue import ARN, new_machine, on_catalogue, refusal

ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:pack"


def tags(**pairs: Any) -> Any:
    return [{"key": key, "value": value} for key, value in pairs.items()]


# ------------------------------------------------------------------ tags


@pytest.mark.parametrize("arn", [ARN, ACTIVITY])
def test_tags_are_put_replaced_and_taken_away(arn: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        await machines.activities.create("pack")
        await machines.tags.put(arn, [])
        assert await machines.tags.of(arn) == {}
        await machines.tags.put(arn, tags(b="1", a=""))
        await machines.tags.put(arn, tags(b="2", c="3"))
        assert list((await machines.tags.of(arn)).items()) == [("b", "2"), ("a", ""), ("c", "3")]
        await machines.tags.take(arn, ["a", "nothing"])
        await machines.tags.take(arn, ["nothing"])
        assert await machines.tags.of(arn) == {"b": "2", "c": "3"}

    on_catalogue(test)


def test_tags_given_at_creation() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(tags=tuple(tags(a="1"))))
        await machines.activities.create("pack", tags(b="2"))
        await machines.activities.create("pack", tags(b="3"))
        assert (await machines.tags.of(ARN), await machines.tags.of(ACTIVITY)) == ({"a": "1"}, {"b": "2"})
        await machines.activities.delete(ACTIVITY)
        await machines.activities.create("pack")
        assert await machines.tags.of(ACTIVITY) == {}

    on_catalogue(test)


def test_there_are_at_most_fifty_tags() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        await machines.tags.put(ARN, tags(**{f"k{i}": "" for i in range(50)}))
        await machines.tags.put(ARN, tags(k7="changed"))
        code, message = await refusal(machines.tags.put(ARN, tags(one="more")))
        assert (code, message) == ("TooManyTags", f"'{ARN}' would have 51 tags; the most are 50.")
        many = tuple(tags(**{f"k{i}": "" for i in range(51)}))
        assert (await refusal(machines.create(new_machine(name="n", tags=many))))[0] == "TooManyTags"
        assert (await refusal(machines.activities.create("n", many)))[0] == "TooManyTags"

    on_catalogue(test)


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ({"key": "aws:x", "value": ""}, "The tag key 'aws:x' begins with 'aws:', which is reserved."),
        ({"key": "a*b", "value": ""}, "'a*b' is no tag: use letters, digits, white space and _ . : / = + - @"),
        ({"key": "a", "value": "b;"}, "'b;' is no tag: use letters, digits, white space and _ . : / = + - @"),
        ({"value": "b"}, "A tag needs a key."),
    ],
)
def test_bad_tags_are_refused(tag: Any, reason: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        assert await refusal(machines.tags.put(ARN, [tag])) == ("ValidationException", reason)

    on_catalogue(test)


def test_tags_may_hold_letters_of_any_script_and_some_signs() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine())
        await machines.tags.put(ARN, [{"key": "Größe 大 1_.:/=+-@", "value": "ü"}])
        assert await machines.tags.of(ARN) == {"Größe 大 1_.:/=+-@": "ü"}

    on_catalogue(test)


@pytest.mark.parametrize("arn", [f"{ARN}:1", f"{ARN}:live", f"{ARN}2", f"{ARN}/label", ACTIVITY])
def test_only_machines_and_activities_that_are_there_have_tags(arn: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        await machines.create(new_machine(publish=True))
        for call in (machines.tags.put(arn, []), machines.tags.take(arn, []), machines.tags.of(arn)):
            assert await refusal(call) == ("ResourceNotFound", f"Resource not found: '{arn}'")
        assert (await refusal(machines.tags.of("x")))[0] == "InvalidArn"

    on_catalogue(test)


# ------------------------------------------------------------------ activities


def test_an_activity_from_creation_to_deletion() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        made = await machines.activities.create("pack")
        await clock.sleep_until(clock.now_ms() + 1_000)
        again = await machines.activities.create("pack")
        assert (again.arn, again.created_ms) == (ACTIVITY, made.created_ms)
        shown = await machines.activities.get(ACTIVITY)
        assert (shown.name, shown.encryption) == ("pack", {"type": "AWS_OWNED_KEY"})
        key = {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k"}
        said = await refusal(machines.activities.create("pack", encryption=key))
        assert said == ("ActivityAlreadyExists", f"Activity Already Exists: '{ACTIVITY}'")
        await machines.activities.delete(ACTIVITY)
        await machines.activities.delete(ACTIVITY)
        said = await refusal(machines.activities.get(ACTIVITY))
        assert said == ("ActivityDoesNotExist", f"Activity Does Not Exist: '{ACTIVITY}'")

    on_catalogue(test)


def test_activities_are_listed_by_name() -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        for name in ("b", "c", "a"):
            await machines.activities.create(name)
        first, token = await machines.activities.list_activities(None, 2)
        rest, end = await machines.activities.list_activities(token, 2)
        assert ([one.name for one in first], [one.name for one in rest], end) == (["a", "b"], ["c"], None)

    on_catalogue(test)


@pytest.mark.parametrize("arn", ["nothing", ARN])
def test_other_arns_are_no_activities(arn: Any) -> None:
    async def test(machines: Machines, clock: VirtualClock) -> None:
        assert (await refusal(machines.activities.get(arn)))[0] == "InvalidArn"
        assert (await refusal(machines.activities.delete(arn)))[0] == "InvalidArn"

    on_catalogue(test)


@pytest.mark.parametrize("sign", [*'<>{}[]?*"#%\\^|~`$&,;:/ \t\x00\x1f\x7f\x9f', "\ud800", "\uffff", "\u2003"])
def test_signs_that_no_name_may_have(sign: Any) -> None:
    with pytest.raises(ApiError) as caught:
        check_name(f"a{sign}b")
    assert (caught.value.code, caught.value.message) == ("InvalidName", f"Invalid Name: 'a{sign}b'")


@pytest.mark.parametrize("name", ["a", "a-b_c.d", "Größe", "注文", "a" * 80, "a'b(c)!@=+"])
def test_names_that_are_good(name: Any) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "a" * 81])
def test_names_have_one_to_eighty_characters(name: Any) -> None:
    with pytest.raises(ApiError):
        check_name(name)
