"""What models of these simulations answer, in the simulation's own process. `call` asks a service of the system."""

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:semaphore"
QUEUE = "http://localhost:4566/000000000000/files"
LEVELS = [f"ApproximateNumberOfMessages{where}" for where in ("", "NotVisible", "Delayed")]


async def only_one_shall_run(event, call):
    """What ../semaphore/functions/only-one-shall-run.py does: lists all that run, and lets the oldest pass."""
    running, more = [], {}
    while True:
        asked = {"stateMachineArn": MACHINE, "statusFilter": "RUNNING", "maxResults": 100, **more}
        page = await call("states", "ListExecutions", asked)
        running += page["executions"]
        if not page.get("nextToken"):
            break
        more = {"nextToken": page["nextToken"]}
    oldest = min(running, key=lambda one: one["startDate"])
    return {"proceed": oldest["name"] == event["name"]}


async def count_open(event, call):
    """How many files wait in the queue or are being treated; a table of states would be read here."""
    found = await call("sqs", "GetQueueAttributes", {"QueueUrl": QUEUE, "AttributeNames": LEVELS})
    return {"open": sum(int(number) for number in found["Attributes"].values())}


async def job_status(event, call):
    """A job that takes 22 and a half minutes."""
    turn = event.get("turn", 0) + 1
    return {"turn": turn, "status": "SUCCEEDED" if turn >= 1350 else "RUNNING"}
