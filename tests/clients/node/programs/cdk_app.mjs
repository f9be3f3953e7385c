// A CDK application with TableV2, which synthesises a global table, a function of Node.js and a workflow.

import { App, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AttributeType, Billing, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { Code, Function, Runtime } from "aws-cdk-lib/aws-lambda";
import { DefinitionBody, JsonPath, StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import { DynamoAttributeValue, DynamoPutItem, LambdaInvoke } from "aws-cdk-lib/aws-stepfunctions-tasks";
import fs from "node:fs";

fs.mkdirSync("price", { recursive: true });
fs.writeFileSync("price/index.js", "exports.handler = async ({ id }) => ({ id, price: `${process.env.TABLE.length}` })");

const app = new App({ outdir: "cdk.out" });
const stack = new Stack(app, "Shop");
const table = new TableV2(stack, "Orders", {
  partitionKey: { name: "id", type: AttributeType.STRING }, billing: Billing.onDemand(),
  removalPolicy: RemovalPolicy.DESTROY, timeToLiveAttribute: "ttl",
  globalSecondaryIndexes: [{ indexName: "byPrice", partitionKey: { name: "price", type: AttributeType.NUMBER } }],
});
const price = new Function(stack, "Price", {
  runtime: Runtime.NODEJS_22_X, handler: "index.handler", code: Code.fromAsset("price"), timeout: Duration.seconds(30),
  memorySize: 512, environment: { TABLE: table.tableName },
});
table.grantReadWriteData(price);
const ask = new LambdaInvoke(stack, "Ask", { lambdaFunction: price, outputPath: "$.Payload" });
const keep = new DynamoPutItem(stack, "Keep", {
  table, resultPath: JsonPath.DISCARD,
  item: {
    id: DynamoAttributeValue.fromString(JsonPath.stringAt("$.id")),
    price: DynamoAttributeValue.numberFromString(JsonPath.stringAt("$.price")),
  },
});
new StateMachine(stack, "Machine", { definitionBody: DefinitionBody.fromChainable(ask.next(keep)) });
app.synth();
console.log(JSON.stringify("synthesised"));
