"""Prints what the interpreter, the expressions, the compiler and the command cost: CPU time per unit, best of several.

    make bench                      everything
    python bench/measure.py map     only what has `map` in its name

CPU time is taken rather than wall time, because neighbours on a shared machine move wall time far more.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

ROUNDS = 5


@dataclass
class Figure:
    """One line of the report: `value` in `unit`, beside what is aimed at."""

    name: str
    value: float
    unit: str
    aim: str


def cpu_seconds(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The least CPU time of several runs."""
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


def counting_loop(language: str, turns: int) -> dict[str, Any]:
    """Add one until `turns`: two transitions a turn."""
    if language == "JSONPath":
        count: dict[str, Any] = {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "More?"}
        rule: dict[str, Any] = {"Variable": "$.n", "NumericLessThan": turns, "Next": "Count"}
    else:
        count = {"Type": "Pass", "Output": {"n": "{% $states.input.n + 1 %}"}, "Next": "More?"}
        rule = {"Condition": f"{{% $states.input.n < {turns} %}}", "Next": "Count"}
    return {
        "QueryLanguage": language,
        "StartAt": "Count",
        "States": {
            "Count": count,
            "More?": {"Type": "Choice", "Choices": [rule], "Default": "Done"},
            "Done": {"Type": "Succeed"},
        },
    }


def mapping(concurrency: int) -> dict[str, Any]:
    """A Map whose iterations pass their item on."""
    processor = {"StartAt": "Item", "States": {"Item": {"Type": "Pass", "End": True}}}
    state = {"Type": "Map", "MaxConcurrency": concurrency, "ItemProcessor": processor, "End": True}
    return {"StartAt": "Each", "States": {"Each": state}}


def fifty_states() -> str:
    """A definition as people write them: tasks, choices, waits, retries, a Map and a Parallel."""
    states: dict[str, Any] = {}
    for number in range(10):
        task = {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {
                "FunctionName": f"step-{number}",
                "Payload": {"order.$": "$.order", "id.$": "$$.Execution.Id"},
            },
            "ResultSelector": {"total.$": "$.Payload.total"},
            "ResultPath": f"$.results.step{number}",
            "Retry": [{"ErrorEquals": ["Lambda.ServiceException"], "MaxAttempts": 4}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Failed"}],
            "Next": f"Check {number}",
        }
        rules = [
            {"Variable": f"$.results.step{number}.total", "NumericGreaterThan": 100, "Next": f"Wait {number}"},
            {
                "And": [{"Variable": "$.order", "IsPresent": True}, {"Variable": "$.skip", "IsPresent": True}],
                "Next": "Done",
            },
        ]
        states[f"Step {number}"] = task
        states[f"Check {number}"] = {"Type": "Choice", "Choices": rules, "Default": f"Shape {number}"}
        states[f"Wait {number}"] = {"Type": "Wait", "Seconds": 5, "Next": f"Shape {number}"}
        shape = {"text.$": "States.Format('{}: {}', $.order, $.results)", "n.$": "States.MathAdd($.order, 1)"}
        after = f"Step {number + 1}" if number < 9 else "Done"
        states[f"Shape {number}"] = {
            "Type": "Pass",
            "Parameters": shape,
            "ResultPath": "$.shape",
            "Next": f"Log {number}",
        }
        states[f"Log {number}"] = {"Type": "Pass", "Result": "logged", "ResultPath": "$.log", "Next": after}
    states["Done"] = {"Type": "Succeed"}
    states["Failed"] = {"Type": "Fail", "Error": "Failed", "Cause": "A step failed."}
    return json.dumps({"StartAt": "Step 0", "States": states}, indent=2)


def interpreter() -> Iterator[Figure]:
    """Transitions and Map items, without store, HTTP or tasks."""
    from statewright.asl.compile import compile_definition
    from statewright.limits import OPEN
    from statewright.simulator.simulate import Simulation

    def run(program: Any, given: Any) -> Any:
        outcome = Simulation(limits=OPEN).run(program, given)
        assert outcome.status == "SUCCEEDED"
        return outcome

    turns = 10_000
    for language, aim in (("JSONPath", "<= 12"), ("JSONata", "<= 20")):
        program = compile_definition(counting_loop(language, turns))
        spent = cpu_seconds(lambda program=program: run(program, {"n": 0}))
        yield Figure(f"transition, {language} counting loop", spent / (2 * turns + 1) * 1e6, "us", aim)
    for items in (1_000, 100_000):
        program = compile_definition(mapping(1))
        given = list(range(items))
        spent = cpu_seconds(lambda program=program, given=given: run(program, given), 3)
        yield Figure(f"map, {items:,} items, MaxConcurrency 1, per item", spent / items * 1e6, "us", "")
        if items == 100_000:
            yield Figure("map, 100,000 items, MaxConcurrency 1, in all", spent, "s", "< 5")
    program = compile_definition(mapping(0))
    given = list(range(10_000))
    yield Figure("map, 10,000 wide, per item", cpu_seconds(lambda: run(program, given), 3) / 10_000 * 1e6, "us", "")


def memory() -> Iterator[Figure]:
    """What a finished iteration leaves in memory until its Map ends, without the history."""
    from statewright.asl.compile import compile_definition
    from statewright.interpreter.advance import advance, new_execution
    from statewright.interpreter.events import BurstContinued, ExecutionStarted
    from statewright.limits import OPEN
    from statewright.payload import Payload
    from statewright.simulator.simulate import make_identity

    program = compile_definition(mapping(1))
    for items in (10_000, 100_000):
        state = new_execution(make_identity(), Payload(list(range(items))), b"seed" * 4)
        tracemalloc.start()
        advance(program, state, ExecutionStarted(), 0, limits=OPEN)
        before = tracemalloc.get_traced_memory()[0]
        while len(state.frames) < items * 9 // 10:
            advance(program, state, BurstContinued(), 0, limits=OPEN)
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        yield Figure(f"memory of a finished item, map of {items:,}", held / len(state.frames), "bytes", "flat")


def expressions() -> Iterator[Figure]:
    """One evaluation of common expressions over a small input."""
    from statewright.query.intrinsics import compile_intrinsic
    from statewright.query.jsonata import compile_expression
    from statewright.query.jsonpath import compile_path
    from statewright.query.scope import Scope

    scope = Scope({"count": 1, "name": "x", "order": {"items": [{"id": 7}], "total": 3}})
    rounds = range(20_000)
    items = Scope({"items": [{"id": n, "price": n % 100} for n in range(10_000)]})

    def repeated(evaluate: Callable[[Scope], Any]) -> float:
        def work() -> None:
            for _ in rounds:
                evaluate(scope)

        return cpu_seconds(work) / len(rounds) * 1e6

    yield Figure("JSONPath $.order.total", repeated(compile_path("$.order.total").read), "us", "")
    yield Figure("JSONPath $.order.items[0].id", repeated(compile_path("$.order.items[0].id").read), "us", "")
    number = compile_path("$.items[?(@.price > 50)]").read
    yield Figure("JSONPath filter over 10,000 items", cpu_seconds(lambda: number(items)) * 1e3, "ms", "")
    yield Figure(
        "States.MathAdd($.count, 1)", repeated(compile_intrinsic("States.MathAdd($.count, 1)").evaluate), "us", ""
    )
    for text in ("$states.input.count + 1", "{'a': $states.input.count, 'b': $states.input.name & '!'}"):
        yield Figure(f"JSONata {text[:38]}", repeated(compile_expression(text).evaluate), "us", "")
    text = "$uppercase($states.input.name)"
    yield Figure(f"JSONata {text} (library)", repeated(compile_expression(text).evaluate), "us", "")


def compiling() -> Iterator[Figure]:
    """Text to Program, with and without every diagnostic; texts are new each round, so nothing comes from a cache."""
    from statewright.asl.compile import compile_definition
    from statewright.asl.reader import read_document
    from statewright.asl.validate import validate

    rounds = count()

    def fresh() -> str:
        return fifty_states().replace("order", f"order{next(rounds)}")

    def compile_text(text: str) -> None:
        compile_definition(read_document(text).value)

    def validate_text(text: str) -> None:
        validate(read_document(text))

    for name, work, aim in (("read and compile", compile_text, "< 10"), ("read and validate", validate_text, "")):
        texts = [fresh() for _ in range(2 * ROUNDS)]
        spent = min(cpu_seconds(lambda text=text, work=work: work(text), 1) for text in texts)
        yield Figure(f"definition of 52 states: {name}", spent * 1e3, "ms", aim)


def drawing() -> Iterator[Figure]:
    """Laying out a machine and drawing it."""
    from statewright.graph.layout import layout
    from statewright.graph.model import build_graph
    from statewright.graph.svg import render_svg

    states = {f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(98)}
    states["S40"] = {"Type": "Choice", "Choices": [{"Next": "S10"}, {"Next": "S60"}], "Default": "S41"}
    states["S98"] = {"Type": "Task", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "S99"}], "End": True}
    graph = build_graph({"StartAt": "S0", "States": {**states, "S99": {"Type": "Fail"}}})
    placed = layout(graph)
    yield Figure("graph of 100 states: layout", cpu_seconds(lambda: layout(graph)) * 1e3, "ms", "< 50")
    yield Figure("graph of 100 states: SVG", cpu_seconds(lambda: render_svg(placed)) * 1e3, "ms", "")


def command() -> Iterator[Figure]:
    """Starting the command."""
    tool = os.path.join(os.path.dirname(sys.executable), "statewright")

    def help_time() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([tool, "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    yield Figure("command, statewright --help", min(help_time() for _ in range(ROUNDS)), "s", "< 0.3")


def main() -> None:
    """Print the figures whose name holds the given word."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'':58}{'measured':>14}  aim")
    for group in (interpreter, memory, expressions, compiling, drawing, command):
        for figure in group():
            if wanted in figure.name:
                shown = f"{figure.value:,.2f} {figure.unit}"
                print(f"{figure.name:58}{shown:>14}  {figure.aim}", flush=True)


if __name__ == "__main__":
    main()
