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


def test_exit_codes(server, name, capsys, tmp_path):
    assert run_command(["function", "invoke", name, "-i", '{"fail": "no"}', "--endpoint", server.url]) == 1
    assert json.loads(capsys.readouterr().out)["errorType"] == "ValueError"
    assert run_command(["function", "invoke", "nobody", "--endpoint", server.url]) == 3
    assert "Function not found" in capsys.readouterr().err
    assert run_command(["function", "logs", "nobody", "--data", str(tmp_path)]) == 3


def test_logs_are_read_from_the_data_folder(tmp_path, capsys):
    server = Server(tmp_path / "data")
    try:
        name = made(server.client("lambda"))
        request = server.client("lambda").invoke(FunctionName=name)["ResponseMetadata"]["RequestId"]
        server.client("lambda").invoke(FunctionName=name)
        log = tmp_path / "data" / "functions" / "logs" / f"{name}.log"
        until(lambda: log.exists() and log.read_text().count("REPORT") == 2, "the log")
        assert run_command(["function", "logs", name, "--data", str(tmp_path / "data"), "--request", request]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split("  ", 1)[1].split(" ")[0] for line in lines] == ["START", "echoing", "END", "REPORT"]
    finally:
        assert server.stop() == 0


def test_concurrency_is_shown_set_and_given_back(server, name, capsys):
    base = ["function", "concurrency", name, "-o", "json", "--endpoint", server.url]
    assert run_command([*base, "--reserve", "7"]) == 0
    assert json.loads(capsys.readouterr().out)["reserved"] == 7
    assert run_command([*base, "--release"]) == 0
    assert json.loads(capsys.readouterr().out)["reserved"] is None
    assert run_command([*base[:3], "--endpoint", server.url]) == 0
    assert "of 1000" in capsys.readouterr().out
