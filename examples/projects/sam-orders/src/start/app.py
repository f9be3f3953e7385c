"""Starts one execution for each order of the queue."""

import json
import os

import boto3

states = boto3.client("stepfunctions")


def handler(event, context):
    failed = []
    for record in event["Records"]:
        try:
            order = json.loads(record["body"])
            states.start_execution(
                stateMachineArn=os.environ["ORDER_MACHINE"], name=f"order-{order['orderId']}", input=json.dumps(order)
            )
        except states.exceptions.ExecutionAlreadyExists:
            pass
        except Exception as problem:
            print(f"{record['messageId']}: {problem!r}")
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
