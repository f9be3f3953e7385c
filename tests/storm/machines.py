"""The machines of the storm: one whose tasks act on every service, with effects that can be counted afterwards.

Each task of it either leaves something that is counted (a message, a number that was added to), or refuses to be
repeated (a condition, a name that is taken), so that a repetition fails the execution.
"""

from __future__ import annotations

from typing import Any, Final

from tests.storm.client import ACCOUNT, REGION

ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/storm"
STATES: Final = f"arn:aws:states:{REGION}:{ACCOUNT}"
TOPIC: Final = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"
QUEUES: Final = ("effects", "copies", "events", "tokens", "direct", "fired", "express")
TABLE: Final = "counts"
BUCKET: Final = "storm"
COUNTED: Final = {"effects": ("send", "batch a", "batch b", "publish"), "copies": ("publish",)}
"""The messages that one execution leaves in each queue."""

State = dict[str, Any]


def url(queue: str) -> str:
    """The address of a queue."""
    return f"http://localhost/{ACCOUNT}/{queue}"


def queue_arn(queue: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"


def task(resource: str, **more: Any) -> State:
    parameters = {name: value for name, value in more.items() if name not in ("ResultPath", "ResultSelector")}
    kept = {name: value for name, value in more.items() if name not in parameters}
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::{resource}",
        "Parameters": parameters,
        "ResultPath": None,
        **kept,
    }


def chained(**states: State) -> dict[str, Any]:
    """States that follow one another."""
    names = list(states)
    after: list[State] = [*({"Next": name} for name in names[1:]), {"End": True}]
    return {
        "StartAt": names[0],
        "States": {name: {**states[name], **then} for name, then in zip(names, after, strict=True)},
    }


def said(what: str) -> str:
    """A text of the execution's own."""
    return f"States.Format('{what} {{}}', $.name)"


def key(prefix: str) -> dict[str, Any]:
    return {"id": {"S.$": f"States.Format('{prefix}-{{}}', $.name)"}}


ONE: Final = {":one": {"N": "1"}}
SCHEDULE: Final = {
    "Name.$": "$.name",
    "ScheduleExpression": "rate(300 days)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": queue_arn("fired"), "RoleArn": ROLE},
}

EFFECTS: Final = chained(
    Send=task("sqs:sendMessage", QueueUrl=url("effects"), **{"MessageBody.$": said("send")}),
    Batch=task(
        "aws-sdk:sqs:sendMessageBatch",
        QueueUrl=url("effects"),
        Entries=[{"Id": one, "MessageBody.$": said(f"batch {one}")} for one in ("a", "b")],
    ),
    Publish=task("sns:publish", TopicArn=TOPIC, **{"Message.$": said("publish")}),
    Add=task(
        "dynamodb:updateItem",
        TableName=TABLE,
        Key=key("add"),
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues=ONE,
        ReturnValues="UPDATED_NEW",
        ResultPath="$.added",
        ResultSelector={"n.$": "$.Attributes.n.N"},
    ),
    Together=task(
        "aws-sdk:dynamodb:transactWriteItems",
        TransactItems=[
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": key("transact"),
                    "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": ONE,
                }
            }
        ],
    ),
    Put=task("dynamodb:putItem", TableName=TABLE, Item=key("put"), ConditionExpression="attribute_not_exists(id)"),
    Delete=task("dynamodb:deleteItem", TableName=TABLE, Key=key("put"), ConditionExpression="attribute_exists(id)"),
    Event=task(
        "events:putEvents", Entries=[{"Source": "storm", "DetailType": "effect", "Detail": {"name.$": "$.name"}}]
    ),
    Schedule=task("aws-sdk:scheduler:createSchedule", **SCHEDULE),
    Unschedule=task("aws-sdk:scheduler:deleteSchedule", **{"Name.$": "$.name"}),
    Store=task(
        "aws-sdk:s3:putObject",
        Bucket=BUCKET,
        Body="stored",
        IfNoneMatch="*",
        ResultPath="$.stored",
        **{"Key.$": "$.name"},
    ),
    Copy=task(
        "aws-sdk:s3:copyObject",
        Bucket=BUCKET,
        IfNoneMatch="*",
        **{"Key.$": "States.Format('copy-{}', $.name)", "CopySource.$": f"States.Format('{BUCKET}/{{}}', $.name)"},
    ),
    Unstore=task("aws-sdk:s3:deleteObject", Bucket=BUCKET, **{"Key.$": "$.name", "IfMatch.$": "$.stored.ETag"}),
    Child=task(
        "states:startExecution",
        StateMachineArn=f"{STATES}:stateMachine:leaf",
        Input={"name.$": "$.name", "kind": "child"},
    ),
    Named=task(
        "states:startExecution",
        StateMachineArn=f"{STATES}:stateMachine:leaf",
        Input={"name.$": "$.name", "kind": "named"},
        **{"Name.$": "States.Format('named-{}', $.name)"},
    ),
    Express=task(
        "states:startExecution",
        StateMachineArn=f"{STATES}:stateMachine:express",
        Input={"name.$": "$.name"},
    ),
    Answered=task(
        "states:startExecution.waitForTaskToken",
        StateMachineArn=f"{STATES}:stateMachine:answers",
        Input={"name.$": "$.name", "kind": "answers", "token.$": "$$.Task.Token"},
    ),
    Done={"Type": "Pass", "Parameters": {"name.$": "$.name", "added.$": "$.added.n"}},
)
LEAF: Final = chained(Leaf={"Type": "Pass"})
TOKEN: Final = chained(
    Ask=task(
        "sqs:sendMessage.waitForTaskToken",
        QueueUrl=url("tokens"),
        MessageBody={"name.$": "$.name", "token.$": "$$.Task.Token"},
        ResultPath="$",
    )
)
ANSWERS: Final = chained(
    Answer=task("aws-sdk:sfn:sendTaskSuccess", Output={"answered": True}, **{"TaskToken.$": "$.token"})
)
"""Answers the execution that has started it. A second answer is refused, and fails the execution."""
EXPRESS: Final = chained(
    Tell=task(
        "sqs:sendMessage",
        QueueUrl=url("express"),
        MessageBody={"name.$": "$.name", "execution.$": "$$.Execution.Id"},
    )
)
"""Tells which execution it is: an EXPRESS execution runs again after a crash, but must not be started again."""
MACHINES: Final = {"effects": EFFECTS, "leaf": LEAF, "token": TOKEN, "answers": ANSWERS, "express": EXPRESS}
