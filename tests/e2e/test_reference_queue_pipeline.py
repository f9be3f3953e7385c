"""Files over a queue on a real server: functions, an event source mapping, dead letters, and a machine that waits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, entered, history, system

FILES = 200
BROKEN = {7, 77, 177}
VISIBILITY_SECONDS = 8


def redrive(dead_arn: str, count: int) -> dict[str, Any]:
    return {"deadLetterTargetArn": dead_arn, "maxReceiveCount": count}


def mapped(made: System, queue_arn: str, function: str, **settings: Any) -> str:
    mapping = made.client("lambda").create_event_source_mapping(
        EventSourceArn=queue_arn, FunctionName=made.named(function), **settings
    )
    return str(mapping["UUID"])


def unmap(made: System, uuid: str) -> None:
    made.client("lambda").delete_event_source_mapping(UUID=uuid)


# ---------------------------------------------------------------------- the whole pipeline


def put_files(made: System, bucket: str) -> None:
    s3 = made.client("s3")

    def put(number: int) -> None:
        value = "broken" if number in BROKEN else str(number)
        s3.put_object(Bucket=bucket, Key=f"in/{number:03}.csv", Body=f"name,value\nfirst,{value}\nsecond,1\n")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(FILES)))


@pytest.mark.slow
def test_two_hundred_files_are_final_and_what_is_broken_is_told(server):
    made = system(server, "file-pipeline")
    files, table = made.bucket("files"), made.table("status", "run_id", "file")
    dead_url, dead_arn = made.queue("dead")
    url, arn = made.queue("queue", VisibilityTimeout=str(VISIBILITY_SECONDS), RedrivePolicy=redrive(dead_arn, 2))
    for name in ("enqueue-files", "treat-file", "mark-failed", "count-final-files", "summarise"):
        made.function(
            name,
            variables={"QUEUE_URL": url, "STATUS_TABLE": table},
            Timeout=VISIBILITY_SECONDS if name == "treat-file" else 30 if name == "mark-failed" else 300,
        )
    put_files(made, files)
    sfn = made.client("stepfunctions")
    execution = made.start(made.machine(seconds=1), {"prefix": f"s3://{files}/in/"}, name="run")

    def statuses() -> Counter[str]:
        return Counter(item["status"]["S"] for item in made.items(table, "run_id", "run"))

    until(lambda: sum(made.counts(url).values()) == FILES, "a message for each file")
    assert statuses() == {"NotProcessed": FILES}
    worker = mapped(
        made, arn, "treat-file", FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 3}, MetricsConfig={"Metrics": ["EventCount"]},
    )  # fmt: skip

    until(lambda: made.counts(dead_url)["visible"] == len(BROKEN), "the end of the broken files")
    assert made.counts(url) == {"visible": 0, "in_flight": 0, "delayed": 0}
    assert statuses() == {"done": FILES - len(BROKEN), "NotProcessed": len(BROKEN)}
    # Nobody has told of the dead ones yet: the run is not over before somebody does.
    assert sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
    reporter = mapped(made, dead_arn, "mark-failed")
    shown = ended(sfn, execution)
    assert shown["status"] == "SUCCEEDED"
    good, bad = FILES - len(BROKEN), len(BROKEN)
    assert json.loads(shown["output"]) == {"run_id": "run", "done": good, "error": bad, "open": 0}
    items = {item["file"]["S"].rpartition("/")[2]: item for item in made.items(table, "run_id", "run")}
    errors = [name for name, item in items.items() if item["status"]["S"] == "error"]
    assert errors == [f"{number:03}.csv" for number in sorted(BROKEN)]
    assert all(int(items[name]["received"]["N"]) > 2 for name in errors)
    assert items["042.csv"]["total"] == {"N": "43"}
    states = entered(history(sfn, execution))
    assert (states[0], states[-1]) == ("Enqueue Files", "Summarise")
    until(lambda: set(made.counts(dead_url).values()) == {0}, "an empty dead-letter queue")
    for uuid in (worker, reporter):
        unmap(made, uuid)
    check_metrics(made, worker)


def check_metrics(made: System, mapping: str) -> None:
    """What a dashboard of the run shows: the queues, the worker and its mapping, the machine."""
    watch = made.client("cloudwatch")
    began = datetime.now(UTC) - timedelta(minutes=10)
    queue, dead, worker = (
        {"QueueName": made.named("queue")}, {"QueueName": made.named("dead")},
        {"FunctionName": made.named("treat-file")},
    )  # fmt: skip
    machine = {"StateMachineArn": f"arn:aws:states:us-east-1:000000000000:stateMachine:{made.named('machine')}"}

    def shown(namespace: str, name: str, dimensions: dict[str, str], statistic: str) -> float:
        named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
        points = watch.get_metric_statistics(
            Namespace=f"AWS/{namespace}", MetricName=name, Dimensions=named, StartTime=began,
            EndTime=datetime.now(UTC) + timedelta(minutes=1), Period=60, Statistics=[statistic],
        )["Datapoints"]  # fmt: skip
        values = [float(point[statistic]) for point in points]
        return sum(values) if statistic == "Sum" else max(values, default=0.0)

    good, bad = FILES - len(BROKEN), len(BROKEN)
    for namespace, name, dimensions, statistic, expected in (
        ("SQS", "NumberOfMessagesSent", queue, "Sum", FILES),
        ("SQS", "NumberOfMessagesDeleted", queue, "Sum", good),
        # What is moved there is not sent there, as the service counts.
        ("SQS", "NumberOfMessagesSent", dead, "Sum", 0),
        ("SQS", "NumberOfMessagesDeleted", dead, "Sum", bad),
        ("Lambda", "Errors", worker, "Sum", 0),
        ("Lambda", "Throttles", worker, "Sum", 0),
        ("Lambda", "DeletedEventCount", {"EventSourceMappingUUID": mapping}, "Sum", good),
        ("States", "ExecutionsStarted", machine, "Sum", 1),
        ("States", "ExecutionsSucceeded", machine, "Sum", 1),
        ("States", "ExecutionsFailed", machine, "Sum", 0),
    ):
        until(
            partial(equal, partial(shown, namespace, name, dimensions, statistic), expected),
            f"{namespace} {name} of {dimensions} = {expected}",
        )
    assert 1 <= shown("Lambda", "ConcurrentExecutions", worker, "Maximum") <= 3
    # Levels are read at the end of a second; broken files are in flight for several of them.
    assert shown("SQS", "ApproximateNumberOfMessagesVisible", queue, "Maximum") <= FILES
    assert shown("SQS", "ApproximateNumberOfMessagesVisible", dead, "Maximum") <= bad
    assert shown("SQS", "ApproximateNumberOfMessagesNotVisible", queue, "Maximum") >= bad
    assert shown("SQS", "ApproximateAgeOfOldestMessage", queue, "Maximum") > 0
    assert shown("States", "ExecutionTime", machine, "Maximum") >= 1_000
    listed = watch.list_metrics(Namespace="AWS/SQS", Dimensions=[{"Name": "QueueName", "Value": queue["QueueName"]}])
    names = {metric["MetricName"] for metric in listed["Metrics"]}
    assert {"ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} <= names
    check_success_rate(made, watch, began)


def equal(ask: Callable[[], float], expected: float) -> bool:
    return ask() == expected


def check_success_rate(made: System, watch: Any, began: datetime) -> None:
    """The one curve of the figures that is computed: invocations that did not fail, of a hundred."""
    dimensions = [{"Name": "FunctionName", "Value": made.named("treat-file")}]
    queries: list[dict[str, Any]] = [
        {"Id": name.lower(), "ReturnData": False, "MetricStat": {
            "Metric": {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": dimensions},
            "Period": 60, "Stat": "Sum",
        }}
        for name in ("Errors", "Invocations")
    ]  # fmt: skip
    rate = {"Id": "rate", "Expression": "100 - 100 * errors / invocations", "Label": "success rate"}
    answer = watch.get_metric_data(
        MetricDataQueries=[*queries, rate], StartTime=began, EndTime=datetime.now(UTC) + timedelta(minutes=1)
    )
    [curve] = answer["MetricDataResults"]
    assert (curve["Label"], set(curve["Values"])) == ("success rate", {100.0})


# ---------------------------------------------------------------------- poison

MESSAGES, POISON = 60, 3
"""One in twenty is poison."""
WORKER = """
import json

def handler(event, context):
    bad = [one["messageId"] for one in event["Records"] if "poison" in one["body"]]
    print(len(event["Records"]), len(bad))
    if bad and not REPORTS:
        raise ValueError("poison")
    return {"batchItemFailures": [{"itemIdentifier": one} for one in bad]}
"""


def poisoned(made: System, *, reports: bool) -> tuple[str, str]:
    """Send messages, one in twenty of them poison, then treat them; returns the addresses of both queues."""
    dead_url, dead_arn = made.queue("dead")
    url, arn = made.queue("queue", VisibilityTimeout=str(VISIBILITY_SECONDS), RedrivePolicy=redrive(dead_arn, 3))
    made.function("worker", WORKER.replace("REPORTS", str(reports)), Timeout=VISIBILITY_SECONDS)
    # A worker is warm: no message comes back because the first start took its time.
    made.client("lambda").invoke(FunctionName=made.named("worker"), Payload=b'{"Records": []}')
    sqs = made.client("sqs")
    for first in range(0, MESSAGES, 10):
        bodies = [f"{'poison' if number % 20 == 13 else 'good'} {number}" for number in range(first, first + 10)]
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)
    given = {"FunctionResponseTypes": ["ReportBatchItemFailures"]} if reports else {}
    uuid = mapped(made, arn, "worker", BatchSize=10, **given)

    def over() -> bool:
        # A message is in one of the queues until it is deleted, and nowhere twice.
        return sum(made.counts(url).values()) == 0

    until(over, "an empty queue")
    unmap(made, uuid)
    return url, dead_url


def bodies(made: System, url: str, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        answer = made.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=60)
        if not answer.get("Messages"):
            break
        found += [message["Body"] for message in answer["Messages"]]
    return found


@pytest.mark.slow
def test_with_reports_only_the_poison_dies(server):
    made = system(server)
    _, dead_url = poisoned(made, reports=True)
    assert made.counts(dead_url) == {"visible": POISON, "in_flight": 0, "delayed": 0}
    assert sorted(bodies(made, dead_url, POISON)) == ["poison 13", "poison 33", "poison 53"]


@pytest.mark.slow
def test_without_reports_good_messages_die_of_their_neighbours(server):
    made = system(server)
    _, dead_url = poisoned(made, reports=False)
    dead = made.counts(dead_url)["visible"]
    found = bodies(made, dead_url, dead)
    assert len(found) == dead
    assert sum("poison" in body for body in found) == POISON
    # Three times in a batch with poison; of the thirty messages in such batches at first, some are lucky.
    assert POISON < dead <= MESSAGES // 2


# ---------------------------------------------------------------------- concurrency, counters

CROWDED = """
import time, uuid
import boto3

s3 = boto3.client("s3")

def handler(event, context):
    me = str(uuid.uuid4())
    s3.put_object(Bucket=BUCKET, Key="in/" + me)
    inside = s3.list_objects_v2(Bucket=BUCKET, Prefix="in/")["KeyCount"]
    s3.put_object(Bucket=BUCKET, Key="seen/%d-%s" % (inside, me))
    time.sleep(0.1)
    s3.delete_object(Bucket=BUCKET, Key="in/" + me)
"""


@pytest.mark.slow
def test_a_mapping_keeps_to_its_maximum_concurrency_and_the_counters_add_up(server):
    made = system(server)
    bucket = made.bucket("crowd")
    dead_url, dead_arn = made.queue("dead")
    url, arn = made.queue("queue", VisibilityTimeout="300", RedrivePolicy=redrive(dead_arn, 1))
    made.function("worker", CROWDED.replace("BUCKET", repr(bucket), 1).replace("BUCKET", repr(bucket)), Timeout=300)
    sqs = made.client("sqs")
    for batch in range(3):
        entries = [{"Id": str(number), "MessageBody": f"{batch} {number}"} for number in range(10)]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)
    sqs.send_message(QueueUrl=url, MessageBody="late", DelaySeconds=900)
    assert made.counts(url) == {"visible": 30, "in_flight": 0, "delayed": 1}
    uuid = mapped(made, arn, "worker", BatchSize=1, ScalingConfig={"MaximumConcurrency": 2})
    sums = []

    def done() -> bool:
        counts = made.counts(url)
        assert counts["in_flight"] <= 2
        assert counts["delayed"] == 1
        sums.append(sum(counts.values()))
        return counts == {"visible": 0, "in_flight": 0, "delayed": 1}

    until(done, "thirty invocations")
    # The counters are exact: what is not deleted is in one of them, so their sum never grows.
    assert sums == sorted(sums, reverse=True)
    seen = [int(key.partition("-")[0]) for key in made.keys(bucket, "seen/")]
    assert (len(seen), max(seen) <= 2) == (30, True)
    assert sum(made.counts(dead_url).values()) == 0
    unmap(made, uuid)


# ---------------------------------------------------------------------- refusals


@pytest.fixture(scope="module")
def plain(server: Server) -> System:
    made = system(server)
    made.queue("queue", VisibilityTimeout="30")
    made.queue("queue", FifoQueue="true")
    made.queue("dead")
    made.function("quick", "def handler(event, context): pass", Timeout=30)
    made.function("slow", "def handler(event, context): pass", Timeout=31)
    return made


def refused(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**request)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


INVALID = "InvalidParameterValueException"


@pytest.mark.parametrize(
    ("queue", "function", "settings", "text"),
    [
        ("", "quick", {"BatchSize": 11},
         "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10"),
        (".fifo", "quick", {"MaximumBatchingWindowInSeconds": 1}, "Batching window is not supported for FIFO queues."),
        ("", "slow", {}, "Queue visibility timeout: 30 seconds is less than Function timeout: 31 seconds"),
    ],
    ids=["batch over ten without a window", "FIFO with a window", "function slower than the visibility timeout"],
)  # fmt: skip
def test_mappings_that_cannot_be(plain, queue, function, settings, text):
    arn = f"arn:aws:sqs:us-east-1:000000000000:{plain.named('queue')}{queue}"
    create = plain.client("lambda").create_event_source_mapping
    code, message = refused(create, EventSourceArn=arn, FunctionName=plain.named(function), **settings)
    assert code == INVALID
    assert text in message


def test_messages_and_policies_that_cannot_be(plain):
    sqs = plain.client("sqs")
    url = sqs.get_queue_url(QueueName=plain.named("queue"))["QueueUrl"]
    assert refused(sqs.send_message, QueueUrl=url, MessageBody="m", DelaySeconds=901) == (
        "InvalidParameterValue",
        "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
    )
    policy = json.dumps(redrive(f"arn:aws:sqs:us-east-1:000000000000:{plain.named('dead')}", 1001))
    code, message = refused(sqs.set_queue_attributes, QueueUrl=url, Attributes={"RedrivePolicy": policy})
    assert code == "InvalidParameterValue"
    assert "Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive." in message
