"""Runs recorded executions of the real service through the simulator and scores them.

    STATEWRIGHT_CASES=/path/to/conformance python -m tests.conformance.recorded [PART OF AN ID] [--misses]

The recordings are not part of this repository. The folder holds `cases/*.json` and `run.py`, whose comparison rules
are used as they are. Three scores: OUTCOME (status, output, error, cause), TYPES (types of the history events, in
order) and HISTORY (every recorded detail and link).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from statewright.asl.compile import compile_definition
from statewright.errors import DefinitionError
from statewright.payload import JsonTextError, dump_json, parse_json
from statewright.simulator.mocks import Result, Returned, Rule, Script, TaskCall, Threw
from statewright.simulator.running import Run, UnmockedTask
from statewright.simulator.simulate import ACCOUNT, ROLE_ARN, Simulation, Stalled, make_identity

# Cases that do not match in every respect, by part of their id, each with its reason. A test holds the list to what is.
KNOWN_MISSES = {
    "test_base_parallel_cases[BASE_SCOPE_PARALLEL]": "ParallelStateSucceeded was dropped when it was recorded (TYPES)",
    "test_parallel_state_order": "ParallelStateSucceeded was dropped when it was recorded (TYPES)",
    "SFN_START_EXECUTION_SYNC_ROLE_ARN_PATH": "TaskSubmitted shows the service's answer, without a mock (HISTORY)",
    "SFN_START_EXECUTION_SYNC_ROLE_ARN_INTRINSIC": "as above: TaskSubmitted shows the service's answer (HISTORY)",
}


@dataclass
class Score:
    """How one case did. `types` and `history` are None where nothing was recorded."""

    case: str
    category: str
    outcome: bool = True
    types: bool | None = None
    history: bool | None = None
    why: str = ""
    differences: list[tuple[Any, ...]] = field(default_factory=list)


def folder() -> Path | None:
    """Where the recordings are, if this machine has them."""
    given = os.environ.get("STATEWRIGHT_CASES")
    return Path(given) if given and Path(given, "cases").is_dir() else None


def load_cases(root: Path) -> list[dict[str, Any]]:
    """The executions that need no other service."""
    cases = [case for file in sorted((root / "cases").glob("*.json")) for case in json.loads(file.read_text())]
    return [case for case in cases if case["kind"] == "execution" and not case["needs"]]


def comparison(root: Path) -> Any:
    """The recordings' own comparison rules."""
    spec = importlib.util.spec_from_file_location("recorded_run", root / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recorded_run"] = module
    spec.loader.exec_module(module)
    return module


class Case:
    """One recorded case on its way through the simulator."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.uids: dict[str, str] = {}
        self.machines: dict[str, dict[str, Any]] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.runs: list[Run] = []

    def resolve(self, value: Any) -> Any:
        """Replace the case's own placeholders: role, account, fresh names, fields of earlier answers."""
        if isinstance(value, dict):
            if set(value) == {"$jsonstr"}:
                return dump_json(self.resolve(value["$jsonstr"]))
            return {self.resolve(key): self.resolve(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if isinstance(value, str) and "${" in value:
            return re.sub(r"\$\{(s\d+:[^}]*|account|role|uid:\d+:\d+)\}", self._placeholder, value)
        return value

    def _placeholder(self, match: re.Match[str]) -> str:
        text = match.group(1)
        if text == "account":
            return ACCOUNT
        if text == "role":
            return ROLE_ARN
        if text.startswith("uid:"):
            _, number, length = text.split(":")
            return self.uids.setdefault(number, uuid.uuid4().hex)[: int(length)]
        step, name = text[1:].split(":", 1)
        return str(self.answers[int(step)][name])

    def run(self) -> Run:
        """Compile and simulate."""
        for step in self.case["setup"]:
            parameters = self.resolve(step["params"])
            arn = make_identity(parameters["name"]).state_machine_arn
            self.machines[arn] = parse_json(parameters["definition"])
            self.answers[step["n"]] = {"stateMachineArn": arn}
        definition = self.resolve(self.case["definition"])
        if isinstance(definition, str):
            definition = parse_json(definition)
        given = self.resolve(self.case["input"])
        if isinstance(given, str):
            given = parse_json(given)
        services = {
            "states:startExecution*": self.start_execution,
            "aws-sdk:sfn:startExecution": self.start_execution,
            "aws-sdk:sfn:sendTask*": self.send_task,
        }
        rules = tuple(Rule((Result(answer),), resource=name) for name, answer in services.items())
        simulation = Simulation(Script(rules), seed=uuid.uuid4().bytes)
        return simulation.run(compile_definition(definition), {} if self.case.get("no_input") else given)

    def start_execution(self, call: TaskCall) -> Returned | Threw:
        """StartExecution, optimised or not, in every pattern, against the machines that the case created."""
        arn = call.parameters["StateMachineArn"]
        name = call.parameters.get("Name", uuid.uuid4().hex)
        identity = make_identity(arn.rsplit(":", 1)[-1], name)
        given = call.parameters.get("Input", {})
        if isinstance(given, str):
            given = parse_json(given)
        simulation = Simulation(seed=uuid.uuid4().bytes, start_ms=call.now_ms)
        run = simulation.run(compile_definition(self.machines[arn]), given, identity=identity)
        started = {"ExecutionArn": identity.execution_arn, "StartDate": run.state.started_ms}
        if "aws-sdk" in call.resource:
            return Returned(started)
        if ".sync" not in call.resource:
            return Returned({**started, **SDK_MEMBERS})
        as_json = call.resource.endswith(":2")
        described = {
            "ExecutionArn": identity.execution_arn,
            "Input": given if as_json else dump_json(given),
            "InputDetails": {"Included": True},
            "Name": name,
            "Output": run.output if as_json else dump_json(run.output),
            "OutputDetails": {"Included": True},
            "RedriveCount": 0,
            "RedriveStatus": "NOT_REDRIVABLE",
            "RedriveStatusReason": f"Execution is {run.status} and cannot be redriven",
            "StartDate": run.state.started_ms,
            "StateMachineArn": arn,
            "Status": run.status,
            "StopDate": run.state.stopped_ms,
        }
        self.submitted = {**started, **SDK_MEMBERS}
        return Returned(described)

    def send_task(self, call: TaskCall) -> Returned | Threw:
        """SendTaskSuccess and SendTaskFailure: no token that these cases send is one of ours."""
        message = "Invalid Token: 'Invalid token'"
        service = "(Service: Sfn, Status Code: 400, Request ID: " + str(uuid.uuid4()) + ") (SDK Attempt Count: 1)"
        return Threw("Sfn.InvalidTokenException", f"{message} {service}")


SDK_MEMBERS: dict[str, Any] = {"SdkHttpMetadata": {}, "SdkResponseMetadata": {}}


def play(case: dict[str, Any], rules: Any) -> Score:
    """Run one case and compare."""
    score = Score(case["id"], case["category"])
    expected = case["expected"]
    matcher = rules.Matcher(case.get("placeholders", {}))
    if "events" in expected:
        score.types = score.history = False
    try:
        run = Case(case).run()
    except (DefinitionError, JsonTextError, Stalled, UnmockedTask) as problem:
        score.outcome = False
        score.why = f"{type(problem).__name__}: {problem}"
        return score
    if "events" in expected:
        shown = [rules.norm(event.to_api()) for event in run.history]
        score.types, differences = matcher.history(expected["events"], shown, case.get("concurrent"))
        score.history = not differences
        score.differences += differences
    wanted = dict(expected["outcome"])
    state = run.state
    output = state.output.text if state.output is not None else None
    got = {"status": run.status, "output": output, "error": state.error, "cause": state.cause}
    got = {name: value for name, value in got.items() if value is not None}
    if isinstance(wanted.get("output"), list) and "events" not in expected and output is not None:
        found = parse_json(output)
        if not isinstance(found, list) and len(wanted["output"]) == 1:
            wanted["output"] = wanted["output"][0]
    differences = matcher.equal(wanted, got, path="outcome", ignore=("SdkHttpMetadata", "SdkResponseMetadata"))
    score.outcome = not differences
    score.differences += differences
    if differences and score.history:
        score.history = False
    return score


def percent(scores: list[Score], name: str, *, without: str = "") -> tuple[int, int]:
    """How many of the cases that recorded it are right: (right, all)."""
    values = [getattr(score, name) for score in scores if score.category != without]
    known = [value for value in values if value is not None]
    return sum(known), len(known)


def main() -> None:
    """Print the scores by category, and the misses on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--misses", action="store_true", help="print every miss with its first differences")
    arguments = parser.parse_args()
    root = folder()
    if root is None:
        sys.exit("STATEWRIGHT_CASES does not point at a folder with recorded cases")
    rules = comparison(root)
    scores = [play(case, rules) for case in load_cases(root) if arguments.part in case["id"]]
    categories = Counter(score.category for score in scores)
    print(f"{'category':24}{'cases':>6}{'OUTCOME':>12}{'TYPES':>12}{'HISTORY':>12}")
    for category in [*sorted(categories), "all"]:
        chosen = [score for score in scores if category in ("all", score.category)]
        cells = ["{}/{}".format(*percent(chosen, name)) for name in ("outcome", "types", "history")]
        print(f"{category:24}{len(chosen):6}" + "".join(f"{cell:>12}" for cell in cells))
    if arguments.misses:
        for score in scores:
            if not (score.outcome and score.types is not False and score.history is not False):
                print(
                    f"\n- {score.case}  outcome={score.outcome} types={score.types} history={score.history} {score.why}"
                )
                for path, wanted, got in score.differences[:3]:
                    print(f"    {path}\n      wanted {str(wanted)[:400]}\n      got    {str(got)[:400]}")


if __name__ == "__main__":
    main()
