"""Costs: what executions would cost at the cloud service, by state, with advice; an estimate at dated prices."""

from __future__ import annotations

import asyncio
from typing import Final

from statewright.asl.program import MapDef, Program, TaskDef
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.figures.surveys import MOST_RUNS, LoopFigures, StateFigures, Survey
from statewright.console.redaction import Redactor
from statewright.console.runs import ReadRun
from statewright.cost.bill import Bill, bill
from statewright.cost.prices import PriceTable, load
from statewright.cost.usage import Usage
from statewright.payload import JsonObject

LONGEST_EXPRESS_MS: Final = 300_000
"""Source: Step Functions developer guide, quotas: Express executions last five minutes at most."""
_TRANSITIONS: Final = "states.transitions"


async def machine_costs(console: Console, asked: Asked) -> JsonObject:
    """The costs of a machine's last executions, as `shown` returns them."""
    arn = needed(asked.given, "arn")
    app = console.app_of_arn(arn)
    survey = await console.surveys_of(app).of(arn, number(asked.given, "runs", MOST_RUNS))
    machine = await app.engine.machines.describe(arn)
    _, program = await app.engine.machines.programs.prepared(machine.machine.id, machine.revision.id)
    return shown(survey, program)


async def run_costs(console: Console, asked: Asked) -> JsonObject:
    """The costs of one execution, as `shown` returns them."""
    arn = needed(asked.given, "arn")
    async with console.source_of(arn).reading(arn) as one:
        return await asyncio.to_thread(of_run, one, console.app.clock.now_ms(), console.redactor)


def of_run(one: ReadRun, now_ms: int, redactor: Redactor) -> JsonObject:
    """The costs of one execution, as `shown` returns them."""
    survey = Survey(now_ms)
    survey.note(one.view, one.recorded.events, one.program, redactor)
    return shown(survey, one.program)


def shown(survey: Survey, program: Program) -> JsonObject:
    """`{runs, usd, usdPerRun, prices, states, lines, loops, hints, express, notes}`; amounts in USD.

    `states` are `{name, type, usd, share, transitions, lines}`, dearest first, `lines` of a bill `{service, words,
    quantity, usd}`. `loops` are Wait states that polled, with what one long wait and turns of a minute would have cost.
    `express` has the cost of the same work in an Express machine, or `why` that is not possible; null for one.
    """
    table = load(None)
    whole = Usage()
    for one in survey.states.values():
        whole.merge(one.usage)
    if survey.is_express:
        whole.merge(survey.express)
    made = bill(whole, table)
    states = [_state(one, table, made.usd) for one in survey.states.values()]
    return {
        "runs": survey.runs,
        "usd": made.usd,
        "usdPerRun": made.usd / survey.runs if survey.runs else 0.0,
        "prices": {"table": table.name, "date": table.date, "region": table.region},
        "states": sorted(states, key=lambda one: (-one["usd"], one["name"])),
        "lines": _lines(made),
        "loops": [_loop(one, table) for one in sorted(survey.loops.values(), key=lambda one: -one.transitions)],
        "hints": list(survey.hints),
        "express": None if survey.is_express else _express(survey, whole, program, table),
        "notes": list(made.notes),
    }


def _state(one: StateFigures, table: PriceTable, whole: float) -> JsonObject:
    made = bill(one.usage, table)
    return {
        "name": one.name,
        "type": one.type,
        "usd": made.usd,
        "share": made.usd / whole if whole else 0.0,
        "transitions": one.usage.quantities.get(_TRANSITIONS, 0),
        "lines": _lines(made),
    }


def _lines(made: Bill) -> list[JsonObject]:
    return [
        {"service": one.service, "words": one.words, "quantity": one.quantity, "usd": one.usd} for one in made.lines
    ]


def _loop(one: LoopFigures, table: PriceTable) -> JsonObject:
    def usd(transitions: int) -> float:
        usage = Usage()
        usage.add(_TRANSITIONS, transitions)
        return bill(usage, table).usd

    return {
        "state": one.state, "runs": one.runs, "turns": one.turns, "waitedSeconds": one.waited_seconds,
        "transitions": one.transitions, "usd": usd(one.transitions), "calmTransitions": one.calm_transitions,
        "calmUsd": usd(one.calm_transitions),
    }  # fmt: skip


def _express(survey: Survey, whole: Usage, program: Program, table: PriceTable) -> JsonObject:
    why = _not_express(program, survey.longest_ms)
    usage = Usage()
    usage.merge(survey.express)
    for item, quantity in whole.quantities.items():
        if item != _TRANSITIONS:
            usage.add(item, quantity)
    made = bill(usage, table)
    return {"usd": made.usd, "usdPerRun": made.usd / survey.runs if survey.runs else 0.0, "why": why}


def _not_express(program: Program, longest_ms: int) -> str | None:
    """A reason why the machine cannot be an Express one, as far as one is known."""
    for scope in program.scopes:
        for state in scope.states.values():
            body = state.body
            if isinstance(body, TaskDef):
                if body.resource.kind == "activity":
                    return f"{state.name} is an activity, which Express executions cannot use"
                if body.resource.pattern != "request":
                    return f"{state.name} waits for a job or a token, which Express executions cannot do"
            elif isinstance(body, MapDef) and body.distributed is not None:
                return f"{state.name} is a distributed Map, which Express executions cannot run"
    if longest_ms > LONGEST_EXPRESS_MS:
        return f"an execution took {longest_ms / 1000:,.0f} s, and Express executions end after 300 s"
    return None


READS: Final = {"machine/costs": machine_costs, "run/costs": run_costs}
