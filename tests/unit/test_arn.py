from __future__ import annotations

import pytest

from statewright.arn import (
    ACTIVITY,
    EXECUTION,
    MACHINE,
    StatesArn,
    activity_arn,
    execution_arn,
    express_arn,
    machine_arn,
    parse_arn,
)
from statewright.errors import ApiError

PREFIX = "arn:aws:states:us-east-1:000000000000:"


@pytest.mark.parametrize(
    ("rest", "parsed"),
    [
        ("stateMachine:m", ("stateMachine", "m", None, None, None)),
        ("stateMachine:m:7", ("stateMachine", "m", None, "7", None)),
        ("stateMachine:m/Label", ("stateMachine", "m", "Label", None, None)),
        ("execution:m:e", ("execution", "m", None, "e", None)),
        ("execution:m/Label:e", ("execution", "m", "Label", "e", None)),
        ("express:m:e:1234", ("express", "m", None, "e", "1234")),
        ("mapRun:m/Label:1234", ("mapRun", "m", "Label", "1234", None)),
        ("activity:a", ("activity", "a", None, None, None)),
    ],
)
def test_arns_are_read_and_written(rest, parsed):
    arn = parse_arn(PREFIX + rest)
    assert (arn.kind, arn.name, arn.label, arn.rest, arn.run) == parsed
    assert str(arn) == PREFIX + rest


@pytest.mark.parametrize(
    "text",
    ["", "no_arn", "arn:aws:states", "arn:aws:lambda:us-east-1:000000000000:function:f", PREFIX + "stateMachine:",
     PREFIX + "execution:m", PREFIX + "execution::e", PREFIX + "stateMachine:m:1:2", PREFIX + "stateMachine:/l",
     PREFIX + "stateMachine:m/", PREFIX + "activity:a/b"],
)  # fmt: skip
def test_texts_that_are_no_arns(text):
    with pytest.raises(ApiError) as caught:
        parse_arn(text)
    assert (caught.value.code, caught.value.message) == ("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {text}'")


def test_arns_of_another_kind():
    with pytest.raises(ApiError) as caught:
        parse_arn(PREFIX + "express:m:e:1", EXECUTION)
    assert caught.value.message == "Invalid Arn: 'Resource type not valid in this context: express'"
    assert parse_arn(PREFIX + "activity:a", MACHINE, ACTIVITY).name == "a"


def test_versions_are_whole_numbers():
    assert parse_arn(PREFIX + "stateMachine:m:12").is_version
    assert not parse_arn(PREFIX + "stateMachine:m:live").is_version
    assert not parse_arn(PREFIX + "stateMachine:m").is_version
    assert parse_arn(PREFIX + "stateMachine:m:12").machine == PREFIX + "stateMachine:m"


def test_other_partitions_stay_what_they_are():
    arn = parse_arn("arn:aws-cn:states:cn-north-1:000000000000:stateMachine:m:1")
    assert str(arn) == "arn:aws-cn:states:cn-north-1:000000000000:stateMachine:m:1"
    assert arn.machine == "arn:aws-cn:states:cn-north-1:000000000000:stateMachine:m"


def test_arns_are_made():
    machine = machine_arn("us-east-1", "000000000000", "m")
    assert machine == PREFIX + "stateMachine:m"
    assert machine_arn("us-east-1", "000000000000", "m", 3) == PREFIX + "stateMachine:m:3"
    assert activity_arn("us-east-1", "000000000000", "a") == PREFIX + "activity:a"
    assert execution_arn(machine, "e") == PREFIX + "execution:m:e"
    assert express_arn(machine, "e", "1234") == PREFIX + "express:m:e:1234"
    assert str(StatesArn("us-east-1", "1", EXECUTION, "m", None, "e")) == "arn:aws:states:us-east-1:1:execution:m:e"
