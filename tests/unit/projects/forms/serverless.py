# ruff: noqa: E501
"""Services of the Serverless Framework: `serverless.yml` with its plugins, and the template that it packages."""

from __future__ import annotations

from typing import Any

from tests.unit.projects.forms.parts import NODE, Files, service, text

_HELLO = service(
    """\
    service: aws-hello
    frameworkVersion: "4"
    provider: {name: aws}
    functions:
      hello: {handler: handler.handler, events: [{httpApi: {path: /, method: get}}]}
    """
)

_FLOW = service(
    """\
    org: mine
    app: shop
    service: shop-flow
    provider:
      name: aws
      runtime: nodejs20.x
      stage: ${opt:stage, 'dev'}
      region: ${opt:region, 'us-east-1'}
      environment: {TABLE: "${self:custom.table}", API: !Ref ApiGatewayRestApi}
      iamRoleStatements: [{Effect: Allow, Action: ["dynamodb:*"], Resource: !GetAtt Table.Arn}]
    custom:
      table: ${self:service}-${sls:stage}-items
      prune: {automatic: true, number: 3}
    plugins: [serverless-step-functions, serverless-prune-plugin]
    functions:
      hello: {handler: handler.handler, events: [{http: {path: hello, method: get, cors: true}}]}
      check: {handler: handler.handler, reservedConcurrency: 2, timeout: 30}
    stepFunctions:
      validate: true
      stateMachines:
        flow:
          name: ${self:service}-${sls:stage}-flow
          events:
            - http: {path: flow, method: POST}
            - schedule: {rate: rate(10 minutes), enabled: false, input: {a: 1}}
            - eventBridge: {event: {source: [shop]}}
          definition:
            StartAt: Hello
            States:
              Hello: {Type: Task, Resource: !GetAtt HelloLambdaFunction.Arn, Next: Check}
              Check: {Type: Task, Resource: {Fn::GetAtt: [check, Arn]}, Next: Put}
              Put:
                Type: Task
                Resource: arn:aws:states:::dynamodb:putItem
                Parameters: {TableName: !Ref Table, Item: {id: {S.$: $.id}}}
                End: true
      activities: [manual-step]
    resources:
      Resources:
        Table:
          Type: AWS::DynamoDB::Table
          Properties:
            TableName: ${self:custom.table}
            BillingMode: PAY_PER_REQUEST
            AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
            KeySchema: [{AttributeName: id, KeyType: HASH}]
        Errors: {Type: AWS::ApiGateway::GatewayResponse, Properties: {RestApiId: !Ref ApiGatewayRestApi, ResponseType: DEFAULT_4XX}}
      Outputs:
        Url: {Value: !Join ["", ["https://", !Ref ApiGatewayRestApi, ".execute-api.us-east-1.amazonaws.com/${sls:stage}"]]}
    """
)

_EVENTS = service(
    """\
    service: shop-events
    provider:
      name: aws
      runtime: python3.12
      eventBridge: {useCloudFormation: true}
      iam: {role: {statements: [{Effect: Allow, Action: "sqs:*", Resource: "*"}]}}
      logs: {restApi: true}
      tracing: {lambda: true}
      vpc: {securityGroupIds: [sg-1], subnetIds: [subnet-1, subnet-2]}
      deploymentBucket: {name: shop-deployments}
    package: {individually: true, patterns: ["!node_modules/**", "!tests/**"]}
    functions:
      worker:
        handler: handler.lambda_handler
        layers: [!Ref SharedLambdaLayer, "arn:aws:lambda:us-east-1:770693421928:layer:Klayers-p312-requests:12"]
        events:
          - sqs: {arn: !GetAtt Jobs.Arn, batchSize: 5, functionResponseType: ReportBatchItemFailures}
          - sns: shop-alerts
          - sns: {topicName: shop-more, filterPolicy: {kind: [a]}}
          - s3: {bucket: shop-events-uploads, event: "s3:ObjectCreated:*", rules: [{suffix: .csv}]}
          - schedule: rate(1 day)
          - schedule: {rate: ["cron(0 12 * * ? *)"], enabled: false, method: scheduler, timezone: Europe/Berlin}
          - eventBridge: {eventBus: shop-bus, pattern: {source: [shop]}}
          - stream: {arn: !GetAtt Table.StreamArn, type: dynamodb}
          - websocket: $connect
          - alb: {listenerArn: x, priority: 1, conditions: {path: /}}
          - cognitoUserPool: {pool: users, trigger: PreSignUp}
          - cloudwatchLog: /aws/lambda/other
          - iot: {sql: "SELECT * FROM 'a'"}
        destinations: {onFailure: !GetAtt Dead.Arn}
        url: true
    layers:
      shared: {path: layer, compatibleRuntimes: [python3.12]}
    resources:
      - Resources:
          Jobs: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60}}
          Dead: {Type: AWS::SQS::Queue}
      - Resources:
          Table:
            Type: AWS::DynamoDB::Table
            Properties:
              BillingMode: PAY_PER_REQUEST
              StreamSpecification: {StreamViewType: NEW_IMAGE}
              AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
              KeySchema: [{AttributeName: id, KeyType: HASH}]
        Outputs:
          Logs: {Value: !Ref WorkerLogGroup}
    """,
    layer__python__shared_DOT_py="X = 1\n",
)

_FILES = service(
    """\
    service: ${file(config.yml):name}
    useDotenv: true
    provider: {name: aws, runtime: python3.11, stage: "${opt:stage, self:custom.stage}", environment: "${file(env.yml):${self:provider.stage}, file(env.yml):default}"}
    custom: {stage: dev, memory: {dev: 256, other: 512}, account: "${aws:accountId}"}
    params: {default: {domain: "${sls:stage}.example.com"}, prod: {domain: example.com}}
    functions:
      - ${file(functions.yml)}
    stepFunctions:
      stateMachines: ${file(machines.yml):machines}
    resources: ["${file(resources/queue.yml)}", "${file(resources/topic.yml)}"]
    """,
    config_DOT_yml="name: shop-files\n",
    env_DOT_yml="default: {ONE: '1', DOMAIN: \"${param:domain}\"}\n",
    functions_DOT_yml='work: {handler: handler.lambda_handler, memorySize: "${self:custom.memory.${self:provider.stage}}"}\n',
    machines_DOT_yml="machines:\n  flow: {id: Flow, type: EXPRESS, definition: {StartAt: A, States: {A: {Type: Task, "
    "Resource: {Fn::GetAtt: [work, Arn]}, End: true}}}}\n",
    resources__queue_DOT_yml="Resources: {Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: '${self:service}-q'}}}\n",
    resources__topic_DOT_yml="Resources: {Topic: {Type: AWS::SNS::Topic, DependsOn: Queue}}\n",
)

_DEFINITION = '{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"${Arn}","End":true}}}'


def packaged(name: str, *functions: str, **more: dict[str, Any]) -> Files:
    """The output of `serverless package`, without the zip."""
    bucket = {"Ref": "ServerlessDeploymentBucket"}
    resources: dict[str, Any] = {
        "ServerlessDeploymentBucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketEncryption": {}}},
        "ServerlessDeploymentBucketPolicy": {"Type": "AWS::S3::BucketPolicy", "Properties": {
            "Bucket": bucket, "PolicyDocument": {"Statement": [
                {"Action": "s3:*", "Effect": "Deny", "Principal": "*", "Condition": {"Bool": {"aws:SecureTransport": False}},
                 "Resource": [{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":s3:::", bucket, "/*"]]}]}
            ]},
        }},
        "IamRoleLambdaExecution": {"Type": "AWS::IAM::Role", "Properties": {
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {
                "Service": ["lambda.amazonaws.com"]}, "Action": ["sts:AssumeRole"]}]},
            "Path": "/", "RoleName": {"Fn::Join": ["-", [name, "dev", {"Ref": "AWS::Region"}, "lambdaRole"]]}}},
    }  # fmt: skip
    for one in functions:
        title = one.capitalize()
        key = f"serverless/{name}/dev/1700000000000-2023-11-14T22:13:20.000Z/{name}.zip"
        resources[f"{title}LogGroup"] = {
            "Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": f"/aws/lambda/{name}-dev-{one}"}
        }  # fmt: skip
        resources[f"{title}LambdaFunction"] = {
            "Type": "AWS::Lambda::Function", "DependsOn": [f"{title}LogGroup"],
            "Properties": {
                "Code": {"S3Bucket": bucket, "S3Key": key}, "Handler": "handler.handler", "Runtime": "nodejs20.x",
                "FunctionName": f"{name}-dev-{one}", "MemorySize": 1024, "Timeout": 6,
                "Role": {"Fn::GetAtt": ["IamRoleLambdaExecution", "Arn"]},
            },
        }  # fmt: skip
        resources[f"{title}LambdaVersion0abcDEF"] = {
            "Type": "AWS::Lambda::Version", "DeletionPolicy": "Retain",
            "Properties": {"FunctionName": {"Ref": f"{title}LambdaFunction"}, "CodeSha256": "x="},
        }  # fmt: skip
    outputs = {"ServerlessDeploymentBucketName": {"Value": bucket, "Export": {"Name": f"sls-{name}-dev-Bucket"}}}
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {**resources, **more}, "Outputs": outputs}
    return {
        "serverless.ts": "export default {}",
        "handler.js": NODE,
        ".serverless/cloudformation-template-update-stack.json": text(template),
        f".serverless/{name}.zip": "zip:handler.js",
    }


def _state_machine(name: str) -> dict[str, Any]:
    flow = {"Fn::Sub": [_DEFINITION, {"Arn": {"Fn::GetAtt": ["HelloLambdaFunction", "Arn"]}}]}
    return {
        "Flow": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {
            "DefinitionString": flow, "RoleArn": {"Fn::GetAtt": ["FlowRole", "Arn"]}, "StateMachineName": name,
            "StateMachineType": "STANDARD"}, "DependsOn": ["FlowRole"]},
        "FlowRole": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {
            "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {
                "Service": "states.amazonaws.com"}}]}, "Policies": []}},
        "ApiGatewayRestApi": {"Type": "AWS::ApiGateway::RestApi", "Properties": {"Name": "dev"}},
        "ApiGatewayMethodPost": {"Type": "AWS::ApiGateway::Method", "Properties": {
            "RestApiId": {"Ref": "ApiGatewayRestApi"}, "Integration": {"Uri": {"Fn::Sub": "arn:${AWS::Partition}:x"}}}},
    }  # fmt: skip


SERVERLESS: dict[str, Files] = {
    "sls-hello": _HELLO,
    "sls-flow": _FLOW,
    "sls-events": _EVENTS,
    "sls-files": _FILES,
    "sls-packaged": packaged("packaged", "hello", "bye"),
    "sls-packaged-flow": packaged("packaged-flow", "hello", **_state_machine("packaged-flow")),
}
for _index, _runtime in enumerate(("nodejs22.x", "python3.13")):
    _handler = "handler.handler" if _runtime.startswith("node") else "handler.lambda_handler"
    SERVERLESS[f"sls-small-{_index}"] = service(f"""\
        service: small-{_index}
        provider: {{name: aws, runtime: {_runtime}, architecture: arm64, stackTags: {{a: b}}, tags: {{size: 1, on: true}}}}
        plugins: {{modules: [serverless-step-functions, serverless-esbuild]}}
        functions:
          work: {{handler: {_handler}, environment: {{DEBUG: true, LIMIT: 200, NONE: ~}}, tags: {{x: 1}}}}
        stepFunctions:
          stateMachines:
            wait: {{definition: {{StartAt: A, States: {{A: {{Type: Wait, Seconds: 1, End: true}}}}}}, tags: {{n: 2}}}}
        """)
