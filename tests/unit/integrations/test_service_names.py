import pytest

from statewright.asl.resources import parse_resource
from statewright.integrations.service_names import Api, UnknownApi, api_of, member_names, pascal, sdk_prefix


def api(name: str) -> Api:
    return api_of(parse_resource(f"arn:aws:states:::{name}"))


@pytest.mark.parametrize(
    ("resource", "model", "operation", "prefix"),
    [
        ("aws-sdk:dynamodb:putItem", "dynamodb", "PutItem", "DynamoDb"),
        ("aws-sdk:sfn:startExecution", "stepfunctions", "StartExecution", "Sfn"),
        ("aws-sdk:secretsmanager:getSecretValue", "secretsmanager", "GetSecretValue", "SecretsManager"),
        ("aws-sdk:cloudwatchlogs:putLogEvents", "logs", "PutLogEvents", "CloudWatchLogs"),
        ("aws-sdk:eventbridge:putEvents", "events", "PutEvents", "EventBridge"),
        ("aws-sdk:acmpca:listTags", "acm-pca", "ListTags", "AcmPca"),
        ("aws-sdk:config:putConfigRule", "config", "PutConfigRule", "Config"),
        ("aws-sdk:rds:describeDBInstances", "rds", "DescribeDBInstances", "Rds"),
        ("aws-sdk:rds:describeDbInstances", "rds", "DescribeDBInstances", "Rds"),
        ("sns:publish", "sns", "Publish", "SNS"),
        ("sqs:sendMessage.waitForTaskToken", "sqs", "SendMessage", "SQS"),
        ("ecs:runTask.sync", "ecs", "RunTask", "ECS"),
        ("bedrock:createModelCustomizationJob", "bedrock", "CreateModelCustomizationJob", "Bedrock"),
    ],
)
def test_a_resource_names_an_api(resource, model, operation, prefix):
    found = api(resource)
    assert (found.model.service_name, found.operation.name, found.prefix) == (model, operation, prefix)


@pytest.mark.parametrize("resource", ["aws-sdk:nosuch:doIt", "aws-sdk:s3:doIt", "eks:call", "nosuch:doIt"])
def test_unknown_services_and_actions_are_reported(resource):
    with pytest.raises(UnknownApi, match="no "):
        api(resource)


@pytest.mark.parametrize(
    ("resource", "code", "name"),
    [
        ("dynamodb:putItem", "ResourceNotFoundException", "DynamoDB.ResourceNotFoundException"),
        ("dynamodb:putItem", "ValidationException", "DynamoDB.AmazonDynamoDBException"),
        ("aws-sdk:dynamodb:putItem", "ValidationException", "DynamoDb.DynamoDbException"),
        ("sns:publish", "NotFound", "SNS.NotFoundException"),
        ("sns:publish", "InvalidParameter", "SNS.InvalidParameterException"),
        ("aws-sdk:s3:listObjects", "NoSuchBucket", "S3.NoSuchBucketException"),
        ("aws-sdk:rds:describeDBInstances", "DBInstanceNotFound", "Rds.DbInstanceNotFoundException"),
        ("lambda:invoke", "ResourceNotFoundException", "Lambda.ResourceNotFoundException"),
    ],
)
def test_errors_are_named_in_the_words_of_each_dialect(resource, code, name):
    assert api(resource).error_name(code) == name


def test_causes_are_those_of_each_sdk():
    text = api("dynamodb:putItem").cause("ValidationException", "No.", 400, "r-1")
    assert text == (
        "No. (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ValidationException; "
        "Request ID: r-1; Proxy: null)"
    )
    text = api("aws-sdk:s3:getObject").cause("NoSuchKey", "No.", 404, "r-1", "x-1")
    assert text == (
        "No. (Service: S3, Status Code: 404, Request ID: r-1, Extended Request ID: x-1) (SDK Attempt Count: 1)"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("DBInstanceIdentifier", "DbInstanceIdentifier"),
        ("ETag", "ETag"),
        ("KMSKeyId", "KmsKeyId"),
        ("MD5OfMessageBody", "Md5OfMessageBody"),
        ("executionArn", "ExecutionArn"),
        ("SESv2", "SesV2"),
        ("XRay", "XRay"),
        ("EMR containers", "EmrContainers"),
    ],
)
def test_words_are_split_as_the_sdk_splits_them(name, shown):
    assert pascal(name) == shown


def test_redundant_words_of_a_service_are_dropped():
    assert sdk_prefix("Database Migration Service") == "DatabaseMigration"


def test_members_may_be_written_in_both_ways():
    shape = api("aws-sdk:rds:describeDBInstances").operation.input_shape
    names = member_names(shape, "aws-sdk")
    assert names["DbInstanceIdentifier"] == names["DBInstanceIdentifier"] == "DBInstanceIdentifier"
    assert "dBInstanceIdentifier" not in names
