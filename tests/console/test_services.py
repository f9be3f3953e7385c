"""The pages of services in a browser: Map Runs with very many items, what waits, limits, queues, functions, logs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.conftest import check_modules
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.console_calls import machine, mapped, run_of, start
from tests.e2e.systems import RUNTIME, zipped

ITEMS = 10_000
DOOR = "<b>door \u202eclosed</b>"
ERROR = "</script><img src=x>"
SOURCE = "def handler(event, context):\n    print('<i>seen</i>', event)\n    return {'name': event.get('name')}\n"

pytestmark = pytest.mark.slow


def test_the_pure_modules(tmp_path):
    check_modules("modules_services.js", tmp_path)


def map_run(server: Server, name: str, states: Any, given: Any, **more: Any) -> tuple[str, str]:
    """The execution and the Map Run of a distributed Map."""
    execution = start(server, machine(server, name, mapped("STANDARD", states, **more)), name, given)
    return execution, run_of(server, execution)


def big_map_run(server: Server) -> str:
    """A Map Run with ten thousand items, of which every thousandth has failed."""
    choice = {"Variable": "$.bad", "BooleanEquals": True, "Next": "Bad"}
    states = {
        "Pick": {"Type": "Choice", "Choices": [choice], "Default": "Good"}, "Good": {"Type": "Succeed"},
        "Bad": {"Type": "Fail", "Error": ERROR, "Cause": "<b>it is bad</b>"},
    }  # fmt: skip
    items = [{"bad": number % 1_000 == 7} for number in range(ITEMS)]
    execution, arn = map_run(server, "many", states, items, ToleratedFailurePercentage=5, MaxConcurrency=200)
    assert ended(server.client("stepfunctions"), execution)["status"] == "SUCCEEDED"
    return arn


def waits(server: Server) -> None:
    """Executions that wait: for a worker, for a permit, and for their turn."""
    sfn = server.client("stepfunctions")
    activity = sfn.create_activity(name="pack")["activityArn"]
    task = {"Type": "Task", "Resource": activity, "TimeoutSeconds": 5_000, "End": True}
    start(server, machine(server, "packing", {"Pack": task}), "pack-0")
    start(server, machine(server, "asking", {"Ask": task}), "ask-0")
    hold = {"Type": "Wait", "Seconds": 36_000, "End": True}
    acquire = "arn:aws:states:::statewright:acquire"
    get = {"Type": "Task", "Resource": acquire, "Parameters": {"Name": DOOR, "Limit": 2}, "Next": "Hold"}
    exclusive = machine(server, "exclusive", {"Get": get, "Hold": hold})
    for number in range(5):
        start(server, exclusive, f"exclusive-{number}")
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "1"}]
    limited = machine(server, "limited", {"Hold": hold}, tags=tags)
    for number in range(3):
        start(server, limited, f"limited-{number}")


def charged(server: Server) -> str:
    """An execution that has called a function, whose variables are a secret and a hostile text."""
    variables = {"STAGE": "<img src=x>", "DB_PASSWORD": "hunter2"}
    server.client("lambda").create_function(
        FunctionName="charge", Runtime=RUNTIME, Role=ROLE, Handler="app.handler",
        Code={"ZipFile": zipped(app=SOURCE)}, Environment={"Variables": variables},
    )  # fmt: skip
    queue = server.client("sqs").create_queue(QueueName="inbox")["QueueUrl"]
    arn = server.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
    server.client("lambda").create_event_source_mapping(
        FunctionName="charge", EventSourceArn=arn["QueueArn"], Enabled=False
    )
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
            "Parameters": {"FunctionName": "charge", "Payload": {"name": "state"}}}  # fmt: skip
    execution = start(server, machine(server, "charging", {"Charge": task}), "charged")
    assert ended(server.client("stepfunctions"), execution)["status"] == "SUCCEEDED"
    return execution


@pytest.fixture(scope="module")
def report(drive, own_server) -> Any:
    """What the pages show in a browser, in both themes and two widths."""
    server = own_server
    waits(server)
    hold = {"Hold": {"Type": "Wait", "Seconds": 36_000, "End": True}}
    _, open_run = map_run(server, "open", hold, list(range(40)), MaxConcurrency=3)
    return drive("services.js", server.port, big_map_run(server), open_run, charged(server), DOOR)


def shown(report: Any, part: str) -> list[Any]:
    return [one[part] for one in report["shown"].values()]


def test_no_page_complains(report):
    # What does not exist and what is wrong is answered with 400 and 404, which browsers log.
    assert [one for one in report["complaints"] if "status of 40" not in one] == []


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_text_is_never_markup(report):
    assert set(shown(report, "markup")) == {0}


def test_ten_thousand_items_are_one_element_and_a_list(report):
    for one in shown(report, "map"):
        assert "Failed 10, Succeeded" not in one["said"]
        assert "Succeeded 9990" in one["said"]
        assert "Failed 10" in one["said"]
        assert one["elements"] < 3_000
        assert one["drawn"]
        assert one["first"][0] == "7"
        assert ERROR in one["first"][-1]
        assert one["clicked"] == "7"
        assert one["child"].strip() == "Failed"


def test_a_map_run_is_changed_while_it_runs(report):
    assert [one["before"] for one in shown(report, "open")] == [3, 4, 5, 6]


def test_what_waits_is_listed_by_age(report):
    for one in shown(report, "waiting"):
        assert one["tasks"] == ["pack-0", "ask-0"]
        assert one["starts"] == ["limited-1", "limited-2"]


def test_a_permit_is_released_with_a_reason_and_a_typed_name(report):
    held = [one["held"] for one in shown(report, "limits")]
    assert held == ["exclusive-0", "exclusive-1", "exclusive-1", "exclusive-1"]
    assert {(one["early"], one["wrong"]) for one in shown(report, "limits")} == {(True, True)}


def test_queues_are_created_filled_looked_at_and_deleted(report):
    for one in shown(report, "queue"):
        assert one["refused"]
        assert "NAME=VALUE" in one["fault"]
        assert "</script><img src=x>" in one["body"]
        assert '"deep"' in one["body"]
        assert one["early"]


def test_functions_are_invoked_and_secrets_stay_where_they_are(report):
    for one in shown(report, "function"):
        assert one["stopped"]
        assert "not JSON" in one["fault"]
        assert '"ü"' in one["result"]
        assert "<i>seen</i>" in one["line"]
        assert "<img src=x>" not in one["hidden"]
        assert "<img src=x>" in one["shown"]
        assert "hunter2" not in one["shown"]
    for text in shown(report, "logs"):
        assert "<i>seen</i>" in text
        assert "no logging configured" in text


def test_what_does_not_exist_says_so(report):
    for said in shown(report, "missing"):
        assert said == ["There is no such queue", "There is no such function", "There is no such Map Run"]
