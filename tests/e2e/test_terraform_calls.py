"""The calls that Terraform's AWS provider makes for a resource: made, read until it is stable, read in full, deleted.

The provider reads settings that nobody has made. They are answered as the service answers for a resource without them:
with nothing, or with the error that the provider takes for "not set".
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "states.amazonaws.com"}}
        ],
    }
)
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
ACCOUNT = "000000000000"


class Provider:
    """Makes calls of one service; `says` has what is refused, or nothing."""

    def __init__(self, server: Server, service: str) -> None:
        self.client = server.client(service)
        self.name = f"tf{uuid4().hex[:10]}"

    def __call__(self, operation: str, **members: Any) -> Any:
        return getattr(self.client, operation)(**members)

    def says(self, operation: str, **members: Any) -> str | None:
        try:
            self(operation, **members)
        except ClientError as refused:
            return str(refused.response["Error"]["Code"])
        return None


def package() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("app.py", "def handler(event, context):\n    return 1\n")
    return made.getvalue()


UNSET = {
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_acl": None,
    "get_bucket_cors": "NoSuchCORSConfiguration",
    "get_bucket_website": "NoSuchWebsiteConfiguration",
    "get_bucket_versioning": None,
    "get_bucket_accelerate_configuration": None,
    "get_bucket_request_payment": None,
    "get_bucket_logging": None,
    "get_bucket_lifecycle_configuration": "NoSuchLifecycleConfiguration",
    "get_bucket_replication": "ReplicationConfigurationNotFoundError",
    "get_bucket_encryption": None,
    "get_object_lock_configuration": "ObjectLockConfigurationNotFoundError",
    "get_bucket_tagging": "NoSuchTagSet",
    "get_public_access_block": None,
    "get_bucket_ownership_controls": None,
    "get_bucket_notification_configuration": None,
    "get_bucket_location": None,
    "list_bucket_metrics_configurations": None,
    "list_bucket_inventory_configurations": None,
    "list_bucket_analytics_configurations": None,
    "list_bucket_intelligent_tiering_configurations": None,
}


def test_aws_s3_bucket(server: Server):
    s3 = Provider(server, "s3")
    s3("create_bucket", Bucket=s3.name)
    assert {operation: s3.says(operation, Bucket=s3.name) for operation in UNSET} == UNSET
    s3("put_bucket_tagging", Bucket=s3.name, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    s3("put_bucket_acl", Bucket=s3.name, ACL="private")
    s3("put_object", Bucket=s3.name, Key="k", Body=b"x")
    s3("put_object_acl", Bucket=s3.name, Key="k", ACL="private")
    s3("delete_object", Bucket=s3.name, Key="k")
    s3("delete_bucket", Bucket=s3.name)
    assert s3.says("head_bucket", Bucket=s3.name) == "404"


SETTINGS: dict[str, tuple[str, Any]] = {
    "public_access_block": (
        "PublicAccessBlockConfiguration",
        dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True),
    ),
    "bucket_encryption": (
        "ServerSideEncryptionConfiguration",
        {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": True}]},
    ),
    "bucket_ownership_controls": ("OwnershipControls", {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}),
    "bucket_cors": ("CORSConfiguration", {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]}),
}
"""What the provider sets of buckets by one resource each: named as in operations, with its member and a value."""
DELETED = {
    "public_access_block": "NoSuchPublicAccessBlockConfiguration",
    "bucket_encryption": None,
    "bucket_ownership_controls": "OwnershipControlsNotFoundError",
    "bucket_cors": "NoSuchCORSConfiguration",
}


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_of_aws_s3_bucket(server: Server, what: str):
    s3 = Provider(server, "s3")
    s3("create_bucket", Bucket=s3.name)
    member, value = SETTINGS[what]
    get = f"get_{what}"
    s3(f"put_{what}", Bucket=s3.name, **{member: value})
    shown = s3(get, Bucket=s3.name)
    assert (shown if what == "bucket_cors" else shown[member]).items() >= value.items()
    s3(f"delete_{what}", Bucket=s3.name)
    assert s3.says(get, Bucket=s3.name) == DELETED[what]
    s3(f"delete_{what}", Bucket=s3.name)
    assert s3.says(get, Bucket="gone-" + s3.name) == "NoSuchBucket"


def test_aws_s3_bucket_lifecycle_and_notification(server: Server):
    s3, sqs = Provider(server, "s3"), Provider(server, "sqs")
    bucket = {"Bucket": s3.name}
    s3("create_bucket", **bucket)
    rules = [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Days": 7}}]
    least = {"TransitionDefaultMinimumObjectSize": "varies_by_storage_class"}
    s3("put_bucket_lifecycle_configuration", **bucket, **least, LifecycleConfiguration={"Rules": rules})
    shown = s3("get_bucket_lifecycle_configuration", **bucket)
    assert (shown["Rules"], shown["TransitionDefaultMinimumObjectSize"]) == (rules, "varies_by_storage_class")
    s3("delete_bucket_lifecycle", **bucket)
    assert s3.says("get_bucket_lifecycle_configuration", **bucket) == "NoSuchLifecycleConfiguration"
    sqs("create_queue", QueueName=s3.name)
    arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{s3.name}"
    rule = {"Key": {"FilterRules": [{"Name": "Prefix", "Value": "x/"}]}}
    config = {"QueueConfigurations": [{"Id": "tf", "QueueArn": arn, "Events": ["s3:ObjectCreated:*"], "Filter": rule}]}
    s3("put_bucket_notification_configuration", **bucket, NotificationConfiguration=config)
    shown = s3("get_bucket_notification_configuration", **bucket)
    assert shown["QueueConfigurations"] == config["QueueConfigurations"]
    s3("put_bucket_notification_configuration", **bucket, NotificationConfiguration={})
    assert "QueueConfigurations" not in s3("get_bucket_notification_configuration", **bucket)
    s3("delete_bucket", **bucket)


def test_aws_s3_bucket_policy_logging_and_versioning(server: Server):
    s3 = Provider(server, "s3")
    bucket = {"Bucket": s3.name}
    s3("create_bucket", **bucket)
    statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": f"arn:aws:s3:::{s3.name}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    s3("put_bucket_policy", **bucket, Policy=policy)
    assert s3("get_bucket_policy", **bucket)["Policy"] == policy
    assert s3("get_bucket_policy_status", **bucket)["PolicyStatus"] == {"IsPublic": False}
    s3("put_object", **bucket, Key="k", Body=b"nobody is denied anything")
    s3("delete_object", **bucket, Key="k")
    s3("delete_bucket_policy", **bucket)
    assert s3.says("get_bucket_policy", **bucket) == "NoSuchBucketPolicy"
    logging = {"LoggingEnabled": {"TargetBucket": s3.name, "TargetPrefix": "log/"}}
    s3("put_bucket_logging", **bucket, BucketLoggingStatus=logging)
    assert s3("get_bucket_logging", **bucket)["LoggingEnabled"] == logging["LoggingEnabled"]
    s3("put_bucket_logging", **bucket, BucketLoggingStatus={})
    assert "LoggingEnabled" not in s3("get_bucket_logging", **bucket)
    for status in ("Enabled", "Suspended"):
        s3("put_bucket_versioning", **bucket, VersioningConfiguration={"Status": status})
        assert s3("get_bucket_versioning", **bucket)["Status"] == status


def test_aws_sqs_queue(server: Server):
    sqs = Provider(server, "sqs")
    url = sqs("create_queue", QueueName=sqs.name, Attributes={"DelaySeconds": "3"}, tags={"a": "b"})["QueueUrl"]
    shown = sqs("get_queue_attributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (shown["DelaySeconds"], shown["SqsManagedSseEnabled"]) == ("3", "true")
    sqs("set_queue_attributes", QueueUrl=url, Attributes={"VisibilityTimeout": "7"})
    assert sqs("list_queue_tags", QueueUrl=url)["Tags"] == {"a": "b"}
    sqs("delete_queue", QueueUrl=url)
    gone = sqs.says("get_queue_attributes", QueueUrl=url, AttributeNames=["All"])
    assert gone == "AWS.SimpleQueueService.NonExistentQueue"


def test_aws_dynamodb_table(server: Server):
    tables = Provider(server, "dynamodb")
    made = tables(
        "create_table", TableName=tables.name, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )  # fmt: skip
    arn = made["TableDescription"]["TableArn"]
    assert tables("describe_table", TableName=tables.name)["Table"]["TableStatus"] == "ACTIVE"
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    tables("update_table", TableName=tables.name, StreamSpecification=stream)
    shown = tables("describe_table", TableName=tables.name)["Table"]
    assert shown["StreamSpecification"] == stream
    assert shown["LatestStreamArn"] == f"{arn}/stream/{shown['LatestStreamLabel']}"
    backups = tables("describe_continuous_backups", TableName=tables.name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "DISABLED"
    live = tables("describe_time_to_live", TableName=tables.name)["TimeToLiveDescription"]
    assert live["TimeToLiveStatus"] == "DISABLED"
    assert tables("list_tags_of_resource", ResourceArn=arn)["Tags"] == []
    insights = tables("describe_contributor_insights", TableName=tables.name)
    assert insights["ContributorInsightsStatus"] == "DISABLED"
    assert (
        tables("describe_kinesis_streaming_destination", TableName=tables.name)["KinesisDataStreamDestinations"] == []
    )
    assert tables.says("get_resource_policy", ResourceArn=arn) == "PolicyNotFoundException"
    tables("delete_table", TableName=tables.name)
    assert tables.says("describe_table", TableName=tables.name) == "ResourceNotFoundException"
    assert tables.says("describe_contributor_insights", TableName=tables.name) == "ResourceNotFoundException"


def test_aws_lambda_function(server: Server):
    functions = Provider(server, "lambda")
    name = {"FunctionName": functions.name}
    arn = functions(
        "create_function", **name, Runtime="python3.12", Handler="app.handler", Role=ROLE, Code={"ZipFile": package()}
    )["FunctionArn"]
    shown = functions("get_function", **name)
    assert (shown["Configuration"]["State"], shown["Configuration"]["LastUpdateStatus"]) == ("Active", "Successful")
    assert [one["Version"] for one in functions("list_versions_by_function", **name)["Versions"]] == ["$LATEST"]
    assert functions("get_function_code_signing_config", **name)["CodeSigningConfigArn"] == ""
    assert functions("get_function_recursion_config", **name)["RecursiveLoop"] == "Terminate"
    assert functions("get_runtime_management_config", **name)["UpdateRuntimeOn"] == "Auto"
    assert functions("list_function_url_configs", **name)["FunctionUrlConfigs"] == []
    assert functions("list_provisioned_concurrency_configs", **name)["ProvisionedConcurrencyConfigs"] == []
    refused = {
        operation: functions.says(operation, **name)
        for operation in ("get_policy", "get_function_url_config", "get_function_event_invoke_config")
    }
    assert set(refused.values()) == {"ResourceNotFoundException"}
    provisioned = functions.says("get_provisioned_concurrency_config", **name, Qualifier="1")
    assert provisioned == "ProvisionedConcurrencyConfigNotFoundException"
    assert functions("list_tags", Resource=arn)["Tags"] == {}
    functions("add_permission", **name, StatementId="s", Action="lambda:InvokeFunction", Principal="sns.amazonaws.com")
    assert json.loads(functions("get_policy", **name)["Policy"])["Statement"][0]["Sid"] == "s"
    functions("remove_permission", **name, StatementId="s")
    functions("update_function_code", **name, ZipFile=package(), Publish=False)
    functions("update_function_configuration", **name, Timeout=9)
    functions("delete_function", **name)
    assert functions.says("get_function", **name) == "ResourceNotFoundException"


def test_aws_lambda_event_source_mapping(server: Server):
    functions, sqs = Provider(server, "lambda"), Provider(server, "sqs")
    sqs("create_queue", QueueName=functions.name)
    functions(
        "create_function", FunctionName=functions.name, Runtime="python3.12", Handler="app.handler", Role=ROLE,
        Code={"ZipFile": package()},
    )  # fmt: skip
    source = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{functions.name}"
    uuid = functions("create_event_source_mapping", FunctionName=functions.name, EventSourceArn=source)["UUID"]
    assert functions("get_event_source_mapping", UUID=uuid)["State"] in ("Creating", "Enabled")
    functions("update_event_source_mapping", UUID=uuid, BatchSize=3)
    functions("delete_event_source_mapping", UUID=uuid)
    assert functions.says("get_event_source_mapping", UUID=uuid) == "ResourceNotFoundException"


def test_aws_sfn_state_machine(server: Server):
    states = Provider(server, "stepfunctions")
    definition = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
    assert states("validate_state_machine_definition", definition=definition, type="STANDARD")["result"] == "OK"
    arn = states(
        "create_state_machine", name=states.name, definition=definition, roleArn=ROLE, publish=False, type="STANDARD",
        tags=[{"key": "a", "value": "b"}],
    )["stateMachineArn"]  # fmt: skip
    shown = states("describe_state_machine", stateMachineArn=arn)
    assert (shown["status"], shown["definition"]) == ("ACTIVE", definition)
    assert states("list_state_machine_versions", stateMachineArn=arn)["stateMachineVersions"] == []
    assert states("list_tags_for_resource", resourceArn=arn)["tags"] == [{"key": "a", "value": "b"}]
    changed = definition.replace('"A"', '"B"')
    states(
        "update_state_machine", stateMachineArn=arn, definition=changed, roleArn=ROLE, publish=True,
        versionDescription="one",
    )  # fmt: skip
    assert states("describe_state_machine", stateMachineArn=arn)["definition"] == changed
    assert len(states("list_state_machine_versions", stateMachineArn=arn)["stateMachineVersions"]) == 1
    states("delete_state_machine", stateMachineArn=arn)
    assert states.says("describe_state_machine", stateMachineArn=arn) == "StateMachineDoesNotExist"


def test_aws_sns_topic_and_subscription(server: Server):
    topics, sqs = Provider(server, "sns"), Provider(server, "sqs")
    sqs("create_queue", QueueName=topics.name)
    arn = topics("create_topic", Name=topics.name, Tags=[{"Key": "a", "Value": "b"}])["TopicArn"]
    topics("set_topic_attributes", TopicArn=arn, AttributeName="DisplayName", AttributeValue="x")
    assert topics("get_topic_attributes", TopicArn=arn)["Attributes"]["DisplayName"] == "x"
    assert topics("list_tags_for_resource", ResourceArn=arn)["Tags"] == [{"Key": "a", "Value": "b"}]
    subscription = topics(
        "subscribe", TopicArn=arn, Protocol="sqs", Endpoint=f"arn:aws:sqs:us-east-1:{ACCOUNT}:{topics.name}",
        ReturnSubscriptionArn=True, Attributes={"RawMessageDelivery": "true"},
    )["SubscriptionArn"]  # fmt: skip
    shown = topics("get_subscription_attributes", SubscriptionArn=subscription)["Attributes"]
    assert (shown["PendingConfirmation"], shown["RawMessageDelivery"]) == ("false", "true")
    topics("unsubscribe", SubscriptionArn=subscription)
    assert topics.says("get_subscription_attributes", SubscriptionArn=subscription) == "NotFound"
    topics("delete_topic", TopicArn=arn)
    assert topics.says("get_topic_attributes", TopicArn=arn) == "NotFound"


def test_aws_scheduler_schedule(server: Server):
    schedules = Provider(server, "scheduler")
    target = {"Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:anything", "RoleArn": ROLE}
    request: dict[str, Any] = {
        "Name": schedules.name, "GroupName": "default", "ScheduleExpression": "rate(1 hour)", "Target": target,
        "FlexibleTimeWindow": {"Mode": "OFF"}, "ScheduleExpressionTimezone": "UTC", "State": "ENABLED",
    }  # fmt: skip
    schedules("create_schedule", **request)
    assert schedules("get_schedule", Name=schedules.name, GroupName="default")["State"] == "ENABLED"
    schedules("update_schedule", **{**request, "State": "DISABLED"})
    schedules("delete_schedule", Name=schedules.name, GroupName="default")
    gone = schedules.says("get_schedule", Name=schedules.name, GroupName="default")
    assert gone == "ResourceNotFoundException"
    made = schedules("create_schedule_group", Name=schedules.name)
    assert schedules("get_schedule_group", Name=schedules.name)["State"] == "ACTIVE"
    assert schedules("list_tags_for_resource", ResourceArn=made["ScheduleGroupArn"])["Tags"] == []
    schedules("delete_schedule_group", Name=schedules.name)


def test_aws_iam_role_and_policy(server: Server):
    iam = Provider(server, "iam")
    role = {"RoleName": iam.name}
    iam("create_role", **role, AssumeRolePolicyDocument=TRUST, Path="/")
    assert iam("get_role", **role)["Role"]["RoleName"] == iam.name
    assert iam("list_role_policies", **role)["PolicyNames"] == []
    assert iam("list_attached_role_policies", **role)["AttachedPolicies"] == []
    iam("put_role_policy", **role, PolicyName="inline", PolicyDocument=POLICY)
    assert iam("get_role_policy", **role, PolicyName="inline")["PolicyName"] == "inline"
    arn = iam("create_policy", PolicyName=iam.name, PolicyDocument=POLICY)["Policy"]["Arn"]
    assert iam("get_policy", PolicyArn=arn)["Policy"]["DefaultVersionId"] == "v1"
    assert iam("get_policy_version", PolicyArn=arn, VersionId="v1")["PolicyVersion"]["IsDefaultVersion"]
    iam("attach_role_policy", **role, PolicyArn=arn)
    iam("update_assume_role_policy", **role, PolicyDocument=TRUST)
    assert iam("list_instance_profiles_for_role", **role)["InstanceProfiles"] == []
    assert [one["VersionId"] for one in iam("list_policy_versions", PolicyArn=arn)["Versions"]] == ["v1"]
    iam("detach_role_policy", **role, PolicyArn=arn)
    iam("delete_role_policy", **role, PolicyName="inline")
    iam("delete_role", **role)
    iam("delete_policy", PolicyArn=arn)
    assert iam.says("get_role", **role) == iam.says("get_policy", PolicyArn=arn) == "NoSuchEntity"


def test_aws_cloudwatch_log_group(server: Server):
    logs = Provider(server, "logs")
    name = f"/tf/{logs.name}"
    logs("create_log_group", logGroupName=name, tags={"a": "b"})
    logs("put_retention_policy", logGroupName=name, retentionInDays=7)
    (shown,) = logs("describe_log_groups", logGroupNamePrefix=name)["logGroups"]
    assert shown["retentionInDays"] == 7
    assert logs("list_tags_for_resource", resourceArn=shown["arn"].removesuffix(":*"))["tags"] == {"a": "b"}
    logs("delete_log_group", logGroupName=name)
    assert logs("describe_log_groups", logGroupNamePrefix=name)["logGroups"] == []


def test_aws_cloudwatch_event_rule_and_target(server: Server):
    events = Provider(server, "events")
    name = events.name
    arn = events("put_rule", Name=name, EventPattern='{"source": ["a"]}', EventBusName="default")["RuleArn"]
    assert events("describe_rule", Name=name, EventBusName="default")["State"] == "ENABLED"
    assert events("list_tags_for_resource", ResourceARN=arn)["Tags"] == []
    target = {"Id": "one", "Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:anything"}
    assert events("put_targets", Rule=name, Targets=[target])["FailedEntryCount"] == 0
    assert [one["Id"] for one in events("list_targets_by_rule", Rule=name)["Targets"]] == ["one"]
    events("remove_targets", Rule=name, Ids=["one"])
    events("delete_rule", Name=name)
    assert events.says("describe_rule", Name=name) == "ResourceNotFoundException"


@pytest.mark.parametrize("kind", ["String", "SecureString"])
def test_aws_ssm_parameter(server: Server, kind: str):
    ssm = Provider(server, "ssm")
    name = f"/{ssm.name}"
    ssm("put_parameter", Name=name, Value="x", Type=kind)
    assert ssm("get_parameter", Name=name, WithDecryption=True)["Parameter"]["Value"] == "x"
    filters = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
    assert len(ssm("describe_parameters", ParameterFilters=filters)["Parameters"]) == 1
    assert ssm("list_tags_for_resource", ResourceType="Parameter", ResourceId=name)["TagList"] == []
    ssm("delete_parameter", Name=name)
    assert ssm.says("get_parameter", Name=name) == "ParameterNotFound"


def test_aws_secretsmanager_secret_and_version(server: Server):
    secrets = Provider(server, "secretsmanager")
    arn = secrets("create_secret", Name=secrets.name)["ARN"]
    assert secrets("describe_secret", SecretId=arn)["Name"] == secrets.name
    assert "ResourcePolicy" not in secrets("get_resource_policy", SecretId=arn)
    version = secrets("put_secret_value", SecretId=arn, SecretString="x")["VersionId"]
    assert secrets("get_secret_value", SecretId=arn, VersionId=version)["SecretString"] == "x"
    secrets("delete_secret", SecretId=arn, ForceDeleteWithoutRecovery=True)
    assert secrets.says("describe_secret", SecretId=arn) == "ResourceNotFoundException"


def test_the_provider_itself_asks_who_it_is(server: Server):
    assert Provider(server, "sts")("get_caller_identity")["Account"] == ACCOUNT


def test_aws_cloudformation_stack(server: Server):
    """Source: the provider's documentation of the resource: its arguments and attributes."""
    call = Provider(server, "cloudformation")
    body: Any = {"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"Q": {"Value": {"Ref": "Q"}}}}
    given: dict[str, Any] = {"StackName": call.name, "Tags": [{"Key": "a", "Value": "b"}], "Capabilities": []}
    stack = call(
        "create_stack", **given, TemplateBody=json.dumps(body), ClientRequestToken=f"terraform-{call.name}",
        OnFailure="ROLLBACK", TimeoutInMinutes=5,
    )["StackId"]  # fmt: skip
    call.client.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
    (shown,) = call("describe_stacks", StackName=stack)["Stacks"]
    assert (shown["StackStatus"], shown["TimeoutInMinutes"]) == ("CREATE_COMPLETE", 5)
    assert [one["OutputKey"] for one in shown["Outputs"]] == ["Q"]
    assert call("get_template", StackName=stack, TemplateStage="Original")["TemplateBody"] == body
    body["Resources"]["R"] = {"Type": "AWS::SQS::Queue"}
    call("update_stack", **given, TemplateBody=json.dumps(body), ClientRequestToken=f"terraform-2-{call.name}")
    call.client.get_waiter("stack_update_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
    tokens = {one.get("ClientRequestToken") for one in call("describe_stack_events", StackName=stack)["StackEvents"]}
    assert f"terraform-2-{call.name}" in tokens
    call("delete_stack", StackName=call.name, ClientRequestToken=f"terraform-3-{call.name}")
    call.client.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
    assert call("describe_stacks", StackName=stack)["Stacks"][0]["StackStatus"] == "DELETE_COMPLETE"
    assert call.says("describe_stacks", StackName=call.name) == "ValidationError"
