"""The tools that deploy stacks, as their users call them, and the check that what they deployed works.

Every tool deploys an application of `applications/` with the same parts: an event starts a workflow, which asks a
function for a price, keeps the order in a table and sends it to a queue; an HTTP API quotes prices. Its outputs name
the parts.
"""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from statewright.cli.env import node_options
from tests.deadlines import completed, until
from tests.e2e.conftest import Server

APPLICATIONS = Path(__file__).parent / "applications"
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
    """Copies an application, with the code of its function."""

    def copied(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(APPLICATIONS / name, folder)
        (folder / "price").mkdir()
        shutil.copyfile(APPLICATIONS / "price.py", folder / "price" / "app.py")
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

    def price_of(self, id: str, amount: int) -> int:
        """Order something with an event, and return the price with which it arrives at the table and in the queue."""
        outputs = self.outputs()
        entry = {
            "EventBusName": outputs["BusName"], "Source": "shop", "DetailType": "Ordered",
            "Detail": json.dumps({"id": id, "amount": amount}),
        }  # fmt: skip
        assert self.server.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0
        queues = self.server.client("sqs")
        message = until(
            lambda: queues.receive_message(QueueUrl=outputs["QueueUrl"], WaitTimeSeconds=5).get("Messages"),
            "the order in the queue",
        )[0]
        queues.delete_message(QueueUrl=outputs["QueueUrl"], ReceiptHandle=message["ReceiptHandle"])
        sent = json.loads(message["Body"])
        key = {"id": {"S": id}}
        kept = self.server.client("dynamodb").get_item(TableName=outputs["TableName"], Key=key)["Item"]
        assert (sent["id"], int(kept["price"]["N"])) == (id, sent["price"])
        runs = self.server.client().list_executions(stateMachineArn=outputs["MachineArn"])["executions"]
        assert {one["status"] for one in runs} == {"SUCCEEDED"}
        price: int = sent["price"]
        return price

    def quote_of(self, id: str, amount: int) -> int:
        """Ask the HTTP API of the application for a price."""
        address = f"{self.server.url}/_apis/{self.outputs()['ApiId']}/$default/quote/{id}?amount={amount}"
        with urllib.request.urlopen(address) as answer:
            found = json.load(answer)
        assert found["id"] == id
        price: int = found["price"]
        return price

    def is_gone(self) -> bool:
        """True if the stack is described by its name no more."""
        stacks = self.server.client("cloudformation").list_stacks(
            StackStatusFilter=["CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_FAILED", "DELETE_IN_PROGRESS"]
        )
        return self.stack not in {one["StackName"] for one in stacks["StackSummaries"]}
