"""Lambda through boto3, against a real server: every operation, and what each of them refuses."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server

ROLE = "arn:aws:iam::000000000000:role/lambda"
ARN = "arn:aws:lambda:us-east-1:000000000000:function:"
RUNTIME = "python{}.{}".format(*sys.version_info)
ECHO = """
import os

def handler(event, context):
    if isinstance(event, dict) and event.get("fail"):
        raise ValueError(event["fail"])
    print("echoing")
    return {"event": event, "version": context.function_version, "arn": context.invoked_function_arn,
            "mode": os.environ.get("MODE")}
"""


def zipped(source: str = ECHO) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("app.py", source)
    return made.getvalue()


@pytest.fixture
def aws(server: Server) -> Any:
    return server.client("lambda")


def made(aws: Any, source: str = ECHO, **settings: Any) -> str:
    name = f"f-{uuid4()}"
    given = {"Runtime": RUNTIME, "Role": ROLE, "Handler": "app.handler", "Timeout": 300}
    aws.create_function(FunctionName=name, **{**given, "Code": {"ZipFile": zipped(source)}, **settings})
    return name


@pytest.fixture
def echo(aws: Any) -> str:
    return made(aws)


def refused(call: Any, **request: Any) -> dict[str, Any]:
    """What a call is refused with: code, message, HTTP status, and the further members of the error."""
    with pytest.raises(ClientError) as caught:
        call(**request)
    answer = caught.value.response
    error: dict[str, Any] = dict(answer["Error"])
    rest = {name: value for name, value in answer.items() if name not in ("Error", "ResponseMetadata")}
    return {**error, "status": answer["ResponseMetadata"]["HTTPStatusCode"], **rest}


# ---------------------------------------------------------------------- definitions


def test_create_answers_with_the_whole_configuration(aws):
    code = zipped()
    name = f"f-{uuid4()}"
    found = aws.create_function(
        FunctionName=name, Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Code={"ZipFile": code},
        Description="echoes", Timeout=5, MemorySize=256, Environment={"Variables": {"MODE": "test"}},
        Tags={"team": "a"}, EphemeralStorage={"Size": 1024},
    )  # fmt: skip
    assert found["ResponseMetadata"]["HTTPStatusCode"] == 201
    shown = {key: found[key] for key in ("FunctionName", "FunctionArn", "Runtime", "Role", "Handler", "Description",
             "Timeout", "MemorySize", "Version", "State", "StateReason", "StateReasonCode", "PackageType",
             "Architectures", "Environment", "EphemeralStorage", "CodeSize", "CodeSha256")}  # fmt: skip
    assert shown == {
        "FunctionName": name, "FunctionArn": ARN + name, "Runtime": RUNTIME, "Role": ROLE, "Handler": "app.handler",
        "Description": "echoes", "Timeout": 5, "MemorySize": 256, "Version": "$LATEST", "State": "Pending",
        "StateReason": "The function is being created.", "StateReasonCode": "Creating", "PackageType": "Zip",
        "Architectures": ["x86_64"], "Environment": {"Variables": {"MODE": "test"}}, "EphemeralStorage": {"Size": 1024},
        "CodeSize": len(code), "CodeSha256": base64.b64encode(hashlib.sha256(code).digest()).decode(),
    }  # fmt: skip
    got = aws.get_function(FunctionName=name)
    assert got["Tags"] == {"team": "a"}
    assert got["Code"]["RepositoryType"] == "S3"
    assert "LastUpdateStatus" not in found
    ready = got["Configuration"]
    assert (ready["State"], ready["LastUpdateStatus"]) == ("Active", "Successful")
    assert ready["RevisionId"] != found["RevisionId"]
    assert "StateReason" not in ready
    of_states = {"State", "StateReason", "StateReasonCode", "LastUpdateStatus", "RevisionId", "ResponseMetadata"}
    assert {k: v for k, v in ready.items() if k not in of_states} == {
        k: v for k, v in found.items() if k not in of_states
    }
    aws.get_waiter("function_active_v2").wait(FunctionName=name)
    configuration = aws.get_function_configuration(FunctionName=ARN + name)
    assert configuration["RevisionId"] == ready["RevisionId"]


def test_answers_to_changes_say_that_they_are_in_progress_and_the_next_call_finds_them_made(aws, echo):
    code = zipped("def handler(e, c):\n    return 'new'")
    changes = [
        aws.update_function_code(FunctionName=echo, ZipFile=code),
        aws.update_function_configuration(FunctionName=echo, Timeout=7),
    ]
    for changed in changes:
        said = [changed[key] for key in ("State", "LastUpdateStatus", "LastUpdateStatusReasonCode")]
        assert said == ["Active", "InProgress", "Creating"]
        assert changed["LastUpdateStatusReason"] == "The function is being created."
    assert json.load(aws.invoke(FunctionName=echo)["Payload"]) == "new"
    aws.get_waiter("function_updated_v2").wait(FunctionName=echo)
    present = aws.get_function_configuration(FunctionName=echo)
    assert present["LastUpdateStatus"] == "Successful"
    assert present["RevisionId"] not in [one["RevisionId"] for one in changes]
    published = aws.update_function_code(FunctionName=echo, ZipFile=zipped("x = 1"), Publish=True)
    assert (published["FunctionArn"], published["State"]) == (f"{ARN}{echo}:1", "Pending")
    again = [aws.publish_version(FunctionName=echo) for _ in range(2)]
    assert [one["Version"] for one in again] == ["1", "1"]
    assert again[0]["RevisionId"] == again[1]["RevisionId"]
    dry = aws.update_function_code(FunctionName=echo, ZipFile=code, DryRun=True)
    assert dry["LastUpdateStatus"] == "Successful"


def test_runtimes_that_the_service_does_not_take(aws):
    given = {"Role": ROLE, "Handler": "app.handler", "Code": {"ZipFile": zipped()}}
    found = refused(aws.create_function, FunctionName="f", Runtime="cobol85", **given)
    assert found["Code"] == "InvalidParameterValueException"
    assert re.fullmatch(
        r"Value cobol85 at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
        r"\[nodejs, .*\] or be a valid ARN", found["Message"],
    )  # fmt: skip
    found = refused(aws.create_function, FunctionName="f", Runtime="ruby2.7", **given)
    assert (found["Code"], found["Message"]) == (
        "InvalidParameterValueException",
        "The runtime parameter of ruby2.7 is no longer supported for creating or updating AWS Lambda functions. We "
        "recommend you use a supported runtime while creating or updating functions.",
    )


def test_a_mapping_that_is_created_disabled_says_so(server, aws, echo):
    queue = f"q-{uuid4()}"
    server.client("sqs").create_queue(QueueName=queue, Attributes={"VisibilityTimeout": "300"})
    arn = f"arn:aws:sqs:us-east-1:000000000000:{queue}"
    target = {"OnFailure": {"Destination": arn}}
    found = refused(aws.create_event_source_mapping, EventSourceArn=arn, FunctionName=echo, DestinationConfig=target)
    assert found["Message"] == "Unsupported DestinationConfig parameter for given event source mapping type."
    made = aws.create_event_source_mapping(EventSourceArn=arn, FunctionName=echo, Enabled=False)
    assert (made["State"], made["StateTransitionReason"]) == ("Disabled", "USER_INITIATED")
    assert "LastProcessingResult" not in made
    found = refused(aws.create_event_source_mapping, EventSourceArn=ARN + echo, FunctionName=echo)
    assert found["Message"] == "Unrecognized event source."
    found = refused(aws.create_event_source_mapping, EventSourceArn=arn, FunctionName="nobody")
    assert (found["Code"], found["Message"]) == ("InvalidParameterValueException", "Function does not exist")
    found = refused(aws.create_event_source_mapping, EventSourceArn=arn, FunctionName=f"{echo}:9")
    assert (found["Code"], found["Message"]) == ("InvalidParameterValueException", "Function does not exist")


def test_functions_are_listed_in_pages_and_deleted(aws):
    names = sorted(made(aws) for _ in range(3))
    pages = aws.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2})
    listed = [one["FunctionName"] for page in pages for one in page["Functions"]]
    assert listed == sorted(listed)
    assert set(names) <= set(listed)
    aws.delete_function(FunctionName=names[0])
    assert refused(aws.get_function, FunctionName=names[0])["Code"] == "ResourceNotFoundException"


def test_code_and_configuration_change(aws, echo):
    before = aws.get_function_configuration(FunctionName=echo)
    code = zipped("def handler(e, c):\n    return 'other'")
    after = aws.update_function_code(FunctionName=echo, ZipFile=code, RevisionId=before["RevisionId"])
    assert after["CodeSha256"] != before["CodeSha256"]
    assert json.load(aws.invoke(FunctionName=echo)["Payload"]) == "other"
    changed = aws.update_function_configuration(
        FunctionName=echo, Timeout=9, MemorySize=512, Description="new", Environment={"Variables": {"AB": "b"}},
        Handler="app.handler",
    )  # fmt: skip
    assert (changed["Timeout"], changed["MemorySize"], changed["Description"]) == (9, 512, "new")
    assert changed["RevisionId"] != after["RevisionId"]


def test_versions_and_aliases(aws, echo):
    first = aws.publish_version(FunctionName=echo, Description="one")
    assert (first["Version"], first["FunctionArn"], first["Description"]) == ("1", f"{ARN}{echo}:1", "one")
    assert aws.publish_version(FunctionName=echo)["Version"] == "1"
    aws.update_function_configuration(FunctionName=echo, Environment={"Variables": {"MODE": "two"}})
    assert aws.publish_version(FunctionName=echo)["Version"] == "2"
    listed = aws.list_versions_by_function(FunctionName=echo)["Versions"]
    assert [one["Version"] for one in listed] == ["$LATEST", "1", "2"]
    alias = aws.create_alias(FunctionName=echo, Name="live", FunctionVersion="1", Description="d")
    assert (alias["AliasArn"], alias["FunctionVersion"]) == (f"{ARN}{echo}:live", "1")
    answer = aws.invoke(FunctionName=echo, Qualifier="live", Payload=b"7")
    assert answer["ExecutedVersion"] == "1"
    assert json.load(answer["Payload"]) == {"event": 7, "version": "1", "arn": f"{ARN}{echo}:live", "mode": None}
    aws.update_alias(FunctionName=echo, Name="live", FunctionVersion="2", RevisionId=alias["RevisionId"])
    assert json.load(aws.invoke(FunctionName=f"{ARN}{echo}:live")["Payload"])["mode"] == "two"
    weighted = aws.update_alias(FunctionName=echo, Name="live", RoutingConfig={"AdditionalVersionWeights": {"1": 1.0}})
    assert weighted["RoutingConfig"] == {"AdditionalVersionWeights": {"1": 1.0}}
    assert aws.invoke(FunctionName=echo, Qualifier="live")["ExecutedVersion"] == "1"
    assert [one["Name"] for one in aws.list_aliases(FunctionName=echo)["Aliases"]] == ["live"]
    assert aws.list_aliases(FunctionName=echo, FunctionVersion="3")["Aliases"] == []
    assert refused(aws.delete_function, FunctionName=echo, Qualifier="2")["Code"] == "ResourceConflictException"
    aws.delete_alias(FunctionName=echo, Name="live")
    aws.delete_function(FunctionName=echo, Qualifier="2")
    assert refused(aws.get_alias, FunctionName=echo, Name="live")["Code"] == "ResourceNotFoundException"
    assert refused(aws.invoke, FunctionName=echo, Qualifier="2")["Message"] == f"Function not found: {ARN}{echo}:2"


def test_layers_are_on_the_path(aws):
    name = f"l-{uuid4()}"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("python/shared.py", "WORD = 'from the layer'")
    layer = aws.publish_layer_version(
        LayerName=name, Content={"ZipFile": content.getvalue()}, CompatibleRuntimes=[RUNTIME], Description="d"
    )
    assert layer["Version"] == 1
    arn = layer["LayerVersionArn"]
    assert aws.get_layer_version(LayerName=name, VersionNumber=1)["LayerVersionArn"] == arn
    assert aws.get_layer_version_by_arn(Arn=arn)["Version"] == 1
    assert [one["Version"] for one in aws.list_layer_versions(LayerName=name)["LayerVersions"]] == [1]
    assert name in [one["LayerName"] for one in aws.list_layers()["Layers"]]
    assert name in [one["LayerName"] for one in aws.list_layers(CompatibleRuntime=RUNTIME)["Layers"]]
    assert name not in [one["LayerName"] for one in aws.list_layers(CompatibleRuntime="nodejs20.x")["Layers"]]
    assert aws.list_layer_versions(LayerName=name, CompatibleArchitecture="arm64")["LayerVersions"] == []
    function = made(aws, "import shared\ndef handler(e, c):\n    return shared.WORD", Layers=[arn])
    assert json.load(aws.invoke(FunctionName=function)["Payload"]) == "from the layer"
    configured = aws.get_function_configuration(FunctionName=function)["Layers"]
    assert configured == [{"Arn": arn, "CodeSize": len(content.getvalue())}]
    aws.delete_layer_version(LayerName=name, VersionNumber=1)
    assert refused(aws.get_layer_version, LayerName=name, VersionNumber=1)["status"] == 404
    assert json.load(aws.invoke(FunctionName=function)["Payload"]) == "from the layer"


def test_tags_concurrency_policy_recursion_and_settings(aws, echo):
    aws.tag_resource(Resource=ARN + echo, Tags={"a": "1", "b": "2"})
    aws.untag_resource(Resource=ARN + echo, TagKeys=["a"])
    assert aws.list_tags(Resource=ARN + echo)["Tags"] == {"b": "2"}
    put = aws.put_function_concurrency(FunctionName=echo, ReservedConcurrentExecutions=5)
    assert put["ReservedConcurrentExecutions"] == 5
    assert aws.get_function_concurrency(FunctionName=echo)["ReservedConcurrentExecutions"] == 5
    account = aws.get_account_settings()
    assert account["AccountLimit"]["ConcurrentExecutions"] == 1000
    assert account["AccountLimit"]["UnreservedConcurrentExecutions"] == 995
    aws.delete_function_concurrency(FunctionName=echo)
    assert "ReservedConcurrentExecutions" not in aws.get_function_concurrency(FunctionName=echo)
    statement = aws.add_permission(
        FunctionName=echo, StatementId="s", Action="lambda:InvokeFunction", Principal="s3.amazonaws.com",
        SourceArn="arn:aws:s3:::b",
    )["Statement"]  # fmt: skip
    assert json.loads(statement) == {
        "Sid": "s", "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "lambda:InvokeFunction", "Resource": ARN + echo,
        "Condition": {"ArnLike": {"AWS:SourceArn": "arn:aws:s3:::b"}},
    }  # fmt: skip
    policy = json.loads(aws.get_policy(FunctionName=echo)["Policy"])
    assert [one["Sid"] for one in policy["Statement"]] == ["s"]
    aws.remove_permission(FunctionName=echo, StatementId="s")
    assert refused(aws.get_policy, FunctionName=echo)["status"] == 404
    assert aws.put_function_recursion_config(FunctionName=echo, RecursiveLoop="Allow")["RecursiveLoop"] == "Allow"
    assert aws.get_function_recursion_config(FunctionName=echo)["RecursiveLoop"] == "Allow"
    assert aws.get_function_code_signing_config(FunctionName=echo)["FunctionName"] == echo


def test_event_invoke_configurations(aws, echo):
    queue = "arn:aws:sqs:us-east-1:000000000000:q"
    put = aws.put_function_event_invoke_config(
        FunctionName=echo, MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": queue}}
    )
    assert put["FunctionArn"] == f"{ARN}{echo}:$LATEST"
    assert put["DestinationConfig"] == {"OnSuccess": {}, "OnFailure": {"Destination": queue}}
    updated = aws.update_function_event_invoke_config(FunctionName=echo, MaximumEventAgeInSeconds=60)
    assert (updated["MaximumRetryAttempts"], updated["MaximumEventAgeInSeconds"]) == (0, 60)
    listed = aws.list_function_event_invoke_configs(FunctionName=echo)["FunctionEventInvokeConfigs"]
    assert [one["MaximumEventAgeInSeconds"] for one in listed] == [60]
    aws.delete_function_event_invoke_config(FunctionName=echo)
    found = refused(aws.get_function_event_invoke_config, FunctionName=echo)
    assert found["Code"] == "ResourceNotFoundException"
    assert found["Message"] == f"The function {ARN}{echo}:$LATEST doesn't have an EventInvokeConfig"


# ---------------------------------------------------------------------- invocations


def test_invoke_answers_with_headers_and_log(aws, echo):
    answer = aws.invoke(FunctionName=echo, Payload=json.dumps({"n": 1}), LogType="Tail")
    assert answer["StatusCode"] == 200
    assert answer["ExecutedVersion"] == "$LATEST"
    assert "FunctionError" not in answer
    assert json.load(answer["Payload"])["event"] == {"n": 1}
    log = base64.b64decode(answer["LogResult"]).decode()
    assert "\nechoing\nEND RequestId: " in log
    assert answer["ResponseMetadata"]["RequestId"] in log


@pytest.mark.parametrize("form", ["{}", "function:{}", "000000000000:function:{}", ARN + "{}", ARN + "{}:$LATEST"])
def test_a_function_is_found_by_every_form_of_its_name(aws, echo, form):
    assert aws.invoke(FunctionName=form.format(echo))["StatusCode"] == 200


def test_a_function_error_is_an_answer(aws, echo):
    answer = aws.invoke(FunctionName=echo, Payload=json.dumps({"fail": "no"}))
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    found = json.load(answer["Payload"])
    assert (found["errorType"], found["errorMessage"]) == ("ValueError", "no")
    assert found["requestId"] == answer["ResponseMetadata"]["RequestId"]


def test_a_dry_run_runs_nothing(aws, echo):
    answer = aws.invoke(FunctionName=echo, InvocationType="DryRun")
    assert (answer["StatusCode"], answer["Payload"].read()) == (204, b"")


def test_a_client_context_reaches_the_handler(aws):
    source = "def handler(e, c):\n    return [c.client_context.custom, c.client_context.client.app_title]"
    name = made(aws, source)
    context = base64.b64encode(json.dumps({"custom": {"k": 1}, "client": {"app_title": "t"}}).encode()).decode()
    answer = aws.invoke(FunctionName=name, ClientContext=context)
    assert json.load(answer["Payload"]) == [{"k": 1}, "t"]


def test_an_event_is_accepted_and_run_later(aws, tmp_path):
    name = made(aws, "def handler(e, c):\n    open(e['path'], 'w').write(c.aws_request_id)")
    target = tmp_path / "ran"
    answer = aws.invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps({"path": str(target)}))
    assert (answer["StatusCode"], answer["Payload"].read()) == (202, b"")
    until(lambda: target.exists() and target.read_text(), "the event's run")
    assert target.read_text() == answer["ResponseMetadata"]["RequestId"]


def test_handlers_reach_the_server_by_their_environment(aws):
    pytest.importorskip("boto3")
    source = """
import boto3

def handler(event, context):
    client = boto3.client("lambda")
    return client.get_function(FunctionName=context.function_name)["Configuration"]["FunctionArn"]
"""
    name = made(aws, source, Timeout=30, MemorySize=512)
    assert json.load(aws.invoke(FunctionName=name)["Payload"]) == ARN + name


def test_reserved_concurrency_of_zero_refuses_everybody(aws, echo):
    aws.put_function_concurrency(FunctionName=echo, ReservedConcurrentExecutions=0)
    found = refused(aws.invoke, FunctionName=echo)
    assert found["status"] == 429
    assert found["Code"] == "TooManyRequestsException"
    assert found["Message"] == "Rate Exceeded."
    assert found["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert found["Type"] == "User"


# ---------------------------------------------------------------------- recorded answers


def test_a_function_that_is_published_as_it_is_created(aws, echo):
    code = aws.get_function(FunctionName=echo)["Configuration"]
    name = f"{echo}-published"
    published = aws.create_function(
        FunctionName=name, Runtime=code["Runtime"], Role=code["Role"], Handler=code["Handler"], Publish=True,
        Code={"ZipFile": zipped("def handler(event, context):\n    return 1\n")}, LoggingConfig={"LogFormat": "JSON"},
    )  # fmt: skip
    assert (published["FunctionArn"], published["Version"]) == (f"{ARN}{name}", "1")
    levels = {"ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}
    assert published["LoggingConfig"] == {"LogFormat": "JSON", "LogGroup": f"/aws/lambda/{name}", **levels}
    changed = aws.update_function_code(
        FunctionName=name, Publish=True, ZipFile=zipped("def handler(event, context):\n    return 2\n")
    )
    assert (changed["FunctionArn"], changed["Version"]) == (f"{ARN}{name}:2", "2")
    listed = aws.list_versions_by_function(FunctionName=name)["Versions"]
    assert [one["Version"] for one in listed] == ["$LATEST", "1", "2"]
    assert not any("State" in one or "LastUpdateStatus" in one for one in listed)


def test_recorded_refusals(aws, echo):
    aws.publish_version(FunctionName=echo)
    many = {str(number): "v" for number in range(51)}
    found = refused(aws.tag_resource, Resource=ARN + echo, Tags=many)
    assert found["Message"] == "Number of tags exceeds resource tag limit."
    for call, more in ((aws.tag_resource, {"Tags": {"a": "b"}}), (aws.list_tags, {})):
        found = refused(call, Resource=f"{ARN}{echo}:1", **more)
        assert found["Message"] == (
            "Tags on function aliases and versions are not supported. Please specify a function ARN."
        )
    found = refused(aws.put_function_event_invoke_config, FunctionName=echo)
    assert found["Message"] == "You must specify at least one of error handling or destination setting."
    statement = {
        "FunctionName": echo, "StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com",
    }  # fmt: skip
    found = refused(aws.add_permission, **statement, Qualifier="$LATEST")
    assert found["Message"] == "We currently do not support adding policies for $LATEST."
    aws.add_permission(**statement)
    found = refused(aws.remove_permission, FunctionName=echo, StatementId="x")
    assert (found["status"], found["Message"]) == (404, "Statement x is not found in resource policy.")


# ---------------------------------------------------------------------- refusals

NOBODY = "nobody-at-all"
MISSING = ("ResourceNotFoundException", 404, f"Function not found: {ARN}{NOBODY}")


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        ("invoke", {"FunctionName": NOBODY}, (*MISSING[:2], MISSING[2] + ":$LATEST")),
        ("get_function", {"FunctionName": NOBODY}, MISSING),
        ("get_function_configuration", {"FunctionName": NOBODY}, MISSING),
        ("delete_function", {"FunctionName": NOBODY}, MISSING),
        ("update_function_code", {"FunctionName": NOBODY, "ZipFile": b"x"}, MISSING),
        ("update_function_configuration", {"FunctionName": NOBODY, "Timeout": 4}, MISSING),
        ("publish_version", {"FunctionName": NOBODY}, MISSING),
        ("list_versions_by_function", {"FunctionName": NOBODY}, MISSING),
        ("create_alias", {"FunctionName": NOBODY, "Name": "a", "FunctionVersion": "1"}, MISSING),
        ("get_alias", {"FunctionName": NOBODY, "Name": "a"}, MISSING),
        ("list_aliases", {"FunctionName": NOBODY}, MISSING),
        ("put_function_concurrency", {"FunctionName": NOBODY, "ReservedConcurrentExecutions": 1}, MISSING),
        ("get_function_concurrency", {"FunctionName": NOBODY}, MISSING),
        ("put_function_event_invoke_config", {"FunctionName": NOBODY, "MaximumRetryAttempts": 1},
         (*MISSING[:2], "The function doesn't exist.")),
        ("list_tags", {"Resource": ARN + NOBODY}, MISSING),
        ("get_policy", {"FunctionName": NOBODY}, MISSING),
        ("get_function_recursion_config", {"FunctionName": NOBODY}, MISSING),
        ("invoke", {"FunctionName": NOBODY, "Qualifier": "x"}, (*MISSING[:2], MISSING[2] + ":x")),
        ("get_function", {"FunctionName": f"{NOBODY}:a", "Qualifier": "b"},
         ("InvalidParameterValueException", 400,
          "The derived qualifier from the function name does not match the specified qualifier.")),
        ("get_layer_version", {"LayerName": "none", "VersionNumber": 1},
         ("ResourceNotFoundException", 404,
          "Layer version arn:aws:lambda:us-east-1:000000000000:layer:none:1 does not exist.")),
    ],
)  # fmt: skip
def test_what_is_not_there(aws, operation, request_, expected):
    found = refused(getattr(aws, operation), **request_)
    assert (found["Code"], found["status"], found["Message"]) == expected


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"Code": {"ZipFile": b"no zip"}}, "InvalidParameterValueException", "Could not unzip uploaded file."),
        ({"Code": {}}, "InvalidParameterValueException", "Please provide a source for function code."),
        ({"Code": {"ImageUri": "x"}, "PackageType": "Image"}, "InvalidParameterValueException", "container images"),
        ({"Runtime": None}, "InvalidParameterValueException", "Runtime and Handler are mandatory"),
        ({"Environment": {"Variables": {"AWS_REGION": "x"}}}, "InvalidParameterValueException", "AWS_REGION"),
        ({"Environment": {"Variables": {"A1": "x" * 5000}}}, "InvalidParameterValueException", "4KB limit"),
        ({"Layers": [f"arn:aws:lambda:us-east-1:000000000000:layer:none:{n}" for n in range(1, 2)]},
         "InvalidParameterValueException", "does not exist"),
        ({"Role": "arn:aws:iam::1:role"}, "ValidationException", "role"),
    ],
)  # fmt: skip
def test_what_cannot_be_created(aws, change, code, said):
    given: dict[str, Any] = {
        "FunctionName": f"f-{uuid4()}", "Runtime": RUNTIME, "Role": ROLE, "Handler": "app.handler",
        "Code": {"ZipFile": zipped()}, **change,
    }  # fmt: skip
    found = refused(aws.create_function, **{name: value for name, value in given.items() if value is not None})
    assert found["Code"] == code
    assert said in found["Message"]


def test_what_cannot_be_changed(aws, echo):
    found = refused(aws.create_function, FunctionName=echo, Runtime=RUNTIME, Role=ROLE, Handler="a.b",
                    Code={"ZipFile": zipped()})  # fmt: skip
    assert (found["Code"], found["status"], found["Message"]) == (
        "ResourceConflictException", 409, f"Function already exist: {echo}",
    )  # fmt: skip
    stale = refused(aws.update_function_configuration, FunctionName=echo, Timeout=4, RevisionId="old")
    assert (stale["Code"], stale["status"]) == ("PreconditionFailedException", 412)
    sha = refused(aws.publish_version, FunctionName=echo, CodeSha256="x")
    assert sha["Code"] == "InvalidParameterValueException"
    reserve = refused(aws.put_function_concurrency, FunctionName=echo, ReservedConcurrentExecutions=950)
    assert "minimum value of [100]" in reserve["Message"]
    aws.create_alias(FunctionName=echo, Name="a", FunctionVersion="$LATEST")
    again = refused(aws.create_alias, FunctionName=echo, Name="a", FunctionVersion="$LATEST")
    assert (again["Code"], again["Message"]) == ("ResourceConflictException", f"Alias already exists: {ARN}{echo}:a")
    gone = refused(aws.create_alias, FunctionName=echo, Name="b", FunctionVersion="9")
    assert gone["Code"] == "ResourceNotFoundException"
    destination = {"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:000000000000:q.fifo"}}
    fifo = refused(aws.put_function_event_invoke_config, FunctionName=echo, DestinationConfig=destination)
    for own in (ARN + echo, f"{ARN}{echo}:$LATEST"):
        itself = {"OnFailure": {"Destination": own}}
        found = refused(aws.put_function_event_invoke_config, FunctionName=echo, DestinationConfig=itself)
        assert found["Message"] == "You can't specify the function as a destination for itself."
    assert fifo["Code"] == "InvalidParameterValueException"


@pytest.mark.parametrize(
    ("request_", "code", "status", "said"),
    [
        ({"Payload": b"{no json"}, "InvalidRequestContentException", 400, "Could not parse request body into json"),
        ({"Payload": b'"' + b"x" * 6_291_456 + b'"'}, "RequestTooLargeException", 413,
         "6291458 byte payload is too large for the RequestResponse invocation type (limit 6291456 bytes)"),
        ({"Payload": b'"' + b"x" * 1_048_576 + b'"', "InvocationType": "Event"}, "RequestTooLargeException", 413,
         "1048578 byte payload is too large for the Event invocation type (limit 1048576 bytes)"),
        ({"ClientContext": "bm8="}, "InvalidRequestContentException", 400, "Client context"),
    ],
)  # fmt: skip
def test_what_cannot_be_invoked(aws, echo, request_, code, status, said):
    found = refused(aws.invoke, FunctionName=echo, **request_)
    assert (found["Code"], found["status"]) == (code, status)
    assert said in found["Message"]
