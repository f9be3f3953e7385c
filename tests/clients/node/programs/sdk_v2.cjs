// Version 2 of the SDK for JavaScript, which reads neither the endpoint nor other options from the environment.

const AWS = require("aws-sdk");
const fs = require("node:fs");

AWS.config.update({ endpoint: process.env.AWS_ENDPOINT_URL, s3ForcePathStyle: true, hostPrefixEnabled: false });

const said = {};
const role = "arn:aws:iam::000000000000:role/any";
const sqs = new AWS.SQS();

async function until(look) {
  for (;;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const received = (url) => until(async () => {
  const { Messages } = await sqs.receiveMessage({ QueueUrl: url, WaitTimeSeconds: 5 }).promise();
  if (!Messages) return null;
  await sqs.deleteMessage({ QueueUrl: url, ReceiptHandle: Messages[0].ReceiptHandle }).promise();
  return Messages[0].Body;
});

async function main() {
  const { QueueUrl: queue } = await sqs.createQueue({ QueueName: "v2" }).promise();
  const arn = "arn:aws:sqs:us-east-1:000000000000:v2";
  await sqs.sendMessage({ QueueUrl: queue, MessageBody: "ü" }).promise();
  said.sqs = await received(queue);

  const sns = new AWS.SNS();
  const { TopicArn } = await sns.createTopic({ Name: "v2" }).promise();
  await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: arn, Attributes: { RawMessageDelivery: "true" } }).promise();
  await sns.publish({ TopicArn, Message: "by topic" }).promise();
  said.sns = await received(queue);

  const events = new AWS.EventBridge();
  await events.putRule({ Name: "v2", EventPattern: JSON.stringify({ source: ["v2"] }) }).promise();
  await events.putTargets({ Rule: "v2", Targets: [{ Id: "queue", Arn: arn }] }).promise();
  await events.putEvents({ Entries: [{ Source: "v2", DetailType: "Order", Detail: "{\"id\":7}" }] }).promise();
  said.events = JSON.parse(await received(queue)).detail;

  const s3 = new AWS.S3();
  await s3.createBucket({ Bucket: "bucket-v2" }).promise();
  await s3.upload({ Bucket: "bucket-v2", Key: "a/ü 1", Body: Buffer.alloc(11_000_000, "x") }, { partSize: 5_242_880 }).promise();
  const url = s3.getSignedUrl("putObject", { Bucket: "bucket-v2", Key: "signed", Expires: 60 });
  const stored = await fetch(url, { method: "PUT", body: "by fetch" });
  const fetched = await fetch(s3.getSignedUrl("getObject", { Bucket: "bucket-v2", Key: "signed", Expires: 60 }));
  const { Contents } = await s3.listObjectsV2({ Bucket: "bucket-v2" }).promise();
  said.s3 = [stored.status, await fetched.text(), Contents.map((one) => [one.Key, one.Size])];

  const tables = new AWS.DynamoDB.DocumentClient();
  await new AWS.DynamoDB().createTable({
    TableName: "table-v2", BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
  }).promise();
  await new AWS.DynamoDB().waitFor("tableExists", { TableName: "table-v2" }).promise();
  await tables.put({ TableName: "table-v2", Item: { id: "a", deep: { list: [1, null] }, tags: tables.createSet(["x"]) } }).promise();
  const { Item } = await tables.get({ TableName: "table-v2", Key: { id: "a" } }).promise();
  const refused = await tables.put({ TableName: "table-v2", Item: { id: "a" }, ConditionExpression: "attribute_not_exists(id)" })
    .promise().catch((problem) => problem.code);
  said.tables = [Item.deep, Item.tags.values, refused];

  const functions = new AWS.Lambda();
  const { FunctionArn } = await functions.createFunction({
    FunctionName: "v2", Runtime: "nodejs16.x", Handler: "index.handler", Role: role, Timeout: 30, MemorySize: 512,
    Code: { ZipFile: fs.readFileSync(process.argv[2]) },
  }).promise();
  const invoked = await functions.invoke({ FunctionName: "v2", Payload: JSON.stringify({ number: 20 }) }).promise();
  said.lambda = JSON.parse(invoked.Payload);

  const sfn = new AWS.StepFunctions();
  const definition = JSON.stringify({ StartAt: "T", States: { T: { Type: "Task", Resource: FunctionArn, End: true } } });
  const machine = async (name, type) =>
    (await sfn.createStateMachine({ name, definition, roleArn: role, type }).promise()).stateMachineArn;
  const { executionArn } = await sfn.startExecution({ stateMachineArn: await machine("v2", "STANDARD"), input: "{\"number\":1}" })
    .promise();
  said.sfn = await until(async () => {
    const shown = await sfn.describeExecution({ executionArn }).promise();
    return shown.status === "RUNNING" ? null : [shown.status, shown.output];
  });
  const sync = await sfn.startSyncExecution({ stateMachineArn: await machine("v2x", "EXPRESS"), input: "{\"number\":2}" }).promise();
  said.sync = [sync.status, sync.output];

  console.log(JSON.stringify(said));
}

main().catch((problem) => { console.error(problem); process.exit(1); });
