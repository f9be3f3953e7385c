"""The order API of `projects/order-api`, deployed from its template and called as its clients would.

Used by `real_time.py`. A small order is accepted within its request; a large one waits until a link is followed.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from results import Result, Started
from serving import PATIENCE_SECONDS, Running

PROJECT = Path(__file__).parent / "projects" / "order-api"
SMALL = {"orderId": "small", "lines": [{"item": "pen", "pieces": 3}]}
LARGE = {"orderId": "large", "lines": [{"item": "desk", "pieces": 2}]}


def order_api(running: Running) -> Started:
    """Two orders by HTTP; the link in the letter about the large one is followed once the letter is there."""
    api = Api(running, deployed(running))
    began = time.monotonic()
    answers = [placed(api, order)["status"] for order in (SMALL, LARGE)]
    mails = running.client("sqs").get_queue_url(QueueName="order-api-Mails")["QueueUrl"]
    seconds = 0.0

    def look() -> str:
        nonlocal seconds
        if len(answers) == 2:
            letters = running.client("sqs").receive_message(QueueUrl=mails).get("Messages", [])
            answers.extend(api("GET", json.loads(one["Body"])["approve"])["message"] for one in letters)
        elif len(answers) == 3 and (status := api("GET", "/orders/large")["status"]) != "WAITING":
            answers.append(status)
            seconds = time.monotonic() - began
        return f"orders {len(answers)} of 4 answers"

    def result() -> Result:
        good = answers == ["ACCEPTED", "WAITING", "thank you", "ACCEPTED"]
        line = "a small order " + ", a large one ".join(answers[:2])
        rest = "; its link said: " + ", then it was ".join(answers[2:]) if answers[2:] else ""
        return Result("Order API: HTTP in front, a link that answers a task token", good, seconds, [line + rest])

    return Started(look, result, lambda: len(answers) == 4)


def deployed(running: Running) -> str:
    """Deploy the project; returns the address of its API."""
    command = [sys.executable, "-m", "statewright.cli.main", "deploy", str(PROJECT), "--endpoint", running.endpoint]
    subprocess.run([*command, "-o", "json"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    (api,) = running.client("apigatewayv2").get_apis()["Items"]
    return f"/_apis/{api['ApiId']}/$default"


def placed(api: Api, order: Any) -> Any:
    """What the machine says of an order. An API waits 30 s for it: on a busy machine it is asked once more."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "output" not in (answer := api("POST", "/orders", order)) and time.monotonic() < deadline:
        time.sleep(1)
    return json.loads(answer["output"])


class Api:
    """Calls an API by its path on the server."""

    def __init__(self, running: Running, path: str) -> None:
        self._path = path
        self._connection = http.client.HTTPConnection(urlsplit(running.endpoint).netloc, timeout=PATIENCE_SECONDS)

    def __call__(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The JSON that a request is answered with."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, self._path + path, text, {"content-type": "application/json"})
        found: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return found
