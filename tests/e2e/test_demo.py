"""The part of `make demo` that runs on a real server, smaller and shorter."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.systems import EXAMPLES


@pytest.fixture
def real_time(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = importlib.import_module("real_time")
    for name, value in {"ITEMS": 50, "FILES": 30, "BROKEN_EVERY": 10, "JOB_SECONDS": 2}.items():
        monkeypatch.setattr(made, name, value)
    return made


def sdk_of_tests() -> Any:
    """The packages that tests for Node.js have, if they are there."""
    found = importlib.import_module("node_sdk").Sdk
    for place in os.environ.get("NODE_PATH", "").split(":"):
        if shutil.which("node") and (Path(place) / "@aws-sdk" / "client-sfn").is_dir():
            return found(Path(place))
    return found(None, "there is no SDK for these tests")


def test_without_npm_the_demo_says_what_is_left_out(real_time, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert importlib.import_module("node_sdk").fetched(print).lacking == "there is no node on the PATH"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_every_system_ends_as_it_should(real_time):
    told: list[str] = []
    sdk = sdk_of_tests()
    results = real_time.run(told.append, sdk)
    assert [result.good for result in results] == [True] * 7, results
    orders, pipeline, *_, node = results
    assert "a large one WAITING; its link said: thank you, then it was ACCEPTED" in orders.lines[0]
    assert node.left_out == sdk.lacking
    if sdk.folder is not None:
        assert node.lines == ["3 of 3 went through, one after the other in the order of their starts"]
    assert pipeline.lines[0] == "27 done, 3 tried 2 times and dead, 0 open; 0 messages left in the queues"
    assert "27 files in " in pipeline.lines[1]
    assert pipeline.lines[1].endswith("; each broken one is tried again after 5 s")
    assert results[3].lines == ["9 alerts for 3 users in 3 rounds, counted in the table"]
    assert results[5].lines[0].startswith("COMPLETED: 50 items in ")
    assert any("files 27 of 30 done · 3 dead · 0 queued" in text for text in told[1:])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_system_that_ends_otherwise_is_told(real_time, monkeypatch, capsys):
    demo = importlib.import_module("demo")
    monkeypatch.setattr(demo.killed_server, "EXECUTIONS", 2)
    execution = {"name": "run", "status": "FAILED", "error": "States.Timeout", "cause": "it took too long"}
    bad = real_time.Result("Pipeline", False, 1.0, ["1 open", *real_time.unless(False, execution)])
    monkeypatch.setattr(
        demo.real_time,
        "run",
        lambda *_: [
            bad, real_time.Result("Job", True, 1.0, [""]), real_time.Result("Node", True, left_out="there is no npm"),
        ],
    )  # fmt: skip
    monkeypatch.setattr(demo.node_sdk, "fetched", lambda _: None)
    assert demo.main() == 1
    out = capsys.readouterr().out
    assert "✗ Pipeline\n" in out
    assert "○ Node  left out: there is no npm\n" in out
    assert "run: FAILED: States.Timeout: it took too long\n" in out
    assert "1 failed" in out
    assert "http://127.0.0.1:4566/ is the endpoint" in out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_a_function_says_of_its_failure_is_shown(real_time, monkeypatch):
    def broken(running: Any) -> Any:
        # Its table does not exist.
        real_time.function(running, "file-pipeline", "count-final-files")
        answer = running.client("lambda").invoke(FunctionName="count-final-files", Payload='{"run_id": "r"}')
        assert answer["FunctionError"] == "Unhandled"
        until(lambda: real_time.troubles(running), "a line of the log")
        return real_time.Started(lambda: "", lambda: real_time.Result("Broken"), lambda: True)

    for name in ("semaphore", "job_poller", "export_poller", "file_pipeline"):
        monkeypatch.setattr(real_time, name, lambda _: real_time.left_out("Other", "not here"))
    monkeypatch.setattr(real_time, "nested_loop", broken)
    results = real_time.run(lambda _: None, real_time.Sdk(None, "there is no npm"))
    ((line,),) = [result.lines for result in results if not result.good]
    assert line.startswith("/aws/lambda/count-final-files: [ERROR] ")
    assert "ResourceNotFoundException" in line
