"""Every operation, every member, every way to get it wrong: the service's code and message, and never a crash.

The tables come from the service model, so that an operation or a member that is added later is in them at once. Over
HTTP a few operations speak for all; the others are left to the long run (the matrix is in
`unit/api/test_all_operations.py`).
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import botocore.loaders
import pytest

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server, machine
from tests.thoroughness import slow

MODEL = botocore.loaders.Loader().load_service_model("stepfunctions", "service-2")
SHAPES = MODEL["shapes"]
OPERATIONS = sorted(MODEL["operations"])
ARNS = "arn:aws:states:us-east-1:000000000000:"
NOBODY = {
    "stateMachine": f"{ARNS}stateMachine:nobody",
    "execution": f"{ARNS}execution:nobody:nothing",
    "express": f"{ARNS}express:nobody:nothing:1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    "mapRun": f"{ARNS}mapRun:nobody/label:1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    "activity": f"{ARNS}activity:nobody",
}
"""An ARN of each kind, of what is not there."""
TAKES = {
    "stateMachineArn": {"stateMachine"},
    "stateMachineVersionArn": {"stateMachine"},
    "stateMachineAliasArn": {"stateMachine"},
    "executionArn": {"execution"},
    "activityArn": {"activity"},
    "mapRunArn": {"mapRun"},
    "resourceArn": {"stateMachine", "activity"},
}
"""The kinds of ARN that a member takes."""
SCALARS = {
    "string": "a String", "integer": "an Integer", "long": "a Long", "boolean": "a Boolean", "float": "a Float",
}  # fmt: skip
COMMON = {"ValidationException", "SerializationException", "InvalidArn", "InvalidToken", "InvalidName"}
SPEAK_FOR_ALL = {"CreateStateMachine", "ListExecutions", "SendTaskSuccess"}
LONGEST_SENT = 2_000_000
"""Longer than that a request may not be."""
ONE_STATE = '{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}'

Call = Callable[[str, Any], tuple[int, dict[str, Any]]]


def input_of(operation: str) -> dict[str, Any]:
    found: dict[str, Any] = SHAPES[MODEL["operations"][operation]["input"]["shape"]]
    return found


def members(*kinds: str) -> list[tuple[str, str]]:
    """Operations and their members of some kinds; of all without any."""
    return [
        (operation, name)
        for operation in OPERATIONS
        for name, member in input_of(operation)["members"].items()
        if not kinds or SHAPES[member["shape"]]["type"] in kinds
    ]


def few(cases: list[Any]) -> list[Any]:
    """Cases that begin with an operation, those of most operations `slow`."""
    return [
        case
        if (case if isinstance(case, str) else case[0]) in SPEAK_FOR_ALL
        else pytest.param(*([case] if isinstance(case, str) else case), marks=slow)
        for case in cases
    ]


def sample(shape_name: str, member: str = "") -> Any:
    """A value that fits a shape, and means nothing that is there."""
    shape = SHAPES[shape_name]
    if member in TAKES:
        return NOBODY[min(TAKES[member])]
    if member == "definition":
        return ONE_STATE
    if member in ("input", "output"):
        return "{}"
    if member == "roleArn":
        return "arn:aws:iam::000000000000:role/r"
    if shape["type"] == "structure":
        return {name: sample(shape["members"][name]["shape"], name) for name in shape.get("required", ())}
    if shape["type"] == "list":
        return [sample(shape["member"]["shape"])]
    if shape["type"] in ("integer", "long", "float"):
        return shape.get("min", 0)
    if shape["type"] == "boolean":
        return False
    return shape["enum"][0] if "enum" in shape else "abc"


def filled(operation: str, **changed: Any) -> dict[str, Any]:
    shape = input_of(operation)
    return {**{name: sample(shape["members"][name]["shape"], name) for name in shape.get("required", ())}, **changed}


@pytest.fixture(scope="module")
def call(server: Server) -> Iterator[Call]:
    """Calls over one connection: if anything breaks it, the next call fails."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)

    def send(operation: str, request: Any) -> tuple[int, dict[str, Any]]:
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        headers = {"X-Amz-Target": f"AWSStepFunctions.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    yield send
    connection.close()


def check_error(answer: tuple[int, dict[str, Any]], code: str, message: str) -> None:
    assert answer == (400, {"__type": code, "message": message})


def violation(value: str, member: str, constraint: str) -> str:
    return f"1 validation error detected: Value{value} at '{member}' failed to satisfy constraint: {constraint}"


def test_the_tables_cover_the_service():
    assert len(OPERATIONS) == 37
    assert len(members()) >= 112
    assert {name for _, name in members("string") if name.endswith("Arn")} == {*TAKES, "roleArn"}
    assert {kind for name in OPERATIONS for kind in kinds_of(name)} <= {*SCALARS, "structure", "list"}


def kinds_of(operation: str) -> set[str]:
    return {SHAPES[member["shape"]]["type"] for member in input_of(operation)["members"].values()}


# ------------------------------------------------------------------ missing


REQUIRED = [(operation, name) for operation in OPERATIONS for name in input_of(operation).get("required", ())]


@pytest.mark.parametrize(("operation", "member"), few(REQUIRED))
def test_a_missing_member(call, operation, member):
    for request in ({**filled(operation), member: None}, {k: v for k, v in filled(operation).items() if k != member}):
        text = violation(" null", member, "Member must not be null")
        check_error(call(operation, request), "ValidationException", text)


# ------------------------------------------------------------------ wrong type


@pytest.mark.parametrize(("operation", "member"), few(members(*SCALARS)))
def test_a_member_of_another_type(call, operation, member):
    kind = SHAPES[input_of(operation)["members"][member]["shape"]]["type"]
    wrong: list[tuple[Any, str]] = [
        ({"a": 1}, "Start of structure or map found where not expected."),
        ([1], "Start of list found where not expected"),
    ]
    if kind != "boolean":
        wrong.append((True, f"TRUE_VALUE can not be converted to {SCALARS[kind]}"))
        wrong.append((False, f"FALSE_VALUE can not be converted to {SCALARS[kind]}"))
    if kind in ("string", "boolean"):
        wrong.append((7, f"NUMBER_VALUE can not be converted to {SCALARS[kind]}"))
    if kind != "string":
        wrong.append(("7", f"STRING_VALUE can not be converted to {SCALARS[kind]}"))
    if kind in ("integer", "long"):
        wrong.append((1.5, f"NUMBER_VALUE can not be converted to {SCALARS[kind]}"))
        wrong.append((2**64, f"NUMBER_VALUE can not be converted to {SCALARS[kind]}"))
    for value, text in wrong:
        check_error(call(operation, filled(operation, **{member: value})), "SerializationException", text)


@pytest.mark.parametrize(("operation", "member"), few(members("list", "structure")))
def test_a_text_for_what_is_made_of_parts(call, operation, member):
    kind = SHAPES[input_of(operation)["members"][member]["shape"]]["type"]
    for value in ("text", 5, True, {"a": 1} if kind == "list" else [1]):
        status, answer = call(operation, filled(operation, **{member: value}))
        assert (status, answer["__type"]) == (400, "SerializationException"), value


# ------------------------------------------------------------------ constraints


def too_long() -> list[tuple[str, str, Any, str]]:
    return [
        (operation, member, "x" * (shape["max"] + 1), f"Member must have length less than or equal to {shape['max']}")
        for operation, member in members("string")
        if (shape := SHAPES[input_of(operation)["members"][member]["shape"]]).get("max", LONGEST_SENT + 1)
        <= LONGEST_SENT
    ]


@pytest.mark.parametrize(("operation", "member", "value", "constraint"), few(too_long()))
def test_a_member_that_is_too_long(call, operation, member, value, constraint):
    shape = SHAPES[input_of(operation)["members"][member]["shape"]]
    shown = "" if shape.get("sensitive") else f" '{value}'"
    status, answer = call(operation, filled(operation, **{member: value}))
    assert (status, answer["__type"]) == (400, "ValidationException")
    # A pattern may be violated as well.
    assert violation(shown, member, constraint).partition(": ")[2] in answer["message"]


@pytest.mark.parametrize(("operation", "member"), few(members("string")))
def test_a_member_that_is_empty(call, operation, member):
    shape = SHAPES[input_of(operation)["members"][member]["shape"]]
    status, answer = call(operation, filled(operation, **{member: ""}))
    if shape.get("min"):
        assert (status, answer["__type"]) == (400, "ValidationException")
        constraint = f"Member must have length greater than or equal to {shape['min']}"
        assert f"at '{member}' failed to satisfy constraint: {constraint}" in answer["message"]
    else:
        assert status < 500


@pytest.mark.parametrize(("operation", "member"), few(members("integer", "long", "float")))
def test_a_number_out_of_bounds(call, operation, member):
    shape = SHAPES[input_of(operation)["members"][member]["shape"]]
    for bound, beyond, word in ((shape.get("max"), 1, "less"), (shape.get("min"), -1, "greater")):
        if bound is not None:
            value = bound + beyond
            said = f"Member must have value {word} than or equal to {bound}"
            text = violation(f" '{value}'", member, said)
            check_error(call(operation, filled(operation, **{member: value})), "ValidationException", text)


@pytest.mark.parametrize(("operation", "member"), few(members("string")))
def test_a_value_outside_an_enum(call, operation, member):
    shape = SHAPES[input_of(operation)["members"][member]["shape"]]
    if "enum" in shape:
        status, answer = call(operation, filled(operation, **{member: "SOMETHING"}))
        assert (status, answer["__type"]) == (400, "ValidationException")
        start = violation(" 'SOMETHING'", member, "Member must satisfy enum value set: [")
        assert answer["message"].startswith(start)
        assert {one.strip() for one in answer["message"][len(start) : -1].split(",")} == set(shape["enum"])


ODD_TEXTS = (
    "\0", "\ud800", "é" * 20, "😀", "{", "../..", "' OR 1=1 --", "%s%n", "x" * 300_000, " ", "\n", "null", "$.a",
)  # fmt: skip


# Any name of a worker does, and then it waits.
TEXTS = [one for one in members("string") if one != ("GetActivityTask", "workerName")]


@pytest.mark.parametrize(("operation", "member"), few(TEXTS))
def test_odd_texts_are_answered(call, operation, member):
    """Whatever the text, the answer is one of the operation's own."""
    own = {error["shape"] for error in MODEL["operations"][operation].get("errors", ())}
    if operation == "ListStateMachineVersions":
        own.add("StateMachineDoesNotExist")
    for text in ODD_TEXTS:
        status, answer = call(operation, filled(operation, **{member: text}))
        assert status in (200, 400), (text[:20], answer)
        assert status == 200 or answer["__type"] in own | COMMON


@pytest.mark.parametrize("operation", few(OPERATIONS))
def test_members_that_nobody_knows_are_no_matter(call, operation):
    without = call(operation, filled(operation))
    assert without[0] in (200, 400)
    with_them = call(operation, filled(operation, somethingElse={"a": [1, "😀"]}, another=None))
    assert (with_them[0], with_them[1].get("__type")) == (without[0], without[1].get("__type"))


# ------------------------------------------------------------------ ARNs


@pytest.mark.parametrize(("operation", "member"), few([one for one in members("string") if one[1] in TAKES]))
def test_an_arn_of_another_kind(call, operation, member):
    others: dict[str, Any] = {"definition": ONE_STATE} if operation == "UpdateStateMachine" else {}
    if operation == "UpdateStateMachineAlias":
        others = {"description": "d"}
    elif operation == "UpdateMapRun":
        others = {"maxConcurrency": 1}
    for kind, arn in NOBODY.items():
        answer = call(operation, {**filled(operation, **others), member: arn})
        if kind in TAKES[member]:
            assert answer[0] in (200, 400)
            assert answer[1].get("__type") not in ("ValidationException", "InternalServerError")
        else:
            text = f"Invalid Arn: 'Resource type not valid in this context: {kind}'"
            check_error(answer, "InvalidArn", text)
    for arn in (
        "nonsense",
        "arn:aws:sqs:us-east-1:000000000000:queue",
        "arn:aws:states:us-east-1",
        f" {ARNS}activity:a",
    ):
        text = f"Invalid Arn: 'Invalid ARN prefix: {arn}'"
        check_error(call(operation, {**filled(operation, **others), member: arn}), "InvalidArn", text)


@pytest.mark.parametrize(("operation", "member"), few([one for one in members("string") if one[1] == "roleArn"]))
def test_a_role_of_another_kind(call, operation, member):
    answer = call(operation, filled(operation, roleArn=NOBODY["activity"]))
    if answer[0] == 400:
        assert answer[1]["__type"] in (
            "InvalidArn",
            "StateMachineDoesNotExist",
            "InvalidDefinition",
            "ValidationException",
        )
    else:
        assert operation == "TestState", "the role of a state that calls nothing is not looked at"


# ------------------------------------------------------------------ tokens


@pytest.mark.parametrize("operation", few([one for one, member in members("string") if member == "nextToken"]))
def test_a_page_that_nobody_was_told_of(call, sfn, operation):
    arn = machine(sfn, {"Type": "Pass"})
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    known = {"stateMachineArn": arn, "executionArn": execution}
    shape = input_of(operation)
    request = {name: known.get(name, value) for name, value in filled(operation).items()}
    if operation == "ListExecutions":
        request["stateMachineArn"] = arn
    for token in (
        "nonsense",
        "AAAA",
        "é",
        "e30=",
        "eyJhIjogMX0=",
        "x" * SHAPES[shape["members"]["nextToken"]["shape"]]["max"],
    ):
        answer = call(operation, {**request, "nextToken": token})
        check_error(answer, "InvalidToken", "Invalid Token: 'Invalid token'")


@pytest.mark.parametrize("operation", few([one for one, member in members("string") if member == "taskToken"]))
def test_a_task_that_nobody_waits_for(call, operation):
    for token in ("nonsense", "AAAA", "é", "AQ" * 500):
        answer = call(operation, filled(operation, taskToken=token))
        check_error(answer, "InvalidToken", "Invalid Token: 'Invalid token'")


# ------------------------------------------------------------------ bodies


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "SerializationException"),
        (b"[]", "SerializationException"),
        (b'"text"', "SerializationException"),
        (b"null", "SerializationException"),
        (b"{}{}", "SerializationException"),
        (b'{"name": NaN}', "SerializationException"),
        (b"\xff\xfe", "SerializationException"),
        (b'{"name": "\xff"}', "SerializationException"),
        (b"\xef\xbb\xbf{", "SerializationException"),
        (b"\0", "SerializationException"),
        (b'{"a":' * 100_000, "SerializationException"),
        (b"[" * 1_000_000, "SerializationException"),
        (b'{"name": 1' + b"0" * 100_000 + b"}", "SerializationException"),
        (b"", "ValidationException"),
        (b"{}", "ValidationException"),
        (b'{"name": "a", "name": null}', "ValidationException"),
    ],
    ids=range(16),
)
def test_broken_bodies(call, body, code):
    status, answer = call("CreateActivity", body)
    assert (status, answer["__type"]) == (400, code)
    assert len(answer["message"]) < 2_000


def test_wrong_targets(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    for target in (
        "AWSStepFunctions.NoSuch",
        "AWSStepFunctions.",
        "NoSuch.ListActivities",
        "ListActivities",
        "..",
        "x" * 30_000,
    ):
        connection.request("POST", "/", b"{}", {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status in (400, 404)
        assert body["__type"] in ("UnknownOperationException", "NotFound"), target[:40]
        assert len(body["message"]) < 500
    connection.close()


def test_nothing_of_this_was_a_mistake_of_ours(call, server):
    """Stands last: whatever came before, the server is there and has nothing to regret."""
    assert call("ListActivities", {})[0] == 200
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "InternalServerError" not in log
