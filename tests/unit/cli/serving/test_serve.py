from __future__ import annotations

import json
from typing import Any

import pytest

from statewright import server
from statewright.cli.commands import run_command
from statewright.errors import Unavailable
from statewright.hosting.options import CannotServe, NodeOptions, Ready, ServerOptions
from statewright.hosting.standby import Waiting
from statewright.limits import OPEN


@pytest.fixture
def served(monkeypatch, tmp_path):
    """What the command hands to the server, which is not run."""
    given: list[ServerOptions] = []

    def serve(options: ServerOptions, on_ready: Any, on_standby: Any) -> None:
        if options.standby:
            on_standby(Waiting("http://127.0.0.1:9", "x", 1, "pid 7 on one"))
        given.append(options)
        on_ready(Ready("http://127.0.0.1:9", "x", 1))

    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr("statewright.cli.serving.logs.configure", lambda _form, _level: None)
    monkeypatch.chdir(tmp_path)
    return given


def test_without_options(served, capsys):
    assert run_command(["serve"]) == 0
    options = served[0]
    assert (options.host, options.port, options.store, str(options.data)) == (
        "127.0.0.1",
        4566,
        "sqlite",
        ".statewright",
    )
    assert options.config.limits.profile == "aws"
    assert capsys.readouterr().out.splitlines() == [
        "Statewright is ready on http://127.0.0.1:9 (data: x, handlers: none, pid 1)",
        "The console is at http://127.0.0.1:9/console",
    ]


def test_a_line_for_each_change(served, capsys):
    command = ["serve", "--standby", "--store", "postgresql://db/statewright"]
    assert run_command(command) == 0
    assert served[0].standby
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Statewright is a standby on http://127.0.0.1:9 (data: x, pid 1)",
        "Statewright is ready on http://127.0.0.1:9 (data: x, handlers: none, pid 1)",
    ]
    assert run_command([*command, "-o", "json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"event": "standby", "endpoint": "http://127.0.0.1:9", "data": "x", "pid": 1, "owner": "pid 7 on one"},
        {
            "event": "ready", "endpoint": "http://127.0.0.1:9", "console": "http://127.0.0.1:9/console", "data": "x",
            "handlers": "none", "pid": 1,
        },
    ]  # fmt: skip


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_a_standby_needs_a_store_that_two_servers_reach(store):
    with pytest.raises(CannotServe, match=r"--standby needs .* postgresql://"):
        server.serve(ServerOptions(port=0, store=store, standby=True), lambda _ready: None)


def test_with_options(served, tmp_path):
    (tmp_path / "statewright.toml").write_text('region = "eu-west-1"\n')
    arguments = [
        "--host",
        "::1",
        "--port",
        "0",
        "--data",
        "d",
        "--store",
        "memory",
        "--limits",
        "open",
        "--origin",
        "https://a",
    ]
    assert run_command(["serve", *arguments]) == 0
    options = served[0]
    assert (options.host, options.port, options.store, str(options.data)) == ("::1", 0, "memory", "d")
    assert options.config.limits == OPEN
    assert options.config.region == "eu-west-1"
    assert options.origins == {"https://a"}


def test_a_mock_file(served, tmp_path, capsys):
    file = tmp_path / "MockConfigFile.json"
    file.write_text('{"StateMachines": {"m": {"TestCases": {"c": {"S": "R"}}}}, "MockedResponses": {}}')
    assert run_command(["serve", "--mock-config", str(file)]) == 1
    assert "MockConfigFile.json:1:46: there is no mocked response 'R'" in capsys.readouterr().err
    assert run_command(["serve", "--mock-config", "nowhere.json"]) == 3
    assert "nowhere.json" in capsys.readouterr().err
    assert served == []
    file.write_text('{"StateMachines": {}, "MockedResponses": {}}')
    assert run_command(["serve", "--mock-config", str(file)]) == 0
    assert served[0].hooks.around is not None


def test_settings_with_a_mistake(served, tmp_path, capsys):
    (tmp_path / "statewright.toml").write_text("regoin = 1\n")
    assert run_command(["serve"]) == 1
    assert "regoin" in capsys.readouterr().err
    assert run_command(["serve", "--config", "nowhere.toml"]) == 3
    assert "nowhere.toml" in capsys.readouterr().err
    assert served == []


@pytest.mark.parametrize(
    ("problem", "said"),
    [(CannotServe("the port is taken"), "the port is taken"), (Unavailable("locked by pid 7"), "locked by pid 7")],
)
def test_a_server_that_cannot_start(served, monkeypatch, capsys, problem, said):
    def serve(options: ServerOptions, on_ready: Any, on_standby: Any) -> None:
        raise problem

    monkeypatch.setattr(server, "serve", serve)
    assert run_command(["serve"]) == 1
    assert said in capsys.readouterr().err


def test_nobody_listens_beyond_loopback_without_credentials():
    with pytest.raises(CannotServe, match=r"refusing to listen on 0\.0\.0\.0 without credentials"):
        server.serve(ServerOptions(host="0.0.0.0", port=0), lambda _line: None)


def test_a_node_by_its_name_and_address(served, capsys):
    command = ["serve", "--store", "postgresql://db/statewright", "--node", "a.b-1"]
    assert run_command([*command, "--advertise", "http://10.0.0.5:4566/", "--cells", "8"]) == 0
    assert served[0].node == NodeOptions("a.b-1", "http://10.0.0.5:4566", 8)
    assert run_command(command) == 0
    assert served[1].node == NodeOptions("a.b-1", None, 32)
    assert run_command(["serve"]) == 0
    assert served[2].node is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--node", "no name"], "is no name for a node"),
        (["--node", ""], "is no name for a node"),
        (["--node", "c", "--advertise", "10.0.0.5:4566"], "is not an address such as http://10.0.0.5:4566"),
        (["--node", "c", "--advertise", "https://one:4566"], "is not an address"),
        (["--node", "c", "--advertise", "http://one"], "is not an address"),
        (["--node", "c", "--advertise", "http://one:4566/path"], "is not an address"),
        (["--node", "c", "--advertise", "http://one:99999"], "is not an address"),
        (["--advertise", "http://10.0.0.5:4566"], "name it with --node"),
        (["--node", "c", "--mock-config", "mocks.json"], "--mock-config is for a server that is alone"),
        (["--node", "c", "--cells", "1"], "1 is not in the range"),
    ],
)
def test_options_that_make_no_node_are_refused(served, capsys, options, words):
    assert run_command(["serve", "--store", "postgresql://db/statewright", *options]) == 2
    assert words in capsys.readouterr().err
    assert not served


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ServerOptions(node=NodeOptions("a")), r"--node needs .* postgresql://"),
        (ServerOptions(node=NodeOptions("a"), store="memory"), r"--node needs"),
        (ServerOptions(node=NodeOptions("a"), store="postgresql://db/x", standby=True), "--standby is of no use"),
    ],
)
def test_a_node_needs_a_store_that_servers_share(options, words):
    with pytest.raises(CannotServe, match=words):
        server.serve(options, lambda _: None)
