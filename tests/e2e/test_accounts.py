"""Two accounts of one server, by their access keys: namespaces, ARNs, credentials, and what lasts."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.systems import RUNTIME, zipped
from tests.postgres_server import server_or_skip

OURS, THEIRS = "000000000000", "111122223333"
KEYS = {OURS: ("AKIAOURS", "s3cret-of-ours"), THEIRS: ("AKIATHEIRS", "s3cret-of-theirs")}
HERE, THERE = "us-east-1", "eu-west-1"
SETTINGS = f"""
[credentials]
AKIAOURS = "s3cret-of-ours"
AKIATHEIRS = {{ secret = "s3cret-of-theirs", account = "{THEIRS}" }}
"""
CODE = """
import os, boto3
def handler(event, context):
    who = boto3.client("sts").get_caller_identity()
    return {"account": who["Account"], "arn": context.invoked_function_arn}
"""
HOUR = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 1, "End": True}}}


class Account:
    """The clients of one account, in one region."""

    def __init__(self, server: Server, number: str, region: str = HERE) -> None:
        self._server, self.number, self.region = server, number, region

    def __getattr__(self, service: str) -> Any:
        key, secret = KEYS[self.number]
        return self._server.client(service.rstrip("_"), region=self.region, key=key, secret=secret)

    def arn(self, service: str, rest: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.number}:{rest}"

    def machine(self, name: str, definition: dict[str, Any]) -> str:
        made = self.stepfunctions.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE)
        arn: str = made["stateMachineArn"]
        return arn


def settings_in(folder: Path) -> str:
    path = folder / "statewright.toml"
    path.write_text(SETTINGS)
    return str(path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("accounts")
    server = Server(folder / "data", "--store", "memory", "--config", settings_in(folder))
    yield server
    assert server.stop() == 0, server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def refusal(call: Any, **given: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def test_resources_of_one_name_live_apart_with_the_account_in_their_arns(served):
    for number in (OURS, THEIRS):
        for region in (HERE, THERE):
            of = Account(served, number, region)
            assert of.sts.get_caller_identity()["Account"] == number
            assert of.sts.get_caller_identity()["Arn"] == f"arn:aws:iam::{number}:root"
            url = of.sqs.create_queue(QueueName="twin")["QueueUrl"]
            assert f"{number}/twin" in url
            shown = of.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
            assert shown["QueueArn"] == of.arn("sqs", "twin")
            assert of.sns.create_topic(Name="twin")["TopicArn"] == of.arn("sns", "twin")
            made = of.dynamodb.create_table(
                TableName="twin", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            )  # fmt: skip
            assert made["TableDescription"]["TableArn"] == of.arn("dynamodb", "table/twin")
            of.dynamodb.put_item(TableName="twin", Item={"k": {"S": number + region}})
            of.sqs.send_message(QueueUrl=url, MessageBody=number + region)
            assert of.machine("twin", HOUR) == of.arn("states", "stateMachine:twin")
            secret = of.secretsmanager.create_secret(Name="twin", SecretString=number + region)["ARN"]
            assert secret.startswith(of.arn("secretsmanager", "secret:twin-"))
    for number in (OURS, THEIRS):
        for region in (HERE, THERE):
            of = Account(served, number, region)
            [message] = of.sqs.receive_message(QueueUrl=of.sqs.get_queue_url(QueueName="twin")["QueueUrl"])["Messages"]
            [item] = of.dynamodb.scan(TableName="twin")["Items"]
            secret = of.secretsmanager.get_secret_value(SecretId="twin")["SecretString"]
            assert {message["Body"], item["k"]["S"], secret} == {number + region}
            assert [one["stateMachineArn"] for one in of.stepfunctions.list_state_machines()["stateMachines"]] == [
                of.arn("states", "stateMachine:twin")
            ]


def test_roles_are_of_an_account_and_of_all_its_regions(served):
    allowed = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    for number in (OURS, THEIRS):
        made = Account(served, number).iam.create_role(RoleName="worker", AssumeRolePolicyDocument=document)
        assert made["Role"]["Arn"] == f"arn:aws:iam::{number}:role/worker"
        found = Account(served, number, THERE).iam.get_role(RoleName="worker")["Role"]["Arn"]
        assert found == f"arn:aws:iam::{number}:role/worker"
    Account(served, THEIRS).iam.create_role(RoleName="only", AssumeRolePolicyDocument=document)
    assert refusal(Account(served, OURS).iam.get_role, RoleName="only") == ("NoSuchEntity", 404)


def test_names_of_buckets_are_global_and_each_bucket_has_one_account(served):
    ours, theirs = Account(served, OURS), Account(served, THEIRS)
    theirs.s3.create_bucket(Bucket="their-bucket")
    theirs.s3.put_object(Bucket="their-bucket", Key="k", Body=b"theirs")
    ours.s3.create_bucket(Bucket="our-bucket")
    assert refusal(ours.s3.create_bucket, Bucket="their-bucket") == ("BucketAlreadyExists", 409)
    for of, own in ((ours, "our-bucket"), (theirs, "their-bucket")):
        assert [one["Name"] for one in of.s3.list_buckets()["Buckets"]] == [own]
    assert Account(served, THEIRS, THERE).s3.get_object(Bucket="their-bucket", Key="k")["Body"].read() == b"theirs"
    # A bucket that another account has is not missing.
    wrong = {"Bucket": "their-bucket", "VersioningConfiguration": {"Status": "on"}}
    assert refusal(theirs.s3.put_bucket_versioning, **wrong) == ("MalformedXML", 400)


def test_temporary_credentials_keep_their_account(served):
    theirs = Account(served, THEIRS)
    theirs.sqs.create_queue(QueueName="of-session")
    role = f"arn:aws:iam::{THEIRS}:role/any"
    for issued in (theirs.sts.assume_role(RoleArn=role, RoleSessionName="session"), theirs.sts.get_session_token()):
        given = issued["Credentials"]
        keys = {"key": given["AccessKeyId"], "secret": given["SecretAccessKey"], "token": given["SessionToken"]}
        assert served.client("sts", **keys).get_caller_identity()["Account"] == THEIRS
        assert (
            served.client("sqs", **keys)
            .get_queue_url(QueueName="of-session")["QueueUrl"]
            .endswith(f"/{THEIRS}/of-session")
        )


def test_a_function_runs_with_credentials_of_its_account(served):
    theirs = Account(served, THEIRS)
    made = theirs.lambda_.create_function(
        FunctionName="who", Runtime=RUNTIME, Role=f"arn:aws:iam::{THEIRS}:role/any", Handler="code.handler",
        Code={"ZipFile": zipped(code=CODE)}, Timeout=60,
    )  # fmt: skip
    assert made["FunctionArn"] == theirs.arn("lambda", "function:who")
    answer = json.loads(theirs.lambda_.invoke(FunctionName="who")["Payload"].read())
    assert answer == {"account": THEIRS, "arn": theirs.arn("lambda", "function:who")}


def test_figures_have_labels_of_regions_and_accounts(served):
    assert Account(served, THEIRS, THERE).sqs.list_queues()
    with urllib.request.urlopen(served.url + "/metrics", timeout=PATIENCE_SECONDS) as answer:
        lines = answer.read().decode().splitlines()
    found = {line.partition(" ")[0] for line in lines if line.startswith("statewright_transitions")}
    assert found >= {
        "statewright_transitions",
        f'statewright_transitions{{region="{HERE}",account="{THEIRS}"}}',
        f'statewright_transitions{{region="{THERE}",account="{THEIRS}"}}',
    }
    assert [line for line in lines if line.startswith("# TYPE statewright_transitions")] == [
        "# TYPE statewright_transitions gauge"
    ]


def test_an_api_of_another_account_answers(served):
    theirs = Account(served, THEIRS)
    code = (
        "def handler(event, context):\n    return {'statusCode': 200, 'body': event['requestContext']['accountId']}\n"
    )
    function = theirs.lambda_.create_function(
        FunctionName="of-api", Runtime=RUNTIME, Role=f"arn:aws:iam::{THEIRS}:role/any", Handler="code.handler",
        Code={"ZipFile": zipped(code=code)}, Timeout=60,
    )["FunctionArn"]  # fmt: skip
    made = theirs.apigatewayv2.create_api(Name="api", ProtocolType="HTTP", Target=function)
    headers = {"Host": made["ApiEndpoint"].partition("//")[2]}
    request = urllib.request.Request(served.url + "/", headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.read().decode() == THEIRS
    with pytest.raises(ClientError, match="NotFound"):
        Account(served, OURS).apigatewayv2.get_api(ApiId=made["ApiId"])


def test_each_account_deploys_the_same_project(served, statewright, tmp_path, monkeypatch):
    settings_in(tmp_path)
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "of-project"}}
    (tmp_path / "template.json").write_text(json.dumps({"Resources": {"Q": queue}}))
    monkeypatch.chdir(tmp_path)
    for number in (OURS, THEIRS):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS[number][0])
        for outcome in ("created", "unchanged"):
            done = statewright("deploy", ".", "--endpoint", served.url, "-o", "json")
            assert done.code == 0, done.out + done.err
            assert [one["outcome"] for one in json.loads(done.out)["resources"]] == [outcome]
        of = Account(served, number)
        assert of.sqs.get_queue_url(QueueName="of-project")["QueueUrl"].endswith(f"/{number}/of-project")
    assert "of-project" in statewright("queue", "list", "--endpoint", served.url).out


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_executions_and_buckets_of_regions_and_accounts_go_on_after_a_kill(tmp_path: Path, store: str):
    options: tuple[str, ...] = ("--config", settings_in(tmp_path))
    if store == "postgres":
        options += ("--store", server_or_skip().new_database())
    first = Server(tmp_path / "data", *options)
    theirs, there = Account(first, THEIRS), Account(first, THEIRS, THERE)
    started = [
        of.stepfunctions.start_execution(stateMachineArn=of.machine("hour", HOUR), name="one")["executionArn"]
        for of in (there, theirs, Account(first, OURS, THERE))
    ]
    theirs.s3.create_bucket(Bucket="kept")
    theirs.s3.put_object(Bucket="kept", Key="k", Body=b"kept")
    first.kill()
    second = Server(tmp_path / "data", *options)
    again = Account(second, THEIRS, THERE), Account(second, THEIRS), Account(second, OURS, THERE)
    for of, arn in zip(again, started, strict=True):
        assert ended(of.stepfunctions, arn)["status"] == "SUCCEEDED"
    assert Account(second, THEIRS).s3.get_object(Bucket="kept", Key="k")["Body"].read() == b"kept"
    assert refusal(Account(second, OURS).s3.get_object, Bucket="kept", Key="k") == ("AccessDenied", 403)
    assert Account(second, OURS).stepfunctions.list_state_machines()["stateMachines"] == []
    assert second.stop() == 0
