"""JSONata's own test suite (2.0.6) through the library tier; the data is not part of the project.

Runs where STATEWRIGHT_CASES names the folder that holds `jsonata-2.0.6`, with `cases.json` and `datasets.json`.
"""

import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from statewright.query.jsonata import JsonataError, JsonataMemory, JsonataStackOverflow, JsonataSyntaxError
from statewright.query.jsonata.library import evaluate
from statewright.query.scope import UNDEFINED

FOLDER = Path(os.environ.get("STATEWRIGHT_CASES", "")) / "jsonata-2.0.6"

pytestmark = pytest.mark.skipif(
    "STATEWRIGHT_CASES" not in os.environ or not FOLDER.is_dir(),
    reason="set STATEWRIGHT_CASES to the folder that holds jsonata-2.0.6",
)

EXPECTED_DIFFERENCES = 3
"""Cases whose value, or whether they fail, is known to differ; a change of the library shows here."""


def load() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    cases = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
    return cases, json.loads((FOLDER / "datasets.json").read_text(encoding="utf-8"))


def outcome(case: dict[str, Any], datasets: dict[str, Any]) -> tuple[str, Any]:
    data = datasets[case["dataset"]] if case.get("dataset") else case.get("data", UNDEFINED)
    try:
        value = evaluate(case["expr"], data, case.get("bindings"))
    except (JsonataError, JsonataSyntaxError) as error:
        limits: dict[type, str] = {JsonataMemory: "D2014", JsonataStackOverflow: "U1001"}
        return "error", limits.get(type(error), error.code) or str(error)
    return ("undefined", None) if value is UNDEFINED else ("value", value)


def expected(case: dict[str, Any]) -> tuple[str, Any]:
    if "code" in case or "error" in case:
        return "error", case.get("code") or case["error"]["code"]
    return ("undefined", None) if case.get("undefinedResult") else ("value", case.get("result"))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-14)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def test_the_official_suite() -> None:
    cases, datasets = load()
    counts: Counter[str] = Counter()
    differences = []
    for case in cases:
        if "$eval" in case["expr"]:
            counts["not applicable"] += 1
            continue
        wanted, got = expected(case), outcome(case, datasets)
        if wanted[0] != got[0] or (wanted[0] == "value" and not same(wanted[1], got[1])):
            counts["different"] += 1
            differences.append(f"{case['id']}: {case['expr'][:120]!r}: {wanted} but {got}")
        elif wanted != got and wanted[0] == "error":
            counts["other error code"] += 1
            print(f"{case['id']}: {case['expr'][:120]!r}: {wanted[1]} but {got[1]}")
        else:
            counts["same"] += 1
    print(dict(counts))
    print("\n".join(differences))
    assert len(differences) <= EXPECTED_DIFFERENCES, "\n".join(differences)
