"""What the service refuses: every operation, parameter by parameter, with the legacy code and the text.

Texts in capitals between angle brackets stand for queues: `<STD>` and `<FIFO>` are URLs, `<STD_ARN>` an ARN.
"""

from __future__ import annotations

from typing import Any

NO_QUEUE = ("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
WRONG_KIND = "The request include parameter that is not valid for this queue type."
NAME_WORDS = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
IDS = (
    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
    "It can be at most 80 letters long."
)
DEDUP = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
OLD = "AWS.SimpleQueueService."

Case = tuple[str, dict[str, Any], str, str]


def missing(parameter: str) -> tuple[str, str]:
    return "MissingParameter", f"The request must contain the parameter {parameter}."


def invalid(value: object, parameter: str, reason: str) -> tuple[str, str]:
    return "InvalidParameterValue", f"Value {value} for parameter {parameter} is invalid. Reason: {reason}"


def text(value: str, kind: str = "String") -> dict[str, str]:
    return {"DataType": kind, "StringValue": value}


ON_QUEUES: dict[str, dict[str, Any]] = {
    "DeleteQueue": {},
    "PurgeQueue": {},
    "GetQueueAttributes": {},
    "ListQueueTags": {},
    "ListDeadLetterSourceQueues": {},
    "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
    "TagQueue": {"Tags": {"a": "b"}},
    "UntagQueue": {"TagKeys": ["a"]},
    "AddPermission": {"Label": "l", "AWSAccountIds": ["1" * 12], "Actions": ["SendMessage"]},
    "RemovePermission": {"Label": "l"},
    "SendMessage": {"MessageBody": "b"},
    "SendMessageBatch": {"Entries": [{"Id": "a", "MessageBody": "b"}]},
    "ReceiveMessage": {},
    "DeleteMessage": {"ReceiptHandle": "h"},
    "DeleteMessageBatch": {"Entries": [{"Id": "a", "ReceiptHandle": "h"}]},
    "ChangeMessageVisibility": {"ReceiptHandle": "h", "VisibilityTimeout": 1},
    "ChangeMessageVisibilityBatch": {"Entries": [{"Id": "a", "ReceiptHandle": "h", "VisibilityTimeout": 1}]},
}
"""Operations with a QueueUrl, and what else they need."""

BATCHES = ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch")
PARTS: dict[str, dict[str, Any]] = {
    "SendMessageBatch": {"MessageBody": "b"},
    "DeleteMessageBatch": {"ReceiptHandle": "h"},
    "ChangeMessageVisibilityBatch": {"ReceiptHandle": "h", "VisibilityTimeout": 1},
}


def _of_urls() -> list[Case]:
    cases: list[Case] = []
    for name, rest in ON_QUEUES.items():
        cases.append((name, rest, *missing("QueueUrl")))
        cases.append((name, {**rest, "QueueUrl": "http://h/000000000000/none"}, *NO_QUEUE))
        cases.append((name, {**rest, "QueueUrl": "bare"}, *NO_QUEUE))
        for member in rest:
            # A batch without entries lacks the first thing of the first one.
            words = f"{name}RequestEntry.1.Id" if member == "Entries" else member
            without = {key: value for key, value in rest.items() if key != member}
            cases.append((name, {**without, "QueueUrl": "<STD>"}, *missing(words)))
    cases += [
        ("ReceiveMessage", {"QueueUrl": "http://h/111111111111/q"}, *NO_QUEUE),
        ("ReceiveMessage", {"QueueUrl": "http://h/q"}, *NO_QUEUE),
        ("ReceiveMessage", {"QueueUrl": "/"}, *NO_QUEUE),
        ("GetQueueUrl", {}, *missing("QueueName")),
        ("GetQueueUrl", {"QueueName": "none"}, *NO_QUEUE),
        ("GetQueueUrl", {"QueueName": "<STD_NAME>", "QueueOwnerAWSAccountId": "1" * 12}, *NO_QUEUE),
        ("GetQueueUrl", {"QueueName": "a b"}, "InvalidParameterValue", NAME_WORDS),
    ]  # fmt: skip
    return cases


def _of_batches() -> list[Case]:
    cases: list[Case] = []
    for name in BATCHES:
        kind, part = f"{name}RequestEntry", PARTS[name]

        def entries(*ids: str, part: dict[str, Any] = part) -> dict[str, Any]:
            return {"QueueUrl": "<STD>", "Entries": [{"Id": one, **part} for one in ids]}

        cases += [
            (name, entries(*map(str, range(11))), OLD + "TooManyEntriesInBatchRequest",
             "Maximum number of entries per request are 10. You have sent 11."),
            (name, entries("a", "b", "a"), OLD + "BatchEntryIdsNotDistinct", "Id a repeated."),
            (name, entries("a b"), OLD + "InvalidBatchEntryId", IDS),
            (name, entries("x" * 81), OLD + "InvalidBatchEntryId", IDS),
            (name, {"QueueUrl": "<STD>", "Entries": [part]}, *missing(f"{kind}.1.Id")),
        ]  # fmt: skip
        for member in part:
            rest = {key: value for key, value in part.items() if key != member}
            second = [{"Id": "a", **part}, {"Id": "b", **rest}]
            cases.append((name, {"QueueUrl": "<STD>", "Entries": second}, *missing(f"{kind}.2.{member}")))
    return cases


def _of_sending() -> list[Case]:
    cases: list[Case] = []

    def single(to: str, code: str, message: str, **given: Any) -> None:
        cases.append(("SendMessage", {"QueueUrl": to, "MessageBody": "b", **given}, code, message))

    def batch(to: str, code: str, message: str, **given: Any) -> None:
        entry = {"Id": "a", "MessageBody": "b", **given}
        cases.append(("SendMessageBatch", {"QueueUrl": to, "Entries": [entry]}, code, message))

    for delay in (-1, 901):
        single("<STD>", *invalid(delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900."), DelaySeconds=delay)
    single("<FIFO>", *invalid(2, "DelaySeconds", WRONG_KIND), DelaySeconds=2, MessageGroupId="g",
           MessageDeduplicationId="d")  # fmt: skip
    single("<FIFO>", *missing("MessageGroupId"), MessageDeduplicationId="d")
    batch("<FIFO>", "InvalidParameterValue", missing("MessageGroupId")[1], MessageDeduplicationId="d")
    single("<FIFO>", "InvalidParameterValue", DEDUP, MessageGroupId="g")
    batch("<FIFO>", "InvalidParameterValue", DEDUP, MessageGroupId="g")
    for name, other in (("MessageGroupId", "MessageDeduplicationId"), ("MessageDeduplicationId", "MessageGroupId")):
        for value in ("a b", "ä", "x" * 129):
            words = f"{name} can only include alphanumeric and punctuation characters. 1 to 128 in length."
            given: dict[str, Any] = {name: value, other: "ok"}
            single("<FIFO>", *invalid(value, name, words), **given)
            if name == "MessageGroupId":
                single("<STD>", *invalid(value, name, words), MessageGroupId=value)
    single("<STD>", *invalid("d", "MessageDeduplicationId", WRONG_KIND), MessageDeduplicationId="d")
    single("<STD>", *missing("MessageBody"), MessageBody="")
    single("<STD>", "InvalidParameterValue",
           "Message (user) attribute 'n' must contain a non-empty value of type 'String'.",
           MessageAttributes={"n": text("")})  # fmt: skip
    single("<STD>", "InvalidParameterValue",
           "Message (user) attribute 'n' must contain a non-empty message attribute type.",
           MessageAttributes={"n": {"StringValue": "x"}})  # fmt: skip
    single("<STD>", "InvalidParameterValue", "Can't cast the value of message (user) attribute 'n' to a number.",
           MessageAttributes={"n": text("one", "Number")})  # fmt: skip
    single("<STD>", "InvalidParameterValue", "Number of message attributes [11] exceeds the allowed maximum [10].",
           MessageAttributes={f"n{number}": text("x") for number in range(11)})  # fmt: skip
    single("<STD>", "InvalidParameterValue",
           "Message system attribute name 'Other' is invalid. Supported: AWSTraceHeader.",
           MessageSystemAttributes={"Other": text("x")})  # fmt: skip
    single("<SMALL>", "InvalidParameterValue",
           "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
           MessageBody="x" * 1024, MessageAttributes={"n": text("x")})  # fmt: skip
    single("<STD>", "InvalidMessageContents",
           "Invalid binary character '#x0' was found in the message body, the set of allowed characters is "
           "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].", MessageBody="\0")  # fmt: skip
    halves = [{"Id": one, "MessageBody": "x" * size} for one, size in (("a", 524_288), ("b", 524_289))]
    cases.append((
        "SendMessageBatch", {"QueueUrl": "<STD>", "Entries": halves}, OLD + "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
    ))  # fmt: skip
    return cases


def _of_receiving() -> list[Case]:
    cases: list[Case] = []

    def receive(to: str, name: str, value: object, reason: str) -> None:
        cases.append(("ReceiveMessage", {"QueueUrl": to, name: value}, *invalid(value, name, reason)))

    for count in (0, 11, -1):
        receive("<STD>", "MaxNumberOfMessages", count, "Must be between 1 and 10, if provided.")
    for seconds in (-1, 21):
        receive("<STD>", "WaitTimeSeconds", seconds, "Must be >= 0 and <= 20, if provided.")
    visibility = "Must be >= 0 and <= 43200, if provided."
    for seconds in (-1, 43_201):
        receive("<STD>", "VisibilityTimeout", seconds, visibility)
        change = {"QueueUrl": "<STD>", "ReceiptHandle": "h", "VisibilityTimeout": seconds}
        cases.append(("ChangeMessageVisibility", change, *invalid(seconds, "VisibilityTimeout", visibility)))
    receive("<STD>", "ReceiveRequestAttemptId", "r", WRONG_KIND)
    words = "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length."
    receive("<FIFO>", "ReceiveRequestAttemptId", "a b", words)
    for name in ("AttributeNames", "MessageSystemAttributeNames"):
        asked = {"QueueUrl": "<STD>", name: ["Colour"]}
        cases.append(("ReceiveMessage", asked, "InvalidAttributeName", "Unknown Attribute Colour."))
    for name, rest in (("DeleteMessage", {}), ("ChangeMessageVisibility", {"VisibilityTimeout": 1})):
        given = {"QueueUrl": "<STD>", "ReceiptHandle": "foreign", **rest}
        words = 'The input receipt handle "foreign" is not a valid receipt handle.'
        cases.append((name, given, "ReceiptHandleIsInvalid", words))
        cases.append((name, {**given, "ReceiptHandle": ""}, *missing("ReceiptHandle")))
    return cases


def _of_queues() -> list[Case]:
    plain = {"QueueName": "sqs-refused"}

    def create(code: str, message: str, /, **attributes: str) -> Case:
        return ("CreateQueue", {**plain, "Attributes": attributes}, code, message)

    def change(to: str, code: str, message: str, /, **attributes: str) -> Case:
        return ("SetQueueAttributes", {"QueueUrl": to, "Attributes": attributes}, code, message)

    value, name = "InvalidAttributeValue", "InvalidAttributeName"
    policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":1001}'
    return [
        ("CreateQueue", {}, *missing("QueueName")),
        ("CreateQueue", {"QueueName": ""}, *missing("QueueName")),
        ("CreateQueue", {"QueueName": "a b"}, "InvalidParameterValue", NAME_WORDS),
        ("CreateQueue", {"QueueName": "a.fifo"}, "InvalidParameterValue", NAME_WORDS),
        ("CreateQueue", {"QueueName": "x" * 81}, "InvalidParameterValue", NAME_WORDS),
        ("CreateQueue", {"QueueName": "a", "Attributes": {"FifoQueue": "true"}}, "InvalidParameterValue",
         "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
         "must end with .fifo suffix and be 1 to 80 in length."),
        ("CreateQueue", {"QueueName": "<STD_NAME>", "Attributes": {"DelaySeconds": "7"}}, "QueueAlreadyExists",
         "A queue already exists with the same name and a different value for attribute DelaySeconds"),
        create(name, "Unknown Attribute FifoQueue.", FifoQueue="false"),
        create(name, "Unknown Attribute Colour.", Colour="red"),
        create(value, "Invalid value for the parameter DelaySeconds.", DelaySeconds="901"),
        create(value, "Invalid value for the parameter MaximumMessageSize.", MaximumMessageSize="1023"),
        create(*invalid(policy, "RedrivePolicy",
               "Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive."),
               RedrivePolicy=policy),
        change("<STD>", name, "You can specify the DeduplicationScope only when FifoQueue is set to true.",
               DeduplicationScope="queue"),
        change("<STD>", name, "Unknown Attribute ContentBasedDeduplication.", ContentBasedDeduplication="true"),
        change("<STD>", value, "Invalid value for the parameter VisibilityTimeout.", VisibilityTimeout="43201"),
        change("<STD>", value, "Invalid value for the parameter Policy.", Policy="{"),
        change("<FIFO>", value,
               "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
               FifoQueue="false"),
        ("GetQueueAttributes", {"QueueUrl": "<STD>", "AttributeNames": ["All", "Colour"]}, name,
         "Unknown Attribute Colour."),
        ("ListQueues", {"MaxResults": 0}, *invalid(0, "MaxResults", "Must be between 1 and 1000, if provided.")),
        ("ListQueues", {"MaxResults": 1001}, *invalid(1001, "MaxResults", "Must be between 1 and 1000, if provided.")),
        ("ListQueues", {"MaxResults": 1, "NextToken": "?"}, "InvalidParameterValue", "Invalid or expired next token."),
        ("ListQueues", {"NextToken": "?"}, *missing("MaxResults")),
        ("ListDeadLetterSourceQueues", {"QueueUrl": "<STD>", "MaxResults": 0},
         *invalid(0, "MaxResults", "Must be between 1 and 1000, if provided.")),
        ("TagQueue", {"QueueUrl": "<STD>", "Tags": {f"k{number}": "v" for number in range(51)}},
         "InvalidParameterValue", "Too many tags added for queue <STD_NAME>."),
        ("TagQueue", {"QueueUrl": "<STD>", "Tags": {"k" * 129: "v"}}, "InvalidParameterValue",
         "Tag keys must be between 1 and 128 characters in length."),
        ("TagQueue", {"QueueUrl": "<STD>", "Tags": {"k": "v" * 257}}, "InvalidParameterValue",
         "Tag values must be between 0 and 256 characters in length."),
        ("TagQueue", {"QueueUrl": "<STD>", "Tags": {"AWS:k": "v"}}, "InvalidParameterValue",
         "Tag keys must not start with aws:."),
    ]  # fmt: skip


def _of_permissions_and_moves() -> list[Case]:
    whole = {"QueueUrl": "<STD>", "Label": "l", "AWSAccountIds": ["1" * 12], "Actions": ["SendMessage"]}
    source = {"SourceArn": "<STD_ARN>"}
    gone = "arn:aws:sqs:us-east-1:000000000000:none"
    rate = "Must be between 1 and 500, if provided."
    listed = "Must be between 1 and 10, if provided."
    not_found = "ResourceNotFoundException"
    no_source = "The resource that you specified for the SourceArn parameter doesn't exist."
    cases: list[Case] = [
        ("AddPermission", {**whole, "Label": "a b"}, *invalid("a b", "Label", NAME_WORDS)),
        ("AddPermission", {**whole, "Actions": ["CreateQueue"]},
         *invalid("SQS:CreateQueue", "ActionName", "Only the queue owner is allowed to invoke this action.")),
        ("AddPermission", {**whole, "AWSAccountIds": ["me"]}, *invalid("[me]", "PrincipalId", "Unable to verify.")),
        ("AddPermission", {**whole, "Actions": ["SendMessage"] * 8}, "OverLimit",
         "8 Actions were found, maximum allowed is 7."),
        ("RemovePermission", {"QueueUrl": "<STD>", "Label": "none"}, *invalid("none", "Label", "can't find label.")),
        ("StartMessageMoveTask", {}, *missing("SourceArn")),
        ("StartMessageMoveTask", {"SourceArn": gone}, not_found, no_source),
        ("StartMessageMoveTask", source, "InvalidParameterValue",
         "Source queue must be configured as a Dead Letter Queue."),
        ("StartMessageMoveTask", {"SourceArn": "<DLQ_ARN>", "DestinationArn": gone}, not_found,
         "The resource that you specified for the DestinationArn parameter doesn't exist."),
        ("ListMessageMoveTasks", {}, *missing("SourceArn")),
        ("ListMessageMoveTasks", {"SourceArn": gone}, not_found, no_source),
        ("CancelMessageMoveTask", {}, *missing("TaskHandle")),
        ("CancelMessageMoveTask", {"TaskHandle": "foreign"}, "InvalidParameterValue",
         "Value for parameter TaskHandle is invalid."),
    ]  # fmt: skip
    for number in (0, 501):
        given = {**source, "MaxNumberOfMessagesPerSecond": number}
        cases.append(("StartMessageMoveTask", given, *invalid(number, "MaxNumberOfMessagesPerSecond", rate)))
    for number in (0, 11):
        given = {**source, "MaxResults": number}
        cases.append(("ListMessageMoveTasks", given, *invalid(number, "MaxResults", listed)))
    return cases


REFUSED: list[Case] = [
    *_of_urls(), *_of_batches(), *_of_sending(), *_of_receiving(), *_of_queues(), *_of_permissions_and_moves()
]  # fmt: skip

STATUSES = {
    "OverLimit": 403,
    "ReceiptHandleIsInvalid": 404,
    "ResourceNotFoundException": 404,
}
"""HTTP statuses that are not 400."""

WRONG_TYPES: list[tuple[str, dict[str, Any], str]] = [
    ("SendMessage", {"QueueUrl": "<STD>", "MessageBody": 1}, "NUMBER_VALUE can not be converted to a String"),
    ("SendMessage", {"QueueUrl": ["<STD>"], "MessageBody": "b"}, "Start of list found where not expected"),
    ("SendMessage", {"QueueUrl": "<STD>", "MessageBody": "b", "DelaySeconds": "1"},
     "STRING_VALUE can not be converted to an Integer"),
    ("SendMessage", {"QueueUrl": "<STD>", "MessageBody": "b", "MessageAttributes": []}, "Expected map or null"),
    ("SendMessageBatch", {"QueueUrl": "<STD>", "Entries": {}}, "Expected list or null"),
    ("SendMessageBatch", {"QueueUrl": "<STD>", "Entries": ["a"]}, "Expected null"),
    ("ReceiveMessage", {"QueueUrl": "<STD>", "MaxNumberOfMessages": 1.5},
     "NUMBER_VALUE can not be converted to an Integer"),
    ("CreateQueue", {"QueueName": "a", "Attributes": {"DelaySeconds": 5}},
     "NUMBER_VALUE can not be converted to a String"),
]  # fmt: skip
