from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from statewright.errors import DefinitionError
from statewright.simulation.arrivals import groups
from statewright.simulation.grid import grid_of, read_axis, read_change, variants_of
from statewright.simulation.scenario import LOAD, Scenario, read_scenario

WORK = "functions: {work: 1s}\narrivals:\n"
MAPPED = "queues: {a: {}}\nfunctions: {f: 1s}\nmappings:\n"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "simulations"


def read(folder: Path, text: str, **changes: object) -> Scenario:
    file = folder / "scenario.yaml"
    file.write_text(textwrap.dedent(text))
    return read_scenario(file, {key.replace("__", "."): value for key, value in changes.items()})


def findings(folder: Path, text: str) -> list[tuple[int, str, str | None]]:
    with pytest.raises(DefinitionError) as refused:
        read(folder, text)
    return [(one.line, one.message, one.hint) for one in refused.value.diagnostics]


@pytest.mark.parametrize(
    "path", sorted(set(EXAMPLES.glob("*.yaml")) - set(EXAMPLES.glob("*.asl.yaml"))), ids=lambda path: path.stem
)
def test_the_examples_are_sound_with_all_their_variants(path):
    scenario = read_scenario(path)
    assert scenario.description
    for variant in variants_of(scenario, {}):
        read_scenario(path, variant.changes)


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("queus: {}", 1, "a scenario has no 'queus'", "did you mean queues?"),
        ("queues:\n  jobs: {visibilty: 30s}", 2, "queue jobs has no 'visibilty'", "did you mean visibility?"),
        ("functions:\n  work: {duration: -1}", 2, "less than nothing", None),
        ("functions:\n  work: {duration: {norml: {}}}", 2, "there is no distribution 'norml'", None),
        (WORK + "  - {function: work, rate: -3/s, for: 1m}", 3, "'-3/s' is not a rate", "100/s"),
        (WORK + "  - {function: wrok, burst: 1}", 3, "no function 'wrok'", "did you mean work?"),
        (WORK + "  - {function: work, rate: 3/s}", 3, "needs 'for'", "for: 1h"),
        ("functions: {work: 1s}\narrivals:\n  - {burst: 3}", 3, "one of queue, machine, function and table", None),
        ("machines: {one: nowhere.asl.json}", 1, "there is no file nowhere.asl.json", None),
        ("machines: {one: scenaro.yaml}", 1, "there is no file scenaro.yaml", "did you mean scenario.yaml?"),
        ("functions:\n  work: {handler: nowhere.py}", 2, "there is no file nowhere.py", None),
        ("prices: mars-1", 1, "there is no price table 'mars-1'", None),
        ("start: tomorrow", 1, "'tomorrow' is no instant", "2026-01-01T00:00:00Z"),
        ("until: soon", 1, "not a length of time", None),
        ("quotas: maybe", 1, "expected on or off", None),
        (MAPPED + "  - {queue: a, function: f, profile: lambda-2222}", 4, "expected one of", "lambda-2"),
        ("tables: {t: id}\n" + MAPPED + "  - {queue: a, table: t, function: f}", 5, "one of queue and table", None),
        (MAPPED + "  - {table: t, function: f, profile: x}", 4, "profile is for mappings of queues", None),
        ("tables: {t: id}\n" + MAPPED + "  - {function: f}", 5, "needs 'queue'", "or table"),
        ("tables: {t: id}\narrivals:\n  - {table: t, burst: 1, body: x}", 3, "has its attributes", None),
        ("tables: {t: id}\narrivals:\n  - {table: t, burst: 1, poison: 1%}", 3, "not for items", None),
        ("queues:\n  a: {maxReceiveCount: 3}", 2, "says nothing without a deadLetter", None),
        ("queues:\n  a: {deadLetter: b}", 2, "there is no queue 'b'", "there are: a"),
        ("usage: {s3.puts: 1}", 1, "usage has no 's3.puts'", None),
        ("functions: {f: 1s}\nfaults:\n  - {function: f}", 3, "a fault needs 'for'", "for: 5m"),
        ("faults: [{call: PutItem, for: 1m}]", 1, "no operation of a service", "dynamodb.PutItem"),
        ("functions:\n  f: {answer: {python: models.py}}", 2, "names no function", "models.py:status"),
        ("name: [", 1, "", None),
        ("3", 1, "a scenario is an object", None),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_a_way_out(tmp_path, text, line, message, hint):
    [found, *_] = findings(tmp_path, text)
    assert found[0] == line
    assert message in found[1]
    assert hint is None or hint in (found[2] or "")


def test_all_mistakes_are_told_at_once(tmp_path):
    assert len(findings(tmp_path, "seed: x\nuntil: y\nqueus: {}")) == 3


@pytest.mark.parametrize(
    ("arrival", "expected"),
    [
        ("burst: 4", [0, 0, 0, 0]),
        ("burst: 4, over: 4s", [0, 1000, 2000, 3000]),
        ("rate: 2/s, for: 2s", [0, 500, 1000, 1500]),
        ("rate: 60/min, count: 3, at: 10s", [10_000, 11_000, 12_000]),
        ("rate: 1, for: 2s", [0, 1000]),
    ],
)
def test_arrivals(tmp_path, arrival, expected):
    scenario = read(tmp_path, f"functions: {{work: 1s}}\narrivals: [{{function: work, {arrival}}}]")
    assert [one.at_ms for _, coming in groups(scenario) for one in coming] == expected


def test_a_poisson_process_has_its_rate_and_its_seed(tmp_path):
    text = "functions: {work: 1s}\narrivals: [{function: work, poisson: 10/s, for: 100s}]"
    first, again = (list(groups(read(tmp_path, text, seed=3))) for _ in range(2))
    other = list(groups(read(tmp_path, text, seed=4)))
    assert first == again != other
    assert 850 < sum(len(coming) for _, coming in first) < 1150


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("load.csv", "at,body\n2,b\n0.5,a\n"),
        ("load.jsonl", '{"at": 0.5, "body": "a"}\n{"at": 2, "body": "b"}\n'),
        ("load.csv", "at,body\n2026-01-01T00:00:00Z,a\n2026-01-01T00:00:01.500Z,b\n"),
    ],
)
def test_files_are_replayed(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    scenario = read(tmp_path, f"functions: {{work: 1s}}\narrivals: [{{function: work, replay: {name}}}]")
    found = [(one.at_ms, one.body) for _, coming in groups(scenario) for one in coming]
    assert [body for _, body in found] == ["a", "b"]
    assert found[1][0] - found[0][0] == 1500


def test_a_file_that_cannot_be_replayed_is_refused(tmp_path):
    (tmp_path / "load.csv").write_text("when\n3\n")
    scenario = read(tmp_path, "functions: {work: 1s}\narrivals: [{function: work, replay: load.csv}]")
    with pytest.raises(DefinitionError, match="each row needs 'at'"):
        list(groups(scenario))


def test_values_are_set_by_their_place(tmp_path):
    text = "queues: {a: {}}\nfunctions: {f: 1s}\nmappings: [{queue: a, function: f}]"
    changed = read(tmp_path, text, mappings__0__batchSize=3, functions__f={"duration": "2s"}, concurrency=5)
    assert (changed.mappings[0].batch_size, changed.functions[0].duration, changed.concurrency) == (3, "2s", 5)
    with pytest.raises(DefinitionError, match="no entry '7'"):
        read(tmp_path, text, mappings__7__batchSize=3)
    with pytest.raises(DefinitionError, match="mapping has no 'batch'"):
        read(tmp_path, text, mappings__0__batch=3)


def test_another_load(tmp_path):
    text = "functions: {f: 1s}\narrivals: [{function: f, burst: 4}]"
    [arrival] = read(tmp_path, text, **{LOAD: ("100/s", "1h")}).arrivals
    assert (arrival.form, arrival.rate, arrival.for_ms) == ("rate", 100, 3_600_000)


def test_grids():
    axes = [read_axis("functions.work.duration=30s,60s"), read_axis("mappings.0.batchSize=1,10")]
    found = grid_of(axes, {"seed": 3})
    assert [one.name for one in found] == [
        "duration 30s, batchSize 1", "duration 30s, batchSize 10", "duration 60s, batchSize 1",
        "duration 60s, batchSize 10",
    ]  # fmt: skip
    assert found[0].changes == {"seed": 3, "functions.work.duration": "30s", "mappings.0.batchSize": 1}
    assert read_change("a.b=[1, 2]") == ("a.b", [1, 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: read_axis("a"), "write it as KEY=a,b,c"),
        (lambda: read_change("=3"), "write it as KEY=VALUE"),
        (lambda: grid_of([("a", list(range(300)))], {}), "300 runs are more than 200"),
    ],
)
def test_grids_that_are_none(make, message):
    with pytest.raises(DefinitionError, match=message):
        make()
