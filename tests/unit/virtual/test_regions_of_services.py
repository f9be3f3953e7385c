"""Resources of one name in two regions, service by service: ARNs carry the region, and mean nothing in another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.api.service import APART, GLOBAL
from statewright.api.services import SERVICES
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import ROLE, RUNTIME

HERE, THERE = "us-east-1", "eu-west-1"
Clients = Callable[[str], Any]
Make = Callable[[Clients], str]
"""Creates the resource `twin`, and returns its ARN."""
Look = Callable[[Clients, str], Any]
"""Looks at a resource by its ARN."""
WAIT = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 1, "End": True}}}
KEY = {"KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
       "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}]}  # fmt: skip
CONTAINER = [{"name": "main", "image": "image", "command": ["true"]}]


@pytest.fixture(scope="module")
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as running:
        yield running


def of(system: VirtualSystem, region: str) -> Clients:
    return lambda service: system.client(service, region_name=region)


def zip_bytes() -> bytes:
    import io
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("app.py", "def handler(event, context): return event")
    return made.getvalue()


def machine(on: Clients) -> str:
    made = on("stepfunctions").create_state_machine(name="twin", definition=json.dumps(WAIT), roleArn=ROLE)
    return str(made["stateMachineArn"])


def function(on: Clients) -> str:
    made = on("lambda").create_function(
        FunctionName="twin", Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Code={"ZipFile": zip_bytes()}
    )
    return str(made["FunctionArn"])


def layer(on: Clients) -> str:
    made = on("lambda").publish_layer_version(LayerName="twin", Content={"ZipFile": zip_bytes()})
    return str(made["LayerVersionArn"])


def queue(on: Clients) -> str:
    url = on("sqs").create_queue(QueueName="twin")["QueueUrl"]
    return str(on("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])


def stack(on: Clients) -> str:
    resources = {"Wait": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}
    made = on("cloudformation").create_stack(StackName="twin", TemplateBody=json.dumps({"Resources": resources}))
    return str(made["StackId"])


def rest_api(on: Clients) -> str:
    client = on("apigateway")
    return f"arn:aws:apigateway:{client.meta.region_name}::/restapis/{client.create_rest_api(name='twin')['id']}"


def http_api(on: Clients) -> str:
    client = on("apigatewayv2")
    made = client.create_api(Name="twin", ProtocolType="HTTP")
    return f"arn:aws:apigateway:{client.meta.region_name}::/apis/{made['ApiId']}"


def table(on: Clients) -> str:
    made = on("dynamodb").create_table(TableName="twin", BillingMode="PAY_PER_REQUEST", **KEY)
    return str(made["TableDescription"]["TableArn"])


def stream(on: Clients) -> str:
    settings = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    made = on("dynamodb").create_table(
        TableName="streamed", BillingMode="PAY_PER_REQUEST", StreamSpecification=settings, **KEY
    )
    return str(made["TableDescription"]["LatestStreamArn"])


def rule(on: Clients) -> str:
    return str(on("events").put_rule(Name="twin", ScheduleExpression="rate(1 day)")["RuleArn"])


def schedule_group(on: Clients) -> str:
    return str(on("scheduler").create_schedule_group(Name="twin")["ScheduleGroupArn"])


def pipe(on: Clients) -> str:
    made = on("pipes").create_pipe(Name="twin", RoleArn=ROLE, Source=queue(on), Target=machine(on))
    return str(made["Arn"])


def parameter(on: Clients) -> str:
    on("ssm").put_parameter(Name="twin", Value="v", Type="String")
    return str(on("ssm").get_parameter(Name="twin")["Parameter"]["ARN"])


def job_definition(on: Clients) -> str:
    made = on("batch").register_job_definition(
        jobDefinitionName="twin", type="container",
        containerProperties={"image": "image", "command": ["true"], "resourceRequirements": [
            {"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "128"}]},
    )  # fmt: skip
    return str(made["jobDefinitionArn"])


def described(on: Clients, arn: str) -> None:
    """Describe a definition of jobs, of which an unknown one is left out."""
    if not on("batch").describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"]:
        raise ClientError({"Error": {"Code": "Missing", "Message": arn}}, "DescribeJobDefinitions")


def environment(on: Clients) -> str:
    made = on("batch").create_compute_environment(
        computeEnvironmentName="twin", type="UNMANAGED", serviceRole=ROLE, state="DISABLED"
    )
    return str(made["computeEnvironmentArn"])


def task_definition(on: Clients) -> str:
    made = on("ecs").register_task_definition(family="twin", containerDefinitions=CONTAINER)
    return str(made["taskDefinition"]["taskDefinitionArn"])


def log_group(on: Clients) -> str:
    on("logs").create_log_group(logGroupName="twin")
    return str(on("logs").describe_log_groups()["logGroups"][0]["logGroupArn"])


def alarm(on: Clients) -> str:
    on("cloudwatch").put_metric_alarm(
        AlarmName="twin", Namespace="N", MetricName="m", Statistic="Sum", Period=60, EvaluationPeriods=1,
        Threshold=1, ComparisonOperator="GreaterThanThreshold",
    )  # fmt: skip
    return str(on("cloudwatch").describe_alarms()["MetricAlarms"][0]["AlarmArn"])


CASES: list[tuple[str, Make, Look]] = [
    ("states", machine, lambda on, arn: on("stepfunctions").describe_state_machine(stateMachineArn=arn)),
    (
        "states",
        lambda on: str(on("stepfunctions").create_activity(name="twin")["activityArn"]),
        lambda on, arn: on("stepfunctions").describe_activity(activityArn=arn),
    ),
    ("lambda", function, lambda on, arn: on("lambda").get_function(FunctionName=arn)),
    ("lambda", layer, lambda on, arn: on("lambda").get_layer_version_by_arn(Arn=arn)),
    ("sqs", queue, lambda on, arn: on("sqs").list_message_move_tasks(SourceArn=arn)),
    ("dynamodb", table, lambda on, arn: on("dynamodb").list_tags_of_resource(ResourceArn=arn)),
    ("dynamodbstreams", stream, lambda on, arn: on("dynamodbstreams").describe_stream(StreamArn=arn)),
    (
        "events",
        lambda on: str(on("events").create_event_bus(Name="twin")["EventBusArn"]),
        lambda on, arn: on("events").describe_event_bus(Name=arn),
    ),
    ("events", rule, lambda on, arn: on("events").list_tags_for_resource(ResourceARN=arn)),
    ("scheduler", schedule_group, lambda on, arn: on("scheduler").list_tags_for_resource(ResourceArn=arn)),
    ("pipes", pipe, lambda on, arn: on("pipes").list_tags_for_resource(resourceArn=arn)),
    (
        "sns",
        lambda on: str(on("sns").create_topic(Name="twin")["TopicArn"]),
        lambda on, arn: on("sns").get_topic_attributes(TopicArn=arn),
    ),
    (
        "secretsmanager",
        lambda on: str(on("secretsmanager").create_secret(Name="twin", SecretString="s")["ARN"]),
        lambda on, arn: on("secretsmanager").get_secret_value(SecretId=arn),
    ),
    ("ssm", parameter, lambda on, arn: on("ssm").get_parameter(Name=arn)),
    ("batch", job_definition, described),
    ("batch", environment, lambda on, arn: on("batch").update_compute_environment(computeEnvironment=arn)),
    (
        "ecs",
        lambda on: str(on("ecs").create_cluster(clusterName="twin")["cluster"]["clusterArn"]),
        lambda on, arn: on("ecs").list_tasks(cluster=arn),
    ),
    ("ecs", task_definition, lambda on, arn: on("ecs").describe_task_definition(taskDefinition=arn)),
    ("logs", log_group, lambda on, arn: on("logs").list_tags_for_resource(resourceArn=arn)),
    ("monitoring", alarm, lambda on, arn: on("cloudwatch").list_tags_for_resource(ResourceARN=arn)),
    (
        "ecr",
        lambda on: str(on("ecr").create_repository(repositoryName="twin")["repository"]["repositoryArn"]),
        lambda on, arn: on("ecr").list_tags_for_resource(resourceArn=arn),
    ),
    ("cloudformation", stack, lambda on, arn: on("cloudformation").describe_stacks(StackName=arn)),
    ("apigateway", rest_api, lambda on, arn: on("apigateway").get_tags(resourceArn=arn)),
    ("apigatewayv2", http_api, lambda on, arn: on("apigatewayv2").get_api(ApiId=arn.rpartition("/")[2])),
]
WITH_IDS = {"secretsmanager", "cloudformation", "apigateway", "apigatewayv2"}
"""Services whose ARNs have ids by chance."""


@pytest.mark.parametrize(("service", "make", "look"), CASES, ids=[f"{n}-{one[0]}" for n, one in enumerate(CASES)])
def test_an_arn_carries_its_region_and_means_nothing_in_another(system, service, make, look):
    arns = {}
    for region in (HERE, THERE):
        arns[region] = make(of(system, region))
        assert arns[region].split(":")[3] == region
        look(of(system, region), arns[region])
    if service not in WITH_IDS:
        assert arns[HERE].replace(HERE, THERE).split("/stream/")[0] == arns[THERE].split("/stream/")[0]
    for region, other in ((HERE, THERE), (THERE, HERE)):
        with pytest.raises(ClientError):
            look(of(system, region), arns[other])


def test_every_service_of_regions_has_a_case():
    apart = {one.name for one in SERVICES if one.regions == APART}
    # Operations of `statewright` name machines and executions, as those of `states`; Cloud Control's have no ARNs.
    assert apart - {"s3", "statewright", "dynamodbstreams", "cloudcontrolapi"} <= {name for name, _, _ in CASES}
    assert {one.name for one in SERVICES if one.regions == GLOBAL} == {"iam", "sts"}
    assert all(one.regions in (APART, GLOBAL) for one in SERVICES)
