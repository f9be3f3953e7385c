"""What schedules and rules publish as metrics."""

from __future__ import annotations

from statewright.errors import ApiError
from statewright.metrics.recorder import Recorder
from tests.unit.events.running import DEAD, HOUR, Rig, failing, on_rig


def counted(recorder: Recorder, namespace: str) -> dict[str, float]:
    """Totals by name, and by the values of dimensions where there are any."""
    recorder.settle()
    found = [series for series in recorder.all() if series.id.namespace == namespace]
    named = {" ".join([one.id.name, *(value for _, value in one.id.dimensions)]): one for one in found}
    return {name: one.all_total for name, one in named.items() if one.all_total and "Latency" not in name}


def test_metrics_of_schedules() -> None:
    async def test(rig: Rig) -> None:
        recorder = rig.recorder
        rig.targets.failing = [failing(500), failing(429)]
        await rig.create("a", "rate(1 day)")
        await rig.let(HOUR)
        rig.targets.always = ApiError("NoSuchQueue", "", status=404)
        await rig.create("b", "rate(1 day)", DeadLetterConfig={"Arn": DEAD})
        await rig.let(HOUR)
        assert counted(recorder, "AWS/Scheduler") == {
            "InvocationAttemptCount default": 4, "TargetErrorCount default": 3, "TargetErrorThrottledCount default": 1,
            "InvocationDroppedCount default": 1, "InvocationsSentToDeadLetterCount default": 1,
        }  # fmt: skip

    on_rig(test)


def test_metrics_of_rules() -> None:
    async def test(rig: Rig) -> None:
        recorder = rig.recorder
        await rig.buses.create("own", None, {}, {})
        await rig.rule("r", {"source": ["shop"]})
        await rig.rule("s", {"source": ["shop"]}, bus="own", target={"DeadLetterConfig": {"Arn": DEAD}})
        rig.targets.failing = [failing(500)]
        await rig.put()
        await rig.let(HOUR)
        rig.targets.failing = [failing(404)]
        await rig.put(EventBusName="own")
        await rig.put(source="")
        await rig.let(HOUR)
        found = counted(recorder, "AWS/Events")
        assert {name: found[name] for name in found if " " not in name} == {
            "PutEventsApproximateCallCount": 3, "PutEventsEntriesCount": 3, "PutEventsFailedEntriesCount": 1,
            "InvocationsCreated": 2, "TriggeredRules": 2, "InvocationAttempts": 3, "RetryInvocationAttempts": 1,
            "Invocations": 2, "SuccessfulInvocationAttempts": 1, "FailedInvocations": 1, "InvocationsSentToDlq": 1,
        }  # fmt: skip
        assert {name: found[name] for name in found if name.endswith(" own s")} == {
            "TriggeredRules own s": 1, "MatchedEvents own s": 1, "InvocationAttempts own s": 1, "Invocations own s": 1,
            "FailedInvocations own s": 1, "InvocationsSentToDlq own s": 1,
        }  # fmt: skip

    on_rig(test)
