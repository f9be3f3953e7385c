import json
from typing import Any

import pytest

from statewright.config import Config, Endpoint
from statewright.engine.dispatch import Failed, Submitted, Succeeded
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.tasks import AwsServices
from statewright.payload import Payload
from statewright.virtual_clock import run_virtual
from tests.unit.integrations.stub import EXECUTION, Reply, replied, serving, task

JSON_TYPE = "application/x-amz-json-1.0"


class Answers:
    def __init__(self) -> None:
        self.ended: list[tuple[Any, ...]] = []

    async def task_succeeded(self, token, output):
        self.ended.append((json.loads(output),))

    async def task_failed(self, token, error, cause):
        self.ended.append((error, cause))


def play(steps: Any, answer: Any, name: Any = "default") -> Any:
    answers = Answers()
    with serving(answer) as stub:

        async def main(clock):
            blocking = BlockingCalls(clock)
            services = AwsServices(Config(endpoints={name: Endpoint(stub.url)}), clock, blocking, lambda: answers)
            try:
                return await steps(services, clock)
            finally:
                await services.close()
                blocking.close()

        return run_virtual(main), stub.asked, answers.ended


def call(resource: Any, parameters: Any, answer: Any, **more: Any) -> Any:
    async def steps(services, clock):
        return await services.call(task(resource, parameters, **more))

    result, asked, _ = play(steps, answer)
    return result, asked


def refused(code: Any, message: Any, status: Any = 400) -> Any:
    return lambda _: replied(
        {"__type": f"com.amazonaws#{code}", "message": message}, status, JSON_TYPE, **{"x-amzn-RequestId": "r-1"}
    )


def test_an_optimised_call():
    item = {"id": {"S": "1"}}
    result, asked = call(
        "dynamodb:getItem", {"TableName": "t", "Key": item}, lambda _: replied({"Item": item}, 200, JSON_TYPE)
    )
    assert isinstance(result, Succeeded)
    assert result.output["Item"] == item
    assert result.output["SdkHttpMetadata"]["HttpStatusCode"] == 200
    assert set(result.output) == {"Item", "SdkHttpMetadata", "SdkResponseMetadata"}
    assert asked[0].json == {"TableName": "t", "Key": item}
    assert "GetItem" in asked[0].headers["X-Amz-Target"]


def test_an_sdk_call_gives_the_bare_answer():
    result, _ = call(
        "aws-sdk:dynamodb:getItem",
        {"TableName": "t", "Key": {"on": {"Bool": True}}},
        lambda _: replied({"Item": {"on": {"BOOL": True}}}, 200, JSON_TYPE),
    )
    assert result == Succeeded({"Item": {"on": {"Bool": True}}})


def test_an_sdk_call_that_waits_for_a_token_is_submitted():
    result, _ = call(
        "aws-sdk:dynamodb:putItem.waitForTaskToken", {"TableName": "t"}, lambda _: replied({}, 200, JSON_TYPE)
    )
    assert result == Submitted({})


@pytest.mark.parametrize(
    ("resource", "error", "cause", "how"),
    [
        (
            "dynamodb:putItem",
            "DynamoDB.ConditionalCheckFailedException",
            "No. (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ConditionalCheckFailedException; "
            "Request ID: r-1; Proxy: null)",
            "failed",
        ),
        (
            "aws-sdk:dynamodb:putItem.waitForTaskToken",
            "DynamoDb.ConditionalCheckFailedException",
            "No. (Service: DynamoDb, Status Code: 400, Request ID: r-1) (SDK Attempt Count: 1)",
            "submit failed",
        ),
    ],
)
def test_refusals_in_both_dialects(resource, error, cause, how):
    result, asked = call(resource, {"TableName": "t"}, refused("ConditionalCheckFailedException", "No."))
    assert result == Failed(error, cause, how)
    assert len(asked) == 1


def test_a_fault_of_the_service_is_not_repeated_here():
    result, asked = call("dynamodb:putItem", {"TableName": "t"}, refused("InternalServerError", "Oops", 500))
    assert result.error == "DynamoDB.InternalServerErrorException"
    assert len(asked) == 1


def test_texts_bytes_and_instants():
    def answer(asked):
        headers = {"Content-Type": "text/plain", "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        return Reply(200, b"binary \xff data" if asked.method == "GET" else b"", headers)

    result, asked = call("aws-sdk:s3:putObject", {"Bucket": "b", "Key": "k", "Body": {"a": 1}}, answer)
    assert asked[0].path == "/b/k"
    assert b'{"a":1}' in asked[0].body
    result, _ = call("aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, answer)
    assert result.output["Body"] == "binary � data"
    assert result.output["LastModified"] == "2026-01-01T00:00:00Z"
    assert result.output["ContentLength"] == 13


def test_any_json_value_is_a_message():
    reply = replied({"MessageId": "m", "MD5OfMessageBody": "x"}, 200, JSON_TYPE)
    result, asked = call("sqs:sendMessage", {"QueueUrl": "http://q/1/a", "MessageBody": {"a": [1]}}, lambda _: reply)
    assert asked[0].json["MessageBody"] == '{"a":[1]}'
    assert result.output["MD5OfMessageBody"] == "x"


@pytest.mark.parametrize(
    ("resource", "parameters"), [("dynamodb:getItem", {"Table": "t"}), ("aws-sdk:dynamodb:getItem", {"tableName": "t"})]
)
def test_parameters_that_the_api_does_not_have_end_the_execution(resource, parameters):
    result, asked = call(resource, parameters, lambda _: replied({}))
    (name,) = parameters
    assert (result.error, result.how) == ("States.Runtime", "refused")
    assert f'[The field "{name}" is not supported by Step Functions]' in result.cause
    assert asked == []


def test_parameters_that_are_no_object():
    assert call("dynamodb:getItem", [], lambda _: replied({}))[0].how == "refused"


def test_an_sdk_service_that_is_none_ends_the_execution():
    assert call("aws-sdk:nosuch:doIt", {}, lambda _: replied({}))[0].how == "refused"


def test_an_integration_that_is_not_here_yet_says_so():
    result, _ = call("eks:call", {}, lambda _: replied({}))
    assert result.error == "Statewright.ServiceNotConfigured"
    assert "eks:call" in result.cause


def test_values_that_cannot_be_sent():
    result, _ = call("aws-sdk:s3:getObject", {"Bucket": "b"}, lambda _: replied({}))
    assert result.error == "S3.SdkClientException"


def test_a_service_that_is_not_there():
    with serving(lambda _: Reply()) as stub:
        gone = stub.url

    async def main(clock):
        blocking = BlockingCalls(clock)
        services = AwsServices(Config(endpoints={"sqs": Endpoint(gone)}), clock, blocking, Answers)
        return await services.call(task("sqs:sendMessage", {"QueueUrl": "q", "MessageBody": "x"}))

    result: Any = run_virtual(main)
    assert result.error == "SQS.SdkClientException"
    assert result.cause.startswith("Unable to execute HTTP request: ")


def test_a_service_without_an_endpoint_says_how_to_configure_it():
    async def steps(services, clock):
        return await services.call(task("dynamodb:getItem", {"TableName": "t"}))

    result, asked, _ = play(steps, lambda _: replied({}), name="sqs")
    assert result.error == "Statewright.ServiceNotConfigured"
    assert '[endpoints] dynamodb = "http://' in result.cause
    assert asked == []


# ------------------------------------------------------------------ functions


def function(payload: bytes, **headers: str):
    return lambda _: Reply(200, payload, {"Content-Type": "application/json", **headers})


def test_a_function_by_its_integration():
    headers = {"X-Amz-Executed-Version": "$LATEST"}
    result, asked = call("lambda:invoke", {"FunctionName": "f", "Payload": "text"}, function(b'{"a":1}', **headers))
    assert asked[0].body == b'"text"'
    assert result.output["Payload"] == {"a": 1}
    assert (result.output["ExecutedVersion"], result.output["StatusCode"]) == ("$LATEST", 200)


def test_a_function_without_a_payload():
    _, asked = call("lambda:invoke", {"FunctionName": "f", "Payload": None}, function(b"{}"))
    assert asked[0].body == b""


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b'{"errorType":"Oops","errorMessage":"no"}', "Oops"),
        (b'{"errorMessage":"no"}', "Lambda.Unknown"),
        (b"x", "Lambda.Unknown"),
    ],
)
@pytest.mark.parametrize(
    "resource", ["lambda:invoke", "lambda:invoke.waitForTaskToken", "arn:aws:lambda:us-east-1:000000000000:function:f"]
)
def test_a_function_that_fails(resource, payload, error):
    parameters = {"FunctionName": "f"} if "invoke" in resource else {}
    result, _ = call(resource, parameters, function(payload, **{"X-Amz-Function-Error": "Unhandled"}))
    assert result == Failed(error, payload.decode())


@pytest.mark.parametrize(("payload", "value"), [(b'{"a":1}', {"a": 1}), (b"plain", "plain"), (b"", None)])
def test_a_function_by_its_arn(payload, value):
    result, asked = call("arn:aws:lambda:us-east-1:000000000000:function:f", {"in": 1}, function(payload))
    assert result == Succeeded(value)
    assert asked[0].body == b'{"in":1}'


def test_a_function_that_is_not_there():
    def answer(asked):
        return replied(
            {"Message": "Function not found", "Type": "User"}, 404, **{"x-amzn-ErrorType": "ResourceNotFoundException"}
        )

    result, _ = call("arn:aws:lambda:us-east-1:000000000000:function:f", {}, answer)
    assert result.error == "Lambda.ResourceNotFoundException"


# ------------------------------------------------------------------ events and jobs


def test_events_get_the_executions_arns():
    result, asked = call(
        "events:putEvents",
        {"Entries": [{"Detail": {"a": 1}, "DetailType": "d", "Source": "s", "Resources": ["r"]}]},
        lambda _: replied({"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}, 200, JSON_TYPE),
    )
    (entry,) = asked[0].json["Entries"]
    assert entry["Detail"] == '{"a":1}'
    assert entry["Resources"] == ["r", EXECUTION, "arn:aws:states:us-east-1:000000000000:stateMachine:Orders"]
    assert result.output["Entries"] == [{"EventId": "e"}]


def test_a_failed_entry_fails_the_task():
    answer = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "X", "ErrorMessage": "m"}]}
    result, _ = call("events:putEvents", {"Entries": [{}]}, lambda _: replied(answer, 200, JSON_TYPE))
    assert result.error == "EventBridge.FailedEntry"
    assert json.loads(result.cause) == answer


def ecs(*statuses: Any, exit_code: Any = 0) -> Any:
    left = list(statuses)

    def answer(asked):
        action = asked.headers["X-Amz-Target"].rpartition(".")[2]
        if action == "RunTask":
            return replied({"tasks": [{"taskArn": "t-1"}], "failures": []}, 200, JSON_TYPE)
        if action == "StopTask":
            return replied({"task": {}}, 200, JSON_TYPE)
        status = left.pop(0) if len(left) > 1 else left[0]
        described = {"taskArn": "t-1", "lastStatus": status, "containers": [{"exitCode": exit_code}]}
        return replied({"tasks": [described], "failures": []}, 200, JSON_TYPE)

    return answer


def follow(answer: Any, **more: Any) -> Any:
    made = task("ecs:runTask.sync", {"Cluster": "c", "TaskDefinition": "d"}, **more)

    async def steps(services, clock):
        result = await services.call(made)
        await clock.sleep_until(clock.now_ms() + 600_000)
        return result

    return play(steps, answer)


def test_a_job_is_followed_to_its_end():
    result, asked, ended = follow(ecs("PENDING", "RUNNING", "STOPPED"))
    assert isinstance(result, Submitted)
    assert asked[0].json["startedBy"] == "AWS Step Functions"
    assert asked[1].json == {"cluster": "c", "tasks": ["t-1"]}
    assert len(asked) == 4
    assert ended == [({"TaskArn": "t-1", "LastStatus": "STOPPED", "Containers": [{"ExitCode": 0}]},)]


def test_a_job_whose_container_failed():
    _, _, ended = follow(ecs("STOPPED", exit_code=3))
    ((error, cause),) = ended
    assert error == "States.TaskFailed"
    assert json.loads(cause)["Containers"] == [{"ExitCode": 3}]


def test_after_a_restart_a_job_is_followed_and_not_started_again():
    submitted = Payload({"Tasks": [{"TaskArn": "t-1"}]})
    result, asked, ended = follow(ecs("STOPPED"), submitted=submitted)
    assert result == Submitted(submitted)
    assert all("DescribeTasks" in request.headers["X-Amz-Target"] for request in asked)
    assert len(ended) == 1


def test_the_job_of_a_cancelled_task_is_stopped():
    made = task("ecs:runTask.sync", {"Cluster": "c", "TaskDefinition": "d"})

    async def steps(services, clock):
        await services.call(made)
        await clock.sleep_until(clock.now_ms() + 500)
        await services.cancel(made)
        await clock.sleep_until(clock.now_ms() + 600_000)

    _, asked, ended = play(steps, ecs("RUNNING"))
    assert asked[-1].json == {"cluster": "c", "task": "t-1"}
    assert ended == []


def test_a_job_that_was_never_made_fails():
    def answer(asked):
        return replied({"tasks": [], "failures": [{"reason": "none"}]}, 200, JSON_TYPE)

    _, _, ended = follow(answer)
    assert ended[0][0] == "States.TaskFailed"


def test_a_service_that_is_busy_is_asked_again():
    left = ["busy", "STOPPED"]
    good = ecs("STOPPED")

    def answer(asked):
        if "DescribeTasks" in asked.headers["X-Amz-Target"] and left.pop(0) == "busy":
            return refused("ThrottlingException", "slow")(asked)
        return good(asked)

    _, _, ended = follow(answer)
    assert len(ended) == 1
    assert ended[0][0]["LastStatus"] == "STOPPED"


def test_a_job_that_its_service_has_forgotten_fails():
    good = ecs("STOPPED")

    def answer(asked):
        if "DescribeTasks" in asked.headers["X-Amz-Target"]:
            return refused("ClusterNotFoundException", "gone")(asked)
        return good(asked)

    _, _, ended = follow(answer)
    assert ended[0][0] == "ECS.ClusterNotFoundException"


def test_a_job_of_a_kind_that_cannot_be_followed_is_not_started():
    result, asked = call("sagemaker:createLabelingJob.sync", {}, lambda _: replied({}))
    assert result.error == "Statewright.ServiceNotConfigured"
    assert asked == []


def test_sagemaker_jobs_are_named_by_their_parameters():
    def answer(asked):
        if "Describe" in asked.headers["X-Amz-Target"]:
            assert asked.json == {"TrainingJobName": "j"}
            return replied({"TrainingJobName": "j", "TrainingJobStatus": "Completed"}, 200, JSON_TYPE)
        return replied({"TrainingJobArn": "a"}, 200, JSON_TYPE)

    async def steps(services, clock):
        await services.call(task("sagemaker:createTrainingJob.sync", {"TrainingJobName": "j"}))
        await clock.sleep_until(clock.now_ms() + 5_000)

    _, _, ended = play(steps, answer)
    assert ended == [({"TrainingJobName": "j", "TrainingJobStatus": "Completed"},)]
