"""State machines to draw."""

from typing import Any

Json = Any


def task(name: str, **fields: Json) -> Json:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": name},
        **fields,
    }


def choice(*rules: tuple[str, str], default: str | None = None) -> Json:
    state: Json = {"Type": "Choice", "Choices": [{"Condition": f"{{% {test} %}}", "Next": to} for test, to in rules]}
    return state if default is None else {**state, "Default": default}


def catch(**handlers: str) -> list[Json]:
    return [{"ErrorEquals": [error], "Next": to} for error, to in handlers.items()]


DONE: Json = {"Type": "Succeed"}
LINEAR: Json = {
    "Comment": "A straight line",
    "StartAt": "One",
    "States": {"One": task("one", Next="Two"), "Two": {"Type": "Pass", "Next": "Done"}, "Done": DONE},
}
POLLER: Json = {
    "StartAt": "Start job",
    "States": {
        "Start job": task("start", Next="Wait"),
        "Wait": {"Type": "Wait", "Seconds": 60, "Next": "Look"},
        "Look": task("look", Next="Ready?"),
        "Ready?": choice(("$done", "Done"), ("$broken", "Broken"), default="Wait"),
        "Done": DONE,
        "Broken": {"Type": "Fail", "Error": "JobBroken"},
    },
}
SEMAPHORE: Json = {
    "StartAt": "Ask for the key",
    "States": {
        "Ask for the key": task("ask", Next="May I?"),
        "May I?": choice(("$mine", "Work"), default="Be patient"),
        "Be patient": {"Type": "Wait", "Seconds": 5, "Next": "Ask for the key"},
        "Work": task("work", Next="Give it back"),
        "Give it back": {"Type": "Pass", "End": True},
    },
}
PARALLEL: Json = {
    "StartAt": "All",
    "States": {
        "All": {
            "Type": "Parallel",
            "Branches": [
                {"StartAt": "Left", "States": {"Left": {"Type": "Pass", "End": True}}},
                {"StartAt": "Middle", "States": {"Middle": task("m", Next="End"), "End": DONE}},
                {"StartAt": "Right", "States": {"Right": {"Type": "Pass", "End": True}}},
            ],
            "Catch": catch(**{"States.ALL": "Undo"}),
            "Next": "Done",
        },
        "Done": DONE,
        "Undo": {"Type": "Fail"},
    },
}
MAP: Json = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemsPath": "$.files",
            "MaxConcurrency": 3,
            "ItemProcessor": {
                "StartAt": "Read",
                "States": {
                    "Read": task("read", Next="Write", Retry=[{"ErrorEquals": ["Busy"]}], Catch=catch(Bad="Skip")),
                    "Write": task("write", End=True, Catch=catch(Full="Skip")),
                    "Skip": {"Type": "Pass", "End": True},
                },
            },
            "End": True,
        }
    },
}


def long_machine(count: int) -> Json:
    """Tasks with one common handler, decisions that skip ahead or go back, and waits."""
    states: Json = {}
    for number in range(count):
        following = f"Step {number + 1}" if number + 1 < count else "Done"
        if number % 7 == 3:
            ahead = f"Step {min(number + 3, count - 1)}"
            states[f"Step {number}"] = choice(("$go", following), ("$skip", ahead), default=f"Step {number - 2}")
        elif number % 3:
            states[f"Step {number}"] = task("f", Next=following, Catch=catch(**{"States.ALL": "Clean up"}))
        else:
            states[f"Step {number}"] = {"Type": "Wait", "Seconds": 60, "Next": following}
    states["Clean up"] = task("clean", Next="Broken")
    states["Broken"] = {"Type": "Fail"}
    states["Done"] = DONE
    return {"StartAt": "Step 0", "States": states}


def nested(depth: int) -> Json:
    """A machine of Maps within Maps."""
    machine: Json = {"StartAt": "core", "States": {"core": DONE}}
    for level in range(depth):
        name = f"level {level}"
        machine = {"StartAt": name, "States": {name: {"Type": "Map", "End": True, "ItemProcessor": machine}}}
    return machine
