"""The group of commands, and how each ends: the exit code, and the messages for everything that goes wrong in one.

Each command has a module of its own, which imports what it needs only when it runs.
"""

from __future__ import annotations

import errno
import os
import sys
from itertools import chain
from typing import Final

import click

from statewright import __version__
from statewright.cli.completion import VARIABLE, completion
from statewright.cli.env import aws, env
from statewright.cli.inspection.alarm import alarm
from statewright.cli.inspection.apis.commands import api
from statewright.cli.inspection.data_table import table
from statewright.cli.inspection.execution import execution
from statewright.cli.inspection.function import function
from statewright.cli.inspection.limit import limit
from statewright.cli.inspection.machine import machine
from statewright.cli.inspection.map_run import map_run
from statewright.cli.inspection.metrics import metrics
from statewright.cli.inspection.nodes import nodes
from statewright.cli.inspection.object import object_
from statewright.cli.inspection.queue import queue
from statewright.cli.inspection.schedule import schedule
from statewright.cli.inspection.topic import topic
from statewright.cli.local.export import export
from statewright.cli.local.graph import graph
from statewright.cli.local.init import init
from statewright.cli.local.run import run
from statewright.cli.local.schema import schema
from statewright.cli.local.simulate import simulate
from statewright.cli.local.test import test
from statewright.cli.local.validate import validate
from statewright.cli.output import (
    FAILED,
    INTERNAL,
    INTERRUPTED,
    NOT_FOUND,
    OK,
    USAGE,
    Refused,
    Stop,
    count_words,
    open_closed_streams,
    print_findings,
    reason_of,
    silence_full,
    stderr,
    stdout,
)
from statewright.cli.serving.backup import backup
from statewright.cli.serving.console import console
from statewright.cli.serving.deploy import deploy
from statewright.cli.serving.dev import dev
from statewright.cli.serving.doctor import doctor
from statewright.cli.serving.move import move
from statewright.cli.serving.restore import restore
from statewright.cli.serving.serve import serve
from statewright.cli.serving.setup import setup

SECTIONS: Final[dict[str, tuple[click.Command, ...]]] = {
    "Work on files": (run, validate, graph, test, simulate, export, init, schema),
    "Run a server": (dev, deploy, serve, backup, restore, move, doctor, setup),
    "Look into a server": (
        console, execution, machine, map_run, function, api, queue, topic, table, object_, schedule, limit, metrics,
        alarm, nodes,
    ),
    "Tools": (env, aws, completion),
}  # fmt: skip
"""The commands in the order of their use, by the titles that `--help` gives them."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
DEFINITION_NAMES = (".json", ".yaml", ".yml", ".asl")


class Commands(click.Group):
    """The group, with its commands in the order of their use; a file in place of one gets a suggestion."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands as they were added."""
        return list(self.commands)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the title of each section."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(str(one.name), one.get_short_help_str(limit)) for one in section])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises: UsageError for an unknown one."""
        name = args[0] if args else ""
        if name not in self.commands and name.lower().endswith(DEFINITION_NAMES):
            ctx.fail(f"'{name}' is a file, not a command. Try: statewright run {name}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 failed or problems found, 2 usage, 3 not found, 4 server unreachable, 5 timed out, "
    "130 interrupted.",
)
@click.version_option(__version__, prog_name="statewright", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Run, check, draw and test Amazon States Language workflows on your own machine.

    \b
    Examples:
      statewright run order.asl.json -i '{"order": 7}' --mock mocks.yaml
      statewright validate .
      statewright graph order.asl.json
      statewright test
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in chain.from_iterable(SECTIONS.values()):
    commands.add_command(_command)


def run_command(arguments: list[str]) -> int:
    """Run a command; returns the exit code. Never raises for what a user did."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # What cannot be encoded is written out, rather than ending the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _code_of(arguments)
    except BrokenPipeError:
        code = OK
    try:
        for printer in (stdout(), stderr()):
            printer.flush()
    except OSError as problem:
        # Nothing may have been written before: the end of the command is where a full disk shows.
        for stream in (sys.stdout, sys.stderr):
            silence_full(stream)
        say_stop(Stop(FAILED, f"The output cannot be written: {reason_of(problem)}"))
        code = FAILED
    return code


def _code_of(arguments: list[str]) -> int:
    if VARIABLE in os.environ:
        from statewright.cli.completion_shells import register

        register()
    try:
        answer: object = commands.main(args=arguments, prog_name="statewright", standalone_mode=False)
        # Commands that cannot fail after their work return nothing.
        return answer if isinstance(answer, int) else OK
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    except (click.Abort, KeyboardInterrupt):
        stderr().line(("Interrupted.", "idle"))
        return INTERRUPTED
    except click.UsageError as problem:
        problem.show()
        return USAGE
    except click.ClickException as problem:
        problem.show()
        return int(problem.exit_code)
    except Stop as stop:
        if stop.message:
            say_stop(stop)
        return stop.code
    except Refused as refused:
        print_findings(stderr(), refused.name, refused.findings)
        errors = sum(found.severity == "ERROR" for found in refused.findings)
        stderr().line((f"✗ {count_words(errors, 'error')} in {refused.name}", "fail"))
        return FAILED
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.errno in DISK_ERRORS:
            for stream in (sys.stdout, sys.stderr):
                silence_full(stream)
            say_stop(Stop(FAILED, f"The output cannot be written: {reason_of(problem)}"))
            return FAILED
        where = f"{os.fsdecode(problem.filename)}: " if isinstance(problem.filename, (str, bytes)) else ""
        say_stop(Stop(NOT_FOUND, f"{where}{reason_of(problem)}"))
        return NOT_FOUND
    except Exception as problem:
        return _our_fault(problem)


def say_stop(stop: Stop) -> None:
    """Print why a command ends."""
    printer = stderr()
    printer.wrapped(stop.message, "       ", "fail", first="Error: ")
    if stop.hint:
        printer.wrapped(stop.hint, " " * 8, "idle", first="  hint: ")


def _our_fault(problem: Exception) -> int:
    """Print a short report of a bug in Statewright."""
    if os.environ.get("STATEWRIGHT_DEBUG"):
        import traceback

        traceback.print_exception(problem)
    printer = stderr()
    said = f"{type(problem).__name__}: {problem}"
    printer.line((f"The command failed because of a bug in Statewright {__version__}:", "fail"))
    printer.line(f"  {said[:500]}")
    if not os.environ.get("STATEWRIGHT_DEBUG"):
        printer.line(("  Set STATEWRIGHT_DEBUG=1 and try again to see the traceback.", "idle"))
    return INTERNAL
