// An order: an event starts a workflow, which asks a function for the price, keeps the order and sends it on. An HTTP
// API quotes prices.

import { App, CfnOutput, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { HttpApi, HttpMethod } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import { AttributeType, BillingMode, Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus, Rule } from "aws-cdk-lib/aws-events";
import { SfnStateMachine } from "aws-cdk-lib/aws-events-targets";
import { Code, Function, Runtime } from "aws-cdk-lib/aws-lambda";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { DefinitionBody, JsonPath, StateMachine, TaskInput } from "aws-cdk-lib/aws-stepfunctions";
import { DynamoAttributeValue, DynamoPutItem, LambdaInvoke, SqsSendMessage } from "aws-cdk-lib/aws-stepfunctions-tasks";

const app = new App();
const stack = new Stack(app, "CdkShop", { description: "Orders" });
const table = new Table(stack, "Orders", {
  partitionKey: { name: "id", type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: RemovalPolicy.DESTROY,
});
const queue = new Queue(stack, "Sent", {
  visibilityTimeout: Duration.seconds(30),
  deadLetterQueue: { queue: new Queue(stack, "Dead"), maxReceiveCount: 3 },
});
const settings = {
  runtime: Runtime.PYTHON_3_12,
  code: Code.fromAsset("price"),
  environment: { FACTOR: app.node.tryGetContext("factor") ?? "2" },
};
const price = new Function(stack, "Price", { handler: "app.handler", ...settings });
const quote = new Function(stack, "Quote", { handler: "app.quote", ...settings });
const api = new HttpApi(stack, "Api");
api.addRoutes({
  path: "/quote/{id}",
  methods: [HttpMethod.GET],
  integration: new HttpLambdaIntegration("QuoteIntegration", quote),
});
const ask = new LambdaInvoke(stack, "Ask", {
  lambdaFunction: price,
  payload: TaskInput.fromJsonPathAt("$.detail"),
  outputPath: "$.Payload",
});
const keep = new DynamoPutItem(stack, "Keep", {
  table,
  resultPath: JsonPath.DISCARD,
  item: {
    id: DynamoAttributeValue.fromString(JsonPath.stringAt("$.id")),
    price: DynamoAttributeValue.numberFromString(JsonPath.stringAt("States.Format('{}', $.price)")),
  },
});
const send = new SqsSendMessage(stack, "Send", { queue, messageBody: TaskInput.fromJsonPathAt("$") });
const machine = new StateMachine(stack, "Machine", {
  definitionBody: DefinitionBody.fromChainable(ask.next(keep).next(send)),
});
const bus = new EventBus(stack, "Bus");
new Rule(stack, "Ordered", {
  eventBus: bus,
  eventPattern: { source: ["shop"] },
  targets: [new SfnStateMachine(machine)],
});
new CfnOutput(stack, "BusName", { value: bus.eventBusName });
new CfnOutput(stack, "TableName", { value: table.tableName });
new CfnOutput(stack, "QueueUrl", { value: queue.queueUrl });
new CfnOutput(stack, "MachineArn", { value: machine.stateMachineArn });
new CfnOutput(stack, "FunctionName", { value: price.functionName });
new CfnOutput(stack, "ApiId", { value: api.apiId });
