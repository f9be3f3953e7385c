// The order API of examples/projects/order-api, with the CDK.

import { createRequire } from "module";
import { App, CfnOutput, RemovalPolicy, Stack } from "aws-cdk-lib";
import { HttpApi, HttpIntegrationSubtype, HttpMethod, ParameterMapping } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration, HttpStepFunctionsIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import { AttributeType, BillingMode, Table } from "aws-cdk-lib/aws-dynamodb";
import { Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SfnStateMachine } from "aws-cdk-lib/aws-events-targets";
import { Code, Function, Runtime } from "aws-cdk-lib/aws-lambda";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { DefinitionBody, StateMachine, StateMachineType } from "aws-cdk-lib/aws-stepfunctions";

const { definition } = createRequire(import.meta.url)("./machines.cjs");
const app = new App();
const stack = new Stack(app, "CdkShop", { description: "Orders" });
const orders = new Table(stack, "Orders", {
  partitionKey: { name: "orderId", type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: RemovalPolicy.DESTROY,
});
const warehouse = new Queue(stack, "Warehouse", {
  deadLetterQueue: { queue: new Queue(stack, "Dead"), maxReceiveCount: 3 },
});
const mails = new Queue(stack, "Mails");
const made = (id, name, environment) =>
  new Function(stack, id, {
    runtime: Runtime.PYTHON_3_12,
    code: Code.fromAsset("functions"),
    handler: `${name}.handler`,
    environment,
  });
const price = made("Price", "price");
const ask = made("Ask", "ask", { MAILS: mails.queueUrl });
const decide = made("Decide", "decide");
const readOrder = made("ReadOrder", "read_order", { ORDERS: orders.tableName });

const machine = (id, name, values, type) =>
  new StateMachine(stack, id, {
    stateMachineType: type,
    definitionBody: DefinitionBody.fromString(JSON.stringify(definition(name, values))),
  });
const shared = { Orders: orders.tableName, Warehouse: warehouse.queueUrl };
const approval = machine("Approval", "approval", { ...shared, Ask: ask.functionArn }, StateMachineType.STANDARD);
const placed = {
  ...shared,
  Price: price.functionArn,
  Approval: approval.stateMachineArn,
  ApproveFrom: app.node.tryGetContext("approveFrom") ?? "500",
};
const placeOrder = machine("PlaceOrder", "place-order", placed, StateMachineType.EXPRESS);
new Rule(stack, "Partner", {
  eventPattern: { source: ["partner"] },
  targets: [new SfnStateMachine(placeOrder, { input: RuleTargetInput.fromEventPath("$.detail") })],
});

const api = new HttpApi(stack, "Api");
api.addRoutes({
  path: "/orders",
  methods: [HttpMethod.POST],
  integration: new HttpStepFunctionsIntegration("PlaceOrderIntegration", {
    stateMachine: placeOrder,
    subtype: HttpIntegrationSubtype.STEPFUNCTIONS_START_SYNC_EXECUTION,
    parameterMapping: new ParameterMapping()
      .custom("StateMachineArn", placeOrder.stateMachineArn)
      .custom("Input", "$request.body"),
  }),
});
for (const [path, handler] of [["/orders/{orderId}/decision", decide], ["/orders/{orderId}", readOrder]]) {
  api.addRoutes({
    path,
    methods: [HttpMethod.GET],
    integration: new HttpLambdaIntegration(`${handler.node.id}Integration`, handler),
  });
}
new CfnOutput(stack, "ApiId", { value: api.apiId });
new CfnOutput(stack, "WarehouseUrl", { value: warehouse.queueUrl });
new CfnOutput(stack, "MailsUrl", { value: mails.queueUrl });
new CfnOutput(stack, "ApprovalArn", { value: approval.stateMachineArn });
