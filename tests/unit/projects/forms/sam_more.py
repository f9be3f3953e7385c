# ruff: noqa: E501
"""SAM and CloudFormation projects with the services around workflows: networks, users, keys, alarms, secrets, jobs."""

from __future__ import annotations

from tests.unit.projects.forms.parts import DEFINITION, PYTHON, Files, plain, sam, text

_ROLE = """
      Role:
        Type: AWS::IAM::Role
        Properties:
          AssumeRolePolicyDocument: {Version: 2012-10-17, Statement: [{Effect: Allow, Action: ["sts:AssumeRole"],
            Principal: {Service: [states.amazonaws.com, events.amazonaws.com, pipes.amazonaws.com]}}]}
"""

_NETWORK = plain(
    """\
    Parameters:
      VpcCidr: {Type: String, Default: 10.0.0.0/16, AllowedPattern: '[0-9./]+', ConstraintDescription: a block}
      Existing: {Type: "AWS::EC2::VPC::Id"}
      Subnets: {Type: "List<AWS::EC2::Subnet::Id>"}
    Mappings:
      Zones: {us-east-1: {count: 2}, eu-central-1: {count: 3}}
    Conditions:
      HasOwn: !Equals [!Ref Existing, ""]
    Resources:
      Vpc: {Type: AWS::EC2::VPC, Condition: HasOwn, Properties: {CidrBlock: !Ref VpcCidr, EnableDnsSupport: true}}
      One:
        Type: AWS::EC2::Subnet
        Properties:
          VpcId: !If [HasOwn, !Ref Vpc, !Ref Existing]
          AvailabilityZone: !Select [0, !GetAZs ""]
          CidrBlock: !Select [0, !Cidr [!GetAtt Vpc.CidrBlock, 4, 8]]
      Two: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, AvailabilityZone: !Select [9, {Fn::GetAZs: !Ref AWS::Region}]}}
      Gateway: {Type: AWS::EC2::InternetGateway}
      Attach: {Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpcId: !Ref Vpc, InternetGatewayId: !Ref Gateway}}
      Address: {Type: AWS::EC2::EIP, DependsOn: Attach, Properties: {Domain: vpc}}
      Nat: {Type: AWS::EC2::NatGateway, Properties: {AllocationId: !GetAtt Address.AllocationId, SubnetId: !Ref One}}
      Group: {Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref Vpc, SecurityGroupIngress: [{SourceSecurityGroupId: !Ref Other}]}}
      Other: {Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref Vpc, SecurityGroupIngress: [{SourceSecurityGroupId: !Ref Group}]}}
      Work:
        Type: AWS::Lambda::Function
        DependsOn: [Nat, Role]
        Properties:
          Code: src
          Handler: app.lambda_handler
          Runtime: python3.12
          Role: !GetAtt Role.Arn
          VpcConfig: {SubnetIds: [!Ref One, !Ref Two], SecurityGroupIds: [!GetAtt Group.GroupId]}
    Outputs:
      Vpc: {Value: !Ref Vpc, Condition: HasOwn, Export: {Name: !Sub "${AWS::StackName}-Vpc"}}
    """.replace("    Outputs:", _ROLE.lstrip("\n") + "    Outputs:"),
    src__app_DOT_py=PYTHON,
)
_NETWORK["statewright.toml"] = '[project]\nparameters = { Existing = "" }\n'

_USERS = sam(
    """\
    Resources:
      Pool:
        Type: AWS::Cognito::UserPool
        Properties: {UserPoolName: !Sub "${AWS::StackName}-users", LambdaConfig: {PreSignUp: !GetAtt Check.Arn}}
      Client: {Type: AWS::Cognito::UserPoolClient, Properties: {UserPoolId: !Ref Pool, GenerateSecret: "false"}}
      Api:
        Type: AWS::Serverless::Api
        Properties: {StageName: Prod, Auth: {DefaultAuthorizer: A, Authorizers: {A: {UserPoolArn: !GetAtt Pool.Arn}}}}
      Check:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: src/
          Handler: app.lambda_handler
          Runtime: python3.12
          Environment: {Variables: {POOL: !Ref Pool, CLIENT: !Ref Client, ISSUER: !GetAtt Pool.ProviderURL}}
          Events: {Get: {Type: Api, Properties: {RestApiId: !Ref Api, Path: /, Method: ANY}}}
      Permission:
        Type: AWS::Lambda::Permission
        Properties: {FunctionName: !Ref Check, Action: "lambda:InvokeFunction", Principal: cognito-idp.amazonaws.com,
          SourceArn: !GetAtt Pool.Arn}
    """
)

_CONNECTORS = sam(
    """\
    Resources:
      Flow:
        Type: AWS::Serverless::StateMachine
        Connectors:
          ToTable: {Properties: {Destination: {Id: Table}, Permissions: [Write]}}
        Properties:
          DefinitionUri: flow.asl.json
          DefinitionSubstitutions: {CheckFunctionArn: !GetAtt Check.Arn, DDBPutItem: "arn:aws:states:::dynamodb:putItem", DDBTable: !Ref Table}
      Check:
        Type: AWS::Serverless::Function
        DependsOn: Link
        Connectors: {Queue: {Properties: {Destination: {Id: Queue}, Permissions: [Write]}}}
        Properties:
          CodeUri: src
          Handler: app.lambda_handler
          Runtime: python3.12
          Policies:
            - AWSLambdaBasicExecutionRole
            - !Ref Managed
            - SQSSendMessagePolicy: {QueueName: !GetAtt Queue.QueueName}
            - Statement: [{Effect: Allow, Action: "s3:*", Resource: !ImportValue other-bucket}]
      Managed: {Type: AWS::IAM::ManagedPolicy, Properties: {PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "s3:GetObject", Resource: "*"}]}}}
      Link: {Type: AWS::Serverless::Connector, Properties: {Source: {Id: Check}, Destination: {Id: Table}, Permissions: [Read]}}
      Queue: {Type: AWS::SQS::Queue}
      Table: {Type: AWS::Serverless::SimpleTable}
    """,
    flow_DOT_asl_DOT_json=text(DEFINITION),
)

_WATCHED = plain(
    """\
    Parameters:
      Mail: {Type: String, Default: ops@example.com}
    Resources:
      Key:
        Type: AWS::KMS::Key
        UpdateReplacePolicy: Retain
        Properties:
          KeyPolicy:
            Statement: [{Effect: Allow, Action: "kms:*", Resource: "*", Principal: {AWS: !Sub "arn:aws:iam::${AWS::AccountId}:root"}}]
      Alias: {Type: AWS::KMS::Alias, Properties: {AliasName: alias/shop, TargetKeyId: !Ref Key}}
      Topic: {Type: AWS::SNS::Topic, Properties: {DisplayName: true, KmsMasterKeyId: !GetAtt Key.Arn}}
      Subscription: {Type: AWS::SNS::Subscription, Properties: {Protocol: email, Endpoint: !Ref Mail, TopicArn: !Ref Topic}}
      TopicPolicy: {Type: AWS::SNS::TopicPolicy, Properties: {Topics: [!Ref Topic], PolicyDocument: {Statement: [
        {Effect: Allow, Action: "sns:Publish", Resource: !Ref Topic, Principal: {Service: events.amazonaws.com}}]}}}
      Alarm:
        Type: AWS::CloudWatch::Alarm
        Properties:
          Namespace: AWS/States
          MetricName: ExecutionsFailed
          Threshold: 1
          Statistic: Sum
          Period: 300
          EvaluationPeriods: 1
          ComparisonOperator: GreaterThanThreshold
          AlarmActions: [!Ref Topic]
          Dimensions: [{Name: StateMachineArn, Value: !Ref Flow}]
      Board: {Type: AWS::CloudWatch::Dashboard, Properties: {DashboardBody: !Sub '{"widgets": [{"region": "${AWS::Region}"}]}'}}
      Filter: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref Logs, FilterPattern: ERROR,
        MetricTransformations: [{MetricName: errors, MetricNamespace: Own, MetricValue: 1}]}}
      Logs: {Type: AWS::Logs::LogGroup, DeletionPolicy: Delete, Properties: {RetentionInDays: '14', KmsKeyId: !GetAtt Key.Arn}}
      Trail: {Type: AWS::CloudTrail::Trail, DependsOn: [BucketPolicy], Properties: {S3BucketName: !Ref Bucket, IsLogging: true}}
      Bucket:
        Type: AWS::S3::Bucket
        DeletionPolicy: Retain
        Properties:
          BucketEncryption: {ServerSideEncryptionConfiguration: [{ServerSideEncryptionByDefault: {SSEAlgorithm: "aws:kms", KMSMasterKeyID: !Ref Key}}]}
          PublicAccessBlockConfiguration: {BlockPublicAcls: true}
          NotificationConfiguration: {EventBridgeConfiguration: {EventBridgeEnabled: true}}
      BucketPolicy: {Type: AWS::S3::BucketPolicy, Properties: {Bucket: !Ref Bucket, PolicyDocument: {Statement: []}}}
      Uploads:
        Type: AWS::Events::Rule
        Properties:
          EventPattern: {source: [aws.s3], detail-type: [Object Created], detail: {bucket: {name: [!Ref Bucket]}}}
          Targets:
            - {Id: flow, Arn: !GetAtt Flow.Arn, RoleArn: !GetAtt Role.Arn, InputTransformer: {InputPathsMap: {k: $.detail.object.key}, InputTemplate: '{"key": <k>}'}}
      Flow:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          StateMachineName: !Join ["-", [!Ref AWS::StackName, flow]]
          RoleArn: !GetAtt Role.Arn
          LoggingConfiguration: {Level: ERROR, Destinations: [{CloudWatchLogsLogGroup: {LogGroupArn: !GetAtt Logs.Arn}}]}
          DefinitionString: !Sub '{"StartAt": "Tell", "States": {"Tell": {"Type": "Task", "Resource": "arn:${AWS::Partition}:states:::sns:publish", "Parameters": {"TopicArn": "${Topic}", "Message.$": "$"}, "End": true}}}'
    """
    + _ROLE
)

_CHOICES = plain(
    """\
    Metadata:
      AWS::CloudFormation::Interface: {ParameterGroups: [{Label: {default: Main}, Parameters: [Stage]}]}
    Parameters:
      Stage: {Type: String, Default: dev}
      Size: {Type: Number, Default: 3, MinValue: 1}
      Password: {Type: String, NoEcho: true, Default: secret123, MinLength: 8}
      Ids: {Type: "List<Number>", Default: "80, 443"}
    Rules:
      Checked: {RuleCondition: !Equals [!Ref Stage, prod], Assertions: [{Assert: !Not [!Equals [!Ref Size, 1]], AssertDescription: large}]}
    Mappings:
      Accounts: {012345678901: {name: one}, "222222222222": {name: two}}
      Stages: {dev: {days: 1, seconds: "86400", on: false}, prod: {days: 30, seconds: "864000", on: true}}
    Conditions:
      IsProd: !Equals [!Ref Stage, prod]
      IsSmall: !And [!Not [Condition: IsProd], !Or [!Equals [!Ref Size, 3], !Equals [!Ref Size, "4"]]]
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Metadata: {cfn-lint: {config: {ignore_checks: [W3005]}}}
        UpdatePolicy: {}
        Properties:
          DelaySeconds: !If [IsSmall, !Ref Size, !Ref "AWS::NoValue"]
          MessageRetentionPeriod: !FindInMap [Stages, !Ref Stage, seconds]
          FifoQueue: !If [IsProd, true, !Ref AWS::NoValue]
      Logs: {Type: AWS::Logs::LogGroup, DependsOn: [Queue, Only], Properties: {RetentionInDays: !FindInMap [Stages, !Ref Stage, days]}}
      Only: {Type: AWS::SNS::Topic, Condition: IsProd, Properties: {TopicName: !Sub "${Stage}-${AWS::StackName}"}}
      Parameter:
        Type: AWS::SSM::Parameter
        Properties:
          Type: StringList
          Value: !Join [",", !Split ["|", !Join ["|", [!Ref Stage, !Select ["1", !Ref Ids], !FindInMap [Accounts, 012345678901, name]]]]]
      Flag: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: true, Description: 200}}
      Flag2: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: 200, Value: 201}}
      Wait: {Type: AWS::CloudFormation::WaitCondition, Properties: {Handle: !Ref Handle, Timeout: 10}}
      Handle: {Type: AWS::CloudFormation::WaitConditionHandle}
    Outputs:
      Url: {Value: !Ref Queue}
      Topic: {Condition: IsProd, Value: !Ref Only}
      Password: {Value: !Base64 {"Fn::Sub": "x-${Password}"}}
    """
)

_LOOPS = sam(
    """\
    Parameters:
      Kinds: {Type: CommaDelimitedList, Default: "tea,coffee"}
    Resources:
      Fn::ForEach::Queues:
        - Kind
        - !Ref Kinds
        - Queue${Kind}: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub "${AWS::StackName}-${Kind}"}}
          Fn::ForEach::Subnets: [Zone, [a, b], {"Subnet${Kind}${Zone}": {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Nowhere}}}]
      Config: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: {Fn::ToJsonString: {count: !Length [1, 2], queue: !GetAtt Queuetea.Arn}}}}
    Outputs:
      Fn::ForEach::Urls: [Kind, !Ref Kinds, {"Url${Kind}": {Value: !Ref "Queue${Kind}"}}]
    """
)
_LOOPS["template.yaml"] = _LOOPS["template.yaml"].replace(
    "Transform: AWS::Serverless-2016-10-31", "Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]"
)

_CUSTOM = sam(
    """\
    Resources:
      Provider:
        Type: AWS::Lambda::Function
        Properties:
          Handler: index.handler
          Runtime: python3.12
          Role: !Sub arn:aws:iam::${AWS::AccountId}:role/lambda
          Code:
            ZipFile: !Sub |
              import cfnresponse
              def handler(event, context):
                  cfnresponse.send(event, context, "SUCCESS", {"Region": "${AWS::Region}"})
      Seed: {Type: Custom::Seed, Properties: {ServiceToken: !GetAtt Provider.Arn, Table: !Ref Table}}
      Lookup: {Type: AWS::CloudFormation::CustomResource, Version: "1.0", Properties: {ServiceToken: !GetAtt Provider.Arn, After: !Ref Seed}}
      Macro: {Type: AWS::CloudFormation::Macro, Properties: {Name: m, FunctionName: !GetAtt Provider.Arn}}
      Table: {Type: AWS::Serverless::SimpleTable}
      Reader:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: src/, Handler: app.lambda_handler, Runtime: python3.12, Environment: {Variables: {FOUND: !GetAtt Lookup.Value}}}
    """
)

_LAYERS = sam(
    """\
    Parameters:
      Architecture: {Type: String, Default: arm64, AllowedValues: [arm64, x86_64]}
      Tools: {Type: "AWS::SSM::Parameter::Value<String>", Default: /aws/service/powertools/python/arm64/python3.12/latest}
    Mappings:
      Insights: {us-east-1: {arn: "arn:aws:lambda:us-east-1:580247275435:layer:LambdaInsightsExtension:38"},
        eu-central-1: {arn: "arn:aws:lambda:eu-central-1:580247275435:layer:LambdaInsightsExtension:38"}}
    Globals:
      Function:
        Runtime: python3.12
        Architectures: [!Ref Architecture]
        Layers: [!Sub "arn:aws:lambda:${AWS::Region}:017000801446:layer:AWSLambdaPowertoolsPythonV3-python312-arm64:7"]
        Environment: {Variables: {POWERTOOLS_SERVICE_NAME: shop, LOG_LEVEL: INFO}}
    Resources:
      Shared:
        Type: AWS::Serverless::LayerVersion
        Metadata: {BuildMethod: python3.12}
        Properties: {ContentUri: layer/, CompatibleRuntimes: [python3.12], RetentionPolicy: Retain}
      Work:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: src/, Handler: app.lambda_handler,
          Layers: [!Ref Shared, !FindInMap [Insights, !Ref AWS::Region, arn], !Ref Tools]}
    """,
    layer__python__shared_DOT_py="X = 1\n",
)

_SECRETS = plain(
    """\
    Resources:
      Login:
        Type: AWS::SecretsManager::Secret
        Properties: {GenerateSecretString: {SecretStringTemplate: '{"username": "admin"}', GenerateStringKey: password,
          PasswordLength: "16", ExcludeCharacters: '"@/\\', RequireEachIncludedType: true}}
      Rotation: {Type: AWS::SecretsManager::RotationSchedule, Properties: {SecretId: !Ref Login, RotationRules: {AutomaticallyAfterDays: 30}}}
      Attachment: {Type: AWS::SecretsManager::SecretTargetAttachment, Properties: {SecretId: !Ref Login, TargetId: !Ref Database, TargetType: AWS::RDS::DBInstance}}
      Database: {Type: AWS::RDS::DBInstance, Properties: {MasterUsername: !Join ["", ["{{resolve:secretsmanager:", !Ref Login, ":SecretString:username}}"]]}}
      Endpoint: {Type: AWS::SSM::Parameter, Properties: {Name: !Sub "/${AWS::StackName}/endpoint", Type: String, Value: !GetAtt Database.Endpoint.Address}}
      Work:
        Type: AWS::Lambda::Function
        DependsOn: Endpoint
        Properties:
          Code: {ZipFile: "exports.handler = async () => 1;"}
          Handler: index.handler
          Runtime: nodejs22.x
          Role: !Sub arn:${AWS::Partition}:iam::${AWS::AccountId}:role/work
          Environment: {Variables: {USER: !Sub "{{resolve:secretsmanager:${Login}:SecretString:username}}", HOST: !Sub "{{resolve:ssm:/${AWS::StackName}/endpoint}}"}}
    """
)

_JOBS = plain(
    """\
    Resources:
      Cluster: {Type: AWS::ECS::Cluster, Properties: {ClusterSettings: [{Name: containerInsights, Value: enabled}]}}
      Task:
        Type: AWS::ECS::TaskDefinition
        Properties:
          Cpu: 256
          Memory: "512"
          NetworkMode: awsvpc
          RequiresCompatibilities: [FARGATE]
          ExecutionRoleArn: !GetAtt Role.Arn
          ContainerDefinitions: [{Name: main, Image: !Sub "${AWS::AccountId}.dkr.ecr.${AWS::Region}.amazonaws.com/${Images}:latest",
            LogConfiguration: {LogDriver: awslogs, Options: {awslogs-group: !Ref Logs}}}]
      Images: {Type: AWS::ECR::Repository, Properties: {RepositoryName: shop}}
      Logs: {Type: AWS::Logs::LogGroup}
      Service: {Type: AWS::ECS::Service, DependsOn: Listener, Properties: {Cluster: !Ref Cluster, TaskDefinition: !Ref Task}}
      Balancer: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer}
      Listener: {Type: AWS::ElasticLoadBalancingV2::Listener, Properties: {LoadBalancerArn: !Ref Balancer}}
      Compute: {Type: AWS::Batch::ComputeEnvironment, Properties: {Type: MANAGED, ComputeResources: {Type: FARGATE, MaxvCpus: "4", Subnets: [!Ref Subnet], SecurityGroupIds: [g]}}}
      Subnet: {Type: AWS::EC2::Subnet}
      Queue: {Type: AWS::Batch::JobQueue, Properties: {Priority: 1, ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: !Ref Compute}]}}
      Definition: {Type: AWS::Batch::JobDefinition, Properties: {Type: container, ContainerProperties: {Image: busybox, ResourceRequirements: [{Type: VCPU, Value: 1}, {Type: MEMORY, Value: 512}]}}}
      Glue: {Type: AWS::Glue::Job, Properties: {Name: etl, Role: !Ref Role, Command: {Name: glueetl}}}
      Group: {Type: AWS::Athena::WorkGroup, Properties: {Name: queries}}
      Delivery: {Type: AWS::KinesisFirehose::DeliveryStream, Properties: {DeliveryStreamName: out}}
      Flow:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          RoleArn: !GetAtt Role.Arn
          Definition:
            StartAt: Run
            States:
              Run: {Type: Task, Resource: "arn:aws:states:::ecs:runTask.sync", Next: Batch,
                Parameters: {Cluster: !Ref Cluster, TaskDefinition: !Ref Task, LaunchType: FARGATE, NetworkConfiguration: {AwsvpcConfiguration: {Subnets: [!Ref Subnet]}}}}
              Batch: {Type: Task, Resource: "arn:aws:states:::batch:submitJob.sync", Next: Glue,
                Parameters: {JobName: a, JobQueue: !Ref Queue, JobDefinition: !Ref Definition}}
              Glue: {Type: Task, Resource: "arn:aws:states:::glue:startJobRun.sync", Parameters: {JobName: !Ref Glue}, End: true}
    """
    + _ROLE
)

_BUSES = plain(
    """\
    Resources:
      Bus: {Type: AWS::Events::EventBus, Properties: {Name: !Sub "${AWS::StackName}-bus"}}
      BusPolicy: {Type: AWS::Events::EventBusPolicy, Properties: {EventBusName: !Ref Bus, StatementId: a, Action: "events:PutEvents", Principal: "*"}}
      Archive: {Type: AWS::Events::Archive, Properties: {SourceArn: !GetAtt Bus.Arn, RetentionDays: 1}}
      Registry: {Type: AWS::EventSchemas::Discoverer, Properties: {SourceArn: !GetAtt Bus.Arn}}
      Connection:
        Type: AWS::Events::Connection
        Properties:
          Name: !Sub ${AWS::StackName}-billing
          AuthorizationType: API_KEY
          AuthParameters: {ApiKeyAuthParameters: {ApiKeyName: x-api-key, ApiKeyValue: "{{resolve:secretsmanager:missing}}"},
            InvocationHttpParameters: {HeaderParameters: [{Key: a, Value: b, IsValueSecret: false}]}}
      Destination:
        Type: AWS::Events::ApiDestination
        Properties: {ConnectionArn: !GetAtt Connection.Arn, HttpMethod: POST, InvocationEndpoint: "https://example.com/*", InvocationRateLimitPerSecond: "10"}
      Rule:
        Type: AWS::Events::Rule
        Properties:
          EventBusName: !Ref Bus
          EventPattern: {source: [shop]}
          State: ENABLED
          Targets:
            - {Id: machine, Arn: !Ref Flow, RoleArn: !GetAtt Role.Arn, DeadLetterConfig: {Arn: !GetAtt Dead.Arn}, RetryPolicy: {MaximumRetryAttempts: 4, MaximumEventAgeInSeconds: 400}}
            - {Id: logs, Arn: !Sub "arn:aws:logs:${AWS::Region}:${AWS::AccountId}:log-group:${Logs}"}
      Dead: {Type: AWS::SQS::Queue}
      Logs: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: !Sub "/aws/events/${AWS::StackName}"}}
      Group: {Type: AWS::Scheduler::ScheduleGroup, Properties: {Name: !Sub "${AWS::StackName}-group"}}
      Daily:
        Type: AWS::Scheduler::Schedule
        Properties:
          GroupName: !Ref Group
          ScheduleExpression: cron(0 8 ? * MON-FRI *)
          FlexibleTimeWindow: {Mode: "OFF"}
          Target: {Arn: !Ref Flow, RoleArn: !GetAtt Role.Arn, Input: '{"a": 1}'}
      Flow:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          RoleArn: !GetAtt Role.Arn
          DefinitionString: !Sub |
            {"StartAt": "Call", "States": {"Call": {"Type": "Task", "Resource": "arn:aws:states:::http:invoke", "End": true,
              "Parameters": {"ApiEndpoint": "https://example.com/pay", "Method": "POST", "Authentication": {"ConnectionArn": "${Connection.Arn}"}}}}}
    """
    + _ROLE
)
_BUSES["template.yaml"] = _BUSES["template.yaml"].replace('"{{resolve:secretsmanager:missing}}"', "key")

_PIPES = plain(
    """\
    Resources:
      Source: {Type: AWS::SQS::Queue}
      FromQueue:
        Type: AWS::Pipes::Pipe
        Properties:
          RoleArn: !GetAtt Role.Arn
          Source: !GetAtt Source.Arn
          SourceParameters: {SqsQueueParameters: {BatchSize: "1"}, FilterCriteria: {Filters: [{Pattern: '{"body": {"kind": ["order"]}}'}]}}
          Target: !Ref Flow
          TargetParameters: {StepFunctionStateMachineParameters: {InvocationType: FIRE_AND_FORGET}, InputTemplate: '{"order": <$.body>}'}
      FromTable:
        Type: AWS::Pipes::Pipe
        Properties:
          RoleArn: !GetAtt Role.Arn
          Source: !GetAtt Table.StreamArn
          SourceParameters: {DynamoDBStreamParameters: {StartingPosition: LATEST}}
          Target: !Ref Flow
      Table:
        Type: AWS::DynamoDB::Table
        Properties:
          BillingMode: PAY_PER_REQUEST
          AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
          KeySchema: [{AttributeName: id, KeyType: HASH}]
          StreamSpecification: {StreamViewType: NEW_IMAGE}
      Scaling: {Type: AWS::ApplicationAutoScaling::ScalableTarget, Properties: {ResourceId: !Sub "table/${Table}", MaxCapacity: 9}}
      Flow: {Type: AWS::StepFunctions::StateMachine, Properties: {RoleArn: !GetAtt Role.Arn, DefinitionString: '{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}'}}
    """
    + _ROLE
)

_RUNTIMES = sam(
    """\
    Resources:
      Java:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: java/
          Handler: com.example.App::handleRequest
          Runtime: java21
          AutoPublishAlias: live
          SnapStart: {ApplyOn: PublishedVersions}
          Events: {Queue: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}
          EventInvokeConfig: {MaximumRetryAttempts: 0}
      Image:
        Type: AWS::Serverless::Function
        Metadata: {Dockerfile: Dockerfile, DockerContext: ./java, DockerTag: v1}
        Properties: {PackageType: Image, Events: {Alert: {Type: SNS, Properties: {Topic: !Ref Topic}}}}
      Queue: {Type: AWS::SQS::Queue}
      Topic: {Type: AWS::SNS::Topic}
      Flow:
        Type: AWS::Serverless::StateMachine
        Properties: {Definition: {StartAt: A, States: {A: {Type: Task, Resource: !GetAtt Java.Arn, End: true}}}}
    """,
    java__pom_DOT_xml="<project/>\n",
)

_JSON: Files = {
    "template.json": text({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "as an exporter writes it",
        "Parameters": {"Env": {"Type": "String", "Default": "dev", "Description": ""}},
        "Resources": {
            "Manual": {"Type": "AWS::StepFunctions::Activity", "Properties": {"Name": {"Fn::Sub": "${Env}-manual"}}},
            "Flow": {"Type": "AWS::StepFunctions::StateMachine", "DependsOn": "Manual", "Properties": {
                "RoleArn": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/flow"},
                "DefinitionString": {"Fn::Join": ["\n", ["{", '"StartAt": "A", "States": {"A": {"Type": "Task",',
                    {"Fn::Sub": '"Resource": "${Manual}", "TimeoutSeconds": 60, "End": true}}'}, "}"]]}}},
            "Version": {"Type": "AWS::StepFunctions::StateMachineVersion", "Properties": {"StateMachineArn": {"Ref": "Flow"}}},
            "Live": {"Type": "AWS::StepFunctions::StateMachineAlias", "Properties": {"Name": "live",
                "RoutingConfiguration": [{"StateMachineVersionArn": {"Ref": "Version"}, "Weight": "100"}]}},
        },
        "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["Flow", "Arn"]}}},
    })
}  # fmt: skip

_STAGED = {f"cfn-staged-{stage}": plain(
    f"""\
    Parameters: {{Stage: {{Type: String, Default: {stage}}}}}
    Mappings: {{Kinds: {{dev: {{type: EXPRESS}}, prod: {{type: STANDARD}}}}}}
    Conditions: {{IsProd: !Equals [!Ref Stage, prod]}}
    Resources:
      Flow:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          StateMachineType: !FindInMap [Kinds, !Ref Stage, type]
          RoleArn: !If [IsProd, !Sub "arn:aws:iam::${{AWS::AccountId}}:role/prod", "arn:aws:iam::000000000000:role/dev"]
          DefinitionSubstitutions: {{table-name: !If [IsProd, !Ref Table, none], retries: 3, enabled: true}}
          DefinitionString: '{{"StartAt":"A","States":{{"A":{{"Type":"Pass","Result":{{"t":"${{table-name}}","n":${{retries}},"e":${{enabled}}}},"End":true}}}}}}'
      Table:
        Type: AWS::DynamoDB::GlobalTable
        Condition: IsProd
        Properties:
          BillingMode: PAY_PER_REQUEST
          AttributeDefinitions: [{{AttributeName: id, AttributeType: S}}]
          KeySchema: [{{AttributeName: id, KeyType: HASH}}]
          Replicas: [{{Region: us-east-1}}, {{Region: eu-west-1}}]
    """
) for stage in ("dev", "prod")}  # fmt: skip

SAM_MORE: dict[str, Files] = {
    "cfn-network": _NETWORK,
    "sam-users": _USERS,
    "sam-connectors": _CONNECTORS,
    "cfn-watched": _WATCHED,
    "cfn-choices": _CHOICES,
    "sam-loops": _LOOPS,
    "sam-custom": _CUSTOM,
    "sam-layers": _LAYERS,
    "cfn-secrets": _SECRETS,
    "cfn-jobs": _JOBS,
    "cfn-buses": _BUSES,
    "cfn-pipes": _PIPES,
    "sam-runtimes": _RUNTIMES,
    "cfn-json": _JSON,
    **_STAGED,
}
