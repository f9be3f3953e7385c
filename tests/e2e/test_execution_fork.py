"""`statewright execution fork` on a real server."""

from __future__ import annotations

import json
from uuid import uuid4

from tests.e2e.conftest import ROLE, ended

MACHINE = {
    "QueryLanguage": "JSONata",
    "StartAt": "A",
    "States": {
        "A": {"Type": "Pass", "Assign": {"who": "ada"}, "Output": {"n": 1}, "Next": "B"},
        "B": {"Type": "Pass", "Output": "{% {'n': $states.input.n + 1, 'who': $who} %}", "Next": "C"},
        "C": {"Type": "Succeed"},
    },
}


def test_fork(statewright, sfn):
    name = f"fork-{uuid4()}"
    arn = sfn.create_state_machine(name=name, definition=json.dumps(MACHINE), roleArn=ROLE)["stateMachineArn"]
    execution = sfn.start_execution(stateMachineArn=arn, name="first")["executionArn"]
    ended(sfn, execution)
    result = statewright("execution", "fork", f"{name}:first", "--at", "B", "--name", "second", "-o", "json")
    assert result.code == 0
    done = ended(sfn, result.json["executionArn"])
    assert json.loads(done["output"]) == {"n": 2, "who": "ada"}
    followed = statewright(
        "execution", "fork", f"{name}:first", "--at", "B", "-i", '{"n": 5}', "--var", 'who="bob"', "--follow"
    )
    assert (followed.code, followed.json) == (0, {"n": 6, "who": "bob"})
    said = statewright("execution", "fork", f"{name}:first", "--at", "B")
    assert said.out.startswith(f"\u2713 {name}:")
    assert " starts at B, as " in said.out


def test_wishes_that_make_no_sense(statewright, sfn):
    name = f"fork-{uuid4()}"
    arn = sfn.create_state_machine(name=name, definition=json.dumps(MACHINE), roleArn=ROLE)["stateMachineArn"]
    ended(sfn, sfn.start_execution(stateMachineArn=arn, name="first")["executionArn"])
    assert statewright("execution", "fork", f"{name}:gone", "--at", "B").code == 3
    assert statewright("execution", "fork", f"{name}:first", "--at", "Z").code in (1, 2)
    assert statewright("execution", "fork", f"{name}:first").code == 2
    bad = statewright("execution", "fork", f"{name}:first", "--at", "B", "--var", "who=bob")
    assert (bad.code, "is not JSON" in bad.err) == (2, True)
