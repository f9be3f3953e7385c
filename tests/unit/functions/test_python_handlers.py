"""What Python handlers are given, and what becomes of their results and errors."""

from __future__ import annotations

import json

import pytest

from tests.unit.functions.running import ARN, create, document, invoked, on_functions


def test_a_handler_gets_the_event_and_its_result_comes_back():
    answer = invoked("def handler(event, context):\n    return {'got': event}", {"a": [1, "ü"]})
    assert (answer.status, answer.function_error, answer.executed_version) == (200, None, "$LATEST")
    assert document(answer) == {"got": {"a": [1, "ü"]}}


def test_an_exception_becomes_an_error_document():
    answer = invoked(
        """
        class JobFailed(Exception):
            pass

        def inner():
            raise JobFailed("no luck: ü")

        def handler(event, context):
            inner()
        """
    )
    assert answer.function_error == "Unhandled"
    found = document(answer)
    trace = found.pop("stackTrace")
    assert found == {"errorMessage": "no luck: ü", "errorType": "JobFailed", "requestId": answer.request_id}
    assert [line.split(", ", 1)[1] for line in trace] == [
        "line 9, in handler\n    inner()\n",
        'line 6, in inner\n    raise JobFailed("no luck: ü")\n',
    ]


@pytest.mark.parametrize(
    ("source", "handler", "kind", "message"),
    [
        ("", "app.nothing", "Runtime.HandlerNotFound", "Handler 'nothing' missing on module 'app'"),
        ("", "other.handler", "Runtime.ImportModuleError", "Unable to import module 'other': No module named 'other'"),
        ("import nowhere_at_all", "app.handler", "Runtime.ImportModuleError",
         "Unable to import module 'app': No module named 'nowhere_at_all'"),
        ("def handler(:", "app.handler", "Runtime.UserCodeSyntaxError",
         "Syntax error in module 'app': invalid syntax (app.py, line 1)"),
        ("", "handler", "Runtime.MalformedHandlerName",
         "Bad handler 'handler': not enough values to unpack (expected 2, got 1)"),
        ("raise KeyError('settings')", "app.handler", "KeyError", "'settings'"),
        ("import datetime\ndef handler(e, c):\n    return datetime.datetime.now()", "app.handler",
         "Runtime.MarshalError", "Unable to marshal response: Object of type datetime is not JSON serializable"),
    ],
)  # fmt: skip
def test_what_cannot_run_says_why(source, handler, kind, message):
    answer = invoked(source, Handler=handler)
    assert answer.function_error == "Unhandled"
    found = document(answer)
    assert (found["errorType"], found["errorMessage"], found["requestId"]) == (kind, message, answer.request_id)


def test_the_context_object_is_complete():
    source = """
        import os

        def handler(event, context):
            names = ("function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb",
                     "aws_request_id", "log_group_name", "log_stream_name")
            return {
                **{name: getattr(context, name) for name in names},
                "left": context.get_remaining_time_in_millis(),
                "client": context.client_context,
                "identity": context.identity.cognito_identity_id,
                "stream": os.environ["AWS_LAMBDA_LOG_STREAM_NAME"],
            }
        """
    answer = invoked(source, Timeout=7, MemorySize=256)
    found = document(answer)
    left, stream = found.pop("left"), found.pop("stream")
    assert 5_000 < left <= 7_000
    assert found.pop("log_stream_name") == stream
    assert "/[$LATEST]" in stream
    assert found == {
        "function_name": "f",
        "function_version": "$LATEST",
        "invoked_function_arn": ARN + "f",
        "memory_limit_in_mb": "256",
        "aws_request_id": answer.request_id,
        "log_group_name": "/aws/lambda/f",
        "client": None,
        "identity": None,
    }


def test_a_worker_is_warm_the_second_time():
    source = """
        calls = 0

        def handler(event, context):
            global calls
            calls += 1
            return calls
        """

    async def test(functions):
        await create(functions, "f", source)
        return [json.loads((await functions.invoke("f", b"{}")).payload) for _ in range(3)]

    assert on_functions(test) == [1, 2, 3]


def test_the_log_holds_what_was_written_between_start_and_end():
    answer = invoked(
        """
        import logging

        def handler(event, context):
            print("printed")
            logging.getLogger().warning("logged")
        """
    )
    lines = (answer.log_tail or b"").decode().splitlines()
    request = answer.request_id
    assert lines[0] == f"START RequestId: {request} Version: $LATEST"
    assert lines[1] == "printed"
    assert lines[2].startswith("[WARNING]\t")
    assert lines[2].endswith(f"Z\t{request}\tlogged")
    assert lines[3] == f"END RequestId: {request}"
    assert lines[4].startswith(f"REPORT RequestId: {request}\tDuration: ")
