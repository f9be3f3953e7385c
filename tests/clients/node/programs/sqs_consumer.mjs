// sqs-consumer: messages one by one and in batches; one that fails comes again and ends in the dead-letter queue.

import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient, SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";

const sqs = new SQSClient({});
const made = async (name, attributes = {}) =>
  (await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }))).QueueUrl;
const dead = await made("consumed-dead");
const policy = { deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:consumed-dead", maxReceiveCount: 2 };
const queue = await made("consumed", { RedrivePolicy: JSON.stringify(policy), VisibilityTimeout: "30" });
const entries = [...Array(10).keys()].map((number) => ({ Id: String(number), MessageBody: String(number) }));
for (let batch = 0; batch < 5; batch += 1) await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue, Entries: entries }));

const count = async (url) => {
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] }));
  return Number(Attributes.ApproximateNumberOfMessages) + Number(Attributes.ApproximateNumberOfMessagesNotVisible);
};

async function consumed(settings) {
  const consumer = Consumer.create({
    queueUrl: queue, sqs, batchSize: 10, waitTimeSeconds: 1, terminateVisibilityTimeout: true, ...settings,
  });
  const failures = [];
  consumer.on("processing_error", (problem) => failures.push(problem.name));
  consumer.on("error", (problem) => failures.push(problem.name));
  consumer.start();
  while ((await count(queue)) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  const stopped = new Promise((resolve) => consumer.on("stopped", resolve));
  // The poll that is under way is given up: the server must not answer it with messages.
  consumer.stop({ abort: true });
  await stopped;
  return failures.length;
}

const seen = {};
const failures = await consumed({
  handleMessage: async (message) => {
    if (message.Body === "7") throw new Error("not this one");
    seen[message.Body] = (seen[message.Body] ?? 0) + 1;
    return message;
  },
});
const first = [seen, failures, await count(dead)];

await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue, Entries: entries }));
let batched = 0;
await consumed({ handleMessageBatch: async (messages) => { batched += messages.length; return messages; } });
console.log(JSON.stringify({ first, batched }));
