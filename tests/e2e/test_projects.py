"""Projects on a real server: deployed twice, changed, pruned, and served by `statewright dev` while files change."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3  # type: ignore[import-untyped]
import pytest

from statewright.cli.commands import run_command
from tests.deadlines import PATIENCE_SECONDS, end, started, until
from tests.e2e.conftest import Server, ended

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "projects"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A plain folder of everything that one can have, under names of its own."""
    mark = f"s{uuid4().hex[:8]}"
    root = tmp_path / mark
    (root / "functions").mkdir(parents=True)
    (root / "functions" / f"{mark}-price.py").write_text("def handler(event, context):\n    return 1\n")
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": "one", "End": True}}}
    (root / f"{mark}-order.asl.json").write_text(json.dumps(machine))
    (root / "statewright.toml").write_text(
        f"""
        [queues.{mark}-orders]
        redrive = {{ queue = "{mark}-dead", receives = 2 }}
        [queues.{mark}-dead]
        [tables.{mark}-prices]
        hash = "id"
        [functions.{mark}-price]
        environment = {{ QUEUE = "${{queues.{mark}-orders}}" }}
        mapping = {{ queue = "{mark}-orders", batch_size = 5 }}
        """.replace("        ", "")
    )
    return root


def deploy(capsys: pytest.CaptureFixture[str], server: Server, place: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """What `statewright deploy -o json` says."""
    capsys.readouterr()
    code = run_command(["deploy", str(place), "--endpoint", server.url, "-o", "json", *more])
    out = capsys.readouterr().out
    return code, json.loads(out)


def outcomes(shown: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["outcome"] for one in shown["resources"]}


def test_a_strict_deployment_leaves_nothing_out(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):  # fmt: skip
    name = f"s{uuid4().hex[:8]}"
    place = tmp_path / "template.yaml"
    place.write_text(
        f"Resources:\n  Work: {{Type: 'AWS::SQS::Queue', Properties: {{QueueName: {name}}}}}\n"
        "  Net: {Type: 'AWS::EC2::VPC'}\n"
    )
    command = ["deploy", str(place), "--endpoint", server.url]
    assert run_command([*command, "--strict"]) == 1
    assert "these resources would be left out: Net (AWS::EC2::VPC)" in capsys.readouterr().err
    assert "QueueUrls" not in server.client("sqs").list_queues(QueueNamePrefix=name)
    assert run_command(command) == 0


def test_a_local_nested_template_is_part_of_its_project(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):  # fmt: skip
    name = f"s{uuid4().hex[:8]}"
    (tmp_path / "child.yaml").write_text(
        f"Resources:\n  Work: {{Type: 'AWS::SQS::Queue', Properties: {{QueueName: {name}}}}}\n"
        "Outputs: {Name: {Value: !GetAtt Work.QueueName}}\n"
    )
    place = tmp_path / "template.yaml"
    place.write_text(
        "Resources:\n  Inner: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: ./child.yaml}}\n"
        f"  Said: {{Type: 'AWS::SSM::Parameter', Properties: {{Name: {name}, Type: String, "
        "Value: !GetAtt Inner.Outputs.Name}}\n"
    )
    code, shown = deploy(capsys, server, place)
    assert (code, outcomes(shown)) == (0, {"InnerWork": "created", "Said": "created"})
    assert server.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == name


def test_a_machine_of_another_project_is_refused(server: Server, shop: Path, capsys: pytest.CaptureFixture[str]):
    mark = shop.name
    deploy(capsys, server, shop)
    rival = shop.parent / f"{mark}-rival"
    rival.mkdir()
    name = f"{mark}-order.asl.json"
    (rival / name).write_text((shop / name).read_text().replace("one", "two"))
    code, shown = deploy(capsys, server, rival)
    assert (code, outcomes(shown)) == (1, {f"machines.{mark}-order": "failed"})
    assert f"the project {mark}" in shown["resources"][0]["message"]
    code, shown = deploy(capsys, server, rival, "--take-over")
    assert (code, outcomes(shown)) == (0, {f"machines.{mark}-order": "updated"})
    code, shown = deploy(capsys, server, shop)
    assert code == 1, "it belongs to the other one now"


def test_a_folder_is_deployed_twice_and_pruned(server: Server, shop: Path, capsys: pytest.CaptureFixture[str]):
    mark = shop.name
    code, shown = deploy(capsys, server, shop, "--dry-run")
    assert (code, set(outcomes(shown).values())) == (0, {"created"})
    assert server.client("sqs").list_queues(QueueNamePrefix=mark).get("QueueUrls", []) == []
    code, shown = deploy(capsys, server, shop)
    assert (code, [one for one in shown["resources"] if one["outcome"] != "created"]) == (0, [])
    assert len(shown["resources"]) == 6
    code, shown = deploy(capsys, server, shop)
    assert (code, set(outcomes(shown).values())) == (0, {"unchanged"})
    settings = server.client("lambda").get_function_configuration(FunctionName=f"{mark}-price")
    assert settings["Environment"]["Variables"]["QUEUE"].endswith(f"/{mark}-orders")

    machine = shop / f"{mark}-order.asl.json"
    machine.write_text(machine.read_text().replace("one", "two"))
    text = (shop / "statewright.toml").read_text()
    (shop / "statewright.toml").write_text(text.replace(f'[tables.{mark}-prices]\nhash = "id"\n', ""))
    code, shown = deploy(capsys, server, shop)
    found = outcomes(shown)
    assert (code, found.pop(f"machines.{mark}-order"), found.pop(f"tables.{mark}-prices")) == (0, "updated", "gone")
    assert set(found.values()) == {"unchanged"}
    code, shown = deploy(capsys, server, shop, "--prune")
    assert outcomes(shown)[f"tables.{mark}-prices"] == "removed"
    tables = server.client("dynamodb")
    with pytest.raises(tables.exceptions.ResourceNotFoundException):
        tables.describe_table(TableName=f"{mark}-prices")


def test_a_new_revision_leaves_what_runs_alone(server: Server, shop: Path, capsys: pytest.CaptureFixture[str]):
    sfn = server.client("stepfunctions")
    machine = shop / f"{shop.name}-order.asl.json"
    task = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
    parameters = {"QueueUrl": f"http://sqs/000000000000/{shop.name}-dead", "MessageBody.$": "$$.Task.Token"}
    states: dict[str, Any] = {
        "Ask": {"Type": "Task", "Resource": task, "Parameters": parameters, "Next": "A"},
        "A": {"Type": "Pass", "Result": "one", "End": True},
    }
    machine.write_text(json.dumps({"StartAt": "Ask", "States": states}))
    deploy(capsys, server, shop)
    arn = f"arn:aws:states:us-east-1:000000000000:stateMachine:{shop.name}-order"
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    sqs = server.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{shop.name}-dead")["QueueUrl"]
    (message,) = until(lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10).get("Messages"), "the message")
    states["A"]["Result"] = "two"
    machine.write_text(json.dumps({"StartAt": "A", "States": {"A": states["A"]}}))
    deploy(capsys, server, shop)
    sfn.send_task_success(taskToken=message["Body"], output="{}")
    assert json.loads(ended(sfn, execution)["output"]) == "one"
    again = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    assert json.loads(ended(sfn, again)["output"]) == "two"


def test_a_template_with_everything_wrong(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    mark = f"w{uuid4().hex[:8]}"
    template = tmp_path / "template.yaml"
    template.write_text(
        f"""
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Resources:
  Good: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {mark}}}}}
  Pool: {{Type: AWS::Cognito::UserPool}}
  One: {{Type: AWS::SQS::Queue, Properties: {{QueueName: !GetAtt Two.QueueName}}}}
  Two: {{Type: AWS::SQS::Queue, Properties: {{QueueName: !GetAtt One.QueueName}}}}
  Refused: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {mark}-x, VisibilityTimeout: 99999999}}}}
  After: {{Type: AWS::SNS::Topic, Properties: {{TopicName: !GetAtt Refused.QueueName}}}}
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties: {{Role: "arn:aws:iam::000000000000:role/r", DefinitionUri: nowhere.asl.json}}
"""
    )
    code, shown = deploy(capsys, server, template)
    found = outcomes(shown)
    assert (code, found["Good"], found["Pool"]) == (1, "created", "noted")
    assert (found["Refused"], found["After"]) == ("failed", "skipped")
    assert {"One", "Two"} & {key for key, what in found.items() if what == "created"} == set()
    refused = next(one for one in shown["resources"] if one["id"] == "Refused")
    assert refused["line"] == 9
    said = " ".join(f"{one['severity']} {one['message']}" for one in shown["findings"])
    assert "Cognito" in said
    assert "nowhere.asl.json" in said + json.dumps(shown["resources"])
    assert any(one["severity"] == "ERROR" and "Two" in one["message"] for one in shown["findings"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cdk-out-etl", "sam-orders", "serverless-signup", "order-api"])
def test_an_example_is_deployed_twice(server: Server, name: str, capsys: pytest.CaptureFixture[str]):
    code, shown = deploy(capsys, server, EXAMPLES / name)
    assert (code, set(outcomes(shown).values()) <= {"created", "noted"}) == (0, True), shown
    code, shown = deploy(capsys, server, EXAMPLES / name)
    assert (code, {key for key, what in outcomes(shown).items() if what not in ("unchanged", "noted")}) == (0, set())
    assert shown["outputs"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["nowhere"], 3), ([".", "--parameter", "x"], 2), ([".", "--endpoint", "http://127.0.0.1:9"], 4)],
)
def test_exit_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", "http://127.0.0.1:9")
    assert run_command(["deploy", *arguments]) == code


def test_a_folder_without_a_project_is_no_success(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "template.json").write_text('{"Resource": {}}')
    assert run_command(["deploy", str(tmp_path), "--endpoint", server.url]) == 3
    assert "There is nothing to deploy" in capsys.readouterr().err
    (tmp_path / "template.json").write_text('{"Resources": {}}')
    assert run_command(["deploy", str(tmp_path), "--endpoint", server.url]) == 3
    (tmp_path / "order.asl.json").write_text("{}")
    assert run_command(["deploy", str(tmp_path / "order.asl.json"), "--endpoint", server.url]) == 2
    assert "is a state machine's definition, not a project" in capsys.readouterr().err
    (tmp_path / "template.json").write_text('{"Resources": {')
    assert run_command(["deploy", str(tmp_path), "--endpoint", server.url]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "✗ 1 error"


def test_a_folder_whose_name_is_no_text_is_deployed(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / os.fsdecode(b"f\xf6lder")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system has texts for names only")
    (folder / "statewright.toml").write_text("[queues.of-a-folder]\n")
    assert outcomes(deploy(capsys, server, folder)[1]) == {"queues.of-a-folder": "created"}
    assert outcomes(deploy(capsys, server, folder)[1]) == {"queues.of-a-folder": "unchanged"}


def test_a_limit_of_the_settings_limits(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    waiting = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}}
    (tmp_path / "limited-by-toml.asl.json").write_text(json.dumps(waiting))
    (tmp_path / "statewright.toml").write_text("[machines.limited-by-toml]\nmax_concurrent_executions = 1\n")
    assert outcomes(deploy(capsys, server, tmp_path)[1]) == {"machines.limited-by-toml": "created"}
    assert outcomes(deploy(capsys, server, tmp_path)[1]) == {"machines.limited-by-toml": "unchanged"}
    sfn = server.client()
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:limited-by-toml"
    first, second = (sfn.start_execution(stateMachineArn=arn)["executionArn"] for _ in range(2))
    until(lambda: len(sfn.get_execution_history(executionArn=first)["events"]) == 2)
    assert len(sfn.get_execution_history(executionArn=second)["events"]) == 1
    for execution in (first, second):
        sfn.stop_execution(executionArn=execution)


# ---------------------------------------------------------------------- dev


@dataclass
class Dev:
    """A `statewright dev` that runs; `events` are the lines that it has said."""

    process: subprocess.Popen[str]
    events: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    endpoint: str = ""

    def said(self, **members: Any) -> dict[str, Any]:
        """The next event that has these members."""
        while True:
            event = self.events.get(timeout=PATIENCE_SECONDS)
            if all(event.get(key) == value for key, value in members.items()):
                return event

    def client(self, service: str) -> Any:
        return boto3.client(
            service, endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id="test",
            aws_secret_access_key="test",
        )  # fmt: skip


def listen(made: Dev) -> None:
    assert made.process.stdout is not None
    for line in made.process.stdout:
        made.events.put(json.loads(line))


@pytest.fixture
def dev(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Dev, Path]]:
    """`statewright dev` of a copy of an example."""
    root = tmp_path / str(request.param)
    shutil.copytree(EXAMPLES / str(request.param), root)
    process = started(
        [sys.executable, "-m", "statewright.cli.main", "dev", str(root), "--port", "0", "-o", "json",
         "--store", "memory", "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    made = Dev(process)
    listener = threading.Thread(target=listen, args=(made,), daemon=True)
    listener.start()
    try:
        made.endpoint = made.said(event="ready")["endpoint"]
        yield made, root
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
        listener.join(PATIENCE_SECONDS)
        end(process)


@pytest.mark.parametrize("dev", ["sam-orders"], indirect=True)
@pytest.mark.slow
def test_dev_of_a_sam_template(dev: tuple[Dev, Path]):
    made, root = dev
    made.said(event="watching")
    sqs, table = made.client("sqs"), made.client("dynamodb")
    url = sqs.get_queue_url(QueueName="sam-orders-OrderQueue")["QueueUrl"]
    order = {"orderId": "7", "lines": [{"item": "kettle", "pieces": 2}]}
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(order))
    sfn = made.client("stepfunctions")
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:sam-orders-OrderMachine"
    until(lambda: sfn.list_executions(stateMachineArn=arn)["executions"])
    (execution,) = sfn.list_executions(stateMachineArn=arn)["executions"]
    assert ended(sfn, execution["executionArn"])["status"] == "SUCCEEDED"
    assert table.scan(TableName="sam-orders-Orders")["Count"] == 1

    code = root / "src" / "price" / "app.py"
    good = code.read_text()
    code.write_text(good + "\n# changed\n")
    assert made.said(event="loaded", function="sam-orders-Price")["outcome"] == "updated"
    template = (root / "template.yaml").read_text()
    (root / "template.yaml").write_text("Resources: [")
    assert made.said(event="finding", severity="ERROR")
    (root / "template.yaml").write_text(
        template.replace("Resources:\n", "Resources:\n  Extra: {Type: AWS::SQS::Queue}\n", 1)
    )
    assert made.said(event="loaded", name="sam-orders-Extra")["outcome"] == "created"
    assert sqs.get_queue_url(QueueName="sam-orders-Extra")


@pytest.mark.slow
@pytest.mark.parametrize("dev", ["serverless-signup"], indirect=True)
def test_dev_of_a_serverless_service(dev: tuple[Dev, Path]):
    made, root = dev
    made.said(event="watching")
    sfn = made.client("stepfunctions")
    (signup,) = sfn.list_state_machines()["stateMachines"]
    assert signup["name"] == "signup-dev"
    user = json.dumps({"email": "ada@example.org", "name": "Ada"})
    execution = sfn.start_execution(stateMachineArn=signup["stateMachineArn"], input=user)["executionArn"]
    assert ended(sfn, execution)["status"] == "SUCCEEDED"
    assert made.client("dynamodb").scan(TableName="signup-dev-users")["Count"] == 1
    machine = root / "machines" / "signup.yml"
    text = machine.read_text()
    machine.write_text("StartAt: [")
    machine.write_text(text + "# changed\n")
    code = root / "handlers" / "users.py"
    code.write_text(code.read_text() + "\n# changed\n")
    assert made.said(event="loaded", function="signup-dev-register")["outcome"] == "updated"


@pytest.mark.slow
@pytest.mark.parametrize("dev", ["cdk-out-etl"], indirect=True)
def test_dev_of_a_cdk_application_s_output(dev: tuple[Dev, Path]):
    made, root = dev
    made.said(event="watching")
    s3, sfn = made.client("s3"), made.client("stepfunctions")
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"] if "incoming" in one["Name"].lower()]
    s3.put_object(Bucket=bucket, Key="readings/a.csv", Body=b"sensor,value\nx,1\nx,2\ny,3\n")
    (pipeline,) = sfn.list_state_machines()["stateMachines"]
    execution = sfn.start_execution(stateMachineArn=pipeline["stateMachineArn"], input="{}")["executionArn"]
    done = ended(sfn, execution)
    assert (done["status"], json.loads(done["output"])) == ("SUCCEEDED", {"files": 1, "rows": 3})
    (code,) = root.glob("cdk.out/asset.db*/index.py")
    code.write_text(code.read_text() + "\n# changed\n")
    assert made.said(event="loaded", outcome="updated")["function"]
    template = root / "cdk.out" / "StorageStack.template.json"
    stack = json.loads(template.read_text())
    stack["Resources"]["Extra"] = {"Type": "AWS::SQS::Queue"}
    template.write_text(json.dumps(stack))
    assert "Extra" in made.said(event="loaded", outcome="created")["name"]
