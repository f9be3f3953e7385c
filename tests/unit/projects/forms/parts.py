"""Parts that the projects share: handlers, definitions, the wrapping of templates."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

Files = dict[str, str]

PYTHON = (
    "import json\n\n\ndef lambda_handler(event, context):\n    return {'statusCode': 200, 'body': json.dumps(event)}\n"
)
NODE = "exports.handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });\n"
DEFINITION = {
    "Comment": "one task and a choice",
    "StartAt": "Check",
    "States": {
        "Check": {"Type": "Task", "Resource": "${CheckFunctionArn}", "Next": "Store", "Retry": [
            {"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 15, "MaxAttempts": 5, "BackoffRate": 1.5}
        ]},
        "Store": {"Type": "Task", "Resource": "${DDBPutItem}", "Parameters": {
            "TableName": "${DDBTable}", "Item": {"Id": {"S.$": "$.id"}}
        }, "End": True},
    },
}  # fmt: skip


def sam(body: str, **files: str) -> Files:
    """A SAM project; names of more files have `__` for `/` and `_DOT_` for `.`."""
    head = "AWSTemplateFormatVersion: '2010-09-09'\nTransform: AWS::Serverless-2016-10-31\nDescription: >\n  a sample\n"
    return {"template.yaml": head + dedent(body), "src/app.py": PYTHON, **_named(files)}


def plain(body: str, **files: str) -> Files:
    """A project of a plain CloudFormation template."""
    return {"template.yaml": "AWSTemplateFormatVersion: 2010-09-09\n" + dedent(body), **_named(files)}


def service(body: str, **files: str) -> Files:
    """A project of a `serverless.yml`."""
    return {"serverless.yml": dedent(body), "handler.js": NODE, "handler.py": PYTHON, **_named(files)}


def _named(files: Files) -> Files:
    return {name.replace("_DOT_", ".").replace("__", "/"): dedent(text) for name, text in files.items()}


def text(value: Any) -> str:
    """A value as the JSON that a tool writes."""
    return json.dumps(value, indent=1)
