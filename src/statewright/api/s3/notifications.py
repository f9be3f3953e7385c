"""Operations on the notifications of a bucket. Owns the check that destinations exist."""

from __future__ import annotations

import re
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.s3.buckets import bucket_of
from statewright.api.s3.locations import app_of_bucket
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.notifications import KINDS, NOTIFICATION, checked
from statewright.payload import JsonObject

Request = JsonObject
_ARN: Final = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]+):[a-z0-9-]*:[0-9]*:.+", re.ASCII | re.DOTALL)
_SERVICES: Final = {"Topic": "sns", "Queue": "sqs", "CloudFunction": "lambda"}


@operation("s3", "PutBucketNotificationConfiguration")
async def put_bucket_notification_configuration(app: App, _call: Call, request: Request) -> None:
    """Replace the notification configuration of a bucket; an empty one turns notifications off."""
    bucket = await bucket_of(app, request)
    app = await app_of_bucket(app, bucket)
    config = checked(request["NotificationConfiguration"])
    skips = request.get("SkipDestinationValidation")
    arns: list[str] = []
    for name, (member, called) in KINDS.items():
        for entry in config.get(name, ()):
            arn = entry[member]
            found = _ARN.fullmatch(arn)
            if found is None or found[1] != _SERVICES[called]:
                raise faults.invalid_argument("The ARN could not be parsed", called, arn)
            if app.config.is_elsewhere(arn):
                text = "The notification destination service region is not valid for the bucket location constraint"
                raise faults.invalid_argument(text, called, arn)
            if not skips:
                await _check_destination(app, called, arn)
            if called != "CloudFunction" and arn not in arns:
                arns.append(arn)
    await app.services.objects.set_bucket_setting(bucket.name, NOTIFICATION, config or None)
    if arns:
        await app.services.object_notices.try_out(bucket.name, arns)


@operation("s3", "GetBucketNotificationConfiguration")
async def get_bucket_notification_configuration(app: App, _call: Call, request: Request) -> Request:
    """Return the notification configuration of a bucket."""
    found: Request = (await bucket_of(app, request)).settings.get(NOTIFICATION) or {}
    return found


async def _check_destination(app: App, called: str, arn: str) -> None:
    problem = None
    if called == "Queue":
        queue = app.services.queues.find_arn(arn)
        if queue is None:
            problem = "The destination queue does not exist"
        elif queue.settings.fifo:
            problem = "FIFO queues are not supported as destinations"
    elif called == "Topic":
        try:
            if app.services.topics.find(arn).topic.fifo:
                problem = "FIFO topics are not supported as destinations"
        except ApiError:
            problem = "The destination topic does not exist"
    else:
        try:
            await app.services.functions.invoker.resolve(arn, None)
        except ApiError:
            problem = "The destination Lambda does not exist"
    if problem is not None:
        raise faults.invalid_argument("Unable to validate the following destination configurations", arn, problem)
