"""What hours of a whole system cost in virtual time: the pipeline of 15,000 messages, and the semaphore's queue.

python bench/virtual_time.py                    the pipeline with a model, with the handler itself, and the semaphore
python bench/virtual_time.py --only handler     one of `model`, `handler`, `semaphore`
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

from statewright.virtual import Model, VirtualSystem

MESSAGES, SECONDS, WORK_SECONDS = 15_000, 68, 120
EXECUTIONS, STAY_SECONDS = 100, 300
ROLE = "arn:aws:iam::000000000000:role/bench"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:"
HANDLER = f"import time\ndef handler(event, context):\n    time.sleep({WORK_SECONDS})\n"


def pipeline(*, is_real: bool) -> None:
    with VirtualSystem() as system:
        sqs, functions = system.client("sqs"), system.client("lambda")
        if is_real:
            code = io.BytesIO()
            with zipfile.ZipFile(code, "w") as archive:
                archive.writestr("app.py", HANDLER)
            functions.create_function(
                FunctionName="work", Runtime="python{}.{}".format(*sys.version_info), Role=ROLE, Handler="app.handler",
                Timeout=600, Code={"ZipFile": code.getvalue()},
            )  # fmt: skip
        else:
            system.model("work", Model(duration=WORK_SECONDS), timeout=600)
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        redrive = json.dumps({"deadLetterTargetArn": QUEUE + "dead", "maxReceiveCount": 1})
        attributes = {"VisibilityTimeout": "600", "RedrivePolicy": redrive}
        url = sqs.create_queue(QueueName="jobs", Attributes=attributes)["QueueUrl"]
        functions.create_event_source_mapping(
            EventSourceArn=QUEUE + "jobs", FunctionName="work", BatchSize=1,
            Tags={"statewright:scalingProfile": "lambda-2022"},
        )  # fmt: skip
        began_ms, sent = system.now_ms, 0
        for second in range(1, SECONDS + 1):
            while sent < MESSAGES * second // SECONDS:
                some = min(10, MESSAGES * second // SECONDS - sent)
                entries = [{"Id": str(one), "MessageBody": str(sent + one)} for one in range(some)]
                system.call("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": entries})
                sent += some
            system.advance(1)
        running = system.parts.app.services.functions.invoker.concurrency.running
        for minute in range(2, 40, 2):
            system.run_until(began_ms + minute * 60_000)
            print(f"  {minute:3} min {running.get('work', 0):5} at once", flush=True)
        system.run_until_idle()
        found = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
        minutes = (system.now_ms - began_ms) / 60_000
        print(f"  over after {minutes:.1f} min; dead letters: {found['Attributes']['ApproximateNumberOfMessages']}")


def semaphore() -> None:
    ask, wait = "arn:aws:lambda:us-east-1:000000000000:function:ask", {"Type": "Wait", "Seconds": 60, "Next": "Ask"}
    choice = {"Variable": "$.turn.proceed", "BooleanEquals": True, "Next": "Critical"}
    states = {
        "Ask": {"Type": "Task", "Resource": ask, "ResultPath": "$.turn", "Next": "Shall Pass?"},
        "Shall Pass?": {"Type": "Choice", "Choices": [choice], "Default": "Wait"},
        "Wait": wait,
        "Critical": {"Type": "Wait", "Seconds": STAY_SECONDS, "End": True},
    }
    with VirtualSystem() as system:
        sfn = system.client("stepfunctions")
        definition = json.dumps({"StartAt": "Ask", "States": states})
        arn = sfn.create_state_machine(name="semaphore", definition=definition, roleArn=ROLE)["stateMachineArn"]

        async def oldest(event: Any) -> Any:
            asked = {"stateMachineArn": arn, "statusFilter": "RUNNING"}
            found = (await system.ask("states", "ListExecutions", asked))["executions"]
            return {"proceed": min(found, key=lambda one: one["startDate"])["name"] == event["name"]}

        system.model("ask", Model(duration=0.2, answer=oldest))
        began_ms = system.now_ms
        for number in range(EXECUTIONS):
            sfn.start_execution(stateMachineArn=arn, name=f"n{number}", input=json.dumps({"name": f"n{number}"}))
            system.advance(0.25)
        system.run_until_idle()
        hours = (system.now_ms - began_ms) / 3_600_000
        print(f"  over after {hours:.2f} h; {system.parts.engine.shard.counters.transitions} transitions")


PARTS: dict[str, Callable[[], None]] = {
    "model": lambda: pipeline(is_real=False),
    "handler": lambda: pipeline(is_real=True),
    "semaphore": semaphore,
}


def cpu_seconds() -> float:
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in of)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    for name in [only] if only else PARTS:
        print(name)
        began, cpu = time.monotonic(), cpu_seconds()
        PARTS[name]()
        print(f"  {time.monotonic() - began:.1f} s, {cpu_seconds() - cpu:.1f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
