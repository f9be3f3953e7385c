from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.resources import parse_resource
from statewright.clock import RealClock
from statewright.config import Config, Endpoint
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.integrations.registry import Registry
from tests.unit.integrations.stub import NO_CALLS

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"


class Service:
    """Notes what it is asked, and answers what it was given."""

    content_type = "application/x-amz-json-1.0"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.request_ids: list[str] = []

    async def __call__(
        self, operation: str, request: dict[str, Any], *, request_id: str, completion: Any = None
    ) -> Any:
        self.asked.append((operation, request))
        self.request_ids.append(request_id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def scheduled(resource: str, parameters: Any, key: str = "7") -> ScheduledCall:
    name = resource if resource.startswith("arn:aws:lambda") else f"arn:aws:states:::{resource}"
    execution = "arn:aws:states:us-east-1:000000000000:execution:m:e"
    return ScheduledCall(execution, "S", parse_resource(name), parameters, "token", 0, key, "arn:aws:iam::0:role/r")


def call(service: Service, resource: str, parameters: Any, name: str, config: Config | None = None):
    async def run() -> Any:
        registry = Registry(config or Config(), RealClock(), replace(NO_CALLS, services={name: service}))
        try:
            return await registry.call(scheduled(resource, parameters))
        finally:
            await registry.close()

    return asyncio.run(run())


def test_a_function_by_its_arn_takes_the_input_and_gives_its_payload():
    service = Service({"StatusCode": 200, "Payload": b'{"y": 2}', "ExecutedVersion": "$LATEST"})
    assert call(service, FUNCTION, {"x": 1}, "lambda") == Succeeded({"y": 2})
    assert service.asked == [("Invoke", {"FunctionName": FUNCTION, "Payload": b'{"x":1}'})]


def test_the_optimised_integration_adds_metadata_of_the_call():
    service = Service({"StatusCode": 200, "Payload": b'{"y": 2}', "ExecutedVersion": "$LATEST"})
    result = call(service, "lambda:invoke", {"FunctionName": "f", "Payload": [1]}, "lambda")
    assert isinstance(result, Succeeded)
    output = result.output
    assert list(output) == ["ExecutedVersion", "Payload", "SdkHttpMetadata", "SdkResponseMetadata", "StatusCode"]
    assert output["Payload"] == {"y": 2}
    assert output["SdkHttpMetadata"]["HttpHeaders"]["X-Amz-Executed-Version"] == "$LATEST"
    assert output["SdkResponseMetadata"] == {"RequestId": service.request_ids[0]}
    assert service.asked == [("Invoke", {"FunctionName": "f", "Payload": b"[1]"})]


@pytest.mark.parametrize("resource", [FUNCTION, "lambda:invoke"])
def test_what_the_function_raises_is_the_tasks_error(resource):
    payload = b'{"errorMessage": "no", "errorType": "Refused"}'
    service = Service({"StatusCode": 200, "Payload": payload, "FunctionError": "Unhandled", "ExecutedVersion": "1"})
    result = call(service, resource, {"FunctionName": "f"}, "lambda")
    assert result == Failed("Refused", payload.decode())


def test_refusals_are_worded_as_each_sdk_words_them():
    error = ApiError("TooManyRequestsException", "Rate Exceeded.", status=429)
    optimised = call(Service(error), "lambda:invoke", {"FunctionName": "f"}, "lambda")
    assert isinstance(optimised, Failed)
    assert optimised.error == "Lambda.TooManyRequestsException"
    assert optimised.cause is not None
    assert optimised.cause.startswith(
        "Rate Exceeded. (Service: AWSLambda; Status Code: 429; Error Code: TooManyRequestsException; Request ID: "
    )
    missing = ApiError("NoSuchKey", "The specified key does not exist.", status=404)
    sdk = call(Service(missing), "aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, "s3")
    assert isinstance(sdk, Failed)
    assert sdk.error == "S3.NoSuchKeyException"
    assert sdk.cause is not None
    assert sdk.cause.startswith("The specified key does not exist. (Service: S3, Status Code: 404, Request ID: ")
    assert "Extended Request ID: " in sdk.cause


@pytest.mark.parametrize("problem", [Unavailable("gone"), OwnershipLost("theirs")], ids=repr)
@pytest.mark.parametrize(
    ("resource", "parameters", "name"),
    [
        ("sqs:sendMessage", {"QueueUrl": "http://q/1/a", "MessageBody": "b"}, "sqs"),
        ("aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, "s3"),
        (FUNCTION, {}, "lambda"),
    ],
)
def test_an_outage_of_the_store_is_no_result(resource, parameters, name, problem):
    with pytest.raises(type(problem)):
        call(Service(problem), resource, parameters, name)


def test_an_outage_of_the_store_inside_a_streamed_body_is_no_result():
    async def body() -> AsyncIterator[bytes]:
        yield b"he"
        raise Unavailable("gone")

    with pytest.raises(Unavailable):
        call(Service({"Body": body()}), "aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, "s3")


def test_a_row_that_the_store_refuses_fails_the_task():
    refused = call(
        Service(StoreError("no text")), "sqs:sendMessage", {"QueueUrl": "http://q/1/a", "MessageBody": "b"}, "sqs"
    )
    assert isinstance(refused, Failed)
    assert refused.cause is not None
    assert refused.cause.startswith("The store refused the call: no text (Service: AmazonSQS; ")


def test_streamed_bodies_are_read_and_instants_written_out():
    async def body() -> AsyncIterator[bytes]:
        yield b"he"
        yield b"llo"

    service = Service({"Body": body(), "ContentLength": 5, "LastModified": 1_700_000_000_000, "ETag": '"e"'})
    result = call(service, "aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, "s3")
    assert result == Succeeded(
        {"Body": "hello", "ContentLength": 5, "ETag": '"e"', "LastModified": "2023-11-14T22:13:20Z"}
    )


def test_a_body_too_long_for_any_state_is_not_gathered():
    async def body() -> AsyncIterator[bytes]:
        for _ in range(18):
            yield bytes(1024 * 1024)

    result = call(Service({"Body": body()}), "aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, "s3")
    assert isinstance(result, Failed)
    assert result.error == "States.DataLimitExceeded"


def test_a_message_with_a_token_is_submitted():
    service = Service({"MessageId": "m", "MD5OfMessageBody": "x"})
    parameters = {"QueueUrl": "http://q/1/a", "MessageBody": {"a": 1}}
    result = call(service, "sqs:sendMessage.waitForTaskToken", parameters, "sqs")
    assert isinstance(result, Submitted)
    assert result.output["MessageId"] == "m"
    assert service.asked == [("SendMessage", {"QueueUrl": "http://q/1/a", "MessageBody": '{"a":1}'})]


def test_repeats_of_one_attempt_have_one_request_id():
    service = Service({"StatusCode": 200, "Payload": b"1"})
    for _ in range(2):
        call(service, FUNCTION, {}, "lambda")
    assert service.request_ids[0] == service.request_ids[1]


def test_a_configured_endpoint_wins_over_our_own_service():
    service = Service({})
    config = Config(endpoints={"sqs": Endpoint("http://127.0.0.1:9")})
    result = call(service, "sqs:sendMessage", {"QueueUrl": "http://q/1/a", "MessageBody": "m"}, "sqs", config)
    assert isinstance(result, Failed)
    assert service.asked == []
