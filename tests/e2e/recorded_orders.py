"""Executions of an order machine whose tasks are activities, so that a test decides what each call is answered with."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from typing import Any

from tests.e2e.conftest import ROLE, ended

Answer = dict[str, Any] | str
"""What an activity answers: a result, or the name of an error."""


class Orders:
    """The machine `name` on a server: Check, Charge with retries, Ship; a failed charge releases the stock."""

    def __init__(self, server: Any, name: str) -> None:
        self.server, self.name = server, name
        self.sfn = server.client("stepfunctions")
        made = [self.sfn.create_activity(name=f"{name}-{one}")["activityArn"] for one in ("check", "charge", "ship")]
        self.check, self.charge, self.ship = made
        text = json.dumps(self.definition())
        self.machine: str = self.sfn.create_state_machine(name=name, definition=text, roleArn=ROLE)["stateMachineArn"]

    def definition(self, attempts: int = 3, caught: str = "States.Timeout") -> dict[str, Any]:
        """The definition, with so many retries of Charge, and a Catch of this error."""
        retry = [{"ErrorEquals": ["GatewayBusy"], "IntervalSeconds": 1, "MaxAttempts": attempts, "BackoffRate": 1.0}]
        states = {
            "Check": {"Type": "Task", "Resource": self.check, "ResultPath": "$.stock", "Next": "In stock?"},
            "In stock?": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.stock.left", "NumericLessThan": 1, "Next": "Refuse"},
                    {"Variable": "$.stock.left", "NumericGreaterThanEquals": 1, "Next": "Charge card"},
                ],
                "Default": "Refuse",
            },
            "Charge card": {
                "Type": "Task", "Resource": self.charge, "Parameters": {"order.$": "$.order", "cents.$": "$.cents"},
                "ResultPath": "$.charge", "Retry": retry, "Next": "Ship",
                "Catch": [{"ErrorEquals": [caught], "ResultPath": "$.problem", "Next": "Release stock"}],
            },
            "Ship": {"Type": "Task", "Resource": self.ship, "End": True},
            "Release stock": {"Type": "Task", "Resource": self.check, "ResultPath": "$.released", "Next": "Refuse"},
            "Refuse": {"Type": "Fail", "Error": "Refused", "Cause": "This order cannot be met."},
        }  # fmt: skip
        return {"StartAt": "Check", "States": states}

    def run(self, order: str, charges: Iterable[Answer], *, left: int = 3, cents: int = 500) -> str:
        """The ARN of an execution that has ended: Charge is answered with `charges`, one after the other."""
        given = json.dumps({"order": order, "cents": cents})
        arn: str = self.sfn.start_execution(stateMachineArn=self.machine, name=order, input=given)["executionArn"]
        self.answer(self.check, {"left": left})
        last: Answer = "no call"
        for last in charges:
            self.answer(self.charge, last)
        if isinstance(last, dict):
            self.answer(self.ship, {"parcel": f"p-{order}"})
        ended(self.sfn, arn)
        return arn

    def answer(self, activity: str, answer: Answer) -> None:
        """Answer the next call of an activity."""
        token = self.sfn.get_activity_task(activityArn=activity)["taskToken"]
        if isinstance(answer, str):
            self.sfn.send_task_failure(taskToken=token, error=answer, cause=f"{answer} was the answer")
        else:
            self.sfn.send_task_success(taskToken=token, output=json.dumps(answer))


def asked(server: Any, method: str, path: str, document: Any = None) -> tuple[int, list[Any]]:
    """A request as the console's page makes it: its status, and the documents that it was answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        headers = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Content-Type": "application/json"}
        body = None if document is None else json.dumps(document)
        connection.request(method, f"/console/api/{path}", body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, [json.loads(line) for line in text.splitlines()]
    finally:
        connection.close()


def posted(server: Any, path: str, **document: Any) -> Any:
    """The document that a posted one is answered with, and its `httpStatus`."""
    status, [found] = asked(server, "POST", path, document)
    return {"httpStatus": status, **found}
