"""A Celery application over SQS, with its results in DynamoDB. As a program: sends tasks and prints their results."""

import json
import sys

from celery import Celery

app = Celery("orders", broker="sqs://", backend="dynamodb://")
app.conf.update(
    task_acks_late=True,
    broker_transport_options={"region": "us-east-1", "wait_time_seconds": 1},
    dynamodb_table_name="results",
)


@app.task(bind=True, max_retries=3, name="double")
def double(self, number):
    """Double a number; most fail once or twice before, and are retried through the queue."""
    if self.request.retries < number % 3:
        raise self.retry(countdown=1)
    return {"number": number, "doubled": 2 * number, "retries": self.request.retries}


if __name__ == "__main__":
    sent = [double.delay(number) for number in range(int(sys.argv[1]))]
    print(json.dumps([one.get(timeout=float(sys.argv[2]), interval=0.5) for one in sent]))
