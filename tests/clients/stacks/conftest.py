"""The tools that deploy stacks, as their users call them, and the check that what they deployed works.

Every tool deploys the order API of `examples/projects/order-api`: with SAM its own template, with the CDK and the
Serverless Framework the descriptions in `applications/`. Its outputs name the parts.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from statewright.cli.env import node_options
from tests.deadlines import completed, until
from tests.e2e.conftest import Server

APPLICATIONS = Path(__file__).parent / "applications"
ORDER_API = Path(__file__).parents[3] / "examples" / "projects" / "order-api"
SAM = Path(sys.prefix) / "sam"
"""The environment of the SAM CLI. Made by make."""
ACCOUNT = "000000000000"
QUIET = {
    "CDK_DISABLE_CLI_TELEMETRY": "true",
    "CI": "true",
    "NODE_NO_WARNINGS": "1",
    "SAM_CLI_TELEMETRY": "0",
    "SLS_NOTIFICATIONS_MODE": "off",
    "SLS_TELEMETRY_DISABLED": "1",
}
"""What keeps the tools from asking, and from calling home. `CI` also makes their progress plain lines."""


@dataclass(frozen=True)
class Tool:
    """A tool in the folder of its application."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, answer: str = "") -> str:
        """Run it, with an answer to its questions; returns what it prints on both streams."""
        done = self.run(*arguments, answer=answer)
        shown = done.stdout + done.stderr
        assert done.returncode == 0, shown
        return shown

    def run(self, *arguments: str, answer: str = "") -> CompletedProcess[str]:
        """Run it, and return how it ended and what it printed."""
        return completed([*self.command, *arguments], cwd=self.folder, env=dict(self.environment), input=answer)


@pytest.fixture
def application(environment: Mapping[str, str], tmp_path: Path) -> Callable[[str], Path]:
    """Copies the order API, with the description of it for a tool."""

    def copied(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(ORDER_API, folder)
        if name != "sam":
            (folder / "template.yaml").unlink()
            shutil.copytree(APPLICATIONS / name, folder, dirs_exist_ok=True)
            shutil.copy(APPLICATIONS / "machines.cjs", folder)
        return folder

    return copied


@pytest.fixture
def cdk(packages: Path, application: Callable[[str], Path], environment: Mapping[str, str]) -> Tool:
    """The CDK's command, in the folder of its application."""
    folder = application("cdk")
    (folder / "node_modules").symlink_to(packages)
    command = ("node", str(packages / "aws-cdk" / "bin" / "cdk"))
    return Tool(command, folder, {**environment, **QUIET})


@pytest.fixture
def sam(application: Callable[[str], Path], environment: Mapping[str, str]) -> Tool:
    """The SAM CLI, in the folder of its application. Skips where it could not be installed."""
    if not (SAM / ".ready").is_file():
        pytest.skip("`make test-slow` installs tests/clients/sam/requirements.lock, which is not there")
    folder = application("sam")
    # `sam build` runs pip of the function's Python, which is that of the tests.
    runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
    template = folder / "template.yaml"
    template.write_text(template.read_text().replace("python3.12", runtime))
    path = f"{SAM / 'bin'}:{Path(sys.executable).parent}:{environment['PATH']}"
    return Tool((str(SAM / "bin" / "sam"),), folder, {**environment, **QUIET, "PATH": path})


@pytest.fixture
def sls(packages: Path, application: Callable[[str], Path], environment: Mapping[str, str]) -> Tool:
    """The Serverless Framework, version 3, in the folder of its service."""
    folder = application("sls")
    (folder / "node_modules").symlink_to(packages)
    command = ("node", str(packages / "serverless" / "bin" / "serverless.js"))
    return Tool(command, folder, {**environment, **QUIET, "NODE_OPTIONS": node_options("")})


@dataclass(frozen=True)
class Shop:
    """A deployed application, by the outputs of its stack."""

    server: Server
    stack: str

    def outputs(self) -> dict[str, str]:
        """The outputs of the stack by name."""
        (found,) = self.server.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}

    def called(self, path: str, *options: str) -> Any:
        """Call the HTTP API behind its own host with curl, and return the JSON that it answers."""
        address = f"http://{self.outputs()['ApiId']}.execute-api.localhost:{self.server.port}{path}"
        done = completed(["curl", "--silent", "--show-error", "--fail-with-body", *options, address])
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def ordered(self, order_id: str, item: str, pieces: int = 1) -> dict[str, Any]:
        """Order something, and return the output of the execution that answers."""
        order = json.dumps({"orderId": order_id, "lines": [{"item": item, "pieces": pieces}]})
        execution = self.called("/orders", "--data", order)
        assert execution["status"] == "SUCCEEDED", execution
        found: dict[str, Any] = json.loads(execution["output"])
        assert found["orderId"] == order_id
        return found

    def ordered_by_event(self, order_id: str) -> None:
        """Send the order of a partner to the event bus, and wait for it in the table."""
        detail = json.dumps({"orderId": order_id, "lines": [{"item": "pen"}]})
        entry = {"Source": "partner", "DetailType": "Ordered", "Detail": detail}
        assert self.server.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0
        self.sent("WarehouseUrl", order_id)
        assert self.called(f"/orders/{order_id}")["status"] == "ACCEPTED"

    def sent(self, queue: str, order_id: str) -> dict[str, Any]:
        """Wait for the message of an order in a queue, which has no other."""
        address = self.outputs()[queue]
        queues = self.server.client("sqs")
        message = until(
            lambda: queues.receive_message(QueueUrl=address, WaitTimeSeconds=5).get("Messages"),
            f"the order {order_id} in the queue",
        )[0]
        queues.delete_message(QueueUrl=address, ReceiptHandle=message["ReceiptHandle"])
        body: dict[str, Any] = json.loads(message["Body"])
        assert body["orderId"] == order_id
        return body

    def rejects(self, order_id: str) -> None:
        """Order something small, which waits for a decision now, and reject it by the link of its letter."""
        assert self.ordered(order_id, "lamp")["status"] == "WAITING"
        self.called(self.sent("MailsUrl", order_id)["reject"])
        until(lambda: self.called(f"/orders/{order_id}")["status"] == "REJECTED", "the rejected order")

    def works(self) -> None:
        """Order in every way: a small order at once, a large one by the link of its letter, one by an event."""
        assert self.ordered("small", "lamp") == {"orderId": "small", "total": 40, "status": "ACCEPTED"}
        self.sent("WarehouseUrl", "small")
        assert self.ordered("large", "desk", 2)["status"] == "WAITING"
        letter = self.sent("MailsUrl", "large")
        assert self.called("/orders/large")["status"] == "WAITING"
        assert self.called(letter["approve"])["message"] == "thank you"
        self.sent("WarehouseUrl", "large")
        assert self.called("/orders/large")["status"] == "ACCEPTED"
        runs = self.server.client().list_executions(stateMachineArn=self.outputs()["ApprovalArn"])["executions"]
        assert [(one["name"], one["status"]) for one in runs] == [("large", "SUCCEEDED")]
        self.ordered_by_event("partner")

    def is_gone(self) -> bool:
        """True if the stack is described by its name no more."""
        stacks = self.server.client("cloudformation").list_stacks(
            StackStatusFilter=["CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_FAILED", "DELETE_IN_PROGRESS"]
        )
        return self.stack not in {one["StackName"] for one in stacks["StackSummaries"]}
