"""The console's lists against a server: filters, search, histogram, overview, machines, and work on many executions."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended

OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
ORDERS = {
    "StartAt": "Is it bad?",
    "States": {
        "Is it bad?": {"Type": "Choice", "Choices": [
            {"Variable": "$.kind", "StringEquals": "bad", "Next": "Refuse"},
            {"Variable": "$.kind", "StringEquals": "slow", "Next": "Wait"},
        ], "Default": "Done"},
        "Refuse": {"Type": "Fail", "Error": "OrderRefused", "Cause": "the bank said no"},
        "Wait": {"Type": "Wait", "Seconds": 3600, "Next": "Done"},
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip
EACH = {"StartAt": "Each", "States": {"Each": {"Type": "Map", "End": True, "ItemProcessor": {
    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
    "StartAt": "One", "States": {"One": {"Type": "Pass", "End": True}},
}}}}  # fmt: skip


def asked(
    server: Any, method: str, name: str, query: dict[str, Any] | None = None, body: Any = None
) -> tuple[int, str]:
    """The status and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        sent = None if body is None else json.dumps(body)
        headers = OWN if body is None else {**OWN, "Content-Type": "application/json"}
        connection.request(method, f"/console/api/{name}?{urlencode(query or {})}", body=sent, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def read(server: Any, name: str, /, **query: Any) -> Any:
    status, text = asked(server, "GET", name, query)
    return {"httpStatus": status, **json.loads(text)}


def lines(server: Any, name: str, body: Any = None, **query: Any) -> list[Any]:
    """The documents of an answer that goes on."""
    status, text = asked(server, "GET" if body is None else "POST", name, query, body)
    assert status == 200, text
    return [json.loads(line) for line in text.splitlines()]


def searched(server: Any, **query: Any) -> list[Any]:
    """All rows that a search finds."""
    return [row for line in lines(server, "executions/search", **query) for row in line.get("rows", ())]


def names(rows: list[Any]) -> list[str]:
    return [row["name"] for row in rows]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server of its own: the numbers below are of all its machines and executions."""
    running = Server(tmp_path_factory.mktemp("list") / "data")
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture(scope="module")
def machines(server) -> list[str]:
    """Two machines for orders and one with a distributed Map, with the executions that the tests below look for."""
    sfn = server.client("stepfunctions")
    made = [
        sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE, publish=name == "orders")
        for name, definition in (("orders", ORDERS), ("orders-two", ORDERS), ("fan-out", EACH))
    ]
    arns = [one["stateMachineArn"] for one in made]
    started = []
    for number in range(12):
        kind = "bad" if number % 4 == 0 else "slow" if number % 6 == 5 else "good"
        given = {
            "kind": kind,
            "order": f"o-{number}",
            "total": number * 10,
            "customer": {"email": f"n{number}@Navy.example"},
        }
        arn = sfn.start_execution(
            stateMachineArn=arns[number % 2], name=f"order-{number}", input=json.dumps(given)
        )["executionArn"]  # fmt: skip
        started.append((arn, kind))
    map_run = sfn.start_execution(stateMachineArn=arns[2], name="spread", input=json.dumps(list(range(30))))
    for arn, kind in [*started, (map_run["executionArn"], "good")]:
        if kind != "slow":
            ended(sfn, arn)
    return arns


ALL = ["spread", *(f"order-{number}" for number in range(11, -1, -1))]


def test_children_of_maps_are_in_no_list(server, machines):
    assert names(read(server, "executions")["executions"]) == ALL
    assert names(searched(server, q="order")) == ALL[1:]
    assert read(server, "executions/histogram")["counted"] == 13
    assert read(server, "counts")["executions"] == 13
    assert read(server, "counts")["machines"] == 3


def test_filters_are_those_of_the_server(server, machines):
    def found(**query: Any) -> list[str]:
        return names(read(server, "executions", **query)["executions"])

    assert found(status="RUNNING") == ["order-11", "order-5"]
    assert found(status="failed") == ["order-8", "order-4", "order-0"]
    assert found(machine=machines[1], status="SUCCEEDED") == ["order-9", "order-7", "order-3", "order-1"]
    rows = read(server, "executions")["executions"]
    middle = rows[6]["startedMs"]
    since = found(since=middle)
    until_ = found(until=middle)
    assert since == [row["name"] for row in rows if row["startedMs"] >= middle]
    assert until_ == [row["name"] for row in rows if row["startedMs"] <= middle]
    assert found(within=3_600_000) == ALL
    assert found(since=rows[0]["startedMs"] + 1) == []
    assert read(server, "executions", q="x")["httpStatus"] == 400
    assert read(server, "executions", since="soon")["message"] == "since must be a whole number: soon"
    assert read(server, "executions", machine=machines[0] + "-gone")["error"] == "StateMachineDoesNotExist"


def test_rows_have_what_the_list_shows(server, machines):
    row = read(server, "executions", status="FAILED")["executions"][0]
    assert (row["machine"], row["machineArn"], row["error"], row["cause"]) == (
        "orders", machines[0], "OrderRefused", "the bank said no",
    )  # fmt: skip
    assert "input" not in row


def test_how_long_they_took_and_waited(server, machines):
    # The two that wait have run for longer than any other took, once a moment is over.
    def running_alone() -> bool:
        longest = max(
            row["stoppedMs"] - row["startedMs"] for row in searched(server, took=0, q="e") if row["stoppedMs"]
        )
        return names(searched(server, took=longest + 1)) == ["order-11", "order-5"]

    until(running_alone)
    until(lambda: names(searched(server, waiting=1)) == ["order-11", "order-5"])
    assert names(searched(server, waiting=3_600_000)) == []
    assert read(server, "executions/search", waiting=1, status="FAILED")["error"] == "BadRequest"


def test_a_search_looks_into_inputs_outputs_and_errors(server, machines):
    assert names(searched(server, q="NAVY", status="FAILED")) == ["order-8", "order-4", "order-0"]
    (row,) = searched(server, q='input.order = "o-7"')
    assert row["found"] == {"where": "input.order", "before": "", "match": "o-7", "after": ""}
    assert names(searched(server, q="input.total >= 90 and input.kind = good")) == ["order-10", "order-9"]
    assert names(searched(server, q="output.total > 90")) == ["order-10"]
    assert names(searched(server, q="error = OrderRefused", machine=machines[0])) == ["order-8", "order-4", "order-0"]
    assert names(searched(server, q="cause ~ bank and input.order != o-4")) == ["order-8", "order-0"]
    assert names(searched(server, q="name ~ -11")) == ["order-11"]
    assert searched(server, q="nothing has this") == []


def test_a_search_says_how_far_it_looked_and_goes_on(server, machines):
    whole = lines(server, "executions/search", q="order")
    assert whole[-1]["next"] is None
    assert [line["looked"] for line in whole if "looked" in line] == [13]
    oldest = read(server, "executions")["executions"][-1]["startedMs"]
    assert next(line["lookedBackMs"] for line in whole if "looked" in line) == oldest
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        part = lines(server, "executions/search", q="order", limit=5, cursor=cursor)
        found += names([row for line in part for row in line.get("rows", ())])
        cursor = part[-1]["next"]
    assert found == ALL[1:]


def test_a_mistake_in_a_search_has_its_place(server, machines):
    refused = read(server, "executions/search", q="input.order = ")
    assert (refused["httpStatus"], refused["error"]) == (400, "BadQuery")
    assert refused["message"] == "At character 14: a value is missing after =."


def test_the_histogram_counts_by_outcome(server, machines):
    found = read(server, "executions/histogram", machine=machines[0])
    assert (sum(found["ok"]), sum(found["failed"]), sum(found["running"])) == (3, 3, 0)
    assert found["isWhole"]
    assert found["fromMs"] <= read(server, "executions", machine=machines[0])["executions"][-1]["startedMs"]
    assert read(server, "executions/histogram", within=3_600_000)["toMs"] - found["toMs"] >= 0


def test_the_overview(server, machines):
    found = read(server, "overview")
    assert (found["counts"]["RUNNING"], found["counts"]["FAILED"], found["machines"]) == (2, 3, 3)
    assert names(found["oldest"]) == ["order-5", "order-11"]
    assert names(found["failures"]) == ["order-8", "order-4", "order-0"]
    assert found["waiting"] == {"atLeast": 0, "looked": 2, "isWhole": True}
    # Metrics count children of Maps, too.
    assert (sum(found["chart"]["started"]), sum(found["chart"]["failed"])) == (43, 3)
    assert found["quarantined"] == {"count": 0, "executions": []}
    sqs = server.client("sqs")
    queue = sqs.create_queue(QueueName="deep")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    until(lambda: read(server, "overview")["queues"] == [{"name": "deep", "visible": 1}])


def test_machines_have_versions_last_statuses_and_their_day(server, machines):
    page = read(server, "machines", name="ORDERS", limit=1)
    assert (names(page["machines"]), page["next"], page["total"]) == (["orders"], "1", 2)
    (row,) = page["machines"]
    assert (row["version"], row["counts"]["FAILED"]) == (1, 3)
    assert row["last"] == ["SUCCEEDED", "FAILED", "SUCCEEDED", "FAILED", "SUCCEEDED", "FAILED"]
    (other,) = read(server, "machines", name="ORDERS", limit=1, cursor=page["next"])["machines"]
    assert (other["name"], other["version"]) == ("orders-two", None)
    days = read(server, "machines/days", name="orders")["machines"]
    assert (sum(days[machines[0]]["started"]), sum(days[machines[0]]["failed"])) == (6, 3)
    assert days[machines[0]]["p50Ms"] <= days[machines[0]]["p95Ms"]


def test_the_palette_finds_by_name(server, machines):
    found = read(server, "find", name="order-7")
    assert [(one["name"], one["machine"]) for one in found["executions"]] == [("order-7", "orders-two")]
    assert names(read(server, "find", name="TWO")["machines"]) == ["orders-two"]


def previewed(server: Any, **body: Any) -> Any:
    return lines(server, "executions/bulk/preview", body)[-1]["preview"]


def test_many_are_stopped_and_redriven_after_a_preview(server, machines):
    preview = previewed(server, verb="stop", filters={"machine": machines[1], "q": "order"})
    assert preview["names"] == ["order-11", "order-5"]
    assert preview["skipped"] == [{"why": "already ended", "count": 4}]
    assert preview["isWhole"]
    gone = machines[1].replace("stateMachine", "execution") + ":gone"
    done = lines(server, "executions/bulk", {"verb": "stop", "arns": [*preview["arns"], gone], "reason": "a test"})
    assert {key: done[-1][key] for key in ("done", "of", "succeeded", "refused", "isOver")} == {
        "done": 3, "of": 3, "succeeded": 2, "refused": 1, "isOver": True,
    }  # fmt: skip
    (refusal,) = [one for line in done for one in line.get("refusals", ())]
    assert refusal["arn"] == gone
    assert "Does Not Exist" in refusal["message"]
    sfn = server.client("stepfunctions")
    assert sfn.describe_execution(executionArn=preview["arns"][0])["cause"] == "a test"
    assert previewed(server, verb="stop", arns=[*preview["arns"], gone])["skipped"] == [
        {"why": "already ended", "count": 2}, {"why": "no longer there", "count": 1},
    ]  # fmt: skip
    again = previewed(server, verb="redrive", filters={"machine": machines[1]})
    assert set(again["names"]) == {"order-11", "order-5"}
    assert again["skipped"] == [{"why": "Execution is SUCCEEDED and cannot be redriven", "count": 4}]
    assert lines(server, "executions/bulk", {"verb": "redrive", "arns": again["arns"]})[-1]["succeeded"] == 2
    assert names(read(server, "executions", status="RUNNING")["executions"]) == ["order-11", "order-5"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"verb": "delete", "arns": ["x"]}, "The verb must be stop or redrive: delete"),
        ({"verb": "stop"}, "The request needs arns"),
        ({"verb": "stop", "arns": []}, "The request needs arns"),
        ({"verb": "stop", "arns": ["nonsense"]}, "Invalid Arn"),
        ({"verb": "stop", "arns": ["x"] * 5_001}, "At most 5000 executions"),
    ],
)
def test_odd_requests_are_refused(server, machines, body, words):
    status, text = asked(server, "POST", "executions/bulk", body=body)
    assert status == 400
    assert json.loads(text)["message"].startswith(words)
