"""What an API costs above the call behind it: server CPU per request, in paired rounds.

    .venv/bin/python bench/apis.py [ROUNDS]

Each round sends the same number of requests to an operation (Invoke, StartSyncExecution) and to an HTTP API or a URL in
front of it, one after the other on one connection; the difference of a pair is what that adds. CPU is that of the
server's process; workers of functions are processes of their own.
"""

from __future__ import annotations

import http.client
import io
import json
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
from served import ROLE, Served

REQUESTS = 400
HANDLER = "def handler(event, context):\n    return {'statusCode': 200, 'body': 'done'}\n"
DEFINITION = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
BODY = json.dumps({"order": 1, "text": "x" * 200}).encode()


def package() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("app.py", HANDLER)
    return made.getvalue()


def client(served: Served, service: str) -> Any:
    keys = {"aws_access_key_id": "bench", "aws_secret_access_key": "bench", "region_name": "us-east-1"}
    return boto3.client(service, endpoint_url=served.endpoint, **keys)


def prepared(served: Served) -> tuple[str, str, str, str]:
    """The id of an API with the routes /lambda and /sync, the ARNs of what is behind them, the host of a URL."""
    runtime = "python{}.{}".format(*sys.version_info)
    functions = client(served, "lambda")
    function = functions.create_function(
        FunctionName="echo", Runtime=runtime, Handler="app.handler", Role=ROLE, Code={"ZipFile": package()}
    )["FunctionArn"]
    machine = client(served, "stepfunctions").create_state_machine(
        name="express", definition=json.dumps(DEFINITION), roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]
    gateway = client(served, "apigatewayv2")
    api: str = gateway.create_api(Name="bench", ProtocolType="HTTP")["ApiId"]
    for key, settings in (
        ("POST /lambda", {"IntegrationUri": function, "PayloadFormatVersion": "2.0"}),
        ("POST /sync", {
            "IntegrationSubtype": "StepFunctions-StartSyncExecution", "PayloadFormatVersion": "1.0",
            "RequestParameters": {"StateMachineArn": machine, "Input": "$request.body"},
        }),
    ):  # fmt: skip
        made = gateway.create_integration(ApiId=api, IntegrationType="AWS_PROXY", **settings)["IntegrationId"]
        gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{made}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    url = functions.create_function_url_config(FunctionName="echo", AuthType="NONE")["FunctionUrl"]
    opening = {"Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionUrlAuthType": "NONE"}
    functions.add_permission(FunctionName="echo", StatementId="open", **opening)
    return api, function, machine, url.removeprefix("http://").rstrip("/")


def sender(served: Served, path: str, headers: dict[str, str], body: bytes) -> Callable[[], None]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port)

    def send() -> None:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")

    return send


def cost_us(served: Served, send: Callable[[], None]) -> float:
    before = served.cpu_seconds()
    for _ in range(REQUESTS):
        send()
    return (served.cpu_seconds() - before) / REQUESTS * 1e6


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder) / "data")
        served.start()
        api, function, machine, url = prepared(served)
        host = {"Host": f"{api}.execute-api.localhost", "Content-Type": "application/json"}
        path = f"/2015-03-31/functions/{function}/invocations"
        target = {"X-Amz-Target": "AWSStepFunctions.StartSyncExecution", "Content-Type": "application/x-amz-json-1.0"}
        started = json.dumps({"stateMachineArn": machine, "input": BODY.decode()}).encode()
        invoke, at_url = sender(served, path, {}, BODY), {**host, "Host": url}
        pairs = {
            "Invoke; through an HTTP API": (invoke, sender(served, "/lambda", host, BODY)),
            "Invoke; through a function URL": (invoke, sender(served, "/lambda", at_url, BODY)),
            "StartSyncExecution; through an HTTP API": (
                sender(served, "/", target, started), sender(served, "/sync", host, BODY),
            ),
        }  # fmt: skip
        for name, (direct, through) in pairs.items():
            cost_us(served, direct), cost_us(served, through)
            found = [(cost_us(served, direct), cost_us(served, through)) for _ in range(rounds)]
            added = statistics.median(one - other for other, one in found)
            alone = statistics.median(other for other, _ in found)
            print(f"{name}: {alone:.0f} us of server CPU {added:+.0f} us")
        served.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
