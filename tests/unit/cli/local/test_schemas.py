"""Schemas of our own files against their readers: the same keys, and nothing refused that a reader takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from statewright.asl.reader import read_document
from statewright.cli.local.schema import NAMES, schema_of
from statewright.config import parse_config
from statewright.errors import DefinitionError
from statewright.payload import Json, JsonObject
from statewright.settings.reader import ConfigError
from statewright.simulation import scenario
from statewright.simulation.scenario import read_scenario
from statewright.simulator import cases, script
from statewright.simulator.script import load_script
from tests.unit.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[4]
VALUES: list[Json] = [
    "", "text", "aws", "none", "http://127.0.0.1:8000", "000000000000", "us-east-1", "STANDARD", "10s", "1%", "/opt", 0,
    1, 5, -1, 1.5, True, False, [], ["a"], ["/opt"], {}, {"a": "b"}, {"a": 1}, {"hash": "k"}, {"a": {"hash": "k"}},
]  # fmt: skip
UNKNOWN = "zzzzzzzz"


@cache
def validator(name: str) -> Draft7Validator:
    return Draft7Validator(schema_of(name))


def errors(name: str, value: Json) -> list[str]:
    return [one.message for one in validator(name).iter_errors(value)]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one(name: str):
    Draft7Validator.check_schema(schema_of(name))
    json.dumps(schema_of(name))


# ------------------------------------------------------------------ settings


def toml(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def refusal(value: JsonObject) -> str | None:
    """The words with which the reader of settings refuses a document."""
    try:
        parse_config("\n".join(f"{key} = {toml(one)}" for key, one in value.items()))
    except ConfigError as problem:
        return str(problem)
    return None


def wrapped(step: str, value: Json) -> JsonObject:
    """A value below a key, with what must stand beside it."""
    return {"hash": "k", step: value} if step == "indexes" else {step: value}


def keys_at(*place: str) -> set[str]:
    """The keys that the reader knows at a place, as it lists them for an unknown one."""
    value: Json = {UNKNOWN: 1}
    for step in reversed(place):
        value = wrapped(step, value)
    found = re.search(r"there are: (.*)$", str(refusal(value)))
    return set(found[1].split(", ")) if found else set()


def records(schema: JsonObject, *place: str) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every object of a schema that has no other members, with its place; a name stands where any may."""
    for one in schema.get("anyOf", ()):
        yield from records(one, *place)
    if schema.get("additionalProperties") is False:
        yield place, set(schema["properties"])
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from records(schema["additionalProperties"], *place, "any")
    for key, member in schema.get("properties", {}).items():
        yield from records(member, *place, key)


SETTINGS = [
    (place, keys) for place, keys in records(schema_of("settings"))
    # One call's rate, and entries of lists, are refused in other words.
    if keys and not (place[:2] == ("limits", "rates") and len(place) == 3)
]  # fmt: skip


@pytest.mark.parametrize(("place", "keys"), SETTINGS, ids=lambda one: ".".join(one) if isinstance(one, tuple) else "")
def test_settings_have_the_keys_that_the_reader_knows(place: tuple[str, ...], keys: set[str]):
    assert keys_at(*place) == keys


def test_settings_that_the_reader_takes_are_not_refused():
    taken = 0
    for place, keys in SETTINGS:
        for key in keys:
            for value in VALUES:
                document: Json = {key: value}
                for step in reversed(place):
                    document = wrapped(step, document)
                if refusal(document) is None:
                    taken += 1
                    assert errors("settings", document) == [], document
    assert taken > 200


def test_an_access_key_with_an_account_is_taken():
    text = '[credentials]\nAKIAONE = "one"\nAKIATWO = { secret = "two", account = "111122223333" }'
    assert parse_config(text).accounts
    assert errors("settings", tomllib.loads(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        'account = "1"', 'regoin = "us-east-1"', "[queues.jobs]\nvisibility = 3", "[machines.order]\ntype = 'FAST'",
        "[limits]\nhistory_events = 0", "[functions]\nisolation = 'some'", "[tables.orders]\nrange = 'k'",
        "[http]\norigins = 'http://localhost'", "[connections.a]\nauth = 'digest'", "time_scale = -1",
        "[credentials]\nAKIATWO = { account = '111122223333' }",
        "[credentials]\nAKIATWO = { secret = 'two', account = '1111' }",
    ],
)  # fmt: skip
def test_settings_that_the_reader_refuses_are_marked(text: str):
    with pytest.raises(ConfigError):
        parse_config(text)
    assert errors("settings", tomllib.loads(text)) != []


# ------------------------------------------------------------------ cases and mocks


def test_cases_and_mocks_have_the_keys_that_the_readers_know():
    schema = schema_of("cases")
    assert set(schema["properties"]) == set(cases._FILE_FIELDS)
    case = schema["properties"]["cases"]["additionalProperties"]["properties"]
    assert set(case) == set(cases._CASE_FIELDS)
    expect = case["expect"]["properties"]
    assert set(expect) == set(cases._EXPECT_FIELDS)
    assert set(expect["events"]["anyOf"][1]["properties"]) == set(cases._BOUND_FIELDS)
    assert set(expect["refused"]["items"]["anyOf"][1]["properties"]) == set(cases._REFUSAL_FIELDS)
    parts = schema["definitions"]
    assert set(parts["result"]["properties"]) == set(script._RESULT_FIELDS)
    assert tuple(one["required"][0] for one in parts["entry"]["anyOf"][2:]) == script._SPLITS
    assert tuple(parts["result"]["properties"]["then"]["enum"]) == script._ENDINGS
    assert parts == schema_of("mocks")["definitions"]


RESULTS: list[Json] = [
    {"returns": 1}, {"throws": "Boom"}, {"throws": {"error": "Boom", "cause": [1]}}, {"hangs": True}, {"hangs": False},
    {"returns": None, "delay": "1h30m", "times": 2, "then": "cycle"}, {"returns": 1, "delay": -1},
    {"returns": 1, "x": 1},
    {"expression": "{% 1 %}"}, {"returns": 1, "heartbeats": ["20s", 40], "delay": 60}, {"returns": 1, "times": 0},
    [{"throws": "Boom"}, {"returns": 1}], [], {"attempts": {"0-1": {"throws": "Boom"}, "default": {"returns": 1}}},
    {"iterations": {"1/4": {"visits": {"0": {"returns": 1}}}}}, {"attempts": {}}, 5, "text",
]  # fmt: skip


@pytest.mark.parametrize("result", RESULTS)
def test_mocks_that_the_reader_takes_are_not_refused(result: Json):
    document = {"mocks": {"Charge": result}}
    try:
        load_script(json.dumps(document), syntax="json")
    except DefinitionError:
        # Some mistakes are only the reader's: two outcomes, or an order.
        assert errors("mocks", document) != [] or result == {"hangs": False}
    else:
        assert errors("mocks", document) == []


# ------------------------------------------------------------------ scenarios


def test_scenarios_have_the_keys_that_the_reader_knows(tmp_path: Path):
    schema = schema_of("scenario")["properties"]
    path = tmp_path / "one.yaml"
    path.write_text(f"{UNKNOWN}: 1")
    with pytest.raises(DefinitionError) as refused:
        read_scenario(path)
    listed = str(refused.value.diagnostics[0].hint).removeprefix("there are: ")
    assert set(schema) == set(listed.split(", "))
    parts = {
        "functions": scenario._FUNCTION, "queues": scenario._QUEUE, "machines": scenario._MACHINE,
        "mappings": scenario._MAPPING, "arrivals": scenario._ARRIVAL, "faults": scenario._FAULT,
    }  # fmt: skip
    for name, keys in parts.items():
        part = schema[name].get("additionalProperties", schema[name])
        assert set(part["anyOf"][1]["properties"]) == set(keys), name


# ------------------------------------------------------------------ files that there are


def parsed(text: str) -> Json:
    return read_document(text, name="a.yaml", placeholders=False).value


def examples() -> Iterator[tuple[str, str, Json]]:
    for path in sorted((ROOT / "examples").rglob("*.cases.yaml")):
        yield path.name, "cases", parsed(path.read_text())
    for path in sorted((ROOT / "examples" / "simulations").glob("*.yaml")):
        if not path.name.endswith(".asl.yaml"):
            yield path.name, "scenario", parsed(path.read_text())
    for path in sorted((ROOT / "examples").rglob("statewright.toml")):
        yield str(path.parent.name), "settings", tomllib.loads(path.read_text())
    for page, name in (("cases.md", "cases"), ("mocks.md", "mocks"), ("simulation.md", "scenario")):
        text = (ROOT / "docs" / page).read_text()
        for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)):
            if re.search(r"^(cases|mocks|arrivals):", block, re.MULTILINE):
                yield f"{page} {number}", "mocks" if block.startswith("mocks:") else name, parsed(block)


@pytest.mark.parametrize(("name", "value"), [pytest.param(kind, value, id=id_) for id_, kind, value in examples()])
def test_examples_are_as_their_schema_says(name: str, value: Json):
    assert errors(name, value) == []


# ------------------------------------------------------------------ the command


def test_the_command_prints_or_writes_one(statewright: Run, folder: Path):
    assert statewright("schema", "settings").json == schema_of("settings")
    result = statewright("schema", "cases", "--out", "cases.schema.json")
    assert (result.code, result.out, result.err) == (0, "", "Wrote cases.schema.json\n")
    assert json.loads((folder / "cases.schema.json").read_text()) == schema_of("cases")
    assert statewright("schema", "other").code == 2
