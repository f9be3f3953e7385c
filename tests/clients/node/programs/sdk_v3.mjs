// Version 3 of the SDK for JavaScript, with what the environment says. Prints what each service answered.

import { CreateEventBusCommand, EventBridgeClient, PutEventsCommand, PutRuleCommand, PutTargetsCommand } from "@aws-sdk/client-eventbridge";
import { CreateFunctionCommand, InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateScheduleCommand, GetScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import {
  CreateStateMachineCommand, DescribeExecutionCommand, SFNClient, SendTaskSuccessCommand, StartExecutionCommand,
  StartSyncExecutionCommand,
} from "@aws-sdk/client-sfn";
import { CreateTopicCommand, PublishCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import { CreateQueueCommand, DeleteMessageCommand, ReceiveMessageCommand, SQSClient, SendMessageCommand } from "@aws-sdk/client-sqs";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand, TransactWriteCommand, UpdateCommand, paginateScan,
} from "@aws-sdk/lib-dynamodb";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import fs from "node:fs";

const said = {};
const role = "arn:aws:iam::000000000000:role/any";
const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(look) {
  for (;;) {
    const found = await look();
    if (found) return found;
    await nap(50);
  }
}

const sqs = new SQSClient({});
const sns = new SNSClient({});

async function received(url) {
  return until(async () => {
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 5, MessageAttributeNames: ["All"] }));
    if (!Messages) return null;
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: Messages[0].ReceiptHandle }));
    return Messages[0];
  });
}

// ---------------------------------------------------------------- queues, topics, buses, schedules

const { QueueUrl: queue } = await sqs.send(new CreateQueueCommand({ QueueName: "v3" }));
const queueArn = "arn:aws:sqs:us-east-1:000000000000:v3";
await sqs.send(new SendMessageCommand({
  QueueUrl: queue, MessageBody: "ü", MessageAttributes: { kind: { DataType: "String", StringValue: "first" } },
}));
const message = await received(queue);
said.sqs = [message.Body, message.MessageAttributes.kind.StringValue];

const { TopicArn: topic } = await sns.send(new CreateTopicCommand({ Name: "v3" }));
await sns.send(new SubscribeCommand({
  TopicArn: topic, Protocol: "sqs", Endpoint: queueArn, Attributes: { RawMessageDelivery: "true" },
}));
await sns.send(new PublishCommand({ TopicArn: topic, Message: "by topic" }));
said.sns = (await received(queue)).Body;

const events = new EventBridgeClient({});
await events.send(new CreateEventBusCommand({ Name: "v3" }));
await events.send(new PutRuleCommand({ Name: "v3", EventBusName: "v3", EventPattern: JSON.stringify({ source: ["shop"] }) }));
await events.send(new PutTargetsCommand({ Rule: "v3", EventBusName: "v3", Targets: [{ Id: "queue", Arn: queueArn }] }));
const put = await events.send(new PutEventsCommand({
  Entries: [{ EventBusName: "v3", Source: "shop", DetailType: "Order", Detail: JSON.stringify({ id: 7 }) }],
}));
said.events = [put.FailedEntryCount, JSON.parse((await received(queue)).Body).detail];

const scheduler = new SchedulerClient({});
await scheduler.send(new CreateScheduleCommand({
  Name: "v3", ScheduleExpression: "rate(1 minute)", FlexibleTimeWindow: { Mode: "OFF" },
  Target: { Arn: queueArn, RoleArn: role, Input: "\"by schedule\"" },
}));
said.scheduler = [(await scheduler.send(new GetScheduleCommand({ Name: "v3" }))).State, (await received(queue)).Body];

// ---------------------------------------------------------------- objects

const s3 = new S3Client({});
await s3.send(new CreateBucketCommand({ Bucket: "bucket-v3" }));
await s3.send(new PutObjectCommand({ Bucket: "bucket-v3", Key: "a/ü 1.txt", Body: "text", ContentType: "text/plain" }));
await new Upload({
  client: s3, params: { Bucket: "bucket-v3", Key: "parts", Body: Buffer.alloc(12_000_000, "x") }, partSize: 5_242_880,
}).done();
const read = await s3.send(new GetObjectCommand({ Bucket: "bucket-v3", Key: "a/ü 1.txt" }));
const listed = await s3.send(new ListObjectsV2Command({ Bucket: "bucket-v3" }));
said.s3 = [await read.Body.transformToString(), listed.Contents.map((one) => [one.Key, one.Size])];

// `fetch` sends headers that resemble those of a browser: no Origin, sec-fetch-mode: cors.
const upload = await getSignedUrl(s3, new PutObjectCommand({ Bucket: "bucket-v3", Key: "signed" }), { expiresIn: 60 });
const stored = await fetch(upload, { method: "PUT", body: "by fetch" });
const download = await getSignedUrl(s3, new GetObjectCommand({ Bucket: "bucket-v3", Key: "signed" }), { expiresIn: 60 });
const fetched = await fetch(download);
said.fetch = [stored.status, fetched.status, await fetched.text()];

// ---------------------------------------------------------------- tables

const tables = DynamoDBDocumentClient.from(new DynamoDBClient({}), { marshallOptions: { removeUndefinedValues: true } });
await tables.send(new CreateTableCommand({
  TableName: "table-v3", BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }, { AttributeName: "at", AttributeType: "N" }],
  KeySchema: [{ AttributeName: "id", KeyType: "HASH" }, { AttributeName: "at", KeyType: "RANGE" }],
}));
await tables.send(new PutCommand({
  TableName: "table-v3", Item: { id: "a", at: 1, tags: new Set(["x"]), deep: { list: [1, null, true] }, gone: undefined },
}));
await tables.send(new UpdateCommand({
  TableName: "table-v3", Key: { id: "a", at: 1 }, UpdateExpression: "SET deep.#n = :n ADD tags :tags",
  ExpressionAttributeNames: { "#n": "name" }, ExpressionAttributeValues: { ":n": "ü", ":tags": new Set(["y"]) },
}));
await tables.send(new TransactWriteCommand({
  TransactItems: [2, 3].map((at) => ({ Put: { TableName: "table-v3", Item: { id: "a", at } } })),
}));
const { Item } = await tables.send(new GetCommand({ TableName: "table-v3", Key: { id: "a", at: 1 } }));
const found = await tables.send(new QueryCommand({
  TableName: "table-v3", KeyConditionExpression: "id = :id AND #at > :at", ExpressionAttributeNames: { "#at": "at" },
  ExpressionAttributeValues: { ":id": "a", ":at": 1 }, ScanIndexForward: false,
}));
let scanned = 0;
for await (const page of paginateScan({ client: tables, pageSize: 1 }, { TableName: "table-v3" })) scanned += page.Items.length;
let refused = "";
try {
  await tables.send(new PutCommand({ TableName: "table-v3", Item: { id: "a", at: 1 }, ConditionExpression: "attribute_not_exists(id)" }));
} catch (problem) {
  refused = problem.name;
}
said.tables = [{ ...Item, tags: [...Item.tags].sort() }, found.Items.map((one) => one.at), scanned, refused];

// ---------------------------------------------------------------- functions and workflows

const functions = new LambdaClient({});
const { FunctionArn } = await functions.send(new CreateFunctionCommand({
  FunctionName: "v3", Runtime: "nodejs20.x", Handler: "index.handler", Role: role, Timeout: 30, MemorySize: 512,
  Code: { ZipFile: fs.readFileSync(process.argv[2]) },
}));
const invoked = await functions.send(new InvokeCommand({
  FunctionName: "v3", Payload: JSON.stringify({ number: 20 }), LogType: "Tail",
}));
said.lambda = [invoked.StatusCode, JSON.parse(Buffer.from(invoked.Payload)), invoked.LogResult.length > 0];
const failed = await functions.send(new InvokeCommand({ FunctionName: "v3", Payload: JSON.stringify({ fail: "no" }) }));
said.failed = [failed.FunctionError, JSON.parse(Buffer.from(failed.Payload)).errorMessage];

const sfn = new SFNClient({});
const task = { StartAt: "T", States: { T: { Type: "Task", Resource: FunctionArn, End: true } } };
const waits = {
  StartAt: "T",
  States: {
    T: {
      Type: "Task", Resource: "arn:aws:states:::sqs:sendMessage.waitForTaskToken", End: true,
      Parameters: { QueueUrl: queue, MessageBody: { "token.$": "$$.Task.Token" } },
    },
  },
};
const machine = async (name, definition, type = "STANDARD") => (await sfn.send(new CreateStateMachineCommand({
  name, definition: JSON.stringify(definition), roleArn: role, type,
}))).stateMachineArn;
const ended = (executionArn) => until(async () => {
  const shown = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  return shown.status === "RUNNING" ? null : shown;
});
const run = async (stateMachineArn, input) =>
  (await sfn.send(new StartExecutionCommand({ stateMachineArn, input: JSON.stringify(input) }))).executionArn;
const done = await ended(await run(await machine("v3-task", task), { number: 1 }));
said.sfn = [done.status, JSON.parse(done.output), done.startDate instanceof Date];
const waiting = await run(await machine("v3-token", waits), {});
const { token } = JSON.parse((await received(queue)).Body);
await sfn.send(new SendTaskSuccessCommand({ taskToken: token, output: "\"approved\"" }));
said.token = (await ended(waiting)).output;
// Without this option the SDK puts `sync-` in front of the host.
const sync = await new SFNClient({ disableHostPrefix: true }).send(new StartSyncExecutionCommand({
  stateMachineArn: await machine("v3-express", task, "EXPRESS"), input: JSON.stringify({ number: 2 }),
}));
said.sync = [sync.status, sync.output];

console.log(JSON.stringify(said));
