"""Node.js handlers, and programs that bring their own runtime."""

from __future__ import annotations

import io
import json
import shutil
import zipfile

import pytest

from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.outcomes import Invoked
from tests.unit.functions.running import ROLE, document, on_functions

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no `node` on the PATH")

BOOTSTRAP = """#!/usr/bin/env python3
import os, urllib.request

base = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/"
while True:
    with urllib.request.urlopen(base + "invocation/next") as answer:
        event, id = answer.read(), answer.headers["Lambda-Runtime-Aws-Request-Id"]
        arn = answer.headers["Lambda-Runtime-Invoked-Function-Arn"]
    print("own runtime", arn.rpartition(":")[2], flush=True)
    if b"crash" in event:
        os._exit(7)
    what, body = ("error", b'{"errorMessage": "no", "errorType": "Own"}') if b"fail" in event else ("response", event)
    urllib.request.urlopen(urllib.request.Request(base + f"invocation/{id}/{what}", body)).close()
"""


def package(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o755 << 16
            archive.writestr(info, text)
    return made.getvalue()


def answers(
    files: dict[str, str], *events: object, runtime: str = "nodejs20.x", handler: str = "index.handler"
) -> list[Invoked]:
    """What a function of these files answers to one event after the other."""

    async def test(functions: Functions) -> list[Invoked]:
        given = {"Runtime": runtime, "Handler": handler, "Role": ROLE, "Timeout": 10, "MemorySize": 512}
        await functions.definitions.create("f", given, Code(zip=package(files)))
        return [await functions.invoke("f", json.dumps(event).encode(), log_tail=True) for event in events]

    return on_functions(test)


@needs_node
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("index.js", "exports.handler = (event, context, callback) => callback(null, {got: event})"),
        ("index.js", "exports.handler = async (event) => ({got: event})"),
        ("index.js", "exports.handler = (event, context) => { context.succeed({got: event}) }"),
        ("index.mjs", "export const handler = async (event) => ({got: event})"),
        ("index.cjs", "exports.handler = async (event) => ({got: event})"),
        ("index.js", "exports.handler = (event, context, done) => { setTimeout(() => done(null, {got: event}), 5) }"),
    ],
)  # fmt: skip
def test_node_handlers_of_every_kind(name, text):
    first, second = answers({name: text}, 1, "ü")
    assert (first.function_error, document(first), document(second)) == (None, {"got": 1}, {"got": "ü"})


@needs_node
@pytest.mark.parametrize(
    ("text", "handler", "kind", "message"),
    [
        ("exports.handler = async () => { throw new TypeError('no') }", "index.handler", "TypeError", "no"),
        ("exports.handler = (e, c, callback) => callback(new RangeError('far'))", "index.handler", "RangeError", "far"),
        ("exports.handler = (e, c, callback) => callback('only text')", "index.handler", "string", "only text"),
        ("exports.handler = async () => ({ n: 1n })", "index.handler", "Runtime.MarshalError",
         "Unable to stringify response body: Do not know how to serialize a BigInt"),
        ("", "index.handler", "Runtime.HandlerNotFound", "index.handler is undefined or not exported"),
        ("const x = ;", "index.handler", "Runtime.UserCodeSyntaxError", "SyntaxError: Unexpected token ';'"),
    ],
)  # fmt: skip
def test_node_errors(text, handler, kind, message):
    (answer,) = answers({"index.js": text}, {}, handler=handler)
    found = document(answer)
    assert (answer.function_error, found["errorType"], found["errorMessage"]) == ("Unhandled", kind, message)
    assert isinstance(found["trace"], list)


@needs_node
def test_a_missing_node_module_is_an_import_error():
    (answer,) = answers({"index.js": "require('nowhere')"}, {})
    assert document(answer)["errorType"] == "Runtime.ImportModuleError"


@needs_node
def test_the_second_version_of_the_sdk_is_given_the_endpoint():
    sdk = "exports.config = {seen: {}, update(given) { Object.assign(this.seen, given) }}"
    files = {
        "index.js": "const AWS = require('aws-sdk'); exports.handler = async () => AWS.config.seen",
        "node_modules/aws-sdk/index.js": sdk,
    }
    (answer,) = answers(files, {})
    assert document(answer) == {
        "endpoint": "http://127.0.0.1:1",
        "s3ForcePathStyle": True,
        "hostPrefixEnabled": False,
    }


@needs_node
def test_a_part_of_the_second_sdk_is_given_the_endpoint_too():
    files = {
        "index.js": "require('aws-sdk/clients/stepfunctions');"
        "exports.handler = async () => require('aws-sdk/lib/core').config.seen.endpoint",
        "node_modules/aws-sdk/lib/core.js": "exports.config = {seen: {}, update(o) { Object.assign(this.seen, o) }}",
        "node_modules/aws-sdk/clients/stepfunctions.js": "module.exports = class StepFunctions {}",
    }
    assert document(answers(files, {})[0]) == "http://127.0.0.1:1"


@needs_node
def test_clients_of_the_third_sdk_are_made_with_the_endpoint():
    client = "class S3Client { constructor(given) { this.given = given } } exports.S3Client = S3Client"
    files = {
        "index.js": "const {S3Client} = require('@aws-sdk/client-s3');"
        "exports.handler = async () => new S3Client({region: 'x'}).given",
        "node_modules/@aws-sdk/client-s3/index.js": client,
    }
    assert document(answers(files, {})[0]) == {
        "endpoint": "http://127.0.0.1:1",
        "disableHostPrefix": True,
        "forcePathStyle": True,
        "region": "x",
    }


@needs_node
def test_clients_imported_by_es_modules_are_made_with_the_endpoint():
    client = "class SFNClient { constructor(given) { this.given = given } } exports.SFNClient = SFNClient"
    files = {
        "index.mjs": "import {SFNClient} from '@aws-sdk/client-sfn'; import AWS from 'aws-sdk';"
        "export const handler = async () => [new SFNClient({}).given, AWS.config.seen.endpoint]",
        "node_modules/@aws-sdk/client-sfn/index.js": client,
        "node_modules/aws-sdk/index.js": "exports.config = {seen: {}, update(o) { Object.assign(this.seen, o) }}",
    }
    assert document(answers(files, {})[0]) == [
        {"endpoint": "http://127.0.0.1:1", "disableHostPrefix": True},
        "http://127.0.0.1:1",
    ]


@needs_node
def test_what_node_handlers_log():
    text = "exports.handler = async () => { console.log('one', {a: 1}); console.error('two') }"
    (answer,) = answers({"index.js": text}, {})
    lines = [line.split("\t") for line in (answer.log_tail or b"").decode().splitlines()[1:3]]
    assert [line[1:] for line in lines] == [
        [answer.request_id, "INFO", "one { a: 1 }"],
        [answer.request_id, "ERROR", "two"],
    ]


def test_a_program_with_its_own_runtime():
    done = answers({"bootstrap": BOOTSTRAP}, {"a": 1}, "fail", [2], runtime="provided.al2023", handler="any")
    assert [document(one) for one in done] == [{"a": 1}, {"errorMessage": "no", "errorType": "Own"}, [2]]
    assert [one.function_error for one in done] == [None, "Unhandled", None]
    assert b"own runtime f\n" in (done[0].log_tail or b"")


def test_an_own_runtime_that_ends_says_how():
    crashed, after = answers({"bootstrap": BOOTSTRAP}, "crash", 1, runtime="provided.al2023", handler="any")
    assert document(crashed)["errorType"] == "Runtime.ExitError"
    assert document(crashed)["errorMessage"].endswith("Error: Runtime exited with error: exit status 7")
    assert document(after) == 1


def test_a_package_without_its_program():
    (answer,) = answers({"other": ""}, 1, runtime="provided.al2023", handler="any")
    assert document(answer)["errorType"] == "Runtime.InvalidEntrypoint"
