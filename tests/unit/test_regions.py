"""Regions of one system: namespaces, which of them are refused, and what lasts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.config import Config, parse_config
from statewright.errors import StoreError
from statewright.settings.reader import ConfigError
from statewright.stores.memory.store import MemoryStore
from statewright.stores.regional import RegionalStore, add_region, shards
from statewright.virtual import VirtualSystem
from statewright.virtual_clock import VirtualClock, run_virtual

HERE, THERE = "us-east-1", "eu-west-1"
HOUR = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}}


def clients(system: VirtualSystem, region: str = THERE) -> Any:
    return lambda service: system.client(service, region_name=region)


def refusal(call: Any, **given: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def hour(client: Any) -> str:
    role = "arn:aws:iam::000000000000:role/r"
    made = client.create_state_machine(name="hour", definition=json.dumps(HOUR), roleArn=role)["stateMachineArn"]
    arn: str = client.start_execution(stateMachineArn=made, name="one")["executionArn"]
    return arn


# ------------------------------------------------------------------ the store


def test_a_region_has_rows_and_shards_of_its_own():
    async def main(_clock: VirtualClock) -> None:
        from statewright.stores.protocol import EntryRow

        whole = MemoryStore()
        await whole.open("test")
        assert await shards(whole) == {}
        assert await add_region(whole, THERE, HERE) == 1
        assert await add_region(whole, "ap-south-1", HERE) == 2
        assert await shards(whole) == {HERE: 0, THERE: 1, "ap-south-1": 2}
        with pytest.raises(StoreError, match="added twice"):
            await add_region(whole, THERE, HERE)
        region = RegionalStore(whole, THERE, 1)
        row = EntryRow("queue", "jobs", "", 5, 1, b"{}")
        assert await region.catalogue.write([row])
        assert await whole.catalogue.get("queue", "jobs") is None
        assert await region.catalogue.get("queue", "jobs") == row
        rows = await region.catalogue.list_entries("queue", "", after=None, limit=9, newest_first=False)
        assert rows == [row]
        assert region.catalogue.seen(region.catalogue.stored([row])) == [row]
        numbers = [await one.catalogue.next_number("queue") for one in (whole, region, whole)]
        assert numbers == [1, 2, 3], "numbers are the whole store's"
        assert await region.catalogue.write([], [("queue", "jobs")])
        assert await region.catalogue.get("queue", "jobs") is None
        with pytest.raises(StoreError):
            await region.open("test")

    run_virtual(main)


# ------------------------------------------------------------------ namespaces


def test_executions_of_a_region_go_on_after_a_restart_without_a_call(tmp_path: Path):
    with VirtualSystem(data=tmp_path) as system:
        here, there = hour(system.client("stepfunctions")), hour(clients(system)("stepfunctions"))
        assert here == there.replace(THERE, HERE)
        system.advance("30m")
        system.restart()
        system.advance("31m")
        for arn, client in ((here, system.client("stepfunctions")), (there, clients(system)("stepfunctions"))):
            done = client.describe_execution(executionArn=arn)
            assert done["status"] == "SUCCEEDED"
            assert (done["stopDate"] - done["startDate"]).total_seconds() == 3600
        assert system.parts.regions is not None
        assert system.parts.regions.names() == [HERE, THERE]


def test_names_of_one_region_mean_nothing_in_another():
    with VirtualSystem() as system:
        arn = hour(clients(system)("stepfunctions"))
        sfn = system.client("stepfunctions")
        assert refusal(sfn.describe_execution, executionArn=arn) == (
            "ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'",
        )  # fmt: skip
        assert sfn.list_state_machines()["stateMachines"] == []


def test_a_store_with_one_region_has_no_row_of_it():
    with VirtualSystem() as system:
        hour(system.client("stepfunctions"))
        assert system.run(shards(system.parts.engine.store)) == {}


def test_the_default_region_of_a_store_with_several_is_fixed(tmp_path: Path):
    with VirtualSystem(data=tmp_path) as system:
        hour(clients(system)("stepfunctions"))
    with pytest.raises(StoreError, match=r'set region = "us-east-1" in statewright\.toml'):
        VirtualSystem(data=tmp_path, config=Config(region=THERE)).__enter__()


# ------------------------------------------------------------------ what is refused


def test_a_restricted_region_is_refused_in_a_sentence():
    with VirtualSystem(config=Config(regions=("eu-west-1",))) as system:
        hour(clients(system)("stepfunctions"))
        hour(system.client("stepfunctions"))
        assert refusal(clients(system, "eu-west-2")("stepfunctions").list_state_machines) == (
            "InvalidSignatureException",
            "Credential should be scoped to a valid region, not 'eu-west-2': the regions of this server are eu-west-1, "
            "us-east-1 ([server] regions).",
        )


@pytest.mark.parametrize("service", ["iam", "sts"])
def test_services_without_regions_answer_for_every_region_that_there_may_be(service):
    with VirtualSystem(config=Config(region="eu-west-2", regions=(THERE,))) as system:
        name = {"iam": "list_roles", "sts": "get_caller_identity"}[service]
        for region in ("eu-west-2", THERE, HERE):
            assert getattr(clients(system, region)(service), name)()
        _, message = refusal(getattr(clients(system, "ap-south-1")(service), name))
        assert message.startswith("Credential should be scoped to a valid region, not 'ap-south-1'")
        assert system.parts.regions is not None
        assert system.parts.regions.names() == ["eu-west-2"], "no system is started for them"


@pytest.mark.parametrize("name", ["EU-WEST-1", "a" * 33, "eu--west"])
def test_what_is_no_name_of_a_region_is_refused(name):
    with VirtualSystem() as system:
        _, message = refusal(clients(system, name)("sqs").list_queues)
        assert message == (
            f"Credential should be scoped to a valid region, not '{name}': a region has a name such as us-east-1."
        )


def test_calls_begin_so_many_regions_and_no_more(monkeypatch):
    monkeypatch.setattr("statewright.regions.MOST_REGIONS", 2)
    with VirtualSystem() as system:
        assert clients(system)("sqs").list_queues()
        _, message = refusal(clients(system, "eu-west-2")("sqs").list_queues)
        assert "this server has 2 regions already" in message
        assert clients(system)("sqs").list_queues()


def test_open_executions_are_counted_in_their_region_also_after_a_restart(tmp_path: Path):
    def found(system: VirtualSystem, region: str) -> float:
        metrics = system.client("cloudwatch", region_name=region)
        statistics = metrics.get_metric_statistics(
            Namespace="AWS/States", MetricName="OpenExecutionCount", Statistics=["Maximum"], Period=60,
            StartTime=system.now_ms / 1000 - 60, EndTime=system.now_ms / 1000 + 60,
        )  # fmt: skip
        return max((point["Maximum"] for point in statistics["Datapoints"]), default=0.0)

    with VirtualSystem(data=tmp_path) as system:
        hour(system.client("stepfunctions"))
        clients(system)("sqs").list_queues()
        assert (found(system, HERE), found(system, THERE)) == (1, 0)
        hour(clients(system)("stepfunctions"))
        assert (found(system, HERE), found(system, THERE)) == (1, 1)
    with VirtualSystem(data=tmp_path) as system:
        system.run_until(system.now_ms + 60_000)
        assert (found(system, HERE), found(system, THERE)) == (1, 1)


# ------------------------------------------------------------------ settings


def test_regions_are_settings():
    assert parse_config('[server]\nregions = ["eu-west-1", "us-west-2"]').regions == ("eu-west-1", "us-west-2")
    with pytest.raises(ConfigError, match=r"statewright.toml:2: server.regions must be regions such as"):
        parse_config('[server]\nregions = ["Ireland"]')
    with pytest.raises(ConfigError, match=r"server\.region is not a setting; did you mean regions"):
        parse_config('[server]\nregion = "eu-west-1"')
