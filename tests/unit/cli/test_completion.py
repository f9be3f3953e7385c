"""Shell completion: what each parameter completes, names from a stub of the server, and bash itself."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from statewright.cli import completion_values
from statewright.cli.client import Server, Unreachable
from statewright.cli.commands import commands
from statewright.cli.completion_shells import Bash
from statewright.cli.completion_values import parts_of
from statewright.cli.output import Stop
from tests.deadlines import PATIENCE_SECONDS
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, StubServer

BREAKS = "\"'@><=;|&(:"
FREE = {
    "ADDRESS", "ARN", "AWS-COMMAND...", "ATTRIBUTE=VALUE...", "GLOB", "ID", "INSTANT", "KEY=VALUE", "KEY=a,b,c", "N",
    "NAME", "NAME=JSON", "NAME=TEXT", "NAME=VALUE", "NAME: VALUE", "PATTERN", "RATE", "SECONDS", "STATE", "STORE",
    "TEXT", "TIME", "URL", "UUID", "ZONE", "[AFTER]", "[BEFORE]", "[METHOD] PATH", "[NAME]...",
}  # fmt: skip
"""Metavars of values that are the user's own, or that only bash's own completion may help with."""


class Names(StubServer):
    """A server with one thing of each kind."""

    answers: dict[str, Any] = {  # noqa: RUF012
        "list_state_machines": {"stateMachines": [
            {"name": "order", "type": "STANDARD", "stateMachineArn": f"{PREFIX}:stateMachine:order"},
            {"name": "other", "type": "EXPRESS", "stateMachineArn": f"{PREFIX}:stateMachine:other"},
        ]},
        "list_executions": {"executions": [{"name": "run-1"}, {"name": "run-2"}]},
        "list_functions": {"Functions": [{"FunctionName": "price"}, {"FunctionName": "ship"}]},
        "list_queues": {"QueueUrls": ["http://localhost:1/000000000000/orders"]},
        "list_tables": {"TableNames": ["orders"]},
        "list_topics": {"Topics": [{"TopicArn": "arn:aws:sns:us-east-1:000000000000:orders"}]},
        "list_schedules": {"Schedules": [{"GroupName": "default", "Name": "nightly"}]},
        "list_limits": {"semaphores": [{"name": "door", "key": "a"}, {"name": "door", "key": "b"}]},
        "list_buckets": {"Buckets": [{"Name": "data"}]},
        "list_objects_v2": {
            "CommonPrefixes": [{"Prefix": "in/"}], "Contents": [{"Key": "index.html"}, {"Key": "in\nvalid"}],
        },
    }  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> type[Names]:
    class Brief(Names):
        def __init__(self, endpoint: str | None, service: str) -> None:
            super().__init__(endpoint, service=service)

    monkeypatch.setattr(completion_values, "_Brief", Brief)
    return Brief


def completed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is told about a line up to the cursor."""
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_WORDBREAKS", BREAKS)
    return Bash(commands, {}, "statewright", "_STATEWRIGHT_COMPLETE").complete().splitlines()


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("statewright mach", ["plain,machine"]),
        ("statewright queue pu", ["plain,purge"]),
        ("statewright function list --out", ["plain,--output"]),
        ("statewright function list -o j", ["plain,json", "plain,jsonl"]),
        ("statewright machine show or", ["plain,order"]),
        ("statewright function logs ", ["plain,price", "plain,ship"]),
        ("statewright queue peek o", ["plain,orders"]),
        ("statewright table scan o", ["plain,orders"]),
        ("statewright topic publish o", ["plain,orders"]),
        ("statewright schedule next n", ["plain,nightly"]),
        ("statewright limit show ", ["plain,door"]),
        ("statewright execution show run-", ["plain,run-1", "plain,run-2"]),
        # Bash replaces only what stands behind the last colon, or equals sign.
        ("statewright execution show order:run-1", ["plain,run-1"]),
        ("statewright execution list --machine=ord", ["plain,order"]),
        ("statewright object ls s3://d", ["open,//data/"]),
        ("statewright object cat s3://data/in", ["open,//data/in/", "plain,//data/index.html"]),
        ("statewright run o", ["plain,order", "plain,other", "file,o"]),
        ("statewright validate o", ["file,o"]),
        ("statewright dev fun", ["dir,fun"]),
        ("statewright function invoke price -i @ev", ["at,@ev"]),
        ("statewright queue peek zzz", ["nothing,"]),
        # What is not ours is bash's.
        ("statewright execution start order --name x", []),
        ("statewright function invoke price -i x", []),
        ("statewright aws s3 ls x", []),
    ],
)
def test_what_is_completed(line: str, items: list[str], server: type[Names], monkeypatch: pytest.MonkeyPatch):
    assert completed(line, monkeypatch) == items


def test_a_server_that_does_not_answer_offers_nothing(server: type[Names], monkeypatch, capfd):
    def refused(**_: Any) -> Exception:
        return Unreachable("http://127.0.0.1:1")

    monkeypatch.setattr(server, "answers", {"list_queues": refused})
    assert completed("statewright queue peek o", monkeypatch) == ["nothing,"]
    monkeypatch.undo()
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", "http://127.0.0.1:1")
    assert completed("statewright queue peek o", monkeypatch) == ["nothing,"]
    assert capfd.readouterr() == ("", "")


def test_all_answers_together_take_no_longer_than_one(monkeypatch: pytest.MonkeyPatch):
    brief = completion_values._Brief("http://127.0.0.1:1", "sqs")
    now = iter([0.0, 0.2, 0.31])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    asked: list[str] = []
    monkeypatch.setattr(Server, "call", lambda _self, operation: asked.append(operation))
    brief.call("first")
    brief.call("second")
    with pytest.raises(Stop):
        brief.call("third")
    assert asked == ["first", "second"]


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from parameters(below)


def test_every_metavar_says_what_is_completed():
    unknown = {one.metavar for one in parameters(commands) if one.metavar and not parts_of(one.metavar)}
    assert unknown == FREE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(statewright: Run, shell: str):
    result = statewright("completion", shell)
    assert result.code == 0
    assert f"_STATEWRIGHT_COMPLETE={shell}_complete" in result.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=result.out, text=True, check=True, timeout=PATIENCE_SECONDS)


# ------------------------------------------------------------------ bash itself


class Shell:
    """An interactive bash on a terminal, in which `statewright` is this Python's."""

    def __init__(self, folder: Path) -> None:
        commands_folder = folder / "bin"
        commands_folder.mkdir()
        program = commands_folder / "statewright"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m statewright.cli.main "$@"\n')
        program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{commands_folder}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ "}
        environment |= {"INPUTRC": "/dev/null", "STATEWRIGHT_ENDPOINT": "http://127.0.0.1:1"}
        own, theirs = pty.openpty()
        self._terminal = own
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
            env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.typed('bind "set enable-bracketed-paste off"; eval "$(statewright completion bash)"')

    def typed(self, text: str) -> str:
        """Type a line, and return what is printed up to the next prompt of ours."""
        os.write(self._terminal, f"{text}; echo READY-$((40+2))\n".encode())
        return self._read("READY-42")

    def words(self, line: str) -> list[str]:
        """The words of a line once the tabulator has completed it."""
        # Bash reads what is typed in order, so there is nothing to wait for.
        os.write(self._terminal, f"{line}\t\x01printf '<%s>' \x05; echo READY-$((40+2))\n".encode())
        printed = self._read("READY-42").rpartition("READY-42")[0]
        return printed.rpartition("\n")[2].strip("<>").split("><")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def _read(self, end: str) -> str:
        shown = ""
        until = time.monotonic() + PATIENCE_SECONDS
        while end not in shown:
            assert time.monotonic() < until, shown
            if select.select([self._terminal], [], [], 1)[0]:
                shown += os.read(self._terminal, 65536).decode(errors="replace")
        return shown


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "order.asl.json").write_text("{}")
    (tmp_path / "an event.json").write_text("{}")
    (tmp_path / "machines").mkdir()
    found = Shell(tmp_path)
    yield found
    found.close()


@pytest.mark.slow
def test_bash_completes_commands_files_and_folders(shell: Shell):
    assert shell.words("statewright valid") == ["statewright", "validate"]
    assert shell.words("statewright validate or") == ["statewright", "validate", "order.asl.json"]
    assert shell.words("statewright validate an\\ ") == ["statewright", "validate", "an event.json"]
    assert shell.words("statewright dev o") == ["statewright", "dev", "o"]
    assert shell.words("statewright dev m") == ["statewright", "dev", "machines/"]
    assert shell.words("statewright queue send orders @an") == [
        "statewright",
        "queue",
        "send",
        "orders",
        "@an event.json",
    ]
    # Its own completion where nothing is ours; nothing where a name of the server goes, which does not answer.
    assert shell.words("statewright execution start order --name or")[-1] == "order.asl.json"
    assert shell.words("statewright machine show or")[-1] == "or"
