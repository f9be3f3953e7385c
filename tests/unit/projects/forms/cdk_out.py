# ruff: noqa: E501
"""Applications as `cdk synth` writes them: an assembly with templates, assets, bootstrap rules and metadata."""

from __future__ import annotations

from typing import Any

from tests.unit.projects.forms.parts import NODE, PYTHON, Files, text

Body = dict[str, Any]
HASH = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
REGIONS = ("eu-central-1", "eu-west-1", "us-east-1", "us-west-2")
PARTITION = {"Ref": "AWS::Partition"}
BUCKET = {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"}


def app(*stacks: tuple[str, Body], outputs: Body | None = None, more: Files | None = None) -> Files:
    """An application of some stacks, each after those before it."""
    artifacts: Body = {"Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}}}
    files: Files = {"cdk.json": '{"app": "npx ts-node bin/app.ts", "context": {"@aws-cdk/core:x": true}}'}
    for place, (name, resources) in enumerate(stacks):
        template = _template(name, resources)
        template["Outputs"] = (outputs or {}).get(name, {})
        files[f"cdk.out/{name}.template.json"] = text(template)
        files[f"cdk.out/{name}.assets.json"] = text({"version": "48.0.0", "files": _assets(name)})
        artifacts[f"{name}.assets"] = {
            "type": "cdk:asset-manifest",
            "properties": {"file": f"{name}.assets.json", "requiresBootstrapStackVersion": 6},
        }
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://unknown-account/unknown-region",
            "properties": {"templateFile": f"{name}.template.json", "terminationProtection": False},
            "dependencies": [stacks[place - 1][0]] if place else [],
            "displayName": name,
        }
    files["cdk.out/manifest.json"] = text({"version": "48.0.0", "artifacts": artifacts})
    files["cdk.out/cdk.out"] = '{"version":"48.0.0"}'
    files[f"cdk.out/asset.{HASH}/index.py"] = PYTHON
    files[f"cdk.out/asset.{OTHER}/index.js"] = NODE
    return {**files, **{f"cdk.out/{key}": value for key, value in (more or {}).items()}}


def _template(name: str, resources: Body) -> Body:
    metadata = {
        "Type": "AWS::CDK::Metadata",
        "Properties": {"Analytics": "v2:deflate64:H4sI"},
        "Condition": "CDKMetadataAvailable",
    }
    for id_, body in resources.items():
        body.setdefault("Metadata", {}).setdefault("aws:cdk:path", f"{name}/{id_[:-8]}/Resource")
    return {
        "Resources": {**resources, "CDKMetadata": metadata},
        "Conditions": {"CDKMetadataAvailable": {"Fn::Or": [
            {"Fn::Or": [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]} for region in REGIONS[:2]]},
            {"Fn::Or": [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]} for region in REGIONS[2:]]},
        ]}},
        "Parameters": {"BootstrapVersion": {
            "Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version",
            "Description": "Version of the CDK Bootstrap resources in this environment [cdk:skip]",
        }},
        "Rules": {"CheckBootstrapVersion": {"Assertions": [{
            "Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2", "3"], {"Ref": "BootstrapVersion"}]}]},
            "AssertDescription": "CDK bootstrap stack version 6 required.",
        }]}},
    }  # fmt: skip


def _assets(name: str) -> Body:
    found = {key: (f"asset.{key}", "zip", f"{key}.zip") for key in (HASH, OTHER)}
    found["t" * 64] = (f"{name}.template.json", "file", "t" * 64 + ".json")
    found["n" * 64] = ("Nested.nested.template.json", "file", "n" * 64 + ".json")
    found["d" * 64] = ("asset.flow.json", "file", "d" * 64 + ".json")
    return {
        key: {
            "displayName": key[:4], "source": {"path": path, "packaging": packaging},
            "destinations": {"current_account-current_region": {"bucketName": BUCKET["Fn::Sub"], "objectKey": object_}},
        }
        for key, (path, packaging, object_) in found.items()
    }  # fmt: skip


def res(kind: str, properties: Body | None = None, **more: Any) -> Body:
    policies = (
        {"UpdateReplacePolicy": "Delete", "DeletionPolicy": "Delete"} if "DynamoDB" in kind or "Logs" in kind else {}
    )
    return {"Type": kind, "Properties": properties or {}, **policies, **more}


def arn(id_: str) -> Body:
    return {"Fn::GetAtt": [id_, "Arn"]}


def role(service: str, *managed: str) -> Body:
    statement = {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": service}}
    arns = [{"Fn::Join": ["", ["arn:", PARTITION, f":iam::aws:policy/{name}"]]} for name in managed]
    given = {"AssumeRolePolicyDocument": {"Statement": [statement], "Version": "2012-10-17"}}
    return res("AWS::IAM::Role", {**given, **({"ManagedPolicyArns": arns} if arns else {})})


def policy(role_id: str, *resources: Any) -> Body:
    statements = [{"Action": "x:*", "Effect": "Allow", "Resource": one} for one in resources]
    document = {"Statement": statements, "Version": "2012-10-17"}
    name = f"{role_id[:-8]}DefaultPolicy00000000"
    return res("AWS::IAM::Policy", {"PolicyDocument": document, "PolicyName": name, "Roles": [{"Ref": role_id}]})


def function(role_id: str, *, asset: str = HASH, **more: Any) -> Body:
    runtime = "python3.13" if asset == HASH else "nodejs22.x"
    handler = "index.lambda_handler" if asset == HASH else "index.handler"
    given = {"Code": {"S3Bucket": BUCKET, "S3Key": f"{asset}.zip"}, "Handler": handler, "Runtime": runtime}
    metadata = {"aws:asset:path": f"asset.{asset}", "aws:asset:is-bundled": False, "aws:asset:property": "Code"}
    depends = [f"{role_id[:-8]}DefaultPolicy00000000", role_id] if more.pop("waits", False) else [role_id]
    properties = {**given, "Role": arn(role_id), **more}
    return res("AWS::Lambda::Function", properties, DependsOn=depends, Metadata=metadata)


def machine(role_id: str, *parts: Any, **more: Any) -> Body:
    given = {"DefinitionString": {"Fn::Join": ["", list(parts)]}, "RoleArn": arn(role_id), **more}
    return res("AWS::StepFunctions::StateMachine", given, DependsOn=[role_id])


def task(function_id: str) -> tuple[Any, ...]:
    return (
        '{"StartAt":"Submit","States":{"Submit":{"End":true,"Retry":[{"ErrorEquals":["Lambda.ServiceException"],'
        '"IntervalSeconds":2,"MaxAttempts":6,"BackoffRate":2}],"Type":"Task","Resource":"arn:',
        PARTITION,
        ':states:::lambda:invoke","Parameters":{"FunctionName":"',
        arn(function_id),
        '","Payload.$":"$"}}},"TimeoutSeconds":300}',
    )


def base(**more: Body) -> Body:
    """A function with its role, and a machine that calls it."""
    return {
        "WorkRole0A1B2C3D": role("lambda.amazonaws.com", "service-role/AWSLambdaBasicExecutionRole"),
        "Work4E5F6A7B": function("WorkRole0A1B2C3D", Environment={"Variables": {"STAGE": "dev"}}),
        "FlowRole11112222": role("states.amazonaws.com"),
        "Flow33334444": machine("FlowRole11112222", *task("Work4E5F6A7B")),
        **more,
    }


_LOGGED = base(
    Logs55556666=res("AWS::Logs::LogGroup", {"LogGroupName": "/aws/vendedlogs/states/logged", "RetentionInDays": 731}),
    Express77778888=machine(
        "FlowRole11112222", *task("Work4E5F6A7B"), StateMachineType="EXPRESS", TracingConfiguration={"Enabled": True},
        LoggingConfiguration={"Level": "ALL", "IncludeExecutionData": True,
                              "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": arn("Logs55556666")}}]},
    ),
    Rule99990000=res("AWS::Events::Rule", {"ScheduleExpression": "rate(1 minute)", "State": "DISABLED", "Targets": [
        {"Arn": {"Ref": "Flow33334444"}, "Id": "Target0", "RoleArn": arn("FlowRole11112222"), "Input": '{"a":1}'}]}),
    FlowDefaultPolicy00000000=policy("FlowRole11112222", arn("Work4E5F6A7B"), {"Ref": "Flow33334444"}),
)  # fmt: skip
_TABLES = base(
    Table12121212=res("AWS::DynamoDB::GlobalTable", {
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [{"IndexName": "by-sk", "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}],
                                    "Projection": {"ProjectionType": "ALL"}}],
        "Replicas": [{"Region": {"Ref": "AWS::Region"}, "DeletionProtectionEnabled": False,
                      "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}],
    }),
    Store34343434=machine(
        "FlowRole11112222", '{"StartAt":"Put","States":{"Put":{"End":true,"Type":"Task","Resource":"arn:', PARTITION,
        ':states:::dynamodb:putItem","Parameters":{"Item":{"pk":{"S":"a"},"sk":{"S":"b"}},"TableName":"',
        {"Ref": "Table12121212"}, '"}}}}',
    ),
)  # fmt: skip
_QUEUES = base(
    Dead56565656=res("AWS::SQS::Queue", {"MessageRetentionPeriod": 1209600}),
    Queue78787878=res("AWS::SQS::Queue", {"VisibilityTimeout": 300, "KmsMasterKeyId": "alias/aws/sqs",
                      "RedrivePolicy": {"deadLetterTargetArn": arn("Dead56565656"), "maxReceiveCount": 3}}),
    Source90909090=res("AWS::Lambda::EventSourceMapping", {"EventSourceArn": arn("Queue78787878"), "BatchSize": 10,
                       "FunctionName": {"Ref": "Work4E5F6A7B"}, "FunctionResponseTypes": ["ReportBatchItemFailures"]}),
    Topic10101010=res("AWS::SNS::Topic", {"DisplayName": "alerts"}),
    Sub20202020=res("AWS::SNS::Subscription", {"Endpoint": arn("Queue78787878"), "Protocol": "sqs",
                    "TopicArn": {"Ref": "Topic10101010"}}, DependsOn=["QueuePolicy30303030"]),
    QueuePolicy30303030=res("AWS::SQS::QueuePolicy", {"Queues": [{"Ref": "Queue78787878"}],
                            "PolicyDocument": {"Statement": [], "Version": "2012-10-17"}}),
)  # fmt: skip
_BUCKETS = base(
    Bucket40404040=res("AWS::S3::Bucket", {"Tags": [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]}),
    BucketPolicy50505050=res("AWS::S3::BucketPolicy", {"Bucket": {"Ref": "Bucket40404040"}, "PolicyDocument": {
        "Version": "2012-10-17", "Statement": [{"Action": "s3:DeleteObject*", "Effect": "Allow", "Principal": {
            "AWS": "arn:aws:iam::000000000000:root"}, "Resource": {"Fn::GetAtt": ["Bucket40404040", "Arn"]}}]}}),
    BucketAutoDelete60606060=res("Custom::S3AutoDeleteObjects", {
        "ServiceToken": arn("CustomS3AutoDeleteObjectsCustomResourceProviderHandler9D90184F"),
        "BucketName": {"Ref": "Bucket40404040"}}, DependsOn=["BucketPolicy50505050"]),
    CustomS3AutoDeleteObjectsCustomResourceProviderHandler9D90184F=function(
        "WorkRole0A1B2C3D", asset=OTHER, Timeout=900, MemorySize=128, Handler="index.handler"),
    BucketNotifications70707070=res("Custom::S3BucketNotifications", {
        "ServiceToken": arn("Work4E5F6A7B"), "BucketName": {"Ref": "Bucket40404040"}, "Managed": True,
        "NotificationConfiguration": {"LambdaFunctionConfigurations": [
            {"Events": ["s3:ObjectCreated:*"], "LambdaFunctionArn": arn("Work4E5F6A7B")}]}},
        DependsOn=["AllowNotify80808080"]),
    AllowNotify80808080=res("AWS::Lambda::Permission", {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com",
                            "FunctionName": arn("Work4E5F6A7B"), "SourceArn": arn("Bucket40404040")}),
    Deploy90909091=res("Custom::CDKBucketDeployment", {"ServiceToken": arn("Work4E5F6A7B"), "SourceBucketNames": [BUCKET],
                       "SourceObjectKeys": [f"{HASH}.zip"], "DestinationBucketName": {"Ref": "Bucket40404040"}}),
    LogRetention01010101=res("Custom::LogRetention", {"ServiceToken": arn("Work4E5F6A7B"), "RetentionInDays": 7,
                             "LogGroupName": {"Fn::Join": ["", ["/aws/lambda/", {"Ref": "Work4E5F6A7B"}]]}}),
)  # fmt: skip
_NETWORK = base(
    Vpc00000001=res("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16"}),
    VpcPublicSubnet00000002=res("AWS::EC2::Subnet", {"VpcId": {"Ref": "Vpc00000001"}, "CidrBlock": "10.0.0.0/17",
                                "AvailabilityZone": {"Fn::Select": [0, {"Fn::GetAZs": ""}]}}),
    VpcEip00000003=res("AWS::EC2::EIP", {"Domain": "vpc"}),
    VpcNat00000004=res("AWS::EC2::NatGateway", {"AllocationId": {"Fn::GetAtt": ["VpcEip00000003", "AllocationId"]},
                       "SubnetId": {"Ref": "VpcPublicSubnet00000002"}}),
    Restrict00000005=res("Custom::VpcRestrictDefaultSG", {"ServiceToken": arn("Work4E5F6A7B"),
                         "DefaultSecurityGroupId": {"Fn::GetAtt": ["Vpc00000001", "DefaultSecurityGroup"]}}),
    Group00000006=res("AWS::EC2::SecurityGroup", {"VpcId": {"Ref": "Vpc00000001"}}),
    Inside00000007=function("WorkRole0A1B2C3D", VpcConfig={
        "SubnetIds": [{"Ref": "VpcPublicSubnet00000002"}],
        "SecurityGroupIds": [{"Fn::GetAtt": ["Group00000006", "GroupId"]}]}),
    Cluster00000008=res("AWS::ECS::Cluster"),
    Task00000009=res("AWS::ECS::TaskDefinition", {
        "Family": "cdknetworktask", "Cpu": "256", "Memory": "512", "NetworkMode": "awsvpc",
        "RequiresCompatibilities": ["FARGATE"], "TaskRoleArn": arn("FlowRole11112222"),
        "ContainerDefinitions": [{"Essential": True, "Name": "c", "Image": {
            "Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/cdk-hnb659fds-container-assets:x"}}]}),
)  # fmt: skip
_WEB = base(
    Api00000001=res("AWS::ApiGateway::RestApi", {"Name": "web"}),
    ApiAccount00000002=res("AWS::ApiGateway::Account", {"CloudWatchRoleArn": arn("FlowRole11112222")},
                           DependsOn=["Api00000001"]),
    ApiDeployment00000003=res("AWS::ApiGateway::Deployment", {"RestApiId": {"Ref": "Api00000001"}},
                              DependsOn=["ApiPost00000004"]),
    ApiStage00000005=res("AWS::ApiGateway::Stage", {"RestApiId": {"Ref": "Api00000001"}, "StageName": "prod",
                         "DeploymentId": {"Ref": "ApiDeployment00000003"}}),
    ApiPost00000004=res("AWS::ApiGateway::Method", {
        "RestApiId": {"Ref": "Api00000001"}, "ResourceId": {"Fn::GetAtt": ["Api00000001", "RootResourceId"]},
        "HttpMethod": "POST", "AuthorizationType": "NONE",
        "Integration": {"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "Uri": {"Fn::Join": ["", [
            "arn:", PARTITION, ":apigateway:", {"Ref": "AWS::Region"}, ":lambda:path/2015-03-31/functions/",
            {"Fn::GetAtt": ["WorkRole0A1B2C3D", "Arn"]}, "/invocations"]]}}}),
    Pool00000006=res("AWS::Cognito::UserPool", {"UserPoolName": "people"}),
    Reader00000007=function("WorkRole0A1B2C3D", asset=OTHER, Environment={"Variables": {
        "POOL": {"Ref": "Pool00000006"}, "AWS_NODEJS_CONNECTION_REUSE_ENABLED": "1",
        "URL": {"Fn::Join": ["", ["https://", {"Ref": "Api00000001"}, ".execute-api.", {"Ref": "AWS::Region"}, ".",
                {"Ref": "AWS::URLSuffix"}, "/", {"Ref": "ApiStage00000005"}, "/"]]}}}),
)  # fmt: skip
_NESTED_URL = {"Fn::Join": ["", ["https://s3.", {"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}, "/", BUCKET,
                                 "/" + "n" * 64 + ".json"]]}  # fmt: skip
_NESTED = base(
    PartNestedStackResource00000001=res("AWS::CloudFormation::Stack", {
        "TemplateURL": _NESTED_URL, "Parameters": {"referencetoWorkArn": arn("Work4E5F6A7B")}},
        Metadata={"aws:asset:path": "Nested.nested.template.json", "aws:asset:property": "TemplateURL"}),
    Topic00000002=res("AWS::SNS::Topic", {"DisplayName": {
        "Fn::GetAtt": ["PartNestedStackResource00000001", "Outputs.InnerQueueName"]}}),
)  # fmt: skip
_INNER = text({
    "Parameters": {"referencetoWorkArn": {"Type": "String"}},
    "Resources": {"InnerQueue00000001": res("AWS::SQS::Queue"), "InnerRole00000002": role("states.amazonaws.com"),
                  "InnerFlow00000003": machine("InnerRole00000002", '{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"',
                                               {"Ref": "referencetoWorkArn"}, '","End":true}}}')},
    "Outputs": {"InnerQueueName": {"Value": {"Fn::GetAtt": ["InnerQueue00000001", "QueueName"]}}},
})  # fmt: skip
_FILE = base(
    FromFile00000001=res("AWS::StepFunctions::StateMachine", {
        "DefinitionS3Location": {"Bucket": BUCKET, "Key": "d" * 64 + ".json"}, "RoleArn": arn("FlowRole11112222"),
        "DefinitionSubstitutions": {"work-arn": arn("Work4E5F6A7B"), "limit": 3}}),
    Version00000002=res("AWS::Lambda::Version", {"FunctionName": {"Ref": "Work4E5F6A7B"}}, DeletionPolicy="Retain"),
    Alias00000003=res("AWS::Lambda::Alias", {"FunctionName": {"Ref": "Work4E5F6A7B"}, "Name": "live",
                      "FunctionVersion": {"Fn::GetAtt": ["Version00000002", "Version"]}}),
    Secret00000004=res("AWS::SecretsManager::Secret", {"GenerateSecretString": {}}),
    Param00000005=res("AWS::SSM::Parameter", {"Type": "String", "Value": {"Ref": "FromFile00000001"}}),
    Pipe00000006=res("AWS::Pipes::Pipe", {
        "RoleArn": arn("FlowRole11112222"), "Source": arn("Queue00000007"), "Target": {"Ref": "Flow33334444"},
        "SourceParameters": {"SqsQueueParameters": {"BatchSize": 1}},
        "TargetParameters": {"StepFunctionStateMachineParameters": {"InvocationType": "FIRE_AND_FORGET"}}}),
    Queue00000007=res("AWS::SQS::Queue"),
    Image00000008=res("AWS::Lambda::Function", {"PackageType": "Image", "Role": arn("WorkRole0A1B2C3D"),
                      "Code": {"ImageUri": {"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/a:b"}}}),
)  # fmt: skip
_DEFINITION = (
    '{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"${work-arn}","TimeoutSeconds":${limit},"End":true}}}'
)
_EXPORT = {
    "Data": {"ExportsOutputRefQueue": {"Value": arn("Queue00000001"), "Export": {"Name": "Data:ExportsOutputQueue"}}}
}

CDK: dict[str, Files] = {
    "cdk-basic": app(("Basic", base())),
    "cdk-logged": app(("Logged", _LOGGED)),
    "cdk-tables": app(("Tables", _TABLES)),
    "cdk-queues": app(("Queues", _QUEUES)),
    "cdk-buckets": app(("Buckets", _BUCKETS)),
    "cdk-network": app(("Network", _NETWORK)),
    "cdk-web": app(("Web", _WEB)),
    "cdk-nested": app(("Nested", _NESTED), more={"Nested.nested.template.json": _INNER}),
    "cdk-file": app(("File", _FILE), more={"asset.flow.json": _DEFINITION}),
    "cdk-two": app(
        ("Data", {"Queue00000001": res("AWS::SQS::Queue")}),
        ("Users", base(Topic00000002=res("AWS::SNS::Topic"), Sub00000003=res("AWS::SNS::Subscription", {
            "Protocol": "sqs", "TopicArn": {"Ref": "Topic00000002"},
            "Endpoint": {"Fn::ImportValue": "Data:ExportsOutputQueue"}}))),
        outputs=_EXPORT,
    ),
}  # fmt: skip
