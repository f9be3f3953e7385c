# ruff: noqa: E501
"""Projects as `sam init` and its users write them."""

from __future__ import annotations

from tests.unit.projects.forms.parts import DEFINITION, NODE, PYTHON, Files, sam, text

_HELLO = sam(
    """\
    Globals:
      Function:
        Timeout: 3
        MemorySize: 128
        Tracing: Active
        LoggingConfig: {LogFormat: JSON}
      Api: {TracingEnabled: true, Cors: "'*'"}
    Resources:
      HelloWorldFunction:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: src/
          Handler: app.lambda_handler
          Runtime: python3.12
          Architectures: [x86_64]
          Events:
            HelloWorld: {Type: Api, Properties: {Path: /hello, Method: get}}
      ApplicationResourceGroup:
        Type: AWS::ResourceGroups::Group
        Properties:
          Name: !Join ["-", [ApplicationInsights-SAM, !Ref AWS::StackName]]
          ResourceQuery: {Type: CLOUDFORMATION_STACK_1_0}
      ApplicationInsightsMonitoring:
        Type: AWS::ApplicationInsights::Application
        Properties: {ResourceGroupName: !Ref ApplicationResourceGroup, AutoConfigurationEnabled: 'true'}
    Outputs:
      HelloWorldApi:
        Description: API Gateway endpoint URL for Prod stage
        Value: !Sub "https://${ServerlessRestApi}.execute-api.${AWS::Region}.amazonaws.com/Prod/hello/"
      HelloWorldFunction: {Value: !GetAtt HelloWorldFunction.Arn}
      HelloWorldFunctionIamRole: {Value: !GetAtt HelloWorldFunctionRole.Arn, Export: {Name: !Sub "${AWS::StackName}-r"}}
    """
)

_STOCKS = sam(
    """\
    Parameters:
      Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
    Resources:
      Flow:
        Type: AWS::Serverless::StateMachine
        Properties:
          DefinitionUri: statemachine/flow.asl.json
          DefinitionSubstitutions:
            CheckFunctionArn: !GetAtt Check.Arn
            DDBPutItem: !Sub arn:${AWS::Partition}:states:::dynamodb:putItem
            DDBTable: !Ref Table
            unused-name: 200
          Events:
            Hourly:
              Type: Schedule
              Properties: {Description: each hour, Enabled: false, Schedule: "rate(1 hour)"}
            Web: {Type: Api, Properties: {Path: /start, Method: post, UnescapeMappingTemplate: true}}
          Policies:
            - LambdaInvokePolicy: {FunctionName: !Ref Check}
            - DynamoDBWritePolicy: {TableName: !Ref Table}
            - CloudWatchPutMetricPolicy: {}
          Tags: {team: a, size: 3, on: true}
      Check:
        Type: AWS::Serverless::Function
        Metadata: {BuildMethod: makefile}
        Properties: {CodeUri: src/, Handler: app.lambda_handler, Runtime: python3.13, Timeout: "30"}
      Table:
        Type: AWS::Serverless::SimpleTable
        Properties:
          PrimaryKey: {Name: Id, Type: String}
          ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}
    Outputs:
      Arn: {Description: "the machine, its ARN", Value: !Ref Flow}
      Role: {Value: !GetAtt FlowRole.Arn}
    """,
    statemachine__flow_DOT_asl_DOT_json=text(DEFINITION),
    samconfig_DOT_toml="""\
    version = 0.1
    [default.global.parameters]
    stack_name = "stocks-of-sam"
    [default.deploy.parameters]
    capabilities = "CAPABILITY_IAM"
    parameter_overrides = "Stage=\\"prod\\""
    """,
)

_APIS = sam(
    """\
    Parameters:
      StageName: {Type: String, Default: v1}
    Resources:
      RestApi:
        Type: AWS::Serverless::Api
        Properties:
          StageName: !Ref StageName
          EndpointConfiguration: REGIONAL
          DefinitionBody:
            Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://somewhere/openapi.yaml}}
      WebApi:
        Type: AWS::Serverless::HttpApi
        Properties:
          StageName: $default
          CorsConfiguration: {AllowOrigins: ["*"], AllowMethods: [GET]}
          DefinitionBody:
            openapi: 3.0.1
            paths:
              /start: {post: {responses: {200: {description: started}, default: {description: other}}}}
      Role:
        Type: AWS::IAM::Role
        Properties:
          AssumeRolePolicyDocument:
            Version: 2012-10-17
            Statement: [{Effect: Allow, Principal: {Service: apigateway.amazonaws.com}, Action: "sts:AssumeRole"}]
          Policies:
            - PolicyName: start
              PolicyDocument:
                Version: 2012-10-17
                Statement: [{Effect: Allow, Action: "states:StartSyncExecution", Resource: !Ref Express}]
      Express:
        Type: AWS::Serverless::StateMachine
        Properties:
          Type: EXPRESS
          Name: !Sub ${AWS::StackName}-express
          Definition: {StartAt: Done, States: {Done: {Type: Succeed}}}
          Logging:
            Level: ALL
            IncludeExecutionData: true
            Destinations: [{CloudWatchLogsLogGroup: {LogGroupArn: !GetAtt Logs.Arn}}]
          Tracing: {Enabled: true}
          Events: {Post: {Type: Api, Properties: {RestApiId: !Ref RestApi, Path: /run, Method: POST}}}
      Logs: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: !Sub "/aws/vendedlogs/${AWS::StackName}"}}
      UsagePlan:
        Type: AWS::ApiGateway::UsagePlan
        DependsOn: [RestApi]
        Properties: {ApiStages: [{ApiId: !Ref RestApi, Stage: !Ref RestApi.Stage}]}
      Caller:
        Type: AWS::Serverless::Function
        Properties:
          InlineCode: |
            def handler(event, context):
                return 1
          Handler: index.handler
          Runtime: python3.12
          Environment:
            Variables:
              URL: !Sub "https://${RestApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${RestApi.Stage}"
              STATUS: 200
              DEBUG: true
    Outputs:
      Url: {Value: !Sub "https://${WebApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}/"}
      Stage: {Value: !Ref RestApi.Stage}
      Endpoint: {Value: !GetAtt WebApi.ApiEndpoint}
    """
)

_EVENTS = sam(
    """\
    Resources:
      Worker:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: src
          Handler: app.lambda_handler
          Runtime: python3.12
          DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt Dead.Arn}
          EventInvokeConfig:
            MaximumRetryAttempts: 1
            DestinationConfig: {OnFailure: {Type: SQS}, OnSuccess: {Type: SNS}}
          FunctionUrlConfig: {AuthType: NONE}
          Events:
            Queue: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn, BatchSize: "5", Enabled: "true",
              FilterCriteria: {Filters: [{Pattern: '{"body": {"kind": ["a"]}}'}]}}}
            Topic: {Type: SNS, Properties: {Topic: !Ref Alerts, FilterPolicy: {kind: [bad]}}}
            Through: {Type: SNS, Properties: {Topic: !Ref Alerts, SqsSubscription: true}}
            Upload: {Type: S3, Properties: {Bucket: !Ref Files, Events: "s3:ObjectCreated:*",
              Filter: {S3Key: {Rules: [{Name: suffix, Value: .csv}]}}}}
            Tick: {Type: Schedule, Properties: {Schedule: cron(0 3 * * ? *), Input: '{"a": 1}', Enabled: false}}
            Tock: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), ScheduleExpressionTimezone: Europe/Berlin,
              FlexibleTimeWindow: {Mode: FLEXIBLE, MaximumWindowInMinutes: 5}, DeadLetterConfig: {Type: SQS}}}
            Bus: {Type: EventBridgeRule, Properties: {EventBusName: !Ref Bus, Pattern: {source: [shop], detail-type: [order]},
              InputPath: $.detail, RetryPolicy: {MaximumRetryAttempts: 2}}}
            Old: {Type: CloudWatchEvent, Properties: {Pattern: {source: [aws.s3]}}}
            Get: {Type: HttpApi, Properties: {Path: "/{proxy+}", Method: ANY}}
            Rest: {Type: Api, Properties: {Path: /x, Method: get, Auth: {Authorizer: NONE}}}
            Stream: {Type: DynamoDB, Properties: {Stream: !GetAtt Items.StreamArn, StartingPosition: TRIM_HORIZON}}
            Data: {Type: Kinesis, Properties: {Stream: !GetAtt Records.Arn, StartingPosition: LATEST}}
            Log: {Type: CloudWatchLogs, Properties: {LogGroupName: !Ref Group, FilterPattern: ERROR}}
            Thing: {Type: IoTRule, Properties: {Sql: "SELECT * FROM 'topic/test'"}}
            Sign: {Type: Cognito, Properties: {UserPool: !Ref Pool, Trigger: PreSignUp}}
            Skill: {Type: AlexaSkill}
      Jobs: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 180,
        RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}}
      Dead: {Type: AWS::SQS::Queue}
      Alerts: {Type: AWS::SNS::Topic}
      Files: {Type: AWS::S3::Bucket}
      Bus: {Type: AWS::Events::EventBus, Properties: {Name: !Sub "${AWS::StackName}-bus"}}
      Items:
        Type: AWS::DynamoDB::Table
        Properties:
          BillingMode: PAY_PER_REQUEST
          AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
          KeySchema: [{AttributeName: id, KeyType: HASH}]
          StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
      Records: {Type: AWS::Kinesis::Stream, Properties: {ShardCount: 1}}
      Group: {Type: AWS::Logs::LogGroup, Properties: {RetentionInDays: 7}}
      Pool: {Type: AWS::Cognito::UserPool, Properties: {LambdaConfig: {PostConfirmation: !GetAtt Worker.Arn}}}
    """
)

_MACHINES = sam(
    """\
    Globals:
      StateMachine: {Tracing: {Enabled: true}}
      Function: {Runtime: nodejs22.x, CodeUri: node/, Handler: index.handler}
    Resources:
      Work: {Type: AWS::Serverless::Function, Properties: {AutoPublishAlias: live}}
      Inline:
        Type: AWS::Serverless::StateMachine
        Properties:
          Definition:
            StartAt: Call
            States:
              Call:
                Type: Task
                Resource: arn:aws:states:::lambda:invoke
                Parameters: {FunctionName: !GetAtt Work.Arn, Payload.$: $}
                End: true
          Role: !GetAtt Role.Arn
          AutoPublishAlias: live
          DeploymentPreference: {Type: LINEAR, Interval: 10, Percentage: 10, Alarms: [!Ref Alarm]}
      Substituted:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          RoleArn: !GetAtt Role.Arn
          DefinitionString: !Sub
            - |-
              {"StartAt": "Call", "States": {"Call": {"Type": "Task", "Resource": "${Arn}", "End": true,
               "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Sorry"}]}, "Sorry": {"Type": "Fail"}}}
            - {Arn: !Ref Work.Alias}
      Joined:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          RoleArn: !GetAtt [Role, Arn]
          StateMachineType: EXPRESS
          DefinitionString:
            Fn::Join: ["", ['{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"', !GetAtt Work.Arn, '","End":true}}}']]
      Local:
        Type: AWS::StepFunctions::StateMachine
        Properties:
          RoleArn: !GetAtt Role.Arn
          DefinitionS3Location: machines/wait.asl.yaml
          DefinitionSubstitutions: {wait-seconds: 5}
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
          Dimensions: [{Name: StateMachineArn, Value: !Ref Inline}]
      Role:
        Type: AWS::IAM::Role
        Properties:
          AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sts:AssumeRole",
            Principal: {Service: !Sub "states.${AWS::Region}.amazonaws.com"}}]}
          ManagedPolicyArns: ["arn:aws:iam::aws:policy/service-role/AWSLambdaRole"]
    """,
    node__index_DOT_js=NODE,
    machines__wait_DOT_asl_DOT_yaml="""\
    StartAt: Wait
    States:
      Wait: {Type: Wait, Seconds: ${wait-seconds}, End: true}
    """,
)

_NESTED = sam(
    """\
    Parameters:
      Names: {Type: CommaDelimitedList, Default: "tea, coffee"}
    Resources:
      Data:
        Type: AWS::CloudFormation::Stack
        DeletionPolicy: Delete
        Properties: {TemplateURL: data/template.yaml, Parameters: {First: !Select [0, !Ref Names]}}
      App:
        Type: AWS::Serverless::Application
        Properties: {Location: app/template.yaml, Parameters: {QueueArn: !GetAtt Data.Outputs.QueueArn}}
      Published:
        Type: AWS::Serverless::Application
        Properties:
          Location:
            ApplicationId: arn:aws:serverlessrepo:us-east-1:077246666028:applications/a
            SemanticVersion: 1.0.1
          Parameters: {Bucket: !ImportValue shared-bucket}
      Remote: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: "https://s3.amazonaws.com/b/vpc.yaml"}}
      Topic:
        Type: AWS::SNS::Topic
        Properties:
          Subscription: [{Protocol: sqs, Endpoint: !GetAtt Data.Outputs.QueueArn}]
          Tags: [{Key: vpc, Value: !GetAtt Remote.Outputs.VpcId}, {Key: app, Value: !GetAtt Published.Outputs.Name}]
    Outputs:
      Arn: {Value: !GetAtt App.Outputs.FunctionArn}
    """,
    data__template_DOT_yaml="""\
    Parameters: {First: {Type: String}}
    Resources: {Queue: {Type: AWS::SQS::Queue, Properties: {Tags: [{Key: first, Value: !Ref First}]}}}
    Outputs: {QueueArn: {Value: !GetAtt Queue.Arn}}
    """,
    app__template_DOT_yaml="""\
    Transform: AWS::Serverless-2016-10-31
    Parameters: {QueueArn: {Type: String}}
    Resources:
      Work:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: code, Handler: app.lambda_handler, Runtime: python3.11,
          Events: {Queue: {Type: SQS, Properties: {Queue: !Ref QueueArn}}}}
    Outputs: {FunctionArn: {Value: !GetAtt Work.Arn}}
    """,
    app__code__app_DOT_py=PYTHON,
)

SAM: dict[str, Files] = {
    "sam-hello": _HELLO,
    "sam-stocks": _STOCKS,
    "sam-apis": _APIS,
    "sam-events": _EVENTS,
    "sam-machines": _MACHINES,
    "sam-nested": _NESTED,
}
