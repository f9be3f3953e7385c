"""The schemas of case files and of mock files. Owns the fields; `simulator/cases.py` and `script.py` read them."""

from __future__ import annotations

from statewright.cli.local.schemas.words import (
    ANYTHING,
    DURATION,
    NAMES,
    TEXT,
    about,
    by_name,
    document,
    either,
    listed,
    one_of,
    record,
    whole,
)
from statewright.limits import PROFILES
from statewright.payload import JsonObject

_MOCKS: JsonObject = {"$ref": "#/definitions/mocks"}
_ENTRY: JsonObject = {"$ref": "#/definitions/entry"}
_RESULT: JsonObject = {"$ref": "#/definitions/result"}
_COMMENT: JsonObject = about("A remark.", ANYTHING)
STATUSES = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


def cases_schema() -> JsonObject:
    """The schema of a case file."""
    common: JsonObject = {
        "comment": _COMMENT,
        "input": about("The input of the execution.", ANYTHING),
        "mocks": _MOCKS,
        "limits": one_of(PROFILES),
    }
    case = record({**common, "start": about("When the execution starts.", TEXT), "expect": _expect()})
    definition = about("The definition's file, relative to this one.", TEXT)
    file = record({**common, "definition": definition, "cases": {**by_name(case), "minProperties": 1}}, ["cases"])
    return document("Statewright test cases", file, _definitions())


def mocks_schema() -> JsonObject:
    """The schema of a mock file."""
    return document("Statewright mocks", record({"mocks": _MOCKS, "comment": _COMMENT}, ["mocks"]), _definitions())


def _expect() -> JsonObject:
    count = either(whole(), {**record({"at_least": whole(), "at_most": whole()}), "minProperties": 1})
    duration = either(DURATION, {**record({"at_least": DURATION, "at_most": DURATION}), "minProperties": 1})
    refusal = either(TEXT, record({"code": TEXT, "pointer": TEXT, "hint": TEXT}, ["code"]))
    return record(
        {
            "status": one_of(STATUSES),
            "output": about("The output, exactly.", ANYTHING),
            "output_contains": about("What the output has, among other members.", ANYTHING),
            "output_matches": about("A JSONata over $states.input, the output: {% ... %}.", TEXT),
            "error": TEXT,
            "cause": TEXT,
            "cause_contains": TEXT,
            "path": about("The states that were entered, in this order.", NAMES),
            "path_contains": about("States that were entered in this order, among others.", NAMES),
            "visits": about("How often states were entered.", by_name(count)),
            "attempts": about("How often tasks were called.", by_name(count)),
            "duration": about("How long it lasted in virtual time.", duration),
            "transitions": count,
            "events": count,
            "diagnostics": about("Codes that validate reports.", NAMES),
            "refused": about("The errors of a definition that is refused.", {**listed(refusal), "minItems": 1}),
        }
    )


def _definitions() -> JsonObject:
    result = record(
        {
            "returns": about("The whole result of the integration.", ANYTHING),
            "returns_payload": about("What the function returned.", ANYTHING),
            "throws": about("The error.", either(TEXT, {"type": "object"})),
            "expression": about("A computed result: {% ... %}, or a value with such texts.", ANYTHING),
            "payload_expression": about("What the function returned, computed: {% ... %}.", ANYTHING),
            "hangs": about("Never answers.", {"enum": [True]}),
            "times": about("How many calls get this result.", whole(1)),
            "delay": DURATION,
            "submitted": about("The service's answer to the call itself.", ANYTHING),
            "heartbeats": listed(DURATION),
            "then": one_of(("repeat", "cycle", "stop")),
            "comment": _COMMENT,
        }
    )
    by_number = about("By number: 3, 0-2, 5+, 0,4-6, default.", {**by_name(_ENTRY), "minProperties": 1})
    splits = [record({name: by_number, "comment": _COMMENT}, [name]) for name in ("iterations", "attempts", "visits")]
    return {
        "mocks": about("Answers of tasks, by state or resource:SERVICE:ACTION.", by_name(_ENTRY)),
        "entry": either(_RESULT, {**listed(_RESULT), "minItems": 1}, *splits),
        "result": result,
    }
