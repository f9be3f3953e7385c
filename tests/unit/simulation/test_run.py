from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from statewright.simulation.report_html import result_page
from statewright.simulation.run import simulate
from statewright.simulation.scenario import read_scenario

BURST = """
    queues:
      dead: {}
      jobs: {visibility: 60s, deadLetter: dead, maxReceiveCount: 1}
    functions:
      work: {duration: 30s, timeout: 60, memory: 640}
    concurrency: 20
    prices: us-east-1-2022-04
    mappings:
      - {queue: jobs, function: work, batchSize: 1, profile: lambda-2022}
    arrivals:
      - {queue: jobs, burst: 200, over: 10s}
"""


def played(folder: Path, text: str, **changes: Any) -> dict[str, Any]:
    file = folder / "scenario.yaml"
    file.write_text(textwrap.dedent(text))
    return simulate(read_scenario(file, {key.replace("__", "."): value for key, value in changes.items()}))


def outcomes(document: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["what"], one["outcome"]): one["count"] for one in document["outcomes"]}


def bill(document: dict[str, Any]) -> dict[str, float]:
    return {line["item"]: line["quantity"] for line in document["cost"]["lines"]}


def charts(document: dict[str, Any]) -> dict[str, Any]:
    return {one["title"]: one for one in document["charts"]}


def test_a_burst_over_the_limit_loses_messages_that_were_pulled_and_never_run(tmp_path):
    document = played(tmp_path, BURST)
    ends = outcomes(document)
    dead = ends["messages of dead", "dead"]
    assert dead > 0
    assert ends["messages of jobs", "done"] == 200 - dead
    assert ends["messages of jobs", "throttled and dropped deliveries"] == dead
    assert document["ended"].startswith("idle")
    [work] = document["functions"]
    assert (work["mostAtOnce"], work["limit"], work["throttles"]) == (20, 20, dead)
    assert 10 <= work["limitReachedAtSeconds"] <= 60
    assert any("fitted" in note for note in document["notes"])
    assert bill(document) == {
        "lambda.requests": 200 - dead,
        "lambda.gb_seconds": pytest.approx((200 - dead) * 30 * 640 / 1024),
        # Sent and received one by one, deleted where they were done.
        "sqs.requests": 200 + 200 + 200 - dead,
    }
    assert {"Queue depth", "In flight", "Throttles", "Dead letters", "Cost"} < set(charts(document))


@pytest.mark.parametrize(
    "changes",
    [{"queues__jobs__maxReceiveCount": 3}, {"mappings__0__maximumConcurrency": 20}],
    ids=["more receives", "no more than there is room for"],
)
def test_what_helps(tmp_path, changes):
    assert ("messages of dead", "dead") not in outcomes(played(tmp_path, BURST, **changes))


def test_the_stream_of_a_table_invokes_a_function(tmp_path):
    document = played(
        tmp_path,
        """
        tables: {orders: id}
        functions:
          index: {duration: 2s}
        mappings:
          - {table: orders, function: index, batchSize: 10, window: 5s}
        arrivals:
          - {table: orders, rate: 2/s, for: 30s, name: "order-{n}", body: {total: {N: "{n}"}}}
        """,
    )
    assert outcomes(document) == {("records of orders", "done"): 60}
    [mapping] = document["mappings"]
    assert (mapping["table"], mapping["done"], mapping["batchSize"]) == ("orders", 60, 10)
    assert "queue" not in mapping
    [index] = document["functions"]
    # One batch at a time, of ten records or of five seconds.
    assert (index["mostAtOnce"], 6 <= index["invocations"] <= 8) == (1, True)
    assert document["ended"].startswith("idle")
    assert bill(document)["dynamodb.write_units"] == 60
    assert played(tmp_path, (tmp_path / "scenario.yaml").read_text()) == document


def test_messages_of_the_last_second_are_counted(tmp_path):
    document = played(
        tmp_path,
        """
        queues: {jobs: {visibility: 60s}}
        functions: {work: {duration: 10s, timeout: 30}}
        mappings: [{queue: jobs, function: work, batchSize: 1}]
        arrivals: [{queue: jobs, burst: 20}]
        """,
    )
    ends = outcomes(document)
    assert (ends["messages of jobs", "done"], ends.get(("messages of jobs", "expired"), 0)) == (20, 0)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path):
    text = """
        queues: {jobs: {}}
        functions: {work: {duration: {lognormal: {median: 2s, sigma: 0.5}}, failureRate: 5%}}
        mappings: [{queue: jobs, function: work, batchSize: 3}]
        arrivals: [{queue: jobs, poisson: 5/s, for: 30s}]
        until: 1h
    """
    one, two = played(tmp_path, text, seed=7), played(tmp_path, text, seed=7)
    assert json.dumps(one) == json.dumps(two)
    assert result_page(one) == result_page(two)
    assert json.dumps(played(tmp_path, text, seed=8)) != json.dumps(one)


@pytest.mark.parametrize("reports", [True, False])
def test_poison_takes_its_batch_with_it_unless_failures_are_reported(tmp_path, reports):
    document = played(
        tmp_path,
        """
        queues:
          dead: {}
          jobs: {visibility: 30s, deadLetter: dead, maxReceiveCount: 3}
        functions: {work: 1s}
        mappings: [{queue: jobs, function: work, batchSize: 10, reportBatchItemFailures: false}]
        arrivals: [{queue: jobs, burst: 400, over: 1s, poison: 2%, batch: 10}]
        """,
        mappings__0__reportBatchItemFailures=reports,
    )
    dead = outcomes(document)["messages of dead", "dead"]
    poison = document["arrivals"][0]["poisoned"]
    assert poison > 0
    assert dead == poison if reports else dead > poison


MACHINE = {
    "StartAt": "Work",
    "States": {
        "Work": {
            "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:000000000000:function:work", "Next": "Rest",
        },
        "Rest": {"Type": "Wait", "Seconds": 1, "Next": "Again?"},
        "Again?": {
            "Type": "Choice", "Default": "Work",
            "Choices": [{"Variable": "$.done", "BooleanEquals": True, "Next": "End"}],
        },
        "End": {"Type": "Succeed"},
    },
}  # fmt: skip
MODELS = """
async def work(event, call):
    listed = await call("states", "ListExecutions", {"stateMachineArn": MACHINE})
    n = event["n"] + 1
    if n == event.get("bad"):
        raise ValueError("no")
    return {**event, "n": n, "done": n > 200, "running": len(listed["executions"])}

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:poller"
"""
POLLER = """
    machines: {poller: {file: machine.json}}
    functions: {work: {answer: {python: "models.py:work"}}}
    arrivals: [{machine: poller, burst: 1, input: {n: 0}}]
"""


@pytest.fixture
def poller(tmp_path: Path) -> Path:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


def test_a_poller_costs_its_transitions_and_gets_a_hint(poller):
    document = played(poller, POLLER)
    assert outcomes(document) == {("executions of poller", "succeeded"): 1}
    assert bill(document)["states.transitions"] == 3 * 201 + 1
    assert document["calls"]["made"]["states.ListExecutions"] == 201
    assert "'Rest' waited 1 s 201 times" in document["cost"]["hints"][0]
    assert "ListExecutions calls" in charts(document)


def test_errors_of_executions_are_told(poller):
    document = played(poller, POLLER, arrivals__0__input={"n": 0, "bad": 3})
    [row] = [one for one in document["outcomes"] if one["outcome"] == "failed"]
    assert (row["count"], row["reason"]) == (1, "ValueError 1")


@pytest.mark.slow
@pytest.mark.parametrize(("quotas", "refused"), [("on", True), ("off", False)])
def test_quotas_of_the_api(poller, quotas, refused):
    document = played(poller, POLLER, arrivals__0__burst=40, quotas=quotas)
    found = [(one["call"], one["code"]) for one in document["calls"]["refused"]]
    assert (("states.ListExecutions", "ThrottlingException") in found) == refused
    assert ("ThrottlingException" in document["executions"][0]["errors"]) == refused


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"until": "5s"}, "until"), ({"maximumEvents": 20}, "maximumEvents")],
)
def test_what_does_not_end_is_given_up_with_the_reason(poller, changes, reason):
    document = played(poller, POLLER, **changes)
    assert document["ended"].startswith(reason)
    assert outcomes(document)["executions of poller", "running"] == 1


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ({"at": "0s", "for": "10s", "function": "work", "error": "Gone"}, ("executions of poller", "failed")),
        (
            {"at": "0s", "for": "10s", "call": "states.ListExecutions", "error": "Broken"},
            ("calls states.ListExecutions", "refused"),
        ),
        ({"at": "2s", "for": "10s", "concurrency": 0}, ("executions of poller", "failed")),
    ],
    ids=["a function", "a call", "concurrency"],
)
def test_faults(poller, fault, check):
    assert outcomes(played(poller, POLLER, faults=[fault]))[check] == 1


def test_a_handler_really_runs_and_its_calls_are_counted(tmp_path):
    (tmp_path / "store.py").write_text(
        textwrap.dedent(
            """
            import time, boto3
            table = boto3.client("dynamodb")
            def handler(event, context):
                time.sleep(60)
                for record in event["Records"]:
                    table.put_item(TableName="items", Item={"id": {"S": record["messageId"]}})
            """
        )
    )
    document = played(
        tmp_path,
        """
        tables: {items: id}
        queues: {jobs: {visibility: 2m}}
        functions: {store: {handler: store.py, timeout: 90}}
        mappings: [{queue: jobs, function: store, batchSize: 1}]
        arrivals: [{queue: jobs, burst: 3}]
        """,
    )
    assert outcomes(document)["messages of jobs", "done"] == 3
    assert bill(document)["dynamodb.write_units"] == 3
    assert bill(document)["lambda.gb_seconds"] == pytest.approx(3 * 60 * 128 / 1024, rel=0.01)


def test_what_is_charged_by_invocation_and_at_once_is_on_the_bill(tmp_path):
    document = played(
        tmp_path,
        """
        functions: {work: {duration: 1s, usage: {s3.get_requests: 2}}}
        arrivals: [{function: work, burst: 5}]
        usage: {s3.gb_months: 100}
        """,
    )
    assert bill(document)["s3.get_requests"] == 10
    assert document["cost"]["usdPerMonth"] == pytest.approx(2.3)


def test_what_has_no_price_is_named(tmp_path):
    document = played(tmp_path, "usage: {scheduler.invocations: 3}\nprices: us-east-1-2022-04")
    assert any("no price" in note for note in document["cost"]["notes"])
