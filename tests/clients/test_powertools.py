"""AWS Lambda Powertools inside functions, from a layer: idempotency, partial failures of a batch, parameters, logs."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import PROGRAMS
from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server
from tests.thoroughness import slow

pytestmark = slow
LIBRARIES = ("aws_lambda_powertools", "jmespath", "typing_extensions.py")
ORDERS = 40


@pytest.fixture(scope="module")
def layer(server: Server, client_folder: Path) -> str:
    """A layer with what `pip install --target python aws-lambda-powertools` installs."""
    (packages,) = client_folder.parent.glob("lib/python*/site-packages")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in LIBRARIES:
            found = packages / name
            for path in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
                archive.write(path, f"python/{path.relative_to(packages)}")
    published = server.client("lambda").publish_layer_version(
        LayerName="powertools", Content={"ZipFile": packed.getvalue()}
    )
    arn: str = published["LayerVersionArn"]
    return arn


@pytest.fixture(scope="module")
def tables(server: Server) -> Any:
    dynamodb = server.client("dynamodb")
    for name in ("idempotency", "charges"):
        dynamodb.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )  # fmt: skip
    return dynamodb


def deploy(server: Server, layer: str, handler: str, timeout_seconds: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(PROGRAMS / "powertools_handlers.py", "app.py")
    server.client("lambda").create_function(
        FunctionName=handler, Runtime="python3.12", Role=ROLE, Handler=f"app.{handler}", Timeout=timeout_seconds,
        Layers=[layer], Code={"ZipFile": packed.getvalue()},
        Environment={"Variables": {"POWERTOOLS_SERVICE_NAME": "payments"}},
    )  # fmt: skip


def test_a_payment_is_charged_once(server: Server, layer: str, tables: Any) -> None:
    deploy(server, layer, "pay", 30)
    server.client("ssm").put_parameter(Name="/shop/currency", Value="EUR", Type="String")
    server.client("secretsmanager").create_secret(Name="shop-key", SecretString="k")
    functions = server.client("lambda")

    def pay(**event: object) -> tuple[dict[str, Any], str]:
        answer = functions.invoke(FunctionName="pay", Payload=json.dumps(event), LogType="Tail")
        return json.loads(answer["Payload"].read()), base64.b64decode(answer["LogResult"]).decode()

    first, log = pay(payment="p1")
    assert (first["charged"], first["currency"], first["key"]) == (1, "EUR", "k")
    assert '"_aws":{"Timestamp"' in log
    assert pay(payment="p1")[0] == first
    assert pay(payment="p2")[0]["request"] != first["request"]
    failed, log = pay(payment="p3", fail=True)
    assert (failed["errorType"], failed["errorMessage"]) == ("ValueError", "declined")
    # A failed call is not remembered.
    assert pay(payment="p3")[0]["charged"] == 1


def test_only_the_failed_messages_of_a_batch_return(server: Server, layer: str, tables: Any) -> None:
    sqs = server.client("sqs")
    dead = sqs.create_queue(QueueName="orders-dead")["QueueUrl"]
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:orders-dead", "maxReceiveCount": 2}
    orders = sqs.create_queue(
        QueueName="orders-taken", Attributes={"RedrivePolicy": json.dumps(policy), "VisibilityTimeout": "10"}
    )["QueueUrl"]
    deploy(server, layer, "take_batch", 10)
    server.client("lambda").create_event_source_mapping(
        FunctionName="take_batch", EventSourceArn="arn:aws:sqs:us-east-1:000000000000:orders-taken", BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )  # fmt: skip
    for order in range(1, ORDERS + 1):
        sqs.send_message(QueueUrl=orders, MessageBody=json.dumps({"order": order}))
    bad = [order for order in range(1, ORDERS + 1) if order % 5 == 0]

    def dead_letters() -> bool:
        shown = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
        return int(shown["Attributes"]["ApproximateNumberOfMessages"]) == len(bad)

    until(dead_letters, "the dead letters")
    charged = tables.scan(TableName="charges", ConsistentRead=True)["Items"]
    counts = {one["id"]["S"]: one["charged"]["N"] for one in charged if one["id"]["S"].startswith("order-")}
    assert counts == {f"order-{order}": "1" for order in range(1, ORDERS + 1) if order not in bad}
