"""The group of commands, exit codes, and what becomes of errors that are nobody's fault but ours."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from statewright import __version__
from statewright.cli import main
from tests.deadlines import completed
from tests.unit.cli.conftest import Run


def test_version(statewright: Run):
    assert statewright("--version").out == f"statewright {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands_of_this_version(statewright: Run, arguments: tuple[str, ...]):
    result = statewright(*arguments)
    assert result.code == 0
    listed = result.out.split("-h, --help")[1].split("Exit codes")[0].split("\n")[1:]
    sections: dict[str, list[str]] = {}
    for line in listed:
        if line.endswith(":"):
            sections[line] = []
        elif line[:3].strip():
            list(sections.values())[-1].append(line.split()[0])
    assert sections == {
        "Work on files:": ["run", "validate", "graph", "test", "simulate", "export", "init", "schema"],
        "Run a server:": ["dev", "deploy", "serve", "backup", "restore", "move", "doctor", "setup"],
        "Look into a server:": [
            "console", "execution", "machine", "map-run", "function", "api", "queue", "topic", "table", "object",
            "schedule", "limit", "metrics", "alarm", "nodes",
        ],
        "Tools:": ["env", "aws", "completion"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "validate",
        "graph",
        "test",
        "export",
        "dev",
        "serve",
        "console",
        "execution",
        "machine",
        "map-run",
        "queue",
        "object",
        "table",
        "function",
        "api",
        "topic",
        "limit",
        "env",
        "backup",
        "restore",
        "doctor",
    ],
)
def test_every_command_has_examples(statewright: Run, command: str):
    result = statewright(command, "--help")
    assert result.code == 0
    assert f"Examples:\n    statewright {command}" in result.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "No such command 'rnu'"),
        (["order.asl.json"], "Try: statewright run order.asl.json"),
        (["run"], "Missing argument"),
        (["run", "order.asl.json", "--nope"], "No such option"),
        (["serve", "--store", "mysql://u:geheim@h/x"], "this address is not one of sqlite, memory, postgresql://"),
        (["run", "order.asl.json", "--limits", "none"], "'none' is not one of 'aws', 'open'"),
        (["validate"], "Missing argument"),
        (["graph", "order.asl.json", "--width", "3"], "--width"),
        (["test", "-o", "xml"], "'xml' is not one of"),
    ],
)
def test_usage_errors(statewright: Run, arguments: list[str], said: str):
    result = statewright(*arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


def test_our_own_mistakes_are_reported_shortly(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("statewright.graph.model.build_graph", fail)
    result = statewright("graph", "order.asl.json")
    assert result.code == 70
    assert "ZeroDivisionError: oops" in result.err
    assert "STATEWRIGHT_DEBUG=1" in result.err
    assert "Traceback" not in result.err
    monkeypatch.setenv("STATEWRIGHT_DEBUG", "1")
    assert "Traceback" in statewright("graph", "order.asl.json").err


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "Interrupted"),
        (click.Abort(), 130, "Interrupted"),
        (click.exceptions.Exit(7), 7, ""),
        (click.ClickException("no"), 1, "Error: no"),
        (BrokenPipeError(), 0, ""),
        (PermissionError(13, "Permission denied", "secret.json"), 3, "secret.json: Permission denied"),
    ],
)
def test_what_ends_a_command(
    statewright: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str
):
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("statewright.graph.model.build_graph", fail)
    result = statewright("graph", "order.asl.json")
    assert result.code == code
    assert said in result.err


def test_main_exits_with_the_code():
    with pytest.raises(SystemExit) as caught:
        main.main(["run", "nope.asl.json"])
    assert caught.value.code == 3


@pytest.mark.parametrize("name", ["statewright.cli.commands", "click", "statewright.cli.output"])
def test_an_interrupt_while_the_commands_are_imported_is_quiet(name: str):
    script = (
        "import signal, sys\n"
        "from statewright.cli.main import main\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {name!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "main(['--help'])\n"
    )
    done = completed([sys.executable, "-c", script])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_entry_imports_nothing_that_takes_time():
    # Whatever it imported could be interrupted before anything catches that.
    script = "import sys; before = {*sys.modules}; import statewright.cli.main; print(sorted({*sys.modules} - before))"
    done = completed([sys.executable, "-c", script], check=True)
    assert done.stdout == "['__future__', 'statewright', 'statewright.cli', 'statewright.cli.main']\n"


def test_help_imports_nothing_heavy():
    heavy = "yaml orjson asyncio jsonatapy statewright.asl statewright.interpreter statewright.simulator"
    script = (
        "import sys; from statewright.cli.commands import run_command; run_command(['--help']);"
        f"print([name for name in '{heavy}'.split() if name in sys.modules], file=sys.stderr)"
    )
    done = completed([sys.executable, "-c", script], check=True)
    assert done.stderr == "[]\n"


def test_a_reader_that_goes_away_is_no_error(folder):
    program = "from statewright.cli.main import main; main()"
    command = f'"{sys.executable}" -c "{program}" graph order.asl.json | true'
    done = completed(["bash", "-o", "pipefail", "-c", command])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_closed_before_the_start(folder: Path, closed: str):
    program = "from statewright.cli.main import main; main()"
    command = f"exec '{sys.executable}' -c '{program}' validate order.asl.json - {closed}"
    result = completed(["sh", "-c", command], input="{")
    assert "Traceback" not in result.stderr
    assert result.returncode == 1
