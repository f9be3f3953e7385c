"""Handlers of functions with AWS Lambda Powertools: idempotency on DynamoDB, a queue's batch with partial failures."""

import os

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent,
    idempotent_function,
)
from aws_lambda_powertools.utilities.typing import LambdaContext

logger = Logger(service="payments")
metrics = Metrics(namespace="shop", service="payments")
seen = DynamoDBPersistenceLayer(table_name="idempotency")
charges = boto3.resource("dynamodb").Table("charges")


def count(key: str) -> int:
    """Count a charge, and return how many there are of this key."""
    changed = charges.update_item(
        Key={"id": key},
        UpdateExpression="ADD charged :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    return int(changed["Attributes"]["charged"])


@logger.inject_lambda_context(log_event=True)
@metrics.log_metrics(capture_cold_start_metric=True)
@idempotent(persistence_store=seen, config=IdempotencyConfig(event_key_jmespath="payment", expires_after_seconds=3600))
def pay(event: dict, context: LambdaContext) -> dict:
    """Charge a payment once, however often the event arrives."""
    if event.get("fail"):
        raise ValueError("declined")
    metrics.add_metric(name="charged", unit=MetricUnit.Count, value=1)
    return {
        "charged": count(event["payment"]),
        "currency": parameters.get_parameter("/shop/currency"),
        "key": parameters.get_secret("shop-key"),
        "request": context.aws_request_id,
    }


batches = BatchProcessor(event_type=EventType.SQS)
by_message = IdempotencyConfig(event_key_jmespath="messageId")


@idempotent_function(data_keyword_argument="record", persistence_store=seen, config=by_message)
def take(record: SQSRecord) -> None:
    """Charge what a message names; some messages never succeed."""
    order = record.json_body["order"]
    if order % 5 == 0:
        raise ValueError(f"order {order} is bad")
    count(f"order-{order}")


def take_batch(event: dict, context: LambdaContext) -> dict:
    """Take a batch; only its failed messages return to the queue."""
    by_message.register_lambda_context(context)
    logger.info("batch", extra={"messages": len(event["Records"]), "folder": os.getcwd()})
    return process_partial_response(
        event=event, record_handler=lambda record: take(record=record), processor=batches, context=context
    )
