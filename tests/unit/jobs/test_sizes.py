"""CPUs, memory and GPUs of definitions."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.jobs.sizes import Sizes, of_batch, of_ecs


def task(*containers: dict[str, Any], **members: Any) -> dict[str, Any]:
    named = [{"name": f"c{number}", **container} for number, container in enumerate(containers)]
    return {"containerDefinitions": named, **members}


GPU = [{"type": "GPU", "value": "2"}]


@pytest.mark.parametrize(
    ("given", "overrides", "found"),
    [
        (task({}), {}, Sizes()),
        (task({"cpu": 512, "memory": 300}), {}, Sizes(0.5, 300)),
        (task({"cpu": 0, "memory": 300, "memoryReservation": 200}), {}, Sizes(None, 200)),
        (task({}, cpu="2048", memory="4096"), {}, Sizes(2, 4096)),
        (task({}, cpu=".5 vCPU"), {}, ValueError),
        (task({}, cpu="0.5 vCPU", memory="1.5 GB"), {}, Sizes(0.5, 1536)),
        (task({}, {"cpu": 512}, {}, cpu="1024", memory="900"), {}, Sizes(0.25, 300)),
        (task({}, {"cpu": 2048}, cpu="1024"), {}, Sizes()),
        (task({"resourceRequirements": GPU}), {}, Sizes(gpus=2)),
        (task({"cpu": 512, "memory": 300}), {"containerOverrides": [{"name": "c0", "cpu": 1024}]}, Sizes(1, 300)),
        (task({}, cpu="1024"), {"cpu": "4 vCPU", "memory": "8GB"}, Sizes(4, 8192)),
        (task({"cpu": 512}), {"containerOverrides": [{"name": "c0", "resourceRequirements": GPU}]},
         Sizes(0.5, None, 2)),
        (task({}, cpu="large"), {}, ValueError),
        (task({}, memory="nan"), {}, ValueError),
    ],
)  # fmt: skip
def test_a_container_of_a_task(given, overrides, found):
    if found is ValueError:
        with pytest.raises(ValueError, match="is no number of its kind"):
            of_ecs(given, overrides, "c0")
    else:
        assert of_ecs(given, overrides, "c0") == found


@pytest.mark.parametrize(
    ("properties", "overrides", "found"),
    [
        ({}, {}, Sizes()),
        ({"vcpus": 2, "memory": 512}, {}, Sizes(2, 512)),
        ({"vcpus": 2, "memory": 512}, {"vcpus": 4, "memory": 64}, Sizes(4, 64)),
        ({"resourceRequirements": [{"type": "VCPU", "value": "0.25"}, {"type": "MEMORY", "value": "512"}]}, {},
         Sizes(0.25, 512)),
        ({"vcpus": 2, "resourceRequirements": GPU}, {"resourceRequirements": [{"type": "VCPU", "value": "8"}]},
         Sizes(8, None, 2)),
        ({"resourceRequirements": [{"type": "GPU", "value": "many"}]}, {}, ValueError),
    ],
)  # fmt: skip
def test_a_job(properties, overrides, found):
    if found is ValueError:
        with pytest.raises(ValueError, match="GPU is many, which is no number of its kind"):
            of_batch(properties, overrides)
    else:
        assert of_batch(properties, overrides) == found
