"""A hundred calls at once by aioboto3: S3, DynamoDB, SQS and Step Functions."""

import asyncio
import io
import json

import aioboto3

MACHINE = {"StartAt": "Double", "States": {"Double": {"Type": "Pass", "QueryLanguage": "JSONata",
           "Output": "{% $states.input.n * 2 %}", "End": True}}}  # fmt: skip


async def main() -> None:
    session = aioboto3.Session()
    async with (
        session.client("s3") as s3,
        session.resource("dynamodb") as dynamodb,
        session.client("sqs") as sqs,
        session.client("stepfunctions") as sfn,
    ):
        await s3.create_bucket(Bucket="async")
        await asyncio.gather(
            *(s3.upload_fileobj(io.BytesIO(bytes(100_000)), "async", f"{each}") for each in range(100))
        )
        sizes = [one["Size"] async for page in s3.get_paginator("list_objects_v2").paginate(Bucket="async", MaxKeys=30)
                 for one in page["Contents"]]  # fmt: skip
        taken = io.BytesIO()
        await s3.download_fileobj("async", "7", taken)

        table = await dynamodb.create_table(
            TableName="async", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        )  # fmt: skip
        await table.wait_until_exists()
        async with table.batch_writer() as batch:
            for each in range(100):
                await batch.put_item(Item={"id": each})
        items = (await table.scan())["Count"]

        queue = (await sqs.create_queue(QueueName="async"))["QueueUrl"]
        waiting = asyncio.create_task(sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20))
        await sqs.send_message(QueueUrl=queue, MessageBody="hello")
        message = (await waiting)["Messages"][0]["Body"]

        machine = await sfn.create_state_machine(
            name="async", definition=json.dumps(MACHINE), roleArn="arn:aws:iam::000000000000:role/r", type="EXPRESS"
        )
        ran = await asyncio.gather(
            *(
                sfn.start_sync_execution(stateMachineArn=machine["stateMachineArn"], input=json.dumps({"n": each}))
                for each in range(100)
            )
        )
    found = {
        "objects": [len(sizes), sum(sizes), len(taken.getvalue())], "items": items, "message": message,
        "outputs": sum(int(one["output"]) for one in ran),
    }  # fmt: skip
    print(json.dumps(found))


asyncio.run(main())
