"""`statewright function ...` against a real server."""

from __future__ import annotations

import json

import pytest

from statewright.cli.commands import run_command
from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.test_lambda import made


@pytest.fixture
def name(server: Server) -> str:
    return made(server.client("lambda"))


def test_functions_are_listed(server, name, capsys):
    assert run_command(["function", "list", "-o", "json", "--endpoint", server.url]) == 0
    assert name in [one["FunctionName"] for one in json.loads(capsys.readouterr().out)["functions"]]
    assert run_command(["function", "list", "--endpoint", server.url]) == 0
    assert name in capsys.readouterr().out


def test_a_function_is_invoked(server, name, capsys):
    arguments = ["function", "invoke", name, "-i", '{"n": 1}', "--log", "--endpoint", server.url]
    assert run_command(arguments) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["event"] == {"n": 1}
    assert "echoing" in said.err
    assert run_command(["function", "invoke", name, "--event", "--endpoint", server.url]) == 0


def test_exit_codes(server, name, capsys):
    assert run_command(["function", "invoke", name, "-i", '{"fail": "no"}', "--endpoint", server.url]) == 1
    assert json.loads(capsys.readouterr().out)["errorType"] == "ValueError"
    assert run_command(["function", "invoke", "nobody", "--endpoint", server.url]) == 3
    assert "Function not found" in capsys.readouterr().err
    assert run_command(["function", "logs", "nobody", "--endpoint", server.url]) == 3


def test_logs_come_from_the_server(server, name, capsys):
    base = ["function", "logs", name, "--endpoint", server.url]
    assert run_command(base) == 0
    assert "has no log yet" in capsys.readouterr().err
    request = server.client("lambda").invoke(FunctionName=name)["ResponseMetadata"]["RequestId"]
    server.client("lambda").invoke(FunctionName=name, Payload='{"fail": "no such thing"}')

    def printed() -> list[str] | None:
        assert run_command([*base, "--since", "10m"]) == 0
        out = capsys.readouterr().out
        return out.splitlines() if out.count("REPORT RequestId") == 2 else None

    lines = until(printed, "the log")
    error = next(place for place, line in enumerate(lines) if "[ERROR] ValueError: no such thing" in line)
    assert lines[error + 1].strip() == "Traceback (most recent call last):"
    assert run_command([*base, "--request", request]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ", 1)[1].split(" ")[0] for line in lines] == ["START", "echoing", "END", "REPORT"]
    assert run_command([*base, "--filter", "echoing", "-n", "1", "-o", "json"]) == 0
    assert ["echoing" in one["message"] for one in json.loads(capsys.readouterr().out)["events"]] == [True]


def test_concurrency_is_shown_set_and_given_back(server, name, capsys):
    base = ["function", "concurrency", name, "-o", "json", "--endpoint", server.url]
    assert run_command([*base, "--reserve", "7"]) == 0
    assert json.loads(capsys.readouterr().out)["reserved"] == 7
    assert run_command([*base, "--release"]) == 0
    assert json.loads(capsys.readouterr().out)["reserved"] is None
    assert run_command([*base[:3], "--endpoint", server.url]) == 0
    assert "of 1000" in capsys.readouterr().out
