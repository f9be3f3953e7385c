from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session

from statewright.cli import client
from statewright.cli.commands import run_command
from statewright.cli.env import variables, written

URL = "http://127.0.0.1:4999"


def test_variables_reach_botocore(monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in variables(URL).items():
        monkeypatch.setenv(name, value)
    client: Any = Session().create_client("stepfunctions")
    assert client.meta.endpoint_url == URL
    assert client.meta.region_name == "us-east-1"
    assert client.meta.config.inject_host_prefix is False, "sync- operations need this"
    client.close()


def test_clients_may_use_http_where_the_endpoint_has_it():
    assert variables(URL)["AWS_ALLOW_HTTP"] == "true"
    assert "AWS_ALLOW_HTTP" not in variables("https://flows.example")


def test_configured_credentials_are_named(tmp_path):
    settings = tmp_path / "statewright.toml"
    settings.write_text('region = "eu-west-1"\n[credentials]\nAKID = "a secret"\n')
    named = variables(URL, str(settings))
    assert (named["AWS_ACCESS_KEY_ID"], named["AWS_SECRET_ACCESS_KEY"]) == ("AKID", "a secret")
    assert named["AWS_DEFAULT_REGION"] == "eu-west-1"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("sh", "export NAME='it'\"'\"'s'"),
        ("fish", "set -gx NAME 'it'\"'\"'s'"),
        ("powershell", "$env:NAME = 'it''s'"),
        ("dotenv", "NAME=it's"),
    ],
)
def test_shells(shell, line):
    assert written({"NAME": "it's"}, shell) == line


def test_the_command_prints_them(capsys, monkeypatch):
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", "http://127.0.0.1:1234")
    assert run_command(["env", "--shell", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1234"
    assert run_command(["env", "--endpoint", URL]) == 0
    assert f"export AWS_ENDPOINT_URL={URL}\n" in capsys.readouterr().out


def test_on_a_terminal_it_says_which_clients_need_more(terminal, statewright):
    shown = terminal("env")
    assert "Some clients need more:" in shown.err
    for note in ("disableHostPrefix", "JavaScript v2", "AWS CLI v1"):
        assert note in shown.err
        assert note not in shown.out
    assert statewright("env").err == ""


def test_the_aws_cli_is_run_with_them(monkeypatch):
    ran: list[Any] = []
    monkeypatch.setenv("AWS_PROFILE", "the-real-service")

    def call(command: list[str], env: dict[str, str]) -> int:
        ran.append((command, env))
        return 7

    monkeypatch.setattr("subprocess.call", call)
    assert run_command(["aws", "stepfunctions", "list-activities", "--output", "json", "--help"]) == 7
    command, environment = ran[0]
    assert command[1:] == ["stepfunctions", "list-activities", "--output", "json", "--help"]
    assert environment["AWS_DISABLE_HOST_PREFIX_INJECTION"] == "true"
    assert "AWS_PROFILE" not in environment


@pytest.mark.parametrize(
    ("named", "goes_to"),
    [({}, "http://127.0.0.1:4566"), ({"AWS_ENDPOINT_URL": URL}, URL),
     ({"AWS_ENDPOINT_URL": "http://a:1", "STATEWRIGHT_ENDPOINT": URL}, URL)],
)  # fmt: skip
def test_the_aws_cli_goes_where_all_commands_go(monkeypatch, named: dict[str, str], goes_to: str):
    for name in ("STATEWRIGHT_ENDPOINT", "AWS_ENDPOINT_URL_SFN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    ran: list[Any] = []
    monkeypatch.setattr("subprocess.call", lambda command, env: ran.append((command, env)))
    run_command(["aws", "sqs", "list-queues"])
    assert ran[0][0][1:3] == ["--endpoint-url", goes_to]
    assert ran[0][1]["AWS_ENDPOINT_URL"] == goes_to


def test_without_the_aws_cli(monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda *_args, **_settings: None)
    assert run_command(["aws", "help"]) == 1
    assert "AWS CLI is not installed" in capsys.readouterr().err
    assert client.DEFAULT_ENDPOINT.endswith(":4566")


def test_help_of_aws_is_ours(capsys):
    assert run_command(["aws", "--help"]) == 0
    assert "Examples:\n    statewright aws stepfunctions" in capsys.readouterr().out
    assert run_command(["aws"]) == 0


def test_node_programs_load_the_endpoint(capsys, monkeypatch):
    monkeypatch.setenv("NODE_OPTIONS", "--max-old-space-size=512")
    assert run_command(["env", "--node", "--shell", "json"]) == 0
    options = json.loads(capsys.readouterr().out)["NODE_OPTIONS"]
    before, _, path = options.partition(" --require ")
    assert before == "--max-old-space-size=512"
    assert Path(path.strip('"')).is_file()
    monkeypatch.setenv("NODE_OPTIONS", options)
    assert run_command(["env", "--node", "--shell", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["NODE_OPTIONS"] == options
